"""Where the search of `best` begins: the cheapest of some partitions made in one go.

Which are tried is decided before: for an effort by counting what they take (records,
attributes, models), so that a result does not depend on the machine; where a time is given,
by how long they take on a sample. Mondrian is never too dear, and can be stopped: whatever
the table and the time, there is a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shoal.clock import NO_LIMIT, Limit, seconds_for
from shoal.encoding.exempt import told_apart
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError, ShoalError
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.methods.best.improver import FEW, Improver
from shoal.methods.best.stars import asked_by, only_stars
from shoal.methods.mondrian import cut_table, lots_of
from shoal.metrics.loss import gcp
from shoal.models import needs_sensitive
from shoal.models.base import Model

__all__ = ["Found", "Starts"]

CUT, CUT_VALUED, CUT_BY_SIZE = 0.7, 2.0, 0.35
HILBERT, HILBERT_BY_K, MERGED, MERGED_FAR = 0.1, 0.005, 0.1, 2.0
NEAREST, PLAIN = 1.8, 0.3
"""Microseconds for each value of the table: CutTree for k, for values and for each record of
the smallest group then; hilbert, for each of k, with merging, and with long runs of it; bsgi;
all others."""
CROWDED = 0.9
WINDOW = 65_536
"""Where the most frequent value has so much of what it may have, bsgi's windows grow: longer
tables then take longer than in proportion."""
SAMPLES = (128, 32)
"""Of the records, one in so many is timed, and then one in so many."""
FEWEST_TIMED = 1_000
POWER, CROWDED_POWER = 1.1, 1.6
"""Time grows with this power of the records."""
START_SHARE = 0.5
"""Of the time that is left, what a start may take."""


@dataclass(frozen=True)
class Found:
    """A partition, how it was made, and what it loses."""

    name: str
    partition: Partition
    loss: float


@dataclass(frozen=True)
class Start:
    """A way to make a partition, and about how many microseconds it takes."""

    name: str
    cost: float
    make: Callable[[EncodedTable, Limit], Partition]
    stops: bool = False
    """Whether it comes to an end at a limit."""
    power: float = POWER
    """Its time grows with this power of the records."""


class Starts:
    """The partitions that a search of a table may begin with, each made once."""

    def __init__(self, table: EncodedTable, models: Sequence[Model], run: Run) -> None:
        self.table, self.models, self.run = table, models, run
        self.tried: set[str] = set()
        self.found: Found | None = None

    def within(self, most: float) -> Found | None:
        """The cheapest of those not tried before, if that is new; of all within so much work."""
        before = self.found
        affordable = [start for start in self._wanted() if start.cost <= most]
        if not affordable and before is None:
            affordable = [start for start in self._quick() if start.cost <= most]
        for start in affordable or ([] if before else [self._mondrian()]):
            self._try(start, NO_LIMIT)
        if self.found is None:  # none of those that were tried is able to
            self._try(self._mondrian(), NO_LIMIT)
        return None if self.found is before else self.found

    def before(self, limit: Limit) -> Found:
        """The cheapest of all that there is time for: the quickest first, and that one surely."""
        self._try(self._mondrian(), limit)
        for start in sorted((*self._quick(), *self._wanted()), key=lambda start: start.cost):
            own = limit.share(START_SHARE)
            if not limit.up and (start.stops or self._foreseen(start, own.left) < own.left):
                self._try(start, own)
        assert self.found is not None
        return self.found

    def _try(self, start: Start, limit: Limit) -> None:
        if start.name in self.tried:
            return
        self.tried.add(start.name)
        try:
            made = start.make(self.table, limit)
        except InfeasibleError:  # it cannot, others can
            return
        loss = gcp(self.table, Recoding.single(made, len(self.table.qi)))
        if self.found is None or loss < self.found.loss:
            self.found = Found(start.name, made, loss)

    def _foreseen(self, start: Start, most: float) -> float:
        """Seconds that a start takes on all records, from those on a few; inf if unknown."""
        foreseen = math.inf
        for parts in SAMPLES:
            size = min(self.table.n, max(FEWEST_TIMED, self.table.n // parts))
            few = self.table.take(np.linspace(0, self.table.n - 1, size).astype(np.int64))
            try:
                seconds = seconds_for(partial(start.make, few, NO_LIMIT))
            except ShoalError:  # a few records may not suffice for the models
                return math.inf
            # the less of the two: the first one loads code, and others may be at work too
            foreseen = min(foreseen, seconds * (self.table.n / size) ** start.power)
            if seconds > most:
                break
        return foreseen

    @property
    def _values(self) -> int:
        return self.table.n * max(1, len(self.table.qi))

    def _wanted(self) -> Iterator[Start]:
        """Starts that are worth their time, wherever there is enough of it."""
        table, models = self.table, self.models
        stars = only_stars(table)
        if not stars or table.n <= FEW:
            yield self._cut_tree()
        if stars:
            yield from self._by_method("tp", PLAIN)
            yield from self._by_method("tp+", PLAIN)
            if asked_by(models, table) is not None:
                return  # the search of patterns finds more than any of the others
        if needs_sensitive(models):
            merged = MERGED_FAR if any(m.compares_with_table for m in models) else MERGED
            yield from self._by_method("hilbert", HILBERT + merged)
            yield self._mondrian()
            crowding = self._crowding()
            nearest = self._by_method("bsgi", NEAREST * crowding, search="window")
            power = POWER if crowding == 1 else CROWDED_POWER
            yield from (replace(start, power=power) for start in nearest)

    def _quick(self) -> Iterator[Start]:
        """What stands in where the others are too dear."""
        if not needs_sensitive(self.models):
            yield from self._by_method("hilbert", HILBERT + HILBERT_BY_K * self._smallest)

    @property
    def _smallest(self) -> int:
        return max([1, *(model.smallest_class for model in self.models)])

    def _crowding(self) -> float:
        """How much longer than usual nearest records of different values are looked for."""
        asked = max([1, *(model.values_enough or 1 for model in self.models)])
        shares = [int(c.max(initial=0)) / max(1, self.table.n) for c in self._counts()]
        near = any(CROWDED < asked * share <= 1 for share in shares)
        return max(1.0, self.table.n / WINDOW) if near else 1.0

    def _counts(self) -> list[Any]:
        return [np.bincount(codes) for codes, _ in told_apart(self.table)]

    def _cut_tree(self) -> Start:
        valued = CUT_VALUED + CUT_BY_SIZE * self._smallest
        cost = valued if needs_sensitive(self.models) else CUT

        def make(table: EncodedTable, limit: Limit) -> Partition:
            return Improver(table, self.models, self.run.seed).cut_tree(limit)

        return Start("cuttree", cost * self._values, make, stops=True)

    def _mondrian(self) -> Start:
        def make(table: EncodedTable, limit: Limit) -> Partition:
            return cut_table(table, self.models, limit=limit, key=lots_of(self.run.seed))

        return Start("mondrian", 0.0, make, stops=True)

    def _by_method(self, name: str, cost: float, **settings: Any) -> Iterator[Start]:
        method = get_method(name)
        if method.refusal(self.models):
            return

        def make(table: EncodedTable, limit: Limit) -> Partition:
            options = method.options(**settings)
            outcome = method.run(table, self.models, options, Run(self.run.seed))
            return outcome.recoding.partitions[0]

        yield Start(name, cost * self._values, make)
