"""What stands at many places of an array, without a wide copy of the places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["narrow", "picked"]

AT_ONCE = 1 << 15
NARROW = (np.int8, np.int16)
"""Types of places that are tried before four bytes."""


def picked(values: NDArray[Any], *places: NDArray[Any]) -> NDArray[Any]:
    """``values[places]``; with more places, what stands at those of places at places, and so on.

    NumPy makes all places 64 bits wide first: here a piece at a time, which stays in the cache.
    """
    found = np.empty(len(places[-1]), dtype=values.dtype)
    for start in range(0, len(found), AT_ONCE):
        some = places[-1][start : start + AT_ONCE]
        for first in places[-2::-1]:
            some = first[some]
        found[start : start + AT_ONCE] = values[some]
    return found


def narrow(values: int) -> Any:
    """The smallest type for places among so many values; -1 stands for none."""
    return next((kind for kind in NARROW if values <= np.iinfo(kind).max), np.int32)
