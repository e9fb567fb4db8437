"""The three rungs on the points of one family: neighbours, boxes, dual.

Work is cut into short slices, so that it can be stopped at any time with what
it has: every value is a valid lower bound from its first moment on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.families import Family
from shoal.bounds.points import distinct_points, new_search_scratch, weights_of
from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.table import EncodedTable
from shoal.kernels.bounds.rungs import ascend, cheapest_boxes
from shoal.kernels.bounds.search import SearchScratch
from shoal.kernels.threads import on_threads

__all__ = ["Clock", "FamilyBounds"]

SLICE, SHORT_SLICE = 1024, 256
"""Points between two looks at the clock; the result of the dual depends on the first."""
HALVES = 2
"""Parts of the points that are raised side by side: a constant, as the result depends on it."""
LARGEST_DUAL = 16
"""Groups of up to so many records are remembered for the dual; larger ones it cannot price."""
CROWD = 2.0
"""Points that are in even more of the tightest groups are eased no further."""
SAFE = 1 - 1e-12
"""Costs of boxes are taken a little lower where a search builds on them."""

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass
class Clock:
    """When to stop, and who is told how far the work is."""

    limit: Limit = NO_LIMIT
    most: float = np.inf
    """Steps after which to stop: values of records that are looked at."""
    progress: Callable[[float, float], None] | None = None
    total: float = 1.0
    done: float = field(default=0.0, init=False)
    steps: float = field(default=0.0, init=False)

    @property
    def up(self) -> bool:
        return self.limit.up or self.steps >= self.most

    def advance(self, amount: float) -> None:
        self.done = min(self.total, self.done + amount)
        if self.progress is not None:
            self.progress(self.done, self.total)


class FamilyBounds:
    """Lower bounds on the loss of every point of one family, rung by rung."""

    def __init__(self, table: EncodedTable, family: Family, ceiling: float = np.inf) -> None:
        self.ceiling = ceiling
        """What a record can be dropped for: no weight counts for more."""
        self.family = family
        self.points = distinct_points(table, family)
        self.most = float(table.costs.weight.sum())
        n = len(self.points)
        self.box = np.zeros(n)
        """NCP of any group with the point, at least."""
        self.exact = np.zeros(n, dtype=np.bool_)
        """Whether a group of the family costs just that."""
        self.y: Floats | None = None
        """Weights of the dual."""
        self.best = self.box
        """The best weights so far."""
        self.slack_exact = np.zeros(n, dtype=np.bool_)
        """Whether the slack of the point was found exactly the last time."""
        room = n if family.size <= LARGEST_DUAL else 0
        self.groups = np.zeros((room, family.size), dtype=np.int64)
        self.scratches = [new_search_scratch(self.points, family.size) for _ in range(HALVES)]

    @property
    def boxes(self) -> Floats:
        """The value of each record on the first two rungs."""
        return self.box[self.points.of_record]

    @property
    def weights(self) -> Floats:
        """The weight of each record on the third rung."""
        return self.best[self.points.of_record]

    @property
    def certain(self) -> float:
        """Share of records whose slack was found exactly."""
        fixed = self.points.space.count >= self.family.size
        return float((self.slack_exact | fixed)[self.points.of_record].mean())

    @property
    def resolved(self) -> float:
        """Share of records whose cheapest box is known exactly."""
        return float(self.exact[self.points.of_record].mean())

    def search_boxes(self, budget: int, clock: Clock) -> None:
        """Look for the cheapest box of all points where it is not known yet."""
        self._search(np.flatnonzero(~self.exact), budget, clock)

    def _search(self, open_points: Ids, budget: int, clock: Clock) -> None:
        space = self.points.space
        nothing = weights_of(space, np.zeros(len(self.points)), self.box * SAFE)
        found = np.zeros(len(self.points))

        def search(scratch: SearchScratch, part: Ids) -> None:
            cheapest_boxes(
                self.points.costs, space, scratch, nothing, part, self.family.size, budget,
                found, self.exact, self.groups,
            )  # fmt: skip

        for parts in _slices(open_points, SHORT_SLICE):
            if clock.up:
                return
            on_threads(search, self.scratches, parts)
            clock.steps += self._spent()
            here = np.concatenate(parts)
            better = np.minimum(found[here], self.most)  # inf: there is no such group at all
            self.box[here] = np.maximum(self.box[here], better)
            clock.advance(len(here) / max(1, len(open_points)))

    def _spent(self) -> int:
        """Steps since this was asked last."""
        spent = sum(int(scratch.steps[0]) for scratch in self.scratches)
        for scratch in self.scratches:
            scratch.steps[0] = 0
        return spent * max(1, self.points.space.codes.shape[1])

    def start_dual(self) -> None:
        """Begin with the cheapest boxes as weights: no group weighs more than it costs."""
        points, before = self.points.in_shells(self.box)
        after = np.empty_like(before)
        after[before] = np.arange(len(before))
        self.points = points
        self.box, self.exact = self.box[before], self.exact[before]
        self.groups = after[self.groups[before]]
        self.y = self.best = self.box.copy()
        self.scratches = [new_search_scratch(points, self.family.size) for _ in range(HALVES)]

    def raise_weights(self, budget: int, ease: float, seed: int, clock: Clock) -> None:
        """One round: take weight off points that many groups share, then raise all there is room.

        Two halves of the points are raised side by side, and the mean of the two is
        taken: each half alone stays feasible with the other one as it was, and
        feasible weights are a convex set. The best weights of all rounds are kept.
        """
        assert self.y is not None
        space = self.points.space
        open_points = np.random.default_rng(seed).permutation(
            np.flatnonzero(space.count < self.family.size)
        )
        start = self.y * (1 - ease * self._crowded(open_points))
        sides = [weights_of(space, start.copy(), self.box * SAFE) for _ in range(HALVES)]

        def rise(side: int, part: Ids) -> None:
            ascend(
                self.points.costs, space, self.scratches[side], sides[side], part,
                self.family.size, budget, self.groups, self.slack_exact,
            )  # fmt: skip

        for parts in _slices(open_points, SLICE):
            if clock.up:
                break
            on_threads(rise, range(HALVES), parts)
            clock.steps += self._spent()
            clock.advance(sum(map(len, parts)) / max(1, len(open_points)))
        self.y = np.mean([side.y for side in sides], axis=0)
        capped = np.minimum(self.y, self.ceiling)
        if capped @ space.count > self.best @ space.count:
            self.best = capped

    def _crowded(self, open_points: Ids) -> Floats:
        """How much more often than once, at most CROWD, a point is in the tightest groups of all.

        One unit of weight less there lets each of these groups have one more
        elsewhere. Only points count whose slack is known: others would not rise.
        """
        size, count = self.family.size, self.points.space.count
        sure = open_points[self.slack_exact[open_points]]
        often = np.zeros(len(count))
        np.add.at(often, self.groups[sure].ravel(), np.repeat(count[sure], size) / size)
        crowd: Floats = np.clip(often / count - 1, 0, CROWD)
        return crowd


def _slices(points: Ids, size: int) -> Sequence[list[Ids]]:
    """Slices of the points, each in as many parts as there are threads."""
    cuts = range(0, len(points), size)
    return [np.array_split(points[cut : cut + size], HALVES) for cut in cuts]
