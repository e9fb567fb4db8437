"""The dual over cells: weights that no group of any cell exceeds, raised and lowered in turns.

All weights are raised by the same step, and then lowered cell by cell until no group weighs
more than it costs (`shoal.kernels.bounds.cells_dual`); the step gets smaller. Between two looks
at all cells come a few at those that are nearly too heavy. `docs/bounds.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.families import Family
from shoal.bounds.nodes import Units, nodes_of, scanned_of, to_be_scanned
from shoal.bounds.points import Points
from shoal.bounds.rungs import Clock
from shoal.clock import Limit
from shoal.kernels.bounds.cells import Cells, Nodes, enumerate_cells
from shoal.kernels.bounds.cells_dual import CellPoints, Scanned, Top, lower_weights, new_top
from shoal.kernels.threads import ALONE, on_threads

__all__ = ["CellDual", "cells_of"]

MOST_PAIRS, MOST_CELLS = 25_000_000, 1_000_000
"""Members of all cells, and cells, at most: a hundred megabytes."""
MOST_WORK = 150_000_000
"""Members that are looked at to find the cells, at most: a second."""
LARGEST_SCALE = 1 << 40
"""Units of a loss of 1, where sums of weights stay below `LARGEST_SUM` with so many."""
LARGEST_SUM = 1 << 60
HALVES = 2
"""Parts of many cells that are looked at side by side: a constant, the result depends on it."""
STEP, STEADY = 0.1, 10
"""By how much weights are raised at first, in mean weights; it halves in so many rounds."""
BETWEEN = 5
"""Looks at the nearly tight cells between two looks at all."""
NEARLY = 2
"""Cells are nearly tight that so many steps could make too heavy."""
LOOK = 5
"""Steps of the clock that one member takes, for it goes into a heap."""
SLICE = 8192
"""Cells between two looks at the clock."""
SURELY_TOO_MANY = 400_000_000
"""If each point were in this many cells by its nodes alone, most of them would be there."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Table:
    """The cells of a table, and all that a look at them has to know."""

    cells: Cells
    points: CellPoints
    scanned: Scanned
    size: int
    ceiling: Ints
    """Weights are never above this."""
    units: Units
    exact: bool
    """Whether every node costs what it is published for."""


class CellDual:
    """Weights of points that are feasible whenever they are asked for."""

    def __init__(self, table: _Table) -> None:
        self.table = table
        n, cells = len(table.points.count), len(table.cells.price)
        self.best: Ints = np.zeros(n, dtype=np.int64)
        """The heaviest feasible weights so far, in units."""
        self.rounds = 0
        """Rounds that were finished."""
        self._members = np.diff(table.cells.offset)
        self._parts = HALVES if len(table.cells.member) > ALONE else 1
        self._reach = np.zeros((self._parts, int(self._members.max(initial=1))), dtype=np.int64)
        values = len(table.points.cap)
        self._tops: list[Top] = [new_top(table.size, values, n) for _ in range(self._parts)]
        self._cheapest_first = np.argsort(table.cells.price, kind="stable")
        self._due = np.full(cells, -1, dtype=np.int64)
        self._risen = 0

    @property
    def total(self) -> float:
        """What all records weigh, as a loss."""
        return self._sum(self.best) / self.table.units.scale

    @property
    def units(self) -> Units:
        """What weights are counted in."""
        return self.table.units

    @property
    def exact(self) -> bool:
        """Whether cells cost what groups in them cost, and not less."""
        return self.table.exact

    def climb(self, start: Floats, rounds: int, limit: Limit, clock: Clock) -> None:
        """Raise and lower weights for so many rounds, from any weights; or until a limit."""
        table = self.table
        y = np.minimum(table.units.down(start), table.ceiling)
        count = table.points.count
        held = table.ceiling == 0
        before = np.zeros_like(y)
        for turn in range(rounds):
            # since the last look at all cells no group can weigh more by more than this
            self._risen += _heaviest(np.maximum(0, y - before), count, table.size)
            lowered = self._look(y, self._cheapest_first, self._risen, self._due, clock, limit)
            if lowered is None:
                return
            feasible, y = lowered
            before = y
            self.rounds += 1
            if self._sum(feasible) > self._sum(self.best):
                self.best = feasible
            step = int(STEP * self._sum(self.best) / (count.sum() * (1 + turn / STEADY))) + 1
            near = self._due - self._risen < table.size * step * NEARLY
            tight = self._cheapest_first[near[self._cheapest_first]]
            for between in range(BETWEEN + 1):
                y = np.minimum(np.where(held, 0, y + step), table.ceiling)
                if between < BETWEEN:
                    seen = np.zeros_like(self._due)
                    lowered = self._look(y, tight, 1, seen, clock, limit)
                    if lowered is None:
                        return
                    y = lowered[1]
            clock.advance(1 / rounds)

    def _look(
        self, y: Ints, order: Ints, risen: int, due: Ints, clock: Clock, limit: Limit
    ) -> tuple[Ints, Ints] | None:
        """Weights that no group of these cells exceeds, and others; None if stopped before.

        Two halves of the cells are looked at side by side, each with weights of its own, which
        only fall: so the smaller of the two is feasible for both. To go on from there would
        forget that a point was too heavy in both halves, and end below the best there is; so
        the other weights, lower still, have fallen by what both have.
        """
        sides = [y.copy() for _ in range(self._parts)]

        def lower(side: int, part: Ints) -> None:
            table = self.table
            lower_weights(
                table.cells, table.points, table.scanned, sides[side], table.size, part, risen,
                due, self._tops[side], self._reach[side],
            )  # fmt: skip

        for cut in range(0, len(order), SLICE):
            if clock.up or limit.up:
                return None
            some = order[cut : cut + SLICE]
            parts = [some[side :: self._parts] for side in range(self._parts)]
            if self._members[some].sum() <= ALONE:  # the same, without waiting for a thread
                for side, part in enumerate(parts):
                    lower(side, part)
            else:
                on_threads(lower, range(self._parts), parts)
            clock.steps += LOOK * sum(int(top.state[2]) for top in self._tops)
        fallen = np.sum([y - side for side in sides], axis=0)
        return np.minimum.reduce(sides), np.maximum(0, y - fallen)

    def _sum(self, y: Ints) -> int:
        # as Python's integers: many records of a large weight are more than 64 bits
        return sum(map(int.__mul__, y.tolist(), self.table.points.count.tolist()))


def cells_of(
    points: Points, family: Family, clock: Clock, ceiling: float = np.inf
) -> CellDual | None:
    """The dual over the cells of these points; None where there are too many cells.

    `ceiling` is what a record can be dropped for: no weight is above it.
    """
    space, costs = points.space, points.costs
    units = Units(_scale(family.size, float(costs.weight.sum())))
    scanned = to_be_scanned(costs)
    others = [a for a in range(space.codes.shape[1]) if a != scanned]
    nodes = nodes_of(costs, space.floor, others, units)
    codes = np.ascontiguousarray(space.codes[:, others])
    if nodes is None or _cells_by_nodes(nodes, codes) > SURELY_TOO_MANY:
        return None
    n = len(space.count)
    code = np.zeros(n, dtype=np.int32) if scanned is None else space.codes[:, scanned].copy()
    highest = LARGEST_SUM // family.size
    if np.isfinite(ceiling):
        highest = min(highest, int(units.down(ceiling)))
    ceilings = np.full(n, highest, dtype=np.int64)
    work = np.array([0, MOST_WORK])
    member = np.empty(MOST_PAIRS, dtype=np.int32)
    offset = np.empty(MOST_CELLS + 1, dtype=np.int64)
    price = np.empty(MOST_CELLS, dtype=np.int64)
    found = enumerate_cells(
        nodes, codes, space.count, ceilings, family.size,
        np.argsort(code, kind="stable").astype(np.int32), member, offset, price,
        work,
    )  # fmt: skip
    clock.steps += int(work[0])
    if found < 0:
        return None
    cells = Cells(member[: offset[found]].copy(), offset[: found + 1].copy(), price[:found].copy())
    capped = bool((space.cap < family.size).any())
    own = CellPoints(code, space.count, space.value, space.cap, capped)
    prices = scanned_of(costs, space.floor, scanned, units)
    free = space.count >= np.where(space.cap[space.value] < family.size, n + 1, family.size)
    ceilings[free & (_alone(points, units) == 0)] = 0  # enough equal records lose nothing
    exact = bool(nodes.closed.all())
    return CellDual(_Table(cells, own, prices, family.size, ceilings, units, exact))


def _cells_by_nodes(nodes: Nodes, codes: NDArray[np.int32]) -> float:
    """Members of all products of nodes, if none of them were dropped."""
    with_code = np.diff(nodes.of_code)
    each = [with_code[s + codes[:, a]] for a, s in enumerate(nodes.code_start[:-1])]
    return float(np.prod([np.ones(len(codes)), *each], axis=0).sum())


def _alone(points: Points, units: Units) -> Ints:
    """What each point loses where all records of its group are equal."""
    costs, space = points.costs, points.space
    floors = space.floor[costs.start[:, None] + space.codes.T] * costs.weight[:, None]
    total: Ints = units.down(floors).sum(axis=0)
    return total


def _scale(size: int, total: float) -> int:
    """Units of a loss of 1 such that the weight of a group cannot overflow."""
    scale = LARGEST_SCALE
    while scale > 1 and 4 * size * max(1.0, total) * scale > LARGEST_SUM:
        scale //= 2
    return scale


def _heaviest(rise: Ints, count: Ints, size: int) -> int:
    """What the `size` records that rose most have risen together."""
    some = np.argsort(-rise, kind="stable")[:size]
    room = np.minimum(count[some], np.maximum(0, size - np.append(0, np.cumsum(count[some])[:-1])))
    return int(rise[some] @ room)
