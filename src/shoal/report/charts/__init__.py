"""Charts of a release and of comparisons: one look for notebook, report and studio."""
