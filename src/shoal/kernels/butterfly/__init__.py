"""Kernels of `shoal.methods.butterfly`."""
