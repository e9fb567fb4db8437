"""Boxes that were found to hold too much weight, and weights that fit all of them.

A pool proves nothing: it knows a few thousand of very many constraints. It says where weight
is wanted, and `shoal.bounds.box_dual` what of it holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.points import Points
from shoal.kernels.bounds.box_dual import BoxPrices
from shoal.kernels.bounds.box_pool import boxes_of_groups, heaviest_inside, pool_prices, project
from shoal.kernels.threads import on_threads

__all__ = ["BoxPool"]

Ids = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

THREADS, SIDE_BY_SIDE = 2, 256
"""Parts of the boxes that are filled side by side, where there are so many boxes."""
WIDTH, LEAST_WIDTH = 4, 32
"""Points that are remembered of a box, the heaviest: so many times the smallest group."""
DECAY = 10.0
"""Sweeps after which weights rise by half as much."""
FULL = 10
"""One sweep in so many looks at all boxes, the others at those that were nearly full."""


class BoxPool:
    """Boxes, their prices, and the heaviest points in each."""

    def __init__(self, points: Points, prices: BoxPrices, size: int) -> None:
        self.space, self.prices, self.size = points.space, prices, size
        d = self.space.codes.shape[1]
        width = min(len(points), max(LEAST_WIDTH, WIDTH * size))
        self.known: set[bytes] = set()
        self.low, self.high = np.zeros((0, d), np.int32), np.zeros((0, d), np.int32)
        self.price = np.zeros(0)
        self.members = np.zeros((0, width), np.int64)
        self.held = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.price)

    def boxes_of(self, groups: Ids) -> tuple[Codes, Codes, Floats]:
        """The boxes around groups of points, and their prices."""
        shape = (len(groups), self.space.codes.shape[1])
        low, high = np.empty(shape, np.int32), np.empty(shape, np.int32)
        boxes_of_groups(self.space.codes, groups, low, high)
        price = np.empty(len(groups))
        pool_prices(self.prices, low, high, price)
        return low, high, price

    def add(self, low: Codes, high: Codes, order: Ids) -> int:
        """Take in boxes that are not known yet; how many. `order` are all points by weight."""
        new = []
        for b, key in enumerate(np.hstack([low, high])):
            if (name := key.tobytes()) not in self.known:
                self.known.add(name)
                new.append(b)
        low, high = np.ascontiguousarray(low[new]), np.ascontiguousarray(high[new])
        price = np.empty(len(new))
        pool_prices(self.prices, low, high, price)
        members = np.zeros((len(new), self.members.shape[1]), np.int64)
        held = np.zeros(len(new), np.int64)
        self._fill(low, high, members, held, order)
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self.price = np.concatenate([self.price, price])
        self.members = np.concatenate([self.members, members])
        self.held = np.concatenate([self.held, held])
        return len(new)

    def refresh(self, order: Ids) -> None:
        """Look again which points are the heaviest of each box."""
        self._fill(self.low, self.high, self.members, self.held, order)

    def _fill(self, low: Codes, high: Codes, members: Ids, held: Ids, order: Ids) -> None:
        threads = THREADS if len(low) >= SIDE_BY_SIDE else 1
        cuts = np.linspace(0, len(low), threads + 1).astype(np.int64)

        def fill(begin: int, end: int) -> None:
            near = np.zeros(len(self.space.leaf) - 1, np.bool_)
            part = slice(begin, end)
            heaviest_inside(
                self.space, order, near, low[part], high[part], members[part], held[part]
            )

        on_threads(fill, cuts[:-1].tolist(), cuts[1:].tolist())

    def raise_weights(
        self, y: Floats, fixed: NDArray[np.bool_], sweeps: int, step: float, seed: int
    ) -> Floats:
        """Weights that fit the pool, as heavy in sum as some sweeps find them.

        Each sweep raises all weights by the same, ever less, and lowers them again, box by box,
        where a box then holds too much.
        """
        rng = np.random.default_rng(seed)
        by_price = np.argsort(self.price, kind="stable")
        slack = np.zeros(len(self))
        used = np.zeros(len(self.space.cap), np.int64)
        most, best = -np.inf, y
        active = by_price
        y = y.copy()
        for turn in range(sweeps):
            rise = step / (1 + turn / DECAY)
            if turn:
                y += np.where(fixed, 0.0, rise)
            whole = turn % FULL == 0 or turn == sweeps - 1
            turns = by_price if whole else rng.permutation(active)
            project(
                self.space, y, turns, self.members, self.held, self.price, self.size, used, slack
            )
            if whole:
                active = np.flatnonzero(slack < step)
                if (total := float(y @ self.space.count)) > most:
                    most, best = total, y.copy()
        return best
