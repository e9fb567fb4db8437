"""Kernels of `shoal.methods.attributes`."""
