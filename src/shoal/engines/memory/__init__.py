"""The whole table in memory, as arrays of codes."""
