"""The dual over cells: weights that no group of any cell exceeds, raised and lowered in turns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.families import Family
from shoal.bounds.nodes import Units, nodes_of, scanned_of, to_be_scanned
from shoal.bounds.points import Points
from shoal.kernels.bounds.cells import Cells, enumerate_cells
from shoal.kernels.bounds.cells_dual import CellPoints, Scanned, Top, lower_weights, new_top

__all__ = ["CellDual", "cells_of"]

MOST_PAIRS, MOST_CELLS, MOST_WORK = 30_000_000, 2_000_000, 1_500_000_000
LARGEST_SCALE = 1 << 40


@dataclass(eq=False)
class CellDual:
    cells: Cells
    points: CellPoints
    scanned: Scanned
    units: Units
    size: int
    tops: list[Top]
    steps: int = 0

    def sweep(self, y, order, risen, due, side=0):
        reach = np.zeros(int(np.diff(self.cells.offset).max(initial=1)), dtype=np.int64)
        excess = lower_weights(self.cells, self.points, self.scanned, y, self.size, order, risen,
                               due, self.tops[side], reach)
        self.steps += int(self.tops[side].state[2])
        return excess


def cells_of(points: Points, family: Family, ceiling=np.inf):
    space, costs = points.space, points.costs
    d = space.codes.shape[1]
    total = float(costs.weight.sum())
    scale = LARGEST_SCALE
    while scale > 1 and family.size * total * scale > 2**60:
        scale //= 2
    units = Units(scale)
    first = to_be_scanned(costs)
    others = [a for a in range(d) if a != first]
    nodes = nodes_of(costs, space.floor, others, units)
    if nodes is None:
        return None
    n = len(space.count)
    code = np.zeros(n, dtype=np.int32) if first is None else space.codes[:, first].astype(np.int32)
    order = np.argsort(code, kind="stable").astype(np.int32)
    codes = np.ascontiguousarray(space.codes[:, others])
    member = np.empty(MOST_PAIRS, dtype=np.int32)
    offset = np.empty(MOST_CELLS + 1, dtype=np.int64)
    price = np.empty(MOST_CELLS, dtype=np.int64)
    ceil = np.full(n, int(min(ceiling, total*1e6) * scale) if np.isfinite(ceiling) else 2**61//family.size, dtype=np.int64)
    work = np.array([0, MOST_WORK])
    found = enumerate_cells(nodes, codes, space.count, ceil, family.size, order, member, offset, price, work)
    if found < 0:
        return found
    cells = Cells(member[: offset[found]].copy(), offset[: found + 1].copy(), price[:found].copy())
    cap = space.cap
    pts = CellPoints(code, space.count, space.value, cap, bool((cap < family.size).any()))
    return CellDual(cells, pts, scanned_of(costs, space.floor, first, units), units, family.size,
                    [new_top(family.size, len(cap)) for _ in range(2)])
