"""A tree of the common attributes of several readers, for body-first butterflies.

Records that agree in all common attributes are a cell. A binary tree of cells
is cut top-down, each node where that leaves the least loss of the body;
`shoal.kernels.butterfly.choice` then says which nodes become butterflies.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_loss
from shoal.kernels.jit import inner_kernel, kernel

BUCKETS = 128
"""Most cuts of one attribute that are looked at in a node; wider ranges are cut again below."""


class Cells(NamedTuple):
    """Distinct combinations of the common attributes."""

    codes: np.ndarray  # int32 (d, M)
    weight: np.ndarray  # int64 (M,): records


class Tree(NamedTuple):
    """Nodes in preorder: the left child follows its parent."""

    order: np.ndarray  # int64 (M,): cells; those of a node are neighbours
    begin: np.ndarray  # int64 (2M,)
    end: np.ndarray  # int64 (2M,)
    right: np.ndarray  # int64 (2M,): the right child, 0 for a leaf
    weight: np.ndarray  # int64 (2M,): records
    loss: np.ndarray  # float64 (2M,): of the body, summed over the records


def new_tree(count):
    """Room for a tree of so many cells."""
    nodes = max(1, 2 * count)
    integers = [np.zeros(nodes, dtype=np.int64) for _ in range(4)]
    return Tree(np.arange(count, dtype=np.int64), *integers, np.zeros(nodes))


@inner_kernel
def reach(costs, a, lo, hi):
    """Loss of a range of codes; of a set as if it had all values in between."""
    if costs.form[a] == SET:
        return (hi - lo + 1) / costs.size[a] if hi > lo else 0.0
    return range_loss(costs, a, lo, hi)


@inner_kernel
def _box_loss(costs, low, high):
    """Weighted loss of a box of codes."""
    loss = 0.0
    for a in range(len(low)):
        loss += costs.weight[a] * reach(costs, a, low[a], high[a])
    return loss


@inner_kernel
def _extend(low, high, code_low, code_high):
    for a in range(len(low)):
        low[a] = min(low[a], code_low[a])
        high[a] = max(high[a], code_high[a])


@inner_kernel
def _fill_buckets(cells, part, a, lo, width, low, high, weight):
    """Boxes and weights of the cells by their code of one attribute."""
    for b in range(len(weight)):
        weight[b] = 0
        low[b, :] = np.iinfo(np.int32).max
        high[b, :] = -1
    for cell in part:
        b = (cells.codes[a, cell] - lo) // width
        weight[b] += cells.weight[cell]
        for i in range(len(cells.codes)):
            low[b, i] = min(low[b, i], cells.codes[i, cell])
            high[b, i] = max(high[b, i], cells.codes[i, cell])


@inner_kernel
def _best_bucket(costs, low, high, weight, left):
    """The last bucket of the left side of the cheapest cut, and the loss of both sides."""
    box_low = low[0].copy()
    box_high = high[0].copy()
    count = 0
    for b in range(len(weight) - 1):
        _extend(box_low, box_high, low[b], high[b])
        count += weight[b]
        left[b] = count * _box_loss(costs, box_low, box_high) if weight[b] > 0 else np.inf
    best = -1
    least = np.inf
    box_low[:] = low[-1]
    box_high[:] = high[-1]
    count = 0
    for b in range(len(weight) - 1, 0, -1):
        if weight[b] > 0:
            _extend(box_low, box_high, low[b], high[b])
            count += weight[b]
        total = left[b - 1] + count * _box_loss(costs, box_low, box_high)
        if total <= least and left[b - 1] < np.inf:
            best, least = b - 1, total
    return best, least


@inner_kernel
def _best_cut(cells, costs, part, box_low, box_high, low, high, weight, left):
    """The attribute and the first code of the right side that lose least; -1: no cut."""
    best, pivot, least = -1, 0, np.inf
    for a in range(len(box_low)):
        lo, hi = box_low[a], box_high[a]
        if lo == hi:
            continue
        most = min(BUCKETS, 4 * len(part))
        width = (hi - lo) // most + 1
        count = (hi - lo) // width + 1
        _fill_buckets(cells, part, a, lo, width, low[:count], high[:count], weight[:count])
        bucket, total = _best_bucket(costs, low[:count], high[:count], weight[:count], left)
        if total < least:
            best, pivot, least = a, lo + (bucket + 1) * width, total
    return best, pivot


@inner_kernel
def _separate(codes, part, pivot):
    """Bring the cells below the pivot to the front; returns how many."""
    left = 0
    for i in range(len(part)):
        if codes[part[i]] < pivot:
            part[left], part[i] = part[i], part[left]
            left += 1
    return left


@inner_kernel
def cells_loss(costs, cells, part, low, high, seen, stamp):
    """Exact loss of the body that covers the given cells, per record."""
    low[:] = cells.codes[:, part[0]]
    high[:] = low
    for cell in part:
        for a in range(len(low)):
            low[a] = min(low[a], cells.codes[a, cell])
            high[a] = max(high[a], cells.codes[a, cell])
    loss = 0.0
    for a in range(len(low)):
        if costs.form[a] != SET or low[a] == high[a]:
            loss += costs.weight[a] * reach(costs, a, low[a], high[a])
            continue
        distinct = 0
        stamp[0] += 1
        for cell in part:
            value = costs.start[a] + cells.codes[a, cell]
            distinct += seen[value] != stamp[0]
            seen[value] = stamp[0]
        loss += costs.weight[a] * distinct / costs.size[a]
    return loss


@inner_kernel
def open_node(tree, waiting, node):
    """Begin a node with the range that waits for it, and tell the parent if it is a right child."""
    begin, end, parent = waiting
    if parent >= 0:
        tree.right[parent] = node
    tree.begin[node], tree.end[node], tree.right[node] = begin, end, 0
    return begin, end


@inner_kernel
def stack_children(stack, top, begin, middle, end, node):
    """Let both children of a node wait, the left one on top: preorder; returns the new top."""
    stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, node
    stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = begin, middle, -1
    return top + 2


@kernel
def grow(cells, costs, least, tree):
    """Cut the cells into a tree; nodes of fewer than `least` records are not cut on.

    Returns the number of nodes.
    """
    d, count = cells.codes.shape
    low, high = np.empty((BUCKETS + 1, d), np.int32), np.empty((BUCKETS + 1, d), np.int32)
    weight, left = np.empty(BUCKETS + 1, np.int64), np.empty(BUCKETS + 1)
    box_low, box_high = np.empty(d, np.int32), np.empty(d, np.int32)
    seen, stamp = np.zeros(costs.size.sum(), np.int64), np.zeros(1, np.int64)
    stack = np.empty((count + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, -1
    top, nodes = 1, 0
    while top > 0:
        top -= 1
        begin, end = open_node(tree, stack[top], nodes)
        node, part = nodes, tree.order[begin:end]
        nodes += 1
        tree.weight[node] = cells.weight[part].sum()
        ncp = cells_loss(costs, cells, part, box_low, box_high, seen, stamp)
        tree.loss[node] = tree.weight[node] * ncp
        if len(part) == 1 or tree.weight[node] < least:
            continue
        a, pivot = _best_cut(cells, costs, part, box_low, box_high, low, high, weight, left)
        if a < 0:
            continue
        middle = begin + _separate(cells.codes[a], part, pivot)
        top = stack_children(stack, top, begin, middle, end, node)
    return nodes
