"""A partition that is improved step by step, in memory: what `best` works on.

`Improver` holds everything the kernels of the search need: records as rows,
prices, what the models look at, who is near whom, and the groups as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.best.growing import new_grow_scratch
from shoal.kernels.best.guillotine import (
    VALUED,
    cut_tree,
    new_cut_scratch,
    rebuild_parts,
    stop_cutting,
)
from shoal.kernels.best.lanes import exchange_region, lane_of
from shoal.kernels.best.neighbours import no_neighbours, note_neighbours
from shoal.kernels.best.regrowing import new_cores
from shoal.kernels.best.search import (
    NONE,
    WIDEST,
    Graph,
    Groups,
    link_groups,
    new_pool,
    regions_are_apart,
    search_region,
)
from shoal.kernels.best.trades import kinds_of, new_trade_scratch
from shoal.kernels.curve import keys_along
from shoal.kernels.group_check import for_another_thread, new_group_check
from shoal.kernels.pricing import new_box, prices_of
from shoal.kernels.random import random_state
from shoal.kernels.sorting import order_of_keys
from shoal.kernels.threads import on_threads
from shoal.methods.best.dues import dues_of, owe
from shoal.methods.best.rounds import rounds_of
from shoal.models import rules_for
from shoal.models.base import Model

__all__ = ["FEW", "ORDERS", "Improver"]

Ids = NDArray[np.int64]

LEAF = 8
"""CutTree stops cutting at parts of this many smallest groups, and rebuilds each as a whole."""
TRIES = 4
"""How often a leaf is grown, besides being cut; less often where that takes too many steps."""
CUT_STEPS = 400
"""Steps of CutTree for each value of the table, at most: a balanced tree takes some 20."""
CUTS_AT_ONCE, PAIRS_AT_ONCE = 2e7, 2e7
"""Steps between two looks at the clock."""
GROW_STEPS = 8e9
"""Steps of growing leaves, at most: as many times fewer tries where leaves are large."""
REBUILT = 4
"""Long parts that are so many times as large as a leaf, because no cut was found, stay whole."""
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
CUTTING = 0.15
REGROWING = 0.75
"""Shares of the pools that are cut and regrown; the others are grown."""
VALUED_HEAT = 3.0
VALUED_WIDTH = 8
VALUED_RECORDS = 48
VALUED_CUTTING = 0.0
VALUED_REGROWING = 0.0
"""The same where models look at sensitive values: cuts and cores are rarely allowed there."""
TRADING = 0.08
"""Wide trades of records of equal values, for each other step; more where groups are large."""
MOST_TRADING = 20.0
"""So many times as many at most."""
POOLED = 4_096
"""Larger pools take a second each: groups that large are left as they are."""
LARGE = 100
"""From this k on pools are so large that a step takes longer than in proportion."""
ALL = slice(None)
_NO_LANE = np.zeros(0, dtype=np.int64)


def _slices(sums: NDArray[np.float64], each: float) -> Iterator[tuple[int, int]]:
    """Ranges of about so much, given the sums from the first on; one at least is in each."""
    first = 0
    while first < len(sums):
        done = sums[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(sums, done + each)))
        yield first, last
        first = last


class Improver:
    """A table and a partition of it that only gets cheaper from one snapshot to the next."""

    def __init__(
        self, whole: EncodedTable, models: Sequence[Model], seed: int, rows: Ids | slice = ALL
    ) -> None:
        """`rows` are the records to work on, all others cost nothing and stay as they are."""
        self.rows = rows
        self.table = table = whole if isinstance(rows, slice) else whole.take(rows)
        self.seed = seed
        self.scale = whole.n * float(table.costs.weight.sum())
        self.prices = prices_of(table.costs)
        self.records = np.ascontiguousarray(table.codes.T)
        self.check = new_group_check(table, rules_for(whole.codebook, models))
        self.kind_of = kinds_of(self.check.records)
        self.least = max(1, int(self.check.rules.smallest))
        self.regions = 1 if table.n <= FEW else REGIONS
        self.mean = float(self.least)
        self.rounds = 0
        self.steps = 0
        self.total = np.inf
        self.due = np.zeros(table.n)
        self._graph: tuple[Graph, NDArray[np.float64]] | None = None
        self._orders: list[Ids] = []

    @property
    def loss(self) -> float:
        """GCP of the whole table with the groups as they are."""
        return float(self.total / self.scale) if self.scale else 0.0

    def cut_tree(self, limit: Limit = NO_LIMIT) -> Partition:
        """CutTree: cut top down to small parts, then divide each part as cheaply as can be.

        What is not done when the limit, or the most steps of a start, have passed stays whole.
        """
        n, attributes = self.table.n, max(1, len(self.table.qi))
        members = np.arange(n, dtype=np.int64)
        ends = np.empty(n + 1, dtype=np.int64)
        common = (self.prices, self.records, self.check)
        cut_scratch = new_cut_scratch(self.prices, n)
        cut_scratch.stack[:, 0] = 0, n
        state = np.array([1, 0], dtype=np.int64)
        left, stop = float(CUT_STEPS * n * attributes), LEAF * self.least
        while state[0] and left > 0 and not limit.up:
            left -= cut_tree(
                *common, cut_scratch, members, stop, ends, state, min(left, CUTS_AT_ONCE)
            )
        parts = stop_cutting(cut_scratch, ends, state)
        sizes = np.diff(ends[:parts], prepend=0)
        largest = min(int(sizes.max()), max(REBUILT * stop, FEW))
        out, out_ends = np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
        draft = np.empty(largest, dtype=np.int64), np.empty(largest + 1, dtype=np.int64)
        grow_scratch = new_grow_scratch(self.prices, self.check.rules, largest)
        random, groups = random_state(self.seed), 0
        each = attributes * (1.0 if self.check.sizes_only else VALUED)
        pairs = np.minimum(sizes, largest).astype(np.float64) ** 2 * each
        for first, last in _slices(np.cumsum(pairs), PAIRS_AT_ONCE):
            tries = min(TRIES, int(GROW_STEPS / max(1.0, pairs.sum())))
            asked = (0, 0) if limit.up else (tries, largest)
            groups = rebuild_parts(
                *common, cut_scratch, grow_scratch, random, *asked, members, ends, first, last,
                groups, *draft, out, out_ends,
            )  # fmt: skip
        return Partition(out, np.concatenate([[0], out_ends[:groups]]))

    @property
    def searched(self) -> int:
        """Records that are worked on."""
        return self.table.n

    @property
    def pace(self) -> float:
        """Microseconds of a step on two cores: measured on Adult at k = 5 and 50, l = 2 to 7."""
        if self.check.sizes_only:
            step = 1.4 + 0.165 * self.least + 0.0005 * max(0, self.least - LARGE) ** 2
        else:
            pooled = min((2 + self._valued_width) / 2 * self.mean, self._most_pooled)
            step = 3.6 + 0.0125 * pooled**2
        return step * max(1, len(self.table.qi)) / 8

    @property
    def _valued_width(self) -> int:
        """Groups of a pool at most, where models look at values: fewer, where groups are large."""
        return max(2, min(VALUED_WIDTH, int(VALUED_RECORDS / self.mean)))

    @property
    def _most_pooled(self) -> int:
        """Records of a pool at most, but for those that groups of the smallest size need."""
        return max(POOLED, (WIDTH + 1) * self.least)

    def begin(self, whole: Partition) -> Improver:
        """Take a partition of the whole table as the one to improve."""
        self._ids = whole.group_ids()
        if self.searched:
            self._link(Partition.from_group_ids(self._ids[self.rows]))
        return self

    def prepare(self, orders: int = ORDERS, limit: Limit = NO_LIMIT) -> None:
        """Find out who is near whom, along so many curves or those there is time for: one."""
        graph, distance = self._near_nobody()
        while len(self._orders) < orders and not (self._orders and limit.up):
            self._follow_a_curve(graph, distance)
        if self.check.sizes_only:  # where values count, near records may be of no use
            self.due[:] = dues_of(graph, distance, self.least)
            owe(self.groups)

    def partition(self) -> Partition:
        """The groups as they are, and those of records that are not worked on."""
        ids = self._ids.copy()
        ids[self.rows] = len(ids) + self.groups.of
        return Partition.from_group_ids(ids)

    def _link(self, partition: Partition) -> None:
        n = self.table.n
        # numbers for all groups there can be, and as many free ones for each region
        room = (REGIONS + 1) * (n // self.least + 1)
        self.groups = Groups(
            of=np.zeros(n, dtype=np.int64),
            next=np.zeros(n, dtype=np.int64),
            head=np.full(room, NONE, dtype=np.int64),
            size=np.zeros(room, dtype=np.int64),
            price=np.zeros(room),
            due=self.due,
            dues=np.zeros(room),
            region=np.zeros(room, dtype=np.int64),
            free=np.zeros((REGIONS, room), dtype=np.int64),
            frees=np.zeros(REGIONS, dtype=np.int64),
        )
        box = new_box(self.prices)
        order, offsets = partition.order, partition.offsets
        self.total = link_groups(self.prices, self.records, order, offsets, self.groups, box)
        self.mean = n / partition.groups
        largest = int(partition.sizes.max())
        room = max(64, 4 * WIDEST * self.least, 2 * largest)
        records = min(n, room, self._most_pooled)
        self._scratch = [self._new_scratch(records) for _ in range(self.regions)]

    def improve(
        self,
        steps: int,
        rounds: int,
        watch: Callable[[int, float], None],
        limit: Limit = NO_LIMIT,
    ) -> None:
        """Search, and keep the result if it is better; see `rounds_of`."""
        best, total = self.groups.of.copy(), self.total
        for done, (each, share) in enumerate(rounds_of(steps, rounds, limit)):
            self._round(each, share)
            watch(done + 1, self.loss)
            if self.total < total:
                best[:] = self.groups.of
                total = self.total
        if self.total > total:
            self._link(Partition.from_group_ids(best))

    def _new_scratch(self, records: int) -> tuple[Any, ...]:
        return (
            for_another_thread(self.check),
            new_cut_scratch(self.prices, records),
            new_grow_scratch(self.prices, self.check.rules, records),
            new_cores(self.prices, WIDEST, records),
            new_trade_scratch(self.prices, records),
            new_pool(records),
        )

    def _round(self, steps: int, share: float) -> None:
        graph = self._near()
        used = self.groups.head != NONE
        plain = self.check.sizes_only
        hot = (HEAT if plain else VALUED_HEAT) * (1.0 - share) ** 2 * self.total / self.table.n
        self._divide(used)
        assert regions_are_apart(self.groups, self.regions)
        moves = (WIDTH, CUTTING, REGROWING)
        if not plain:
            moves = (self._valued_width, VALUED_CUTTING, VALUED_REGROWING)
        each = steps // self.regions
        trades = 0 if plain else int(TRADING * each * min(MOST_TRADING, max(1.0, self.mean / 5)))
        lane = self._lane() if trades else _NO_LANE

        def work(region: int) -> float:
            check, cut_scratch, grow_scratch, cores, trade_scratch, pool = self._scratch[region]
            random = random_state(self.seed, self.rounds, region)
            gained: float = search_region(
                self.prices, self.records, check, self.kind_of, cut_scratch, grow_scratch, cores,
                trade_scratch, graph, self.groups, pool, random, region, each, hot, *moves,
            )  # fmt: skip
            if trades:
                gained += exchange_region(
                    self.prices, self.records, self.kind_of, trade_scratch, self.groups, lane,
                    random, region, trades,
                )  # fmt: skip
            return gained

        self.total -= sum(on_threads(work, range(self.regions)))
        assert regions_are_apart(self.groups, self.regions)
        self.rounds += 1
        self.steps += steps

    def _lane(self) -> Ids:
        """Records by sensitive values, then along one of the curves that does not divide them."""
        order = self._orders[(self.rounds + 1) % len(self._orders)]
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        lane: Ids = lane_of(self.kind_of, place[self._near().point])
        return lane

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
            # before they are used: another thread may look at a group while it is being linked
            self.groups.region[numbers] = region
            self.groups.free[region, : len(numbers)] = numbers
            self.groups.frees[region] = len(numbers)

    def _near(self) -> Graph:
        if not self._orders:
            self.prepare()
        return self._near_nobody()[0]

    def _near_nobody(self) -> tuple[Graph, NDArray[np.float64]]:
        """Points with the near ones that are known, at first none, and how far those are."""
        if self._graph is None:
            point, _ = self.table.class_ids()
            members = Partition.from_group_ids(point)
            near, distance = no_neighbours(members.groups, NEAR)
            self._graph = Graph(point, near, members.offsets, members.order), distance
            self._rng = np.random.default_rng(self.seed)
        return self._graph

    def _follow_a_curve(self, graph: Graph, distance: NDArray[np.float64]) -> None:
        """One more curve through all points: who is near along it may be near."""
        points = self.records[graph.member[graph.start[:-1]]]
        curve = self._sorted if self._stars else self._curve
        order = curve(points, self._rng)
        self._orders.append(order)
        half = len(points) // 2

        def note(begin: int, end: int) -> None:
            note_neighbours(self.prices, points, order, REACH, begin, end, graph.near, distance)

        on_threads(note, (0, half), (half, len(points)))

    @property
    def _stars(self) -> bool:
        """Whether a mixed attribute costs the same whatever is mixed."""
        return all(column.suppressed for column in self.table.qi)

    def _sorted(self, points: NDArray[np.int32], rng: np.random.Generator) -> Ids:
        """Points sorted by the attributes in random order: who agrees in many stands together."""
        keys = [
            rng.permutation(self.table.qi[a].size)[points[:, a]]
            for a in rng.permutation(points.shape[1])
        ]
        order: Ids = np.lexsort(keys)
        return order

    def _curve(self, points: NDArray[np.int32], rng: np.random.Generator) -> Ids:
        """Points along a Hilbert curve of random axes, directions and shifts."""
        axes = rng.permutation(points.shape[1])
        places = []
        for a in axes:
            place = np.clip(self.table.qi[a].coordinate, 0.0, 1.0)
            place = 1.0 - place if rng.integers(2) else place
            places.append((place + rng.uniform()) / 2)
        words = keys_along(np.ascontiguousarray(points.T), axes, places, CURVE_BITS)
        order: Ids = order_of_keys(words)
        return order
