"""For those who choose: what is in a table, which hierarchy, which method."""
