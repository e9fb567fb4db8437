"""Body-first butterflies: cut on the common attributes only, choose from the leaves up.

The reverse of paper 003's order: there a tree on all attributes comes first,
whose nodes were cut for a single quasi-identifier and so have wide bodies. Here
the body decides, and wings are estimated along curves that are sorted once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import first_of_each
from shoal.encoding.codebook import ROUND, SPAN
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.butterfly.choice import Wings, assign, choose, new_choice
from shoal.kernels.butterfly.tree import Cells, grow, new_tree
from shoal.kernels.group_check import new_group_check
from shoal.kernels.grouping import sort_by_id
from shoal.kernels.threads import on_threads
from shoal.methods.butterfly.division import least
from shoal.methods.butterfly.wings import ButterflyInputs
from shoal.models import rules_for, satisfied_classes

__all__ = ["body_first"]

Ids = NDArray[np.int64]


def body_first(inputs: ButterflyInputs) -> Partition:
    """Classes of the body: few enough that wings lose little, many enough that it does."""
    table, division = inputs.table, inputs.division
    body = table.select(division.body)
    of_cell, cells = _cells(body)
    tree = new_tree(len(cells.weight))
    asked = least(division.everyone)
    nodes = grow(cells, body.costs, asked, tree)
    place = np.empty(len(cells.weight), dtype=np.int64)
    place[tree.order] = np.arange(len(place))
    wings = _wings(inputs, place[of_cell], cells.weight[tree.order])
    choice = new_choice(nodes, len(place))
    worst = float(sum(c.weight for c in table.qi))
    check = new_group_check(table, rules_for(table.codebook, division.everyone))
    left = choose(tree, nodes, cells, body.costs, wings, check, worst, choice)
    group = np.empty(len(place), dtype=np.int64)
    assign(tree, choice, group)
    if left >= 0:
        group = _without_left_overs(inputs, cells, body, of_cell, group)
    return Partition.from_group_ids(group[of_cell])


def _cells(body: EncodedTable) -> tuple[Ids, Cells]:
    """Cell of each record, and the cells."""
    ids, count = body.class_ids()
    weight = np.bincount(ids, minlength=count).astype(np.int64)
    return ids, Cells(np.ascontiguousarray(body.codes[:, first_of_each(ids, count)]), weight)


def _wings(inputs: ButterflyInputs, place: Ids, weight: Ids) -> Wings:
    """The private attributes along each wing's curve; cells with their places and weights."""
    division, n = inputs.division, inputs.table.n
    private = [a for wing in division.wings for a in wing.attributes]
    first = np.cumsum([0, *(len(wing.attributes) for wing in division.wings)])
    codes = np.empty((len(private), n), dtype=np.int32)
    alone = np.empty((len(division.wings), n), dtype=np.uint32)  # no sign: numba indexes faster

    def fill(v: int) -> None:
        curve = inputs.curves[v]
        codes[first[v] : first[v + 1]] = inputs.tables[v].codes[:, curve]
        ranks = np.empty(n, dtype=np.int64)
        sort_by_id(place[curve], np.empty(len(weight) + 1, dtype=np.int64), ranks)
        alone[v] = ranks

    on_threads(fill, range(len(division.wings)))
    costs = inputs.table.select(private).costs
    k = np.array([wing.k for wing in division.wings], dtype=np.int64)
    start = np.append(0, np.cumsum(weight))
    rows = np.empty(0 if inputs.sizes_only else n, dtype=np.int64)
    if not inputs.sizes_only:
        sort_by_id(place, np.empty(len(weight) + 1, dtype=np.int64), rows)
    seen = np.zeros(int(costs.size.sum()), dtype=np.int64)
    stamp = np.zeros(1, dtype=np.int64)
    return Wings(costs, first, codes, k, alone, alone.copy(), start, rows, seen, stamp)


def _without_left_overs(
    inputs: ButterflyInputs, cells: Cells, body: EncodedTable, of_cell: Ids, group: Ids
) -> Ids:
    """Cells that are too few for a class join the one that loses least by it.

    Where more than numbers is asked, that class must hold with them: else all
    are one class, which the pipeline knows to satisfy the models.
    """
    classes = int(group.max()) + 1
    if classes == 0:
        return np.zeros_like(group)
    low, high = _ranges(cells, group, classes)
    size = np.zeros(classes)
    np.add.at(size, group[group >= 0], cells.weight[group >= 0])
    group = group.copy()
    for cell in np.flatnonzero(group < 0):
        code = cells.codes[:, cell]
        rise = _rise(body, low, high, size, code, cells.weight[cell])
        best = int(np.argmin(rise))
        group[cell] = best
        low[:, best] = np.minimum(low[:, best], code)
        high[:, best] = np.maximum(high[:, best], code)
        size[best] += cells.weight[cell]
    if not inputs.sizes_only:
        good = satisfied_classes(inputs.table, inputs.division.everyone, group[of_cell])
        return group if good.all() else np.zeros_like(group)
    return group


def _ranges(cells: Cells, group: Ids, classes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    low = np.full((len(cells.codes), classes), np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full_like(low, -1)
    placed = np.flatnonzero(group >= 0)
    for a, codes in enumerate(cells.codes):
        np.minimum.at(low[a], group[placed], codes[placed])
        np.maximum.at(high[a], group[placed], codes[placed])
    return low, high


def _rise(
    body: EncodedTable,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    size: NDArray[np.float64],
    code: NDArray[np.int32],
    weight: np.int64,
) -> NDArray[np.float64]:
    """How much more the body would lose if a cell joined each class, by its place."""
    rise = np.zeros(low.shape[1])
    for a, column in enumerate(body.qi):
        begin = column.position if column.form in (SPAN, ROUND) else column.coordinate
        end = begin if column.end is None else column.end
        before = end[high[a]] - begin[low[a]]
        after = end[np.maximum(high[a], code[a])] - begin[np.minimum(low[a], code[a])]
        gain = np.minimum(after, 1.0) * (size + weight) - np.minimum(before, 1.0) * size
        rise += column.weight * gain
    return rise
