"""Kernels of `shoal.methods.line` and `shoal.methods.merging`: records in an order."""
