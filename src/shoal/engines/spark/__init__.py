"""The engine for tables of a cluster: Spark moves packets, Shoal's kernels work on them."""
