"""Kernels of `blind`."""
