"""Kernels of `shoal.metrics`: accuracy of queries and distributions."""
