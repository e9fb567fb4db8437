"""Kernels of `shoal.bounds`: what no release can undercut."""
