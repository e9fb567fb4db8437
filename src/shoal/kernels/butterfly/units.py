"""The cheapest groups of units along a line, a unit being records that stay together.

Paper 003, section 5.2, lets one representative stand for k' records and rounds
k / k' up. Here a unit has its true number of records and its true ranges of
codes, so that no record is grouped in vain. A group of 2k records and one unit
more can be divided, so no larger one is looked at: the cut is the cheapest.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.butterfly.windows import cheapest_sizes
from shoal.kernels.costs import SET, group_loss
from shoal.kernels.grouping import group_sets
from shoal.kernels.jit import inner_kernel, kernel


class Units(NamedTuple):
    """Units in their order along the line, those of one node after each other."""

    low: np.ndarray  # int32 (U, p)
    high: np.ndarray  # int32 (U, p)
    weight: np.ndarray  # int64 (U,): records
    node_begin: np.ndarray  # int64 (U,): the first unit of the node that the unit is in
    starts: np.ndarray  # int64 (p, U+1): SET only: where the values of a unit begin
    members: np.ndarray  # int32: values of the units


class Walk(NamedTuple):
    """The group that a walk has come across so far."""

    low: np.ndarray  # int32 (p,)
    high: np.ndarray  # int32 (p,)
    distinct: np.ndarray  # int64 (p,)
    seen: np.ndarray  # int64 (sum of sizes,): walk that last met the value
    stamp: np.ndarray  # int64 (1,)


def units_of(costs, matrix, order, offsets, node_begin):
    """`Units` of the groups order[offsets[g]:offsets[g+1]] of records."""
    p, count = len(matrix), len(offsets) - 1
    low, high = np.empty((p, count), np.int32), np.empty((p, count), np.int32)
    box_units(matrix, order, offsets, low, high)
    starts = np.zeros((p, count + 1), dtype=np.int64)
    parts = [np.zeros(0, dtype=np.int32)]
    for a in np.flatnonzero(costs.form == SET):
        members = np.empty(len(order), dtype=np.int32)
        group_sets(matrix[a], order, offsets, costs.size[a], starts[a], members)
        starts[a] += sum(map(len, parts))
        parts.append(members)
    boxes = np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)
    return Units(*boxes, np.diff(offsets), node_begin, starts, np.concatenate(parts))


def new_walk(costs):
    """A walk that has not begun."""
    p = len(costs.size)
    return Walk(
        *(np.zeros(p, dtype=np.int32), np.zeros(p, dtype=np.int32), np.zeros(p, dtype=np.int64)),
        *(np.zeros(int(costs.size.sum()), dtype=np.int64), np.zeros(1, dtype=np.int64)),
    )


@kernel
def box_units(matrix, order, offsets, low, high):
    """Smallest and largest code of every unit."""
    for a in range(len(matrix)):
        codes = matrix[a]
        for u in range(len(offsets) - 1):
            lo = codes[order[offsets[u]]]
            hi = lo
            for i in range(offsets[u] + 1, offsets[u + 1]):
                lo = min(lo, codes[order[i]])
                hi = max(hi, codes[order[i]])
            low[a, u], high[a, u] = lo, hi


@inner_kernel
def _take(costs, units, walk, u):
    """Take a unit into the group."""
    for a in range(len(walk.low)):
        walk.low[a] = min(walk.low[a], units.low[u, a])
        walk.high[a] = max(walk.high[a], units.high[u, a])
        if costs.form[a] != SET:
            continue
        for i in range(units.starts[a, u], units.starts[a, u + 1]):
            value = costs.start[a] + units.members[i]
            walk.distinct[a] += walk.seen[value] != walk.stamp[0]
            walk.seen[value] = walk.stamp[0]


@kernel
def cheapest_groups(costs, units, k, walk, opt, first):
    """Least loss of the first 0..U units in groups of at least k records, none across nodes.

    ``first[u + 1]`` is where the last group of the first u + 1 units begins. A
    prefix that leaves fewer than k records to its last node is infinitely dear.
    """
    most = 2 * k + units.weight.max()
    opt[0] = 0.0
    for e in range(len(units.weight)):
        opt[e + 1] = np.inf
        walk.stamp[0] += 1
        walk.low[:], walk.high[:], walk.distinct[:] = units.low[e], units.high[e], 0
        weight = 0
        j = e
        while j >= units.node_begin[e] and weight < most:
            weight += units.weight[j]
            _take(costs, units, walk, j)
            if weight >= k and opt[j] < opt[e + 1]:
                total = opt[j] + weight * group_loss(costs, walk)
                if total < opt[e + 1]:
                    opt[e + 1] = total
                    first[e + 1] = j
            j -= 1


def best_groups(costs, units, k):
    """The least loss, and the first unit of each group of the cheapest cut, ascending."""
    found = None if (costs.form == SET).any() else cheapest_sizes(costs, units, k)
    count = len(units.weight)
    if found is None:
        opt, first = np.empty(count + 1), np.zeros(count + 1, dtype=np.int64)
        cheapest_groups(costs, units, k, new_walk(costs), opt, first)
        loss = opt[-1]
    else:
        loss, size = found
        first = np.arange(count + 1) - size.astype(np.int64)
    begins = np.empty(count, dtype=np.int64)
    return loss, begins[: group_begins(first, begins)][::-1]


@kernel
def group_begins(first, begins):
    """First units of the groups, the last one first; returns how many."""
    count = 0
    u = len(first) - 1
    while u > 0:
        u = first[u]
        begins[count] = u
        count += 1
    return count
