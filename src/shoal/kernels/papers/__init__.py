"""Kernels of `shoal.methods.papers`: baselines, and the papers to the letter."""
