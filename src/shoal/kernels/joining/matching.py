"""Which rows of two releases belong together in some matching of all their records.

Every record is a row of each release, so the true pairs match all records of
the one with all of the other. Rows are nodes, with as many records as carry
them; rows whose cells meet are joined by an edge. Edges are never stored:
boxes overlap massively, so a search asks for the next row *not yet seen* that
meets, and the more rows meet the sooner all are seen.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.joining.pairs import Cells, Plan, meet


class Scan(NamedTuple):
    """The rows of one side, and where to look for those of the other that meet them."""

    own: Cells
    other: Cells
    bits: np.ndarray
    plan: Plan
    """What each row is compared with."""
    seen: np.ndarray
    """Rows of the other side that nobody looks for any more."""
    unseen: np.ndarray
    """The next place of the plan not known as seen, or one before it; one more than it has."""
    left: np.ndarray
    """Comparisons that may still be made (one number); below 0 a search gives up."""


class Flow(NamedTuple):
    """How many records of a row go with a row of the other side: arcs, chained by the other."""

    excess: np.ndarray
    """Records of each own row that go with none yet."""
    free: np.ndarray
    """Records of each row of the other side that do."""
    head: np.ndarray
    following: np.ndarray
    own: np.ndarray
    amount: np.ndarray
    used: np.ndarray
    """How many arcs there are (one number)."""


class Forest(NamedTuple):
    """What one search from all rows with records left has found, and how."""

    root: np.ndarray
    """By own row: from where it was found; -1 if it was not."""
    done: np.ndarray
    """By own row, for roots: whether a way was found for it."""
    entered: np.ndarray
    """By own row: the arc that led to it."""
    before: np.ndarray
    """By own row: the row of the other side at the arc."""
    finder: np.ndarray
    """By row of the other side: the own row that has found it."""
    queue: np.ndarray


class Arcs(NamedTuple):
    """Own rows that have records in common with row j: ``to[offsets[j]:offsets[j+1]]``."""

    offsets: np.ndarray
    to: np.ndarray


@inner_kernel
def _next_unseen(unseen, place):
    while unseen[place] != place:
        unseen[place] = unseen[unseen[place]]
        place = unseen[place]
    return place


@inner_kernel
def _next_meeting(scan, i, entry, place):
    """The next unseen row that meets row i: its entry and place; place -1 if there is none."""
    plan = scan.plan
    tried = 0
    while entry < plan.offsets[i + 1]:
        place = _next_unseen(scan.unseen, max(place, plan.begin[entry]))
        while place < plan.end[entry]:
            j = plan.rows[place]
            if scan.seen[j]:  # it may stand at several places: they are left one by one
                scan.unseen[place] = place + 1
            else:
                tried += 1
                if meet(scan.own, i, scan.other, j, scan.bits):
                    scan.left[0] -= tried
                    return entry, place
            place = _next_unseen(scan.unseen, place + 1)
        entry += 1
        place = 0
    scan.left[0] -= tried
    return entry, -1


@inner_kernel
def _add(flow, i, j, amount):
    """Let more records of row i go with row j."""
    arc = flow.head[j]
    while arc >= 0:
        if flow.own[arc] == i:
            flow.amount[arc] += amount
            return
        arc = flow.following[arc]
    arc = flow.used[0]
    flow.used[0] += 1
    flow.own[arc] = i
    flow.amount[arc] = amount
    flow.following[arc] = flow.head[j]
    flow.head[j] = arc


@kernel
def pour(scan, flow, rows):
    """Let each row go with the first ones that have records left: a start, not a matching."""
    for i in rows:
        entry, place = scan.plan.offsets[i], 0
        while flow.excess[i] > 0 and scan.left[0] >= 0:
            entry, place = _next_meeting(scan, i, entry, place)
            if place < 0:
                break
            j = scan.plan.rows[place]
            amount = min(flow.excess[i], flow.free[j])
            if amount > 0:
                _add(flow, i, j, amount)
                flow.excess[i] -= amount
                flow.free[j] -= amount
            if flow.free[j] == 0:
                scan.seen[j] = True
            place += 1


@inner_kernel
def _carried(flow, forest, i, j):
    """How many records the way from the root over row i to row j carries, and its steps."""
    amount = min(flow.excess[forest.root[i]], flow.free[j])
    steps = 1
    while i != forest.root[i]:
        amount = min(amount, flow.amount[forest.entered[i]])
        i = forest.finder[forest.before[i]]
        steps += 1
    return amount, steps


@inner_kernel
def _push(flow, forest, i, j, amount):
    """Move records along the way from the root over row i to row j."""
    flow.free[j] -= amount
    while i != forest.root[i]:
        _add(flow, i, j, amount)
        flow.amount[forest.entered[i]] -= amount
        j = forest.before[i]
        i = forest.finder[j]
    _add(flow, i, j, amount)
    flow.excess[i] -= amount


@inner_kernel
def _expand(scan, flow, forest, i, tail):
    """Append to the queue all rows that make room if row i takes their place."""
    entry, place = scan.plan.offsets[i], 0
    while scan.left[0] >= 0:
        entry, place = _next_meeting(scan, i, entry, place)
        if place < 0:
            break
        j = scan.plan.rows[place]
        scan.seen[j] = True
        forest.finder[j] = i
        arc = flow.head[j]
        while arc >= 0:
            own = flow.own[arc]
            if flow.amount[arc] > 0 and forest.root[own] < 0:
                forest.root[own] = forest.root[i]
                forest.entered[own] = arc
                forest.before[own] = j
                forest.queue[tail] = own
                tail += 1
            arc = flow.following[arc]
        place += 1
    return tail


@kernel
def augment(scan, vacant, flow, forest, rows):
    """One search, breadth first, from all rows that have records left; how many found a partner.

    Trees have no row in common, so that each may have its shortest way. In
    `vacant`, only rows of the other side with records left are unseen. Stops
    early where the arcs have no more room: the caller makes some.
    """
    tail = 0
    for root in rows:
        forest.root[root] = root
        forest.queue[tail] = root
        tail += 1
    at, moved = 0, 0
    while at < tail and scan.left[0] >= 0:
        i = forest.queue[at]
        at += 1
        if forest.done[forest.root[i]]:
            continue
        _, place = _next_meeting(vacant, i, scan.plan.offsets[i], 0)
        if place < 0:
            tail = _expand(scan, flow, forest, i, tail)
            continue
        j = scan.plan.rows[place]
        amount, steps = _carried(flow, forest, i, j)
        if flow.used[0] + steps > len(flow.own):
            break
        _push(flow, forest, i, j, amount)
        moved += amount
        forest.done[forest.root[i]] = True
        if flow.free[j] == 0:
            vacant.seen[j] = True
    return moved


@kernel
def explore(scan, arcs, roots, tree, finished, stack):
    """Search from each root what was not found from an earlier one.

    A row leads to all of the other side that meet it, a row of the other side
    to those of its arcs. Nodes are the rows, then those of the other side.
    `tree` gets the root that has found each node, `finished` the nodes in the
    order in which they were left for good.
    """
    rows = len(scan.plan.offsets) - 1
    count = 0
    for number in range(len(roots)):
        depth = _enter(scan, arcs, tree, roots[number], number, stack, 0)
        while depth > 0 and scan.left[0] >= 0:
            node, entry, at = stack[depth - 1]
            found = -1
            if node < rows:
                entry, place = _next_meeting(scan, node, entry, at)
                stack[depth - 1, 1] = entry
                stack[depth - 1, 2] = place + 1
                if place >= 0:
                    found = rows + scan.plan.rows[place]
            elif at < arcs.offsets[node - rows + 1]:
                stack[depth - 1, 2] = at + 1
                found = arcs.to[at]
            if found >= 0:
                depth += _enter(scan, arcs, tree, found, number, stack, depth)
            else:
                finished[count] = node
                count += 1
                depth -= 1


@inner_kernel
def _enter(scan, arcs, tree, node, number, stack, depth):
    """Put a node on the stack and return 1, if nobody has been there; else 0."""
    if tree[node] >= 0:
        return 0
    tree[node] = number
    rows = len(scan.plan.offsets) - 1
    stack[depth, 0] = node
    if node < rows:
        stack[depth, 1] = scan.plan.offsets[node]
        stack[depth, 2] = 0
    else:
        scan.seen[node - rows] = True
        stack[depth, 2] = arcs.offsets[node - rows]
    return 1
