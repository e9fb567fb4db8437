"""What records owe: what each of them costs at least, whatever group it is in.

A group of k records around one of them holds k - 1 others, so it costs at least the distance
of the (k-1)-th nearest: the first rung of `shoal.bounds`. Here only records that were found to
be near are asked, so that it costs nothing; it leads the search and proves nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.best.neighbours import NOBODY
from shoal.kernels.best.search import Graph, Groups

__all__ = ["dues_of", "owe"]

Floats = NDArray[np.float64]


def dues_of(graph: Graph, distance: Floats, least: int) -> Floats:
    """What each record owes in groups of at least so many, by its near ones.

    Where too few are known to be near, the farthest of them counts.
    """
    count = np.diff(graph.start)
    known = np.where(graph.near == NOBODY, 0, count[graph.near])
    together = count[:, None] + np.cumsum(known, axis=1)
    needed = (together < least).sum(axis=1)  # as many near points are not enough
    last = np.maximum(0, (graph.near != NOBODY).sum(axis=1) - 1)
    at = np.minimum(needed, last)
    alone = (count >= least) | (known[:, 0] == 0)
    owed = np.where(alone, 0.0, distance[np.arange(len(count)), at])
    each: Floats = owed[graph.point]
    return each


def owe(groups: Groups) -> None:
    """Add up for each group what its records owe, after that has changed."""
    groups.dues[:] = np.bincount(groups.of, groups.due, len(groups.dues))
