"""Kernels of `shoal.methods.fulldomain`."""
