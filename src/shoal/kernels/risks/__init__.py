"""Kernels of `shoal.risks`: who can be in which class."""
