"""Stars by a linear programme: how many records of each kind keep which attributes.

Where a model limits the share of a value in every class (l by frequency, alpha), the
choice of stars is a linear programme but for whole numbers: see the kernels of the same name.
Its solution is nearly a release; `shoal.methods.best.stars` makes it one. Its dual is a
lower bound on the stars of any release.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.classes import class_ids
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.best.star_programme import Programme, divide_kinds, raise_dues, round_parts
from shoal.kernels.threads import on_threads

__all__ = ["StarProgramme", "cells_of_patterns", "kept_by"]

Ids = NDArray[np.int64]

PACE = 0.25
"""Steps of parts against steps of dues: both converge at about the same rate."""
LONG = 200_000
"""From so many kinds and patterns on, two threads share a step."""
LOOK = 10
"""Steps after which the clock is looked at."""


def kept_by(pattern: int, attributes: int) -> list[int]:
    """The attributes that a pattern keeps."""
    return [a for a in range(attributes) if pattern >> a & 1]


def cells_of_patterns(table: EncodedTable) -> tuple[NDArray[np.int32], NDArray[np.float64], Ids]:
    """Cell of each record under each pattern, the price of each pattern, and its first cell.

    A pattern is a set of attributes that are kept, as bits; its cells are numbered from
    its first cell on, and those of all patterns one after the other.
    """
    d, n = len(table.qi), table.n
    cell = np.empty((2**d, n), dtype=np.int32)
    price = np.zeros(2**d)
    first = np.zeros(2**d + 1, dtype=np.int64)
    for pattern in range(2**d):
        kept = kept_by(pattern, d)
        ids, count = class_ids(table.columns(kept), n)
        cell[pattern] = ids + first[pattern]
        first[pattern + 1] = first[pattern] + count
        price[pattern] = sum(table.qi[a].weight for a in range(d) if a not in kept)
    return cell, price, first


class StarProgramme:
    """The programme of a table with one sensitive column, and how far it is solved."""

    def __init__(self, table: EncodedTable, share: Fraction, ceiling: float = math.inf) -> None:
        """`share` is what one value may have of a class, at most.

        The bound counts no record at more than `ceiling`, the price of dropping it.
        """
        codes, size = table.sensitive_columns()[0]
        kind, _ = class_ids([*table.columns(), (codes, size)], table.n)
        self.kinds = Partition.from_group_ids(kind)
        first = self.kinds.firsts
        cell, price, starts = cells_of_patterns(table.take(first))
        key = cell.T.astype(np.int64) * size + codes[first][:, None]
        pairs, pair = np.unique(key, return_inverse=True)
        # prices are told in those of a mean attribute, so that steps suit them
        unit = max(float(table.costs.weight.sum()) / len(table.qi), 1e-12)
        limit = float(1 / share)
        threads = 2 if key.size >= LONG else 1
        self.programme = Programme(
            pair=pair.reshape(key.shape).astype(np.int32),
            records=self.kinds.sizes.astype(np.float64),
            price=price,
            start=np.searchsorted(pairs // size, np.arange(starts[-1] + 1)),
            ceiling=ceiling,
            share=limit,
            pace=PACE / max(1.0, limit + size - 2) / unit,
            stride=np.zeros(len(pairs)),
            part=np.zeros(key.shape, dtype=np.float32),
            due=np.zeros(len(pairs)),
            toll=np.zeros(len(pairs)),
            load=np.zeros((threads, len(pairs))),
            goal=np.zeros((threads, len(price))),
        )
        self._set_strides(unit)
        self.programme.part[:, -1] = 1.0
        self.bound = 0.0

    def _set_strides(self, unit: float) -> None:
        """Smaller steps of the dues where many records could come."""
        programme = self.programme
        records = np.repeat(programme.records, len(programme.price))
        most = np.bincount(
            programme.pair.reshape(-1), weights=records, minlength=len(programme.due)
        )
        cell = np.repeat(np.add.reduceat(most, programme.start[:-1]), np.diff(programme.start))
        programme.stride[:] = unit / PACE / np.maximum(1.0, (programme.share - 2) * most + cell)

    @property
    def pace(self) -> float:
        """Microseconds of a step on two cores."""
        return 100.0 + 0.01 * self.programme.pair.size

    def solve(self, steps: int, limit: Limit = NO_LIMIT) -> None:
        """Come nearer to the solution by so many steps, or up to the limit."""
        programme = self.programme
        kinds, cells = len(programme.records), len(programme.start) - 1
        threads = len(programme.load)
        borders = [kinds * t // threads for t in range(threads + 1)]
        for step in range(steps):
            found = on_threads(
                lambda t: divide_kinds(programme, borders[t], borders[t + 1], t), range(threads)
            )
            self.bound = max(self.bound, sum(found))
            half = cells // threads
            on_threads(
                lambda begin, end: raise_dues(programme, begin, end),
                [half * t for t in range(threads)],
                [*(half * t for t in range(1, threads)), cells],
            )
            if step % LOOK == 0 and limit.up:
                return

    def patterns(self) -> Ids:
        """A pattern for each record, near to the solution; cells may just fail."""
        found = np.zeros(len(self.kinds.order), dtype=np.int64)
        round_parts(self.programme, self.kinds.offsets, self.kinds.order, found)
        return found
