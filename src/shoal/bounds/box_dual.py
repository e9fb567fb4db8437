"""The dual over boxes: weights of the records that no group outweighs its price with.

Good weights come from a pool of boxes that were found to hold too much (`_look`). Then each
point, heaviest first, is proven or made lighter (`_prove`), and the weights are raised a little
and proven again, round by round. ``best`` are weights that hold at any moment, and never below
the `floor` they began with. `docs/bounds.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.box_pool import BoxPool
from shoal.bounds.points import Points
from shoal.bounds.rungs import Clock
from shoal.effort import time_factor
from shoal.kernels.bounds.box_dual import (
    FOUND,
    OPEN,
    PROVEN,
    BoxPrices,
    Near,
    Nodes,
    heaviest_groups,
    list_box_prices,
)
from shoal.kernels.costs import SET
from shoal.kernels.pricing import LONGEST_LISTED
from shoal.kernels.threads import on_threads

__all__ = ["STAGES", "BoxDual", "Stage", "fits"]

Ids = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

THREADS = 2
"""Parts of a batch that are searched side by side; the result does not depend on it."""
SIDE_BY_SIDE = 32
"""Points of a batch that are worth a second thread."""
ROOM = 1 << 15
"""Candidates around an anchor, at most: an anchor that has more is not proven."""
LEVELS = 400
"""Nodes on the way down, at most."""
PLACES = 1 << 21
"""Room for the lists of candidates on that way; with less they are filtered more often."""
TOLERANCE = 1e-11
"""A group may weigh more than it costs by so much, in prices of `size` dropped records."""
BATCH, BATCHES = 256, 64
"""Points that are proven at once: so many, or one in so many."""
ABOVE = 1.25
"""Weights to begin with, in units of the floor."""
LOOK_SHARE, FIRST_LOOK = 0.3, 10_000
"""Of the steps of a stage, what one look for boxes takes at most; and how many candidates are
looked at around a point at first."""
MOST_RISE = 1.15
"""Before a proof a weight rises to so many times itself at most."""
PAYS, HARDLY = 0.3, 1e-4
"""Weights rise by half as much where less than this part of a rise could be proven, or hardly
anything of what there was before."""
LEAST_STEP = 2.0**-4
"""Of the first step of a stage; with a smaller one there is no more to be had."""
SPENT, LEAST_PROOF = 4.0, 500
"""A point may take so many times its share of the candidates that are left, so many at least."""
PROJECTIONS, ROUNDING = 60, 1e-13
"""How often a group is made lighter, at most, before the next look; and by a little more."""
AGAIN = 0.2
"""Share of the points without a box that holds too much that are looked at again."""
PATIENCE = 3
"""So many times more candidates for points that were not settled by the last look."""
STEPS_A_SECOND = 800_000_000
"""Values of records that are looked at in a second, on two cores."""
SWEEP_COST = 12
"""Steps that a remembered point takes in a sweep: sweeps run on one core."""


@dataclass(frozen=True)
class Stage:
    """What one effort adds. All numbers count steps, so that results can be repeated."""

    seconds: float
    """It takes about so long on two cores, at `USUAL_RECORDS` records."""
    look: int
    """Candidates to look at around a point to find boxes that hold too much, at most."""
    proof: int
    """Candidates to look at to prove a point, at most."""
    lighter: float
    """What is left of a weight that could not be proven."""
    step: float
    """By how much weights rise at first, in mean weights."""
    sweeps: int = 60


_FAST = Stage(0.8, 3_000, 50_000, 0.8, 0.02)
_NORMAL = Stage(20.0, 20_000, 50_000, 0.9, 0.02)
_MAX = Stage(240.0, 200_000, 300_000, 0.93, 0.02)
STAGES: Mapping[str, Sequence[Stage]] = MappingProxyType(
    {"instant": (), "fast": (_FAST,), "normal": (_FAST, _NORMAL), "max": (_FAST, _NORMAL, _MAX)}
)
"""By effort. Each begins with all that the one before does."""


def fits(points: Points) -> bool:
    """Whether boxes say all there is to say about groups: there are no value sets."""
    return bool((points.costs.form != SET).all())


def box_prices(points: Points) -> BoxPrices:
    """Prices of ranges of codes, as tables where attributes are short."""
    size = points.costs.size.astype(np.int64)
    listed = size <= LONGEST_LISTED
    squares, rows = np.where(listed, size * size, 0), np.where(listed, size, 0)
    prices = BoxPrices(
        listed=listed, start=np.cumsum(squares) - squares, size=size,
        place=np.cumsum(rows) - rows, table=np.zeros(int(squares.sum())), costs=points.costs,
    )  # fmt: skip
    list_box_prices(prices, points.space.floor)
    return prices


def new_scratch(points: Points, prices: BoxPrices, size: int) -> tuple[Near, Nodes]:
    """Scratch for one thread."""
    n, d = points.space.codes.shape
    room = min(n, ROOM)
    near = Near(
        leaf=np.zeros(len(points.space.leaf) - 1, np.bool_), point=np.zeros(room, np.int64),
        code=np.zeros((room, d), np.int32), y=np.zeros(room), left=np.zeros(room, np.int64),
        value=np.zeros(room, np.int64),
    )  # fmt: skip
    places = max(room, min(PLACES, LEVELS * room))
    low, high, inner_low, inner_high = (np.zeros((LEVELS, d), np.int32) for _ in range(4))
    nodes = Nodes(
        low=low, high=high, inner_low=inner_low, inner_high=inner_high,
        price=np.zeros(LEVELS), most=np.zeros(LEVELS),
        row=np.zeros((LEVELS, int(prices.size[prices.listed].sum()))),
        owner=np.zeros(LEVELS, np.int64), begin=np.zeros(LEVELS, np.int64),
        end=np.zeros(LEVELS, np.int64), lists=np.zeros(places, np.int32),
        top=np.zeros(size, np.int64), copies=np.zeros(size, np.int64),
        used=np.zeros(len(points.space.cap), np.int64), group=np.zeros(size, np.int64),
        steps=np.zeros(1, np.int64),
    )  # fmt: skip
    return near, nodes


class BoxDual:
    """Weights of the points of one family, and the proof that no group outweighs its price."""

    def __init__(
        self, points: Points, size: int, floor: Floats, clock: Clock, ceiling: float = np.inf
    ) -> None:
        """`floor` is at most the NCP of any group with the point, as a lower rung has it."""
        self.points, self.size, self.floor, self.clock = points, size, floor, clock
        self.ceiling = ceiling
        """What a record can be dropped for: no weight counts for more."""
        space = points.space
        self.count = space.count
        self.fixed = np.minimum(space.count, space.cap[space.value]) >= size
        """Points that are a group of their own: they weigh no more than they cost alone."""
        self.prices = box_prices(points)
        self.pool = BoxPool(points, self.prices, size)
        self.limit = TOLERANCE * float(points.costs.weight.sum()) * size
        self.best = floor
        """The best weights that are proven."""
        self.lightened = ~self.fixed
        """Points that might weigh more: they were made lighter because the steps had ended."""
        self.records = int(space.count.sum())
        self.until = np.inf
        self._scratches = [new_scratch(points, self.prices, size) for _ in range(THREADS)]
        self._last: Ids = np.zeros(len(points), np.int64)
        self._patience: Ids = np.zeros(len(points), np.int64)
        self.sweeps = 0

    @property
    def total(self) -> float:
        """Sum of the proven weights over all records, less what a proof tolerates."""
        tolerated = 2 * self.limit / self.size * self.records
        return max(self._sum(self.floor), self._sum(self.best) - tolerated)

    def _sum(self, y: Floats) -> float:
        return float(np.minimum(y, self.ceiling) @ self.count)

    @property
    def certain(self) -> float:
        """Share of the records whose weight no search gave up on."""
        return float((~self.lightened) @ self.count / self.records)

    def begin(self, y: Floats, low: Codes, high: Codes) -> None:
        """Begin with the prices that a release pays for each point, and the boxes it publishes."""
        self.pool.add(low, high, _by_weight(y))

    def climb(self, stage: Stage) -> None:
        """Raise the weights and prove them, again and again, as far as the stage and clock go."""
        allowed = stage.seconds * time_factor(self.records) * STEPS_A_SECOND
        self.until = self.clock.steps + allowed
        self._patience = np.full(len(self.best), min(stage.look, FIRST_LOOK))
        self._last = np.full(len(self.best), FOUND)
        step, dearest, first = stage.step, 0.0, not len(self.pool)
        while not self._up and self._left >= dearest and step > LEAST_STEP * stage.step:
            begun, before = self.clock.steps, self.total
            y = self.floor * ABOVE if first else self.best
            y = self._raise(y, step, stage.sweeps)
            self._look(y, stage.look, begun + LOOK_SHARE * allowed)
            y = self._raise(y, step, stage.sweeps)
            hoped = float(y @ self.count)
            self._prove(y, stage)
            gained = self.total - before
            if gained < PAYS * (hoped - before) or gained <= HARDLY * before:
                step /= 2
            dearest, first = max(dearest, self.clock.steps - begun), False

    @property
    def _left(self) -> float:
        """Steps that are left of the stage, or of all."""
        left = min(self.until, self.clock.most) - self.clock.steps
        limit = self.clock.limit
        return min(left, limit.left * STEPS_A_SECOND) if limit.given else left

    @property
    def _up(self) -> bool:
        return self.clock.up or self.clock.steps >= self.until

    def _raise(self, y: Floats, step: float, sweeps: int) -> Floats:
        """Weights that fit the pool, a little heavier than these."""
        if not len(self.pool):
            return y
        mean = float(y @ self.count) / self.records
        self.pool.refresh(_by_weight(y))
        raised = self.pool.raise_weights(y, self.fixed, sweeps, step * mean, self.sweeps)
        self.sweeps += 1
        self.clock.steps += float(self.pool.held.sum()) * sweeps * SWEEP_COST
        # a point that no box holds yet would rise for ever
        return np.maximum(np.minimum(raised, MOST_RISE * y + step * mean), self.floor)

    def _look(self, y: Floats, most: int, until: float) -> None:
        """Look for boxes that hold too much around points where there were some, or may be."""
        again = np.random.default_rng(self.sweeps).random(len(y)) < AGAIN
        wanted = ~self.fixed & (y > self.floor) & ((self._last != PROVEN) | again)
        order = _by_weight(y)
        place = np.empty(len(y), np.int64)
        place[order] = np.arange(len(y))
        size = self._batch()
        found = []
        for budget in np.unique(self._patience[wanted]).tolist():
            anchors = np.flatnonzero(wanted & (self._patience == budget))
            for part in _parts(anchors, size):
                if self._up or self.clock.steps >= until:
                    break
                state, groups = self._search(y, order, place[part], part, budget, eager=False)
                self._last[part] = state
                self._patience[part[state == OPEN]] = min(most, PATIENCE * budget)
                found.append(groups[state == FOUND])
        if found:
            low, high, _ = self.pool.boxes_of(np.concatenate(found))
            self.pool.add(low, high, order)

    def _prove(self, y: Floats, stage: Stage) -> None:
        """Prove each point, heaviest first, or make it lighter; keep the weights if they are best.

        A point is proven if no group of it and of points that are not proven yet weighs more
        than it costs. Weights only fall from then on. At the end a group without a proven
        member has only weights of the floor.
        """
        y = np.where(self.fixed, self.floor, np.maximum(np.minimum(y, self.ceiling), self.floor))
        proven, lightened = np.zeros((2, len(y)), np.bool_)
        size, d = self._batch(), self.points.space.codes.shape[1]
        while not self._up:
            order = _by_weight(y, np.flatnonzero(~proven))
            heads = order[(y[order] > self.floor[order]) & ~self.fixed[order]]
            if not len(heads):
                break
            anchors = heads[:size]
            fair = SPENT * self._left / (len(heads) * d)
            budget = max(LEAST_PROOF, int(min(stage.proof, fair)))
            since = np.zeros(len(anchors), np.int64)
            state, groups = self._search(y, order, since, anchors, budget, eager=True)
            proven[anchors[state == PROVEN]] = True
            self._lighten(y, groups[state == FOUND], order)
            left = anchors[state == OPEN]
            lightened[left] = True
            y[left] = np.maximum(y[left] * stage.lighter, self.floor[left])
        lightened |= ~proven & (y > self.floor) & ~self.fixed
        y = np.where(proven, y, self.floor)
        if self._sum(y) > self._sum(self.best):
            self.best, self.lightened = y, lightened

    def _lighten(self, y: Floats, groups: Ids, order: Ids) -> None:
        """Take from the members of each group, in equal parts, what it weighs too much."""
        if not len(groups):
            return
        low, high, prices = self.pool.boxes_of(groups)
        self.pool.add(low, high, order)
        for group, price in zip(groups, prices.tolist(), strict=True):
            members = np.unique(group)
            for _ in range(PROJECTIONS):
                over = float(y[group].sum()) / self.size - price
                if over <= 0:
                    break
                y[members] = np.maximum(y[members] - over - ROUNDING, self.floor[members])

    def _search(
        self, y: Floats, order: Ids, since: Ids, anchors: Ids, budget: int, *, eager: bool
    ) -> tuple[Ids, Ids]:
        """What is known of each anchor, and the groups that were found."""

        def search(scratch: tuple[Near, Nodes], part: slice) -> tuple[Ids, Ids]:
            own = anchors[part].copy()
            state, value = np.zeros(len(own), np.int64), np.zeros(len(own))
            found = np.zeros((len(own), self.size), np.int64)
            heaviest_groups(
                self.prices, self.points.space, y, order, since[part].copy(), *scratch, own,
                self.size, self.limit, budget, eager, state, value, found,
            )  # fmt: skip
            return state, found

        threads = THREADS if len(anchors) >= SIDE_BY_SIDE else 1
        parts = [slice(turn, None, threads) for turn in range(threads)]
        states = np.zeros(len(anchors), np.int64)
        groups = np.zeros((len(anchors), self.size), np.int64)
        for part, (state, found) in zip(
            parts, on_threads(search, self._scratches[:threads], parts), strict=True
        ):
            states[part], groups[part] = state, found
        for _, nodes in self._scratches:
            self.clock.steps += int(nodes.steps[0]) * self.points.space.codes.shape[1]
            nodes.steps[0] = 0
        return states, groups

    def _batch(self) -> int:
        return max(BATCH, len(self.best) // BATCHES)


def _by_weight(y: Floats, among: Ids | None = None) -> Ids:
    """Points, heaviest first."""
    ids = np.arange(len(y)) if among is None else among
    order: Ids = ids[np.argsort(-y[ids], kind="stable")]
    return order


def _parts(ids: Ids, size: int) -> list[Ids]:
    return [ids[cut : cut + size] for cut in range(0, len(ids), size)]
