"""Baselines and the papers' own variants, to compare with; nothing else needs them."""
