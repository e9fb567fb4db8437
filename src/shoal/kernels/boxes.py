"""How much falls on each point from boxes that may overlap: a k-d tree of points.

Points are those of one sensitive value; a box adds its share to every point it
covers. A node of the tree that lies wholly in a box takes the share once, for
all points below it. Shares are positive and only ever added, so nothing is lost
to rounding, however many boxes overlap.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

LEAF = 8
"""So many points are looked at one by one."""
DEPTH = 64
"""No tree is deeper: its nodes are halved."""
APART = 0
PARTLY = 1
WITHIN = 2


class Points(NamedTuple):
    """Distinct points with their sensitive values, ordered by value."""

    codes: np.ndarray  # int32 (points, d)
    starts: np.ndarray  # int64 (values + 1,): points of value v are starts[v]..starts[v+1]-1


class Boxes(NamedTuple):
    """Distinct pairs of box and sensitive value, ordered by value."""

    rows: np.ndarray  # int64 (boxes, d): what a box covers of each attribute
    share: np.ndarray  # float64 (boxes,): records it brings to each point that it covers
    starts: np.ndarray  # int64 (values + 1,)
    run_starts: np.ndarray  # int64 (rows + 1,): row r covers runs run_starts[r]..[r+1]-1
    first: np.ndarray  # int32 (runs,)
    last: np.ndarray  # int32 (runs,)


class Tree(NamedTuple):
    """A tree for each value: those of value v are the nodes from ``2 * points.starts[v]``.

    A child is found behind its parent; the children of a node are neighbours.
    """

    order: np.ndarray  # int64 (points,): points; those of a node are neighbours
    begin: np.ndarray  # int64 (2 * points,)
    end: np.ndarray  # int64 (2 * points,)
    child: np.ndarray  # int64 (2 * points,): the first child, 0 for a leaf
    low: np.ndarray  # int32 (2 * points, d): smallest codes
    high: np.ndarray  # int32 (2 * points, d): largest codes
    extra: np.ndarray  # float64 (2 * points,): what every point of the node gets


def new_tree(points):
    """Room for the trees of all values."""
    count, d = points.codes.shape
    return Tree(
        order=np.arange(count),
        begin=np.empty(2 * count, dtype=np.int64),
        end=np.empty(2 * count, dtype=np.int64),
        child=np.zeros(2 * count, dtype=np.int64),
        low=np.empty((2 * count, d), dtype=np.int32),
        high=np.empty((2 * count, d), dtype=np.int32),
        extra=np.zeros(2 * count, dtype=np.float64),
    )


@inner_kernel
def _place(tree, points, node, begin, end):
    """Make a leaf of the points order[begin:end]."""
    tree.begin[node], tree.end[node], tree.child[node] = begin, end, 0
    for a in range(points.codes.shape[1]):
        low = points.codes[tree.order[begin], a]
        high = low
        for i in range(begin + 1, end):
            code = points.codes[tree.order[i], a]
            low = min(low, code)
            high = max(high, code)
        tree.low[node, a], tree.high[node, a] = low, high


@inner_kernel
def _sort(tree, points, node):
    """Sort the points of a node along its widest attribute."""
    begin, end = tree.begin[node], tree.end[node]
    axis = np.argmax(tree.high[node] - tree.low[node])
    keys = np.empty(end - begin, dtype=np.int32)
    for i in range(begin, end):
        keys[i - begin] = points.codes[tree.order[i], axis]
    tree.order[begin:end] = tree.order[begin:end][np.argsort(keys)]


@inner_kernel
def build(tree, points, value):
    """Build the tree of one value; returns the node behind its last."""
    node = 2 * points.starts[value]
    beyond = node + 1
    _place(tree, points, node, points.starts[value], points.starts[value + 1])
    while node < beyond:  # nodes to be halved wait in their own order
        begin, end = tree.begin[node], tree.end[node]
        if end - begin > LEAF:
            _sort(tree, points, node)
            middle = (begin + end) // 2
            _place(tree, points, beyond, begin, middle)
            _place(tree, points, beyond + 1, middle, end)
            tree.child[node] = beyond
            beyond += 2
        node += 1
    return beyond


@inner_kernel
def _meets(boxes, row, low, high):
    """How the codes low..high lie to what a row covers."""
    for run in range(boxes.run_starts[row], boxes.run_starts[row + 1]):
        if low <= boxes.last[run]:  # the first run that does not end before them
            if boxes.first[run] <= low and high <= boxes.last[run]:
                return WITHIN
            return PARTLY if boxes.first[run] <= high else APART
    return APART


@inner_kernel
def relation(boxes, box, low, high):
    found = WITHIN
    for a in range(len(low)):
        meets = _meets(boxes, boxes.rows[box, a], low[a], high[a])
        if meets == APART:
            return APART
        found = min(found, meets)
    return found


@inner_kernel
def _add(tree, points, boxes, box, root, stack, expected):
    """Add one box's share to all points that it covers; returns the nodes visited."""
    visited = 0
    stack[0] = root
    top = 0
    while top >= 0:
        node = stack[top]
        top -= 1
        visited += 1
        found = relation(boxes, box, tree.low[node], tree.high[node])
        if found == WITHIN:
            tree.extra[node] += boxes.share[box]
        elif found == PARTLY and tree.child[node]:
            stack[top + 1] = tree.child[node]
            stack[top + 2] = tree.child[node] + 1
            top += 2
        elif found == PARTLY:
            for i in range(tree.begin[node], tree.end[node]):
                point = points.codes[tree.order[i]]
                if relation(boxes, box, point, point) == WITHIN:
                    expected[tree.order[i]] += boxes.share[box]
    return visited


@inner_kernel
def _hand_down(tree, root, beyond, expected):
    """What a node got reaches its points."""
    for node in range(root, beyond):
        child = tree.child[node]
        if child:
            tree.extra[child] += tree.extra[node]
            tree.extra[child + 1] += tree.extra[node]
        else:
            for i in range(tree.begin[node], tree.end[node]):
                expected[tree.order[i]] += tree.extra[node]


@kernel
def add_overlapping(values, tree, points, boxes, expected):
    """Fill ``expected`` for the points of the given values; returns the nodes visited.

    Values are independent of each other: threads may share all arrays.
    """
    stack = np.empty(2 * DEPTH, dtype=np.int64)
    visited = 0
    for value in values:
        if points.starts[value] == points.starts[value + 1]:
            continue
        beyond = build(tree, points, value)
        root = 2 * points.starts[value]
        for box in range(boxes.starts[value], boxes.starts[value + 1]):
            visited += _add(tree, points, boxes, box, root, stack, expected)
        _hand_down(tree, root, beyond, expected)
    return visited
