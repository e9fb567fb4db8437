"""Paper 003's own way: a Mondrian tree on all attributes, and what bounds a butterfly's loss."""

import numpy as np

from shoal.kernels.butterfly.tree import cells_loss, open_node, reach, stack_children
from shoal.kernels.costs import SET
from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import inner_kernel, kernel

LARGE = 8
"""Classes of more than so many times k records are not searched for neighbours."""


@inner_kernel
def _extent(codes, part):
    lo = codes[part[0]]
    hi = lo
    for row in part:
        lo = min(lo, codes[row])
        hi = max(hi, codes[row])
    return lo, hi


@inner_kernel
def _median_pivot(codes, part, lo, hi, least, counts):
    """First code of the right side of a cut at the median; -1 if a side would be too small."""
    counts[lo : hi + 1] = 0
    for row in part:
        counts[codes[row]] += 1
    below = 0
    code = lo
    while below + counts[code] < len(part) // 2:
        below += counts[code]
        code += 1
    if min(below + counts[code], len(part) - below - counts[code]) >= least:
        return code + 1
    return code if min(below, len(part) - below) >= least else -1


@inner_kernel
def _widest_cut(matrix, costs, part, least, low, high, width, counts):
    """Attribute and pivot of the widest allowable cut at a median; attribute -1: none."""
    for a in range(len(matrix)):
        low[a], high[a] = _extent(matrix[a], part)
        width[a] = reach(costs, a, low[a], high[a])
    while len(width) > 0:
        a = np.argmax(width)
        if width[a] <= 0.0:
            break
        pivot = _median_pivot(matrix[a], part, low[a], high[a], least, counts)
        if pivot >= 0:
            return a, pivot
        width[a] = 0.0
    return -1, 0


@inner_kernel
def _divide(codes, part, pivot, spare):
    """Bring the records below the pivot to the front, in their order; returns how many."""
    left = 0
    right = 0
    for i in range(len(part)):
        row = part[i]
        if codes[row] < pivot:
            part[left] = row
            left += 1
        else:
            spare[right] = row
            right += 1
    part[left:] = spare[:right]
    return left


@kernel
def grow_at_medians(matrix, costs, least, tree):
    """Mondrian's tree of the records, in preorder; returns the number of nodes.

    Where units of alike records are given, no cut separates them.
    """
    d, n = matrix.shape
    low, high, width = np.empty(d, np.int32), np.empty(d, np.int32), np.empty(d)
    counts = np.zeros(max(1, costs.size.max()), np.int64)
    spare = np.empty(n, np.int64)
    stack = np.empty((n + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, -1
    top, nodes = 1, 0
    while top > 0:
        top -= 1
        begin, end = open_node(tree, stack[top], nodes)
        node, part = nodes, tree.order[begin:end]
        nodes += 1
        tree.weight[node] = end - begin
        if end - begin < 2 * least:
            continue
        a, pivot = _widest_cut(matrix, costs, part, least, low, high, width, counts)
        if a < 0:
            continue
        middle = begin + _divide(matrix[a], part, pivot, spare)
        top = stack_children(stack, top, begin, middle, end, node)
    return nodes


@kernel
def node_losses(cells, costs, tree, nodes, losses):
    """Fill ``losses[node]``: what one class of its records loses, summed over them."""
    d = len(cells.codes)
    low, high = np.empty(d, np.int32), np.empty(d, np.int32)
    seen, stamp = np.zeros(costs.size.sum(), np.int64), np.zeros(1, np.int64)
    for node in range(nodes):
        part = tree.order[tree.begin[node] : tree.end[node]]
        losses[node] = len(part) * cells_loss(costs, cells, part, low, high, seen, stamp)


@kernel
def nodes_hold(tree, nodes, check, good):
    """Fill ``good[node]``: whether its records satisfy all models as one class."""
    for node in range(nodes):
        reset(check.tally)
        for i in range(tree.begin[node], tree.end[node]):
            add(check.tally, check.records, tree.order[i])
        good[node] = tally_holds(check)


@inner_kernel
def _distance(matrix, costs, one, other):
    """What two records lose in one class: Definition 3."""
    total = 0.0
    for a in range(len(matrix)):
        lo, hi = min(matrix[a, one], matrix[a, other]), max(matrix[a, one], matrix[a, other])
        if lo != hi and costs.form[a] == SET:
            total += costs.weight[a] * 2 / costs.size[a]
        elif lo != hi:
            total += costs.weight[a] * reach(costs, a, lo, hi)
    return total


@kernel
def nearest_within(matrix, costs, order, offsets, k, nearest):
    """``nearest[e, i]``: smallest distance of a record of class e to its i-th neighbour there.

    Neighbour 0 is the record itself; where a class has no i-th one, infinity. A
    class that is far larger than k is one that no cut could divide: its records
    are (nearly) alike, and 0 bounds what is between them.
    """
    nearest[:, :] = np.inf
    for e in range(len(offsets) - 1):
        part = order[offsets[e] : offsets[e + 1]]
        if len(part) > LARGE * k:
            nearest[e, :] = 0.0
            continue
        distance = np.empty(len(part))
        for t in range(len(part)):
            for u in range(len(part)):
                distance[u] = _distance(matrix, costs, part[t], part[u])
            distance.sort()
            for i in range(min(k, len(part))):
                nearest[e, i] = min(nearest[e, i], distance[i])
