"""What every method is held to: these models, on any table; and which methods may refuse."""

from __future__ import annotations

from shoal.methods import METHODS

MODELS = [
    {"k": 1},
    {"k": 3},
    {"l": 2},
    {"l": 2, "l_reading": "distinct"},
    {"l": 1.5, "l_reading": "entropy"},
    {"l": 2, "l_reading": "recursive", "c": 2},
    {"k": 2, "alpha": 0.5},
    {"t": 0.3},
    {"k": 2, "e": 10},
    {"k": 3, "l": 2, "t": 0.4},
]
GENERALISING = sorted(set(METHODS) - {"anatomy"})  # which publishes two tables: test_anatomy
REFUSING = {"attributes", "bsgi", "incognito", "optimal", "tds"}
"""Methods that say no to some models, persons, or tables too large for them."""
