"""Classes of releases as boxes, and which of two sides overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.joining.candidates import pairs_of
from shoal.kernels.joining.pairs import Cells

__all__ = ["Boxes", "common_values", "overlapping", "pieces"]

Ints = NDArray[np.int64]
AT_ONCE = 8_000_000
"""Counts that are looked at together: boxes times values."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Classes of a release, or cells of several: their boxes, and records of each value."""

    low: Ints
    """(boxes, ranges)"""
    high: Ints
    bits: list[NDArray[np.uint64]]
    """Sets of values: one array (boxes, words) for each column that has them."""
    counts: NDArray[np.int32]
    """(boxes, values): how many persons of each value there can be; one column without values."""
    member: Ints
    """(boxes, releases): the class of each release that a box lies in."""

    def take(self, rows: Ints) -> Boxes:
        bits = [words[rows] for words in self.bits]
        return Boxes(self.low[rows], self.high[rows], bits, self.counts[rows], self.member[rows])


def pieces(boxes: int, values: int) -> Iterator[slice]:
    """So many boxes at once that their counts fit into memory."""
    step = max(1, AT_ONCE // max(1, values))
    return (slice(begin, begin + step) for begin in range(0, boxes, step))


def common_values(left: Boxes, right: Boxes) -> tuple[Ints, Ints, Ints]:
    """Boxes of two sides that overlap, and a value that both have: each triple once."""
    found = []
    a, b = overlapping(left, right)
    for part in pieces(len(a), left.counts.shape[1]):
        mine, others = a[part], b[part]
        pair, value = np.nonzero(np.minimum(left.counts[mine], right.counts[others]))
        found.append((mine[pair], others[pair], value))
    none = np.zeros(0, dtype=np.int64)
    ends = [np.concatenate([none, *parts]) for parts in zip(*found, strict=True)] or [none] * 3
    return ends[0], ends[1], ends[2]


def overlapping(left: Boxes, right: Boxes) -> tuple[Ints, Ints]:
    """Pairs of boxes that overlap, found as `join_check` finds rows that can be one record."""
    numbers, table = _numbered([left.bits, right.bits])
    return pairs_of(_cells(left, numbers[0]), _cells(right, numbers[1]), table)


def _cells(boxes: Boxes, sets: NDArray[np.int32]) -> Cells:
    return Cells(boxes.low.astype(np.int32), boxes.high.astype(np.int32), sets)


def _numbered(
    sides: Sequence[Sequence[NDArray[np.uint64]]],
) -> tuple[list[NDArray[np.int32]], NDArray[np.uint64]]:
    """Every distinct set once, and by side which one each box has in each column."""
    words = max((one.shape[1] for side in sides for one in side), default=1)
    wide = [[np.pad(one, ((0, 0), (0, words - one.shape[1]))) for one in side] for side in sides]
    stacked = [one for side in wide for one in side]
    if not stacked:
        return [np.zeros((0, 0), dtype=np.int32)] * len(sides), np.zeros((0, 1), dtype=np.uint64)
    table, number = np.unique(np.concatenate(stacked), axis=0, return_inverse=True)
    ends = np.cumsum([len(one) for one in stacked])[:-1]
    parts = iter(np.split(number.reshape(-1).astype(np.int32), ends))
    return [np.stack([next(parts) for _ in side], axis=1) for side in wide], table
