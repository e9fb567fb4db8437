"""Kernels of `shoal.joining`."""
