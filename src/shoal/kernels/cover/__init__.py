"""Kernels of `shoal.methods.cover`."""
