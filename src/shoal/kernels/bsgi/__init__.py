"""Kernels of `shoal.methods.bsgi`."""
