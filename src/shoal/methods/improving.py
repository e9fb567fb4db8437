"""A partition that is improved step by step, in memory: what `best` works on.

`Improver` holds everything the kernels of the search need: records as rows,
prices, what the models look at, who is near whom, and the groups as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.curve import hilbert_keys, key_words
from shoal.kernels.growing import new_bed
from shoal.kernels.guillotine import cut_tree, new_bench, rebuild_parts
from shoal.kernels.neighbours import no_neighbours, note_neighbours
from shoal.kernels.pricing import new_box, prices_of
from shoal.kernels.random import random_state
from shoal.kernels.regrowing import new_cores
from shoal.kernels.search import (
    NONE,
    WIDEST,
    Graph,
    Groups,
    link_groups,
    new_pool,
    search_region,
)
from shoal.kernels.sorting import order_of_keys
from shoal.kernels.tally import new_tally, secrets_of
from shoal.kernels.threads import on_threads
from shoal.models import rules_for
from shoal.models.base import Model
from shoal.table import EncodedTable, Partition

__all__ = ["Improver"]

Ids = NDArray[np.int64]

LEAF = 8
"""CutTree stops cutting at parts of this many smallest groups, and rebuilds each as a whole."""
TRIES = 4
"""How often a leaf is grown, besides being cut."""
ORDERS = 12
REACH = 6
NEAR = 16
"""Near points: from so many curves, so far along each, and how many are kept."""
FEW = 2_048
"""Up to here all records are one region, searched by one thread."""
REGIONS = 2
CURVE_BITS = 10
HEAT = 5.0
"""Temperature at the beginning, in prices of a mean record; it falls to 0."""
WIDTH = 4
"""Groups of a pool at most."""
CUTTING = 0.1
REGROWING = 0.85
"""Shares of the pools that are cut and regrown; the others are grown."""


class Improver:
    """A table and a partition of it that only gets cheaper from one snapshot to the next."""

    def __init__(self, table: EncodedTable, models: Sequence[Model], seed: int) -> None:
        self.table = table
        self.seed = seed
        self.prices = prices_of(table.costs)
        self.records = np.ascontiguousarray(table.matrix.T)
        codes = [s.codes for s in table.sensitive]
        values = np.stack(codes, axis=1) if codes else np.zeros((table.n, 0), dtype=np.int64)
        self.secrets = secrets_of(rules_for(table, models), values, table.person)
        self.least = max(1, int(self.secrets.rules.smallest))
        self.regions = 1 if table.n <= FEW else REGIONS
        self.rounds = 0
        self.steps = 0
        self.total = np.inf
        self._graph: Graph | None = None
        self._orders: list[Ids] = []

    @property
    def loss(self) -> float:
        """GCP of the groups as they are."""
        return float(self.total / self.table.n / self.table.costs.weight.sum())

    def cut_tree(self) -> Partition:
        """CutTree: cut top down to small parts, then divide each part as cheaply as can be."""
        n = self.table.n
        members = np.arange(n, dtype=np.int64)
        ends = np.empty(n + 1, dtype=np.int64)
        tally = new_tally(self.secrets)
        common = (self.prices, self.records, self.secrets, tally)
        bench = new_bench(self.prices, n)
        parts = cut_tree(*common, bench, members, LEAF * self.least, ends)
        largest = int(np.diff(ends[:parts], prepend=0).max())
        out, out_ends = np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
        draft = np.empty(largest, dtype=np.int64), np.empty(largest + 1, dtype=np.int64)
        bed = new_bed(self.prices, self.secrets, largest)
        groups = rebuild_parts(
            *common, bench, bed, random_state(self.seed), TRIES, members, ends, parts, *draft,
            out, out_ends,
        )  # fmt: skip
        return Partition(out, np.concatenate([[0], out_ends[:groups]]))

    def begin(self, partition: Partition) -> None:
        """Take a partition as the one to improve."""
        n = self.table.n
        room = n // self.least + WIDEST + 1
        self.groups = Groups(
            of=np.zeros(n, dtype=np.int64),
            next=np.zeros(n, dtype=np.int64),
            head=np.full(room, NONE, dtype=np.int64),
            size=np.zeros(room, dtype=np.int64),
            price=np.zeros(room),
            region=np.zeros(room, dtype=np.int64),
            free=np.zeros((REGIONS, room), dtype=np.int64),
            frees=np.zeros(REGIONS, dtype=np.int64),
        )
        box = new_box(self.prices)
        order, offsets = partition.order, partition.offsets
        self.total = link_groups(self.prices, self.records, order, offsets, self.groups, box)
        largest = int(partition.sizes.max())
        records = min(n, max(64, 4 * WIDEST * self.least, 2 * largest))
        self._scratch = [self._bench(records) for _ in range(self.regions)]

    def partition(self) -> Partition:
        """The groups as they are."""
        return Partition.from_group_ids(self.groups.of)

    def improve(
        self, steps: int, rounds: int, watch: Callable[[int, float], None], until: float | None
    ) -> None:
        """Search, and keep the result if it is better.

        `steps` in so many `rounds`, or as many rounds of that length as fit before the
        moment `until` of `time.monotonic`.
        """
        before, total = self.groups.of.copy(), self.total
        begun = time.monotonic()
        each = max(1, steps // rounds)
        done = 0
        while True:
            share = done / rounds
            if until is not None:
                share = max(share, (time.monotonic() - begun) / max(1e-9, until - begun))
            if share >= 1.0:
                break
            self._round(each, share)
            done += 1
            watch(done, self.loss)
        if self.total > total:
            self.begin(Partition.from_group_ids(before))

    def _bench(self, records: int) -> tuple[Any, ...]:
        return (
            new_tally(self.secrets),
            new_bench(self.prices, records),
            new_bed(self.prices, self.secrets, records),
            new_cores(self.prices, WIDEST, records),
            new_pool(records),
        )

    def _round(self, steps: int, share: float) -> None:
        graph = self._near()
        used = self.groups.head != NONE
        hot = HEAT * (1.0 - share) ** 2 * self.total / self.table.n
        self._divide(used)
        settings = (hot, hot, WIDTH, CUTTING, REGROWING, 0.0)

        def work(region: int) -> float:
            tally, bench, bed, cores, pool = self._scratch[region]
            random = random_state(self.seed, self.rounds, region)
            gained: float = search_region(
                self.prices, self.records, self.secrets, tally, bench, bed, cores, graph,
                self.groups, pool, random, region, steps // self.regions, *settings,
            )  # fmt: skip
            return gained

        self.total -= sum(on_threads(work, range(self.regions)))
        self.rounds += 1
        self.steps += steps

    def _divide(self, used: NDArray[np.bool_]) -> None:
        """Give every group to a region: one side of a curve or the other, anew each round."""
        order = self._orders[self.rounds % len(self._orders)]
        points = len(order)
        place = np.empty(points, dtype=np.int64)
        place[order] = np.arange(points)
        turn = int(np.random.default_rng([self.seed, self.rounds]).integers(points))
        heads = self.groups.head[used]
        along = (place[self._near().point[heads]] + turn) % points
        self.groups.region[used] = along * self.regions // points
        free = np.array_split(np.flatnonzero(~used), self.regions)
        for region, numbers in enumerate(free):
            self.groups.free[region, : len(numbers)] = numbers
            self.groups.frees[region] = len(numbers)

    def _near(self) -> Graph:
        if self._graph is None:
            self._graph = self._find_neighbours()
        return self._graph

    def _find_neighbours(self) -> Graph:
        points, point = np.unique(self.records, axis=0, return_inverse=True)
        points = np.ascontiguousarray(points)
        point = point.reshape(-1).astype(np.int64)
        members = Partition.from_group_ids(point)
        rng = np.random.default_rng(self.seed)
        near, distance = no_neighbours(len(points), NEAR)
        for _ in range(ORDERS):
            order = self._curve(points, rng)
            self._orders.append(order)
            half = len(points) // 2

            def note(begin: int, end: int, order: Ids = order) -> None:
                note_neighbours(
                    self.prices, points, order, REACH, begin, end, near, distance
                )

            on_threads(note, (0, half), (half, len(points)))
        return Graph(point, near, members.offsets, members.order)

    def _curve(self, points: NDArray[np.int32], rng: np.random.Generator) -> Ids:
        """Points along a Hilbert curve of random axes, directions and shifts."""
        d = points.shape[1]
        axes = rng.permutation(d).astype(np.int64)
        top = (1 << CURVE_BITS) - 1
        cells = []
        for a in axes:
            place = np.clip(self.table.qi[a].place, 0.0, 1.0)
            place = 1.0 - place if rng.integers(2) else place
            cells.append(np.rint((place + rng.uniform()) / 2 * top).astype(np.uint32))
        start = np.cumsum([0, *(len(c) for c in cells)])[:-1].astype(np.int64)
        words = np.empty((key_words(d, CURVE_BITS), len(points)), dtype=np.uint64)
        matrix = np.ascontiguousarray(points.T)
        hilbert_keys(
            matrix, axes, np.concatenate(cells), start, CURVE_BITS, 0, len(points), words
        )
        order: Ids = order_of_keys(words)
        return order

