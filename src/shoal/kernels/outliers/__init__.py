"""Kernels of `shoal.engines.memory.outliers`."""
