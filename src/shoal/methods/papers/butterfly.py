"""Butterflies as paper 003 makes them: Figure 3, on a tree of classes on all attributes.

The tree's leaves are classes on the union. From them up, a node becomes one
butterfly if Theorem 4 does not rule it out and it then loses less than its
children. The bound is read the right way round (>=) and summed per record; it
only saves work. Figure 3's prune compares the body's loss with the whole
table's; here it is compared with the node's own, which fires earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SPAN
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.butterfly.tree import Cells, Tree, new_tree
from shoal.kernels.costs import attribute_losses
from shoal.kernels.cuts import carve, new_scratch, pack
from shoal.kernels.dp import best_offsets
from shoal.kernels.group_check import new_group_check
from shoal.kernels.papers.butterfly import (
    grow_at_medians,
    nearest_within,
    node_losses,
    nodes_hold,
)
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.methods.butterfly.division import least
from shoal.methods.butterfly.wings import ButterflyInputs, alike
from shoal.methods.mondrian import lots_of
from shoal.methods.papers.class_tree import tree_over
from shoal.models import rules_for
from shoal.models.base import Model

__all__ = ["tree_first"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _PricedTree:
    """A tree with the losses of its nodes as single classes."""

    tree: Tree
    nodes: int
    body: Floats
    """Loss of the body of each node, Loss(S1 & S2)."""
    whole: Floats
    """Loss of each node as one class on the union."""
    good: NDArray[np.bool_]
    """Nodes that satisfy all models as one class."""

    def range(self, node: int) -> tuple[int, int]:
        return int(self.tree.begin[node]), int(self.tree.end[node])


def tree_first(
    inputs: ButterflyInputs, classes: str | None = None
) -> tuple[Partition, Partition | None, dict[str, Any]]:
    """Butterflies and classes, the units they consist of if any, and how it went.

    `classes` names the method over whose classes the hierarchy is built, in place of
    Mondrian's cuts; units are then made inside them, once they are chosen.
    """
    units = None if classes else _units(inputs)
    seen = inputs.table if units is None else alike(inputs.table, units)
    priced = _priced(inputs, *(_clustered(inputs, classes) if classes else _grown(inputs, seen)))
    wings = [_Builder(inputs, v, seen, priced.tree) for v in range(len(inputs.division.wings))]
    bounds = [_Bound(inputs, v, priced) for v in range(len(inputs.division.wings))]
    own, facts = _butterflies(priced, wings, bounds)
    return _chosen(priced, own), units, facts


def _units(inputs: ButterflyInputs) -> Partition | None:
    """Section 5.2: first the union is made anonymous for all readers together."""
    if not inputs.division.together:
        return None
    method = get_method(inputs.inner)
    run = Run(inputs.seed)
    found = method.run(inputs.table, inputs.division.together, method.options(), run)
    return found.recoding.partitions[0]


def _grown(inputs: ButterflyInputs, seen: EncodedTable) -> tuple[Tree, int]:
    """Section 4.2.2: a binary hierarchy of classes on the union, as Mondrian cuts them."""
    tree = new_tree(inputs.table.n)
    return tree, grow_at_medians(seen.codes, seen.costs, least(inputs.division.everyone), tree)


def _clustered(inputs: ButterflyInputs, classes: str) -> tuple[Tree, int]:
    """The same over the classes of another method."""
    method, table = get_method(classes), inputs.table
    found = method.run(table, inputs.division.everyone, method.options(), Run(inputs.seed))
    partitions = found.recoding.partitions
    return tree_over(table, partitions[0] if partitions else Partition.whole(table.n))


def _priced(inputs: ButterflyInputs, tree: Tree, nodes: int) -> _PricedTree:
    table, everyone = inputs.table, inputs.division.everyone
    body = _class_losses(table.select(inputs.division.body), tree, nodes)
    good = np.ones(nodes, dtype=np.bool_)
    if not inputs.sizes_only:
        nodes_hold(tree, nodes, new_group_check(table, rules_for(table.codebook, everyone)), good)
    return _PricedTree(tree, nodes, body, _class_losses(table, tree, nodes), good)


def _class_losses(table: EncodedTable, tree: Tree, nodes: int) -> Floats:
    """What each node loses as one class on the table's attributes."""
    losses = np.empty(nodes)
    cells = Cells(table.codes, np.ones(table.n, dtype=np.int64))
    node_losses(cells, table.costs, tree, nodes, losses)
    return losses


def _butterflies(
    priced: _PricedTree, wings: list[_Builder], bounds: list[_Bound]
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Figure 3: which nodes become classes or butterflies of their own, from the leaves up."""
    loss = np.where(priced.good, priced.whole, np.inf)
    own = priced.tree.right[: priced.nodes] == 0
    attempted = succeeded = 0
    for node in range(priced.nodes - 1, -1, -1):
        right = priced.tree.right[node]
        if right == 0:
            continue
        begin, end = priced.range(node)
        loss[node] = loss[node + 1] + loss[right]
        lower = priced.body[node] + sum(bound.below(begin, end) for bound in bounds)
        if not priced.good[node] or (priced.body[node] > 0 and lower >= loss[node]):
            continue
        attempted += 1
        built = priced.body[node] + sum(wing.loss(begin, end) for wing in wings)
        if built < loss[node]:
            succeeded += 1
            loss[node], own[node] = built, True
    rate = round(succeeded / attempted, 6) if attempted else None
    return own, {"attempted": attempted, "succeeded": succeeded, "success_rate": rate}


def _chosen(priced: _PricedTree, own: NDArray[np.bool_]) -> Partition:
    """The topmost nodes that are classes or butterflies of their own."""
    begins = []
    node = 0
    while node < priced.nodes:
        if own[node]:
            begin, end = priced.range(node)
            begins.append(begin)
            while node < priced.nodes and priced.tree.begin[node] < end:  # skip what is below
                node += 1
        else:
            node += 1
    return Partition(priced.tree.order, np.array([*begins, len(priced.tree.order)], dtype=np.int64))


class _Bound:
    """Theorem 4's bound for one wing: what its records lose at least in any butterfly."""

    def __init__(self, inputs: ButterflyInputs, v: int, priced: _PricedTree) -> None:
        table, self.k = inputs.tables[v], inputs.division.wings[v].k
        tree = priced.tree
        leaves = np.flatnonzero(tree.right[: priced.nodes] == 0)
        self.offsets = np.append(tree.begin[leaves], table.n)
        self.nearest = np.empty((len(leaves), self.k))
        nearest_within(table.codes, table.costs, tree.order, self.offsets, self.k, self.nearest)
        self.total = np.append(0.0, np.cumsum(_nearest_in_table(table, self.k)[tree.order]))

    def below(self, begin: int, end: int) -> float:
        """A lower bound for the records begin..end of the tree's order."""
        first, last = np.searchsorted(self.offsets, [begin, end])
        neighbour = -(-self.k // int(last - first)) - 1
        shortest = float(self.nearest[first:last, neighbour].min())
        return max(float(self.total[end] - self.total[begin]), (end - begin) * shortest)


def _nearest_in_table(table: EncodedTable, k: int) -> Floats:
    """Distance of each record to its (k-1)-th neighbour, in attributes whose losses add up.

    Those whose losses are cut off at 1, trees and sets count nothing: it is a bound.
    """
    from scipy.spatial import cKDTree

    linear = [
        attribute.weight * attribute.position[codes]
        for attribute, codes in zip(table.qi, table.codes, strict=True)
        if attribute.form == SPAN and attribute.position.max(initial=0.0) <= 1.0
    ]
    if not linear:
        return np.zeros(table.n)
    spots = np.stack(linear, axis=1)
    points, of_point, counts = np.unique(spots, axis=0, return_inverse=True, return_counts=True)
    near = min(k, len(points))
    query = partial(cKDTree(points).query, p=1, workers=-1)
    distance, neighbour = query(points, k=np.arange(1, near + 1))
    enough = np.cumsum(counts[neighbour], axis=1) >= k
    place = np.where(enough.any(axis=1), np.argmax(enough, axis=1), near - 1)
    found: Floats = distance[np.arange(len(points)), place][of_point.reshape(-1)]
    return found


class _Builder:
    """What one wing loses in a butterfly on neighbouring records of the tree's order."""

    def __init__(self, inputs: ButterflyInputs, v: int, seen: EncodedTable, tree: Tree) -> None:
        self.table, self.wing = inputs.tables[v], inputs.division.wings[v]
        self.cutter = None
        if inputs.inner == "mondrian":
            alike = seen.select(self.wing.attributes)
            self.cutter = _Cutter(alike, self.wing.models, tree.order, inputs.seed)
            return
        curve = inputs.curves[v]
        self.codes = np.ascontiguousarray(self.table.codes[:, curve])
        rank = np.empty(self.table.n, dtype=np.int64)
        rank[curve] = np.arange(self.table.n)
        self.curve, self.ranks = curve, rank[tree.order]

    def loss(self, begin: int, end: int) -> float:
        """Loss of the wing in its groups."""
        if self.cutter is not None:
            order, offsets = self.cutter.cut(begin, end)
        else:
            ranks = np.sort(self.ranks[begin:end])
            offsets = best_offsets(self.table.costs, self.codes, ranks, self.wing.k)
            order = self.curve[ranks]
        sizes = np.diff(offsets)
        total = 0.0
        for a, column in enumerate(self.table.qi):
            losses = np.empty(len(sizes))
            attribute_losses(self.table.costs, a, self.table.codes[a], order, offsets, losses)
            total += column.weight * float(losses @ sizes)
        return total


class _Cutter:
    """Mondrian inside nodes of the tree, one after the other, in place."""

    def __init__(
        self, table: EncodedTable, models: tuple[Model, ...], order: Ids, seed: int
    ) -> None:
        self.costs, self.order = table.costs, order
        self.key = lots_of(seed)
        self.rows = pack(np.ascontiguousarray(table.codes[:, order]), table.costs.size)
        self.check = new_group_check(table.take(order), rules_for(table.codebook, models))
        self.scratch = new_scratch(table.costs.size)
        self.waiting = np.empty((2, 2), dtype=np.int64)

    def cut(self, begin: int, end: int) -> tuple[Ids, Ids]:
        """Records and offsets of the groups of a node."""
        rows = self.rows
        rows.first[begin:end] = False
        grain = len(self.order) + 1
        asked = (self.check, False, self.key)
        carve(rows, self.costs, *asked, self.scratch, begin, end, grain, self.waiting)
        place = (rows.words[rows.word[-1], begin:end] >> rows.shift[-1]) & rows.mask[-1]
        return self.order[place], np.append(np.flatnonzero(rows.first[begin:end]), end - begin)
