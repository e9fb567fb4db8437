"""Which rows of two releases can be one record, once all records must find a partner.

Rows that meet need not belong together: where one row can go with a single
other, the other is taken, and with what is left it may go on. A pair of rows
occurs in some matching of all records if and only if the two lie in one
strongly connected component of the graph that leads from a row to all it meets,
and back to those it is matched with (Dulmage and Mendelsohn; Regin 1994). So
components are a column more that both releases publish, and must be equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.joining.candidates import STRANGERS, Rows, Table
from shoal.joining.listing import Ints, offsets_of, plan_of
from shoal.joining.result import counted
from shoal.kernels.joining.matching import Arcs, Flow, Forest, Scan, augment, explore, pour
from shoal.kernels.joining.pairs import Cells

__all__ = ["Followed", "with_components"]

MOST_COMPARISONS = 60_000_000
"""Comparisons of rows for two releases; beyond, matchings are not followed up."""


class Followed(NamedTuple):
    """The releases, with what follows from matching all their records."""

    table: Table
    given_up: int
    """Pairs of releases that were too dear to match."""


class _GaveUpError(Exception):
    """Too many comparisons."""


def with_components(table: Table) -> Followed:
    """Add a column for each two releases: the components of their rows."""
    given_up = 0
    count = len(table.releases)
    for a in range(count):
        for b in range(a + 1, count):
            left, right = table.releases[a], table.releases[b]
            try:
                found = components(left, right, table)
            except _GaveUpError:
                given_up += 1
                continue
            table = _with_column(table, {a: found[0], b: found[1]})
    return Followed(table, given_up)


def components(left: Rows, right: Rows, table: Table) -> tuple[Ints, Ints]:
    """Number of the component of each row of two releases."""
    budget = np.array([MOST_COMPARISONS], dtype=np.int64)
    forth = _scan(left.cells, right.cells, table.bits, budget)
    sizes = table.sizes[left.records[:, 0]], table.sizes[right.records[:, 0]]
    own, other = _matched(forth, *sizes)
    rows, others = len(sizes[0]), len(sizes[1])
    finished = _explored(forth, _arcs(other, own, others), np.arange(rows))[1]
    # Back the other way, from the node that was left last: what is found is a component.
    back = _scan(right.cells, left.cells, table.bits, budget)
    roots = finished[::-1]
    turned = np.where(roots < rows, roots + others, roots - rows)
    tree = _explored(back, _arcs(own, other, rows), turned)[0]
    return tree[others:], tree[:others]


def _scan(own: Cells, other: Cells, bits: NDArray[np.uint64], budget: Ints) -> Scan:
    plan = plan_of(own, other, bits)
    seen, unseen = np.zeros(len(other.low), dtype=np.bool_), np.arange(len(plan.rows) + 1)
    return Scan(own, other, bits, plan, seen, unseen, budget)


def _fresh(scan: Scan) -> Scan:
    scan.seen[:] = False
    scan.unseen[:] = np.arange(len(scan.unseen))
    return scan


def _matched(scan: Scan, own: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Pairs of rows that have records in common, in one matching of all records."""
    rows = len(own)
    flow = _with_room(_no_flow(own, other), 2 * (rows + len(other)))
    # Who has few to go with chooses first.
    sums = np.concatenate([[0], np.cumsum(scan.plan.end - scan.plan.begin)])
    few = np.diff(sums[scan.plan.offsets])
    pour(_fresh(scan), flow, np.argsort(few, kind="stable"))
    vacant = scan._replace(seen=scan.seen.copy(), unseen=scan.unseen.copy())
    while flow.excess.any():
        if scan.left[0] < 0:
            raise _GaveUpError
        forest = _no_forest(rows, len(other))
        moved = augment(_fresh(scan), vacant, flow, forest, np.flatnonzero(flow.excess))
        if 2 * int(flow.used[0]) > len(flow.own):
            flow = _with_room(flow, 2 * len(flow.own))
        elif not moved and scan.left[0] >= 0:
            left = int(flow.excess.sum())
            records = counted(left, "record", "records")
            find = "finds" if left == 1 else "find"
            raise InputError(
                f"{records} of the releases {find} no partner when all are matched: " + STRANGERS
            )
    arcs = np.flatnonzero(flow.amount[: flow.used[0]])
    return flow.own[arcs], _others(flow)[arcs]


def _no_flow(own: Ints, other: Ints) -> Flow:
    none = np.zeros(0, dtype=np.int64)
    head = np.full(len(other), -1, dtype=np.int64)
    return Flow(own.copy(), other.copy(), head, none, none, none, np.zeros(1, dtype=np.int64))


def _no_forest(rows: int, others: int) -> Forest:
    nowhere = np.full(rows, -1, dtype=np.int64)
    entered, before, queue = (np.empty(rows, dtype=np.int64) for _ in range(3))
    finder = np.empty(others, dtype=np.int64)
    return Forest(nowhere, np.zeros(rows, dtype=np.bool_), entered, before, finder, queue)


def _with_room(flow: Flow, room: int) -> Flow:
    """The same arcs, with room for more."""
    more = np.zeros(room - len(flow.own), dtype=np.int64)
    following, own, amount = (
        np.concatenate([part, more]) for part in (flow.following, flow.own, flow.amount)
    )
    return flow._replace(following=following, own=own, amount=amount)


def _others(flow: Flow) -> Ints:
    """The row of the other side that each arc belongs to: along the chains."""
    other = np.full(int(flow.used[0]), -1, dtype=np.int64)
    rows = np.flatnonzero(flow.head >= 0)
    arcs = flow.head[rows]
    while len(arcs):
        other[arcs] = rows
        arcs = flow.following[arcs]
        rows, arcs = rows[arcs >= 0], arcs[arcs >= 0]
    return other


def _arcs(source: Ints, to: Ints, rows: int) -> Arcs:
    order = np.argsort(source, kind="stable")
    return Arcs(offsets_of(source, rows), to[order])


def _explored(scan: Scan, arcs: Arcs, roots: Ints) -> tuple[Ints, Ints]:
    """Which root has found each node, and the nodes as they were left."""
    nodes = len(scan.plan.offsets) - 1 + len(scan.seen)
    tree = np.full(nodes, -1, dtype=np.int64)
    finished = np.empty(nodes, dtype=np.int64)
    stack = np.empty((nodes, 3), dtype=np.int64)
    explore(_fresh(scan), arcs, roots, tree, finished, stack)
    if scan.left[0] < 0:
        raise _GaveUpError
    return tree, finished


def _with_column(table: Table, numbers: dict[int, Ints]) -> Table:
    """A column more that two releases publish; in the others it may be anything."""
    _, codes = np.unique(np.concatenate(list(numbers.values())), return_inverse=True)
    ends = np.cumsum([len(part) for part in numbers.values()])
    parts = dict(zip(numbers, np.split(codes.astype(np.int32), ends[:-1]), strict=True))
    top = np.int32(codes.max())
    releases = []
    for r, rows in enumerate(table.releases):
        every = np.zeros(len(rows.records), dtype=np.int32)
        low, high = parts.get(r, every), parts.get(r, every + top)
        cells = rows.cells._replace(
            low=np.column_stack([rows.cells.low, low]),
            high=np.column_stack([rows.cells.high, high]),
        )
        releases.append(Rows(cells, rows.records))
    # Nobody knows it of a person, and no column of a release has this name.
    return table._replace(releases=releases, spans=[*table.spans, ""])
