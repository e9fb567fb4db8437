"""Kernels of `shoal.methods.exact`."""
