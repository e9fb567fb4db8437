"""The engine for tables of a cluster: Spark moves packets of records, Shoal's kernels work on them."""
