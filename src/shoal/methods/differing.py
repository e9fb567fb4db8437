"""Groups of records that differ in three columns or more, where a greedy search got stuck.

What is stuck is divided anew together with some groups that were found, exactly, with more
and more of them until it is all of the table; see `shoal.kernels.bsgi.differing`.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bsgi.differing import (
    FOUND,
    IMPOSSIBLE,
    NONE,
    conflicts_of,
    differing_groups,
)

__all__ = ["Settled", "settle"]

STEPS = 20_000
"""Steps of one search."""
LAST_STEPS = 1_000_000
"""Steps of the last one, on a table that is small: it may prove that there are no groups."""
TRIES = 6
"""Searches with so many groups, drawn anew each time."""
MOST = 400
"""Records that are divided at once."""
SMALL = 60
"""Records of a table of which it may be proven."""

Ids = NDArray[np.int64]


class Settled(NamedTuple):
    """What came out of it."""

    groups: Ids | None
    """Group of each record; None: they were not found."""
    proven: bool
    """Whether it is proven then that there are none."""


def settle(codes: NDArray[np.int32], groups: Ids, count: int, l: int, seed: int) -> Settled:
    """``n // l`` groups of all records, each of at least l that differ in every column.

    Parameters
    ----------
    codes : int32 array (S, n)
        What records must differ in.
    groups, count
        Group of each record that were found, -1 for those in none; how many there are.
    l, seed
        Records of a group; what chance is drawn from.
    """
    n = codes.shape[1]
    rng = np.random.default_rng((seed % 2**63, n))
    stuck = np.flatnonzero(groups < 0)
    more = n // l - count
    joined = 2
    while len(stuck) <= MOST:
        joined = min(joined, count)
        for _ in range(TRIES):
            chosen = rng.permutation(count)[:joined]
            rows = np.flatnonzero((groups < 0) | np.isin(groups, chosen))
            if len(rows) > MOST:
                break
            found, _ = _divided(codes[:, rows], l, joined + more, rng, STEPS)
            if found is not None:
                return Settled(_put_in(groups, rows, found, chosen, count), False)
        if joined == count or len(rows) > MOST:
            break
        joined *= 2
    if n > SMALL:
        return Settled(None, False)
    return Settled(*_divided(codes, l, n // l, rng, LAST_STEPS))


def _divided(
    codes: NDArray[np.int32], l: int, groups: int, rng: np.random.Generator, steps: int
) -> tuple[Ids | None, bool]:
    """Group of each record, or None; and whether that is proven."""
    n = codes.shape[1]
    conflict = np.zeros((n, n), dtype=np.bool_)
    conflicts_of(np.ascontiguousarray(codes), conflict)
    of = np.full(n, NONE, dtype=np.int64)
    size, barred = np.zeros(groups, dtype=np.int64), np.zeros((n, groups), dtype=np.int64)
    path = np.zeros(n, dtype=np.int64)
    end = differing_groups(conflict, l, rng.permutation(n), steps, of, size, barred, path)
    return (of if end == FOUND else None), end == IMPOSSIBLE


def _put_in(groups: Ids, rows: Ids, found: Ids, chosen: Ids, count: int) -> Ids:
    """All groups, those that were divided anew under the numbers of the chosen and new ones."""
    numbers = np.concatenate([chosen, np.arange(count, count + found.max() + 1)])
    settled = groups.copy()
    settled[rows] = numbers[found]
    return settled
