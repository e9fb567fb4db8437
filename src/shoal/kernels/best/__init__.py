"""Kernels of `shoal.methods.best`: the search for the least loss."""
