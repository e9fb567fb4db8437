"""The engine for tables larger than memory: records lie in files, DuckDB groups what is written."""
