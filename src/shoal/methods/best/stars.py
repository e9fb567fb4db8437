"""The search of `best` for tables released with stars: each record chooses what it keeps.

See `shoal.kernels.best.star_search`. It serves few attributes and models that count (k,
l by frequency, alpha); all others are searched group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.exempt import any_exempt
from shoal.encoding.table import EncodedTable, Partition, extents
from shoal.kernels.best.star_search import (
    NONE,
    Asked,
    Cells,
    Trail,
    count_cells,
    satisfy_cells,
    search_patterns,
)
from shoal.kernels.grouping import dense_ids
from shoal.kernels.random import random_state
from shoal.methods.best.rounds import rounds_of
from shoal.methods.best.star_programme import StarProgramme, cells_of_patterns, kept_by
from shoal.models.base import Model

__all__ = ["StarImprover", "asked_by", "only_stars", "starred"]

Ids = NDArray[np.int64]

MOST_ENTRIES = 80_000_000
"""Entries of the largest array: some hundred megabytes."""
MOST_ATTRIBUTES = 12
HEAT = 0.5
"""Temperature at the beginning, in stars; it falls to 0."""
PROGRAMME_HEAT = 0.05
"""The same after a linear programme, whose solution more heat would only melt."""
FLOW_SHARE = 0.7
"""Of the time that there is, what goes into the linear programme."""
FEWEST, MOST_PROGRAMME_STEPS = 120, 3_000
"""Steps of the linear programme, at least and at most."""


def asked_by(models: Sequence[Model], table: EncodedTable) -> Asked | None:
    """What the models ask of each group, if that can be told by counting; else None."""
    k, share = 1, Fraction(1)
    for model in models:
        if not (model.size_and_cap and model.local):
            return None
        k, share = max(k, model.k_asked or 1), min(share, model.cap)
    if table.person is not None or (share < 1 and (len(table.sensitive) != 1 or any_exempt(table))):
        return None
    return Asked(k, share.numerator, share.denominator)


def only_stars(table: EncodedTable) -> bool:
    """Whether the table is released with exact values and stars only."""
    return bool(table.qi) and all(column.suppressed for column in table.qi)


def starred(table: EncodedTable, partition: Partition) -> NDArray[np.bool_]:
    """Which records have a star."""
    found = np.zeros(table.n, dtype=np.bool_)
    for _, same in _kept_by_record(table, partition):
        found |= ~same
    return found


class StarImprover:
    """A table and patterns of its records that only get cheaper from one stage to the next."""

    pace = 8.0
    """Microseconds of a step."""

    def __init__(self, table: EncodedTable, asked: Asked, seed: int, start: Partition) -> None:
        self.table = table
        self.asked = asked
        self.seed = seed
        self.steps = 0
        self.rounds = 0
        self.total = np.inf
        patterns = _patterns_of(table, start)
        self.programme = None
        if asked.share < asked.whole:
            self.programme = StarProgramme(table, Fraction(asked.share, asked.whole))
        self.active = self._starred(patterns)
        self.cells, self.pattern = _cells(table, asked, self.active)
        self.by_price = np.argsort(self.cells.price[self.pattern], kind="stable")
        self._begin(patterns)
        most = 64 + 4 * (asked.k + asked.whole // asked.share)
        self.trail = Trail(np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64))

    @classmethod
    def fits(cls, table: EncodedTable) -> bool:
        """Whether all patterns of the table fit into memory."""
        d = len(table.qi)
        values = table.sensitive[0].size if table.sensitive else 1
        return d <= MOST_ATTRIBUTES and _most_cells(table) * values + table.n * 2**d < MOST_ENTRIES

    @property
    def loss(self) -> float:
        """GCP of the patterns as they are."""
        return self.total / max(1e-300, self.table.n * float(self.table.costs.weight.sum()))

    def prepare(self, orders: int = 0, limit: Limit = NO_LIMIT) -> None:
        """All is prepared."""

    def partition(self) -> Partition:
        """Records in the same cell are a group."""
        cells = self.cells
        key = cells.cell[cells.now, np.arange(self.table.n)].astype(np.int64)
        ids = np.empty(self.table.n, dtype=np.int64)
        dense_ids(key, ids)
        return Partition.from_group_ids(ids)

    @property
    def searched(self) -> int:
        """Records that have a star to lose; with the linear programme, all that it looks at."""
        if not len(self.active):
            return 0
        return len(self.active) if self.programme is None else self.table.n

    def improve(
        self,
        steps: int,
        rounds: int,
        watch: Callable[[int, float], None],
        limit: Limit = NO_LIMIT,
    ) -> None:
        """Search, and keep the result if it is better; see `Improver.improve`.

        Where there is a linear programme, most of the time goes into coming nearer to its
        solution; the search then only mends what whole records make of it.
        """
        if self.programme is not None:
            budget = FLOW_SHARE * steps * self.pace
            self._follow(self.programme, max(FEWEST, int(budget / self.programme.pace)), limit)
            steps = int(steps * (1 - FLOW_SHARE))
        best, total = self.cells.now.copy(), self.total
        for done, (each, share) in enumerate(rounds_of(steps, rounds, limit)):
            if self._optimal():
                break
            self._round(each, share)
            watch(done + 1, self.loss)
            if self.total < total:
                best[:] = self.cells.now
                total = self.total
        if self.total > total:
            self._begin(best)

    def _follow(self, programme: StarProgramme, steps: int, limit: Limit) -> None:
        """Take what the linear programme says, if whole records make something better of it."""
        programme.solve(min(steps, MOST_PROGRAMME_STEPS), limit.share(FLOW_SHARE))
        best, total = self.cells.now.copy(), self.total
        self._begin(programme.patterns())
        queue = np.argsort(-self.cells.price[self.cells.now], kind="stable")
        random = random_state(self.seed, self.rounds)
        satisfied = satisfy_cells(
            self.cells, self.asked, random, self.trail, self.by_price, self.pattern, queue
        )
        self.total = float(self.cells.price[self.cells.now].sum())
        if not satisfied or self.total > total:
            self._begin(best)
        self.active = self._starred(self.cells.now)

    def _optimal(self) -> bool:
        """Whether the programme proves that not one star less would do."""
        if self.programme is None:
            return self.total == 0.0
        weights = self.table.costs.weight
        return bool(
            (weights == weights[0]).all() and self.total - self.programme.bound < weights[0]
        )

    def _round(self, steps: int, share: float) -> None:
        random = random_state(self.seed, self.rounds)
        heat = (HEAT if self.programme is None else PROGRAMME_HEAT) * (1.0 - share) ** 2
        self.total -= search_patterns(
            self.cells, self.asked, self.trail, random, self.active, steps, heat
        )
        self.rounds += 1
        self.steps += steps

    def _starred(self, patterns: Ids) -> Ids:
        """Records that do not keep all attributes."""
        found: Ids = np.flatnonzero(patterns + 1 < 2 ** len(self.table.qi))
        return found

    def _begin(self, patterns: Ids) -> None:
        self.cells.now[:] = patterns
        self.cells.count[:] = 0
        self.cells.size[:] = 0
        self.cells.head[:] = NONE
        count_cells(self.cells)
        self.total = float(self.cells.price[patterns].sum())


def _most_cells(table: EncodedTable) -> int:
    """No fewer than there are cells of all patterns."""
    sizes = [c.size for c in table.qi]
    return sum(
        min(table.n, int(np.prod([float(sizes[a]) for a in kept_by(p, len(sizes))])))
        for p in range(2 ** min(len(sizes), MOST_ATTRIBUTES))
    )


def _cells(table: EncodedTable, asked: Asked, active: Ids) -> tuple[Cells, Ids]:
    """All cells, and the pattern of each."""
    n = table.n
    cell, price, first = cells_of_patterns(table)
    cells = int(first[-1])
    # records with stars come first in every cell: they are the ones that gain by a move
    others = np.setdiff1d(np.arange(n), active)
    sequence = np.concatenate([active, others])
    whole = Partition.from_group_ids(cell[:, sequence].reshape(-1))
    middle = whole.offsets[:-1] + np.bincount(cell[:, active].reshape(-1), minlength=cells)
    counted = asked.share < asked.whole
    value = table.sensitive_codes[0] if counted else np.zeros(n, dtype=np.int32)
    values = table.sensitive[0].size if counted else 1
    pattern = np.repeat(np.arange(len(price)), np.diff(first))
    return Cells(
        price=price,
        cell=cell,
        start=whole.offsets,
        member=sequence[whole.order % n].astype(np.int32),
        middle=middle,
        value=value.astype(np.int64),
        count=np.zeros((cells, values), dtype=np.int32),
        size=np.zeros(cells, dtype=np.int64),
        now=np.zeros(n, dtype=np.int64),
        head=np.zeros(cells, dtype=np.int32),
        next=np.zeros(n, dtype=np.int32),
        last=np.zeros(n, dtype=np.int32),
    ), pattern


def _patterns_of(table: EncodedTable, start: Partition) -> Ids:
    """What the groups of a partition keep, as patterns; they are made cells by that."""
    patterns = np.zeros(table.n, dtype=np.int64)
    for a, same in _kept_by_record(table, start):
        patterns |= same.astype(np.int64) << a
    return patterns


def _kept_by_record(
    table: EncodedTable, partition: Partition
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """For each attribute, whose groups have but one value of it."""
    for a, codes in enumerate(table.codes):
        low, high = extents(codes, partition)
        same = np.empty(table.n, dtype=np.bool_)
        same[partition.order] = np.repeat(low == high, partition.sizes)
        yield a, same
