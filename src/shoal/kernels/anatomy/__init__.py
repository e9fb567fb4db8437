"""Kernels of `shoal.methods.anatomy`."""
