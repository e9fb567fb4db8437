"""Kernels of `shoal.methods.tp`."""
