"""Compiled loops. They know arrays, never names, files or policies."""
