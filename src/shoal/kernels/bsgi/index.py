"""The record that widens a group least: k-d trees that records leave, searched by bounds.

A tree is a heap of nodes: node i has the children 2i and 2i + 1, and all leaves
are on the last level. A node knows what its records span, so that what the
group would lose with any of them has a lower bound; a branch that cannot beat
the best record found so far is not entered. Sums of losses are taken in the
order of the attributes for records and bounds alike: rounding never puts a bound above
a record's loss, and the search is exact.

Among equally good records the lowest wins; records are numbered along a curve.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, SPAN, range_loss
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

LEAF = 8
"""So many records of a leaf are looked at one by one."""
DEPTH = 64
"""No tree is deeper: its nodes are halved."""
BITS = 63
"""Values are told apart in a node by the bits of a word; with more of them, some share a bit."""
NOBODY = -1


class Forest(NamedTuple):
    """Trees of records. Slots of a tree, and of a leaf, are neighbours."""

    slots: np.ndarray  # int64 (T + 1,): slots of tree t are slots[t]..slots[t+1]-1
    base: np.ndarray  # int64 (T + 1,): node i of tree t is base[t] + i
    leaves: np.ndarray  # int64 (T,): a power of two; 0 for a tree without records
    record: np.ndarray  # int32 (n,): record in each slot
    slot: np.ndarray  # int32 (n,): slot of each record
    tree: np.ndarray  # int32 (n,): tree of each record
    value: np.ndarray  # int32 (n,): sensitive value of the record in each slot
    point: np.ndarray  # float64 (n, d): where it stands: position (SPAN) or code (all others)
    count: np.ndarray  # int32 (nodes,): leaves only: records that are still there, in front
    first: np.ndarray  # int32 (nodes,): lowest record of a node
    values: np.ndarray  # int64 (nodes,): bits of its sensitive values; 0 if nobody is left
    low: np.ndarray  # float64 (nodes, d)
    high: np.ndarray  # float64 (nodes, d)
    codes: np.ndarray  # int64 (nodes, d): SET only: bits of its codes


class Box(NamedTuple):
    """What a growing group covers."""

    low: np.ndarray  # float64 (d,)
    high: np.ndarray  # float64 (d,)
    distinct: np.ndarray  # int64 (d,): SET only
    codes: np.ndarray  # int64 (d,): SET only: bits
    seen: np.ndarray  # int64 (sum of sizes,): SET only: stamp of the box that has the code
    stamp: np.ndarray  # int64 (1,)
    node: np.ndarray  # int64 (DEPTH,): branches that wait in a search
    bound: np.ndarray  # float64 (DEPTH,)


def new_box(costs):
    """A box that covers nothing yet, with the scratch of a search."""
    d = len(costs.size)
    return Box(
        low=np.zeros(d),
        high=np.zeros(d),
        distinct=np.zeros(d, dtype=np.int64),
        codes=np.zeros(d, dtype=np.int64),
        seen=np.zeros(int(costs.size.sum()), dtype=np.int64),
        stamp=np.zeros(1, dtype=np.int64),
        node=np.zeros(DEPTH, dtype=np.int64),
        bound=np.zeros(DEPTH),
    )


def new_forest(costs, points, value, tree, trees):
    """Trees of the records with these points, float64 (n, d), and sensitive values.

    ``tree`` is the tree each record belongs to, 0..trees-1.
    """
    n, d = points.shape
    slots = np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=trees))])
    leaves = np.array([_leaves(size) for size in np.diff(slots)], dtype=np.int64)
    base = np.concatenate([[0], np.cumsum(2 * leaves)])
    record = np.argsort(tree, kind="stable").astype(np.int32)
    nodes = int(base[-1])
    marked = nodes if (costs.form == SET).any() else 1
    forest = Forest(
        slots=slots.astype(np.int64),
        base=base.astype(np.int64),
        leaves=leaves,
        record=record,
        slot=np.empty(n, dtype=np.int32),
        tree=tree.astype(np.int32),
        value=np.empty(n, dtype=np.int32),
        point=np.empty((n, d)),
        count=np.zeros(nodes, dtype=np.int32),
        first=np.zeros(nodes, dtype=np.int32),
        values=np.zeros(nodes, dtype=np.int64),
        low=np.empty((nodes, d)),
        high=np.empty((nodes, d)),
        codes=np.zeros((marked, d), dtype=np.int64),
    )
    _sort(forest, costs, points, value)
    refill(forest, costs)
    return forest


def _leaves(size):
    """A power of two, so that leaves have at most `LEAF` records; none for nobody."""
    return 0 if size == 0 else 1 << max(0, (int(size - 1) // LEAF).bit_length())


@inner_borrowed
def leaf_begin(forest, t, leaf):
    """First slot of a leaf."""
    first = forest.slots[t]
    return first + leaf * (forest.slots[t + 1] - first) // forest.leaves[t]


@kernel(**BORROWED)
def _sort(forest, costs, points, value):
    """Sort the records into their slots: every node is halved along its widest attribute."""
    for t in range(len(forest.leaves)):
        width = forest.leaves[t]
        while width > 1:  # nodes of one level span `width` leaves each
            for i in range(forest.leaves[t] // width):
                begin = leaf_begin(forest, t, i * width)
                middle = leaf_begin(forest, t, i * width + width // 2)
                end = leaf_begin(forest, t, (i + 1) * width)
                axis = _widest(costs, points, forest.record, begin, end)
                _part(points, forest.record, axis, begin, middle, end)
            width //= 2
    for s in range(len(forest.record)):
        row = forest.record[s]
        forest.slot[row] = s
        forest.value[s] = value[row]
        for a in range(points.shape[1]):
            forest.point[s, a] = points[row, a]


@kernel(**BORROWED)
def refill(forest, costs):
    """All records are in their trees (again)."""
    for t in range(len(forest.leaves)):
        leaves, base = forest.leaves[t], forest.base[t]
        for node in range(2 * leaves - 1, 0, -1):
            if node < leaves:
                _tell_parent(forest, costs, base + node, base + 2 * node)
                continue
            begin = leaf_begin(forest, t, node - leaves)
            forest.count[base + node] = leaf_begin(forest, t, node - leaves + 1) - begin
            _tell_leaf(forest, costs, base + node, begin)


@inner_borrowed
def _widest(costs, points, record, begin, end):
    """The attribute in which the records of some slots lose most together."""
    axis = 0
    most = -1.0
    for a in range(points.shape[1]):
        low = points[record[begin], a]
        high = low
        for s in range(begin + 1, end):
            point = points[record[s], a]
            low = min(low, point)
            high = max(high, point)
        if costs.form[a] == SPAN:
            loss = min(1.0, high - low)
        elif costs.form[a] == SET:
            loss = (high - low) / costs.size[a]
        else:
            loss = range_loss(costs, a, np.int64(low), np.int64(high))
        if costs.weight[a] * loss > most:
            axis, most = a, costs.weight[a] * loss
    return axis


@inner_borrowed
def _part(points, record, axis, begin, middle, end):
    """Quickselect: slots before `middle` get points no higher than those from it on."""
    end -= 1
    while begin < end:
        pivot = points[record[(begin + end) // 2], axis]
        i, j = begin, end
        while i <= j:
            while points[record[i], axis] < pivot:
                i += 1
            while points[record[j], axis] > pivot:
                j -= 1
            if i <= j:
                record[i], record[j] = record[j], record[i]
                i += 1
                j -= 1
        if middle <= j:
            end = j
        elif middle >= i:
            begin = i
        else:
            return


@inner_borrowed
def _tell_leaf(forest, costs, node, begin):
    """What the records of a leaf span."""
    forest.values[node] = 0
    forest.first[node] = np.int32(2**31 - 1)
    d = forest.point.shape[1]
    for a in range(d):
        low, high = np.inf, -np.inf
        for s in range(begin, begin + forest.count[node]):
            low = min(low, forest.point[s, a])
            high = max(high, forest.point[s, a])
        forest.low[node, a], forest.high[node, a] = low, high
        if costs.form[a] == SET:
            bits = np.int64(0)
            for s in range(begin, begin + forest.count[node]):
                bits |= np.int64(1) << (np.int64(forest.point[s, a]) % BITS)
            forest.codes[node, a] = bits
    for s in range(begin, begin + forest.count[node]):
        forest.first[node] = min(forest.first[node], forest.record[s])
        forest.values[node] |= np.int64(1) << (np.int64(forest.value[s]) % BITS)


@inner_borrowed
def _tell_parent(forest, costs, node, child):
    """What two children span together; returns whether that is news."""
    first = min(forest.first[child], forest.first[child + 1])
    values = forest.values[child] | forest.values[child + 1]
    news = first != forest.first[node] or values != forest.values[node]
    forest.first[node], forest.values[node] = first, values
    for a in range(forest.point.shape[1]):
        low = min(forest.low[child, a], forest.low[child + 1, a])
        high = max(forest.high[child, a], forest.high[child + 1, a])
        if low != forest.low[node, a] or high != forest.high[node, a]:
            forest.low[node, a], forest.high[node, a] = low, high
            news = True
        if costs.form[a] == SET:
            codes = forest.codes[child, a] | forest.codes[child + 1, a]
            if codes != forest.codes[node, a]:
                forest.codes[node, a] = codes
                news = True
    return news


@inner_borrowed
def _exchange(forest, a, b):
    """Records of two slots change places."""
    if a == b:
        return
    forest.record[a], forest.record[b] = forest.record[b], forest.record[a]
    forest.value[a], forest.value[b] = forest.value[b], forest.value[a]
    for i in range(forest.point.shape[1]):
        forest.point[a, i], forest.point[b, i] = forest.point[b, i], forest.point[a, i]
    forest.slot[forest.record[a]] = a
    forest.slot[forest.record[b]] = b


@inner_borrowed
def remove(forest, costs, row):
    """A record leaves its tree."""
    t = forest.tree[row]
    slot = forest.slot[row]
    leaves = forest.leaves[t]
    size = forest.slots[t + 1] - forest.slots[t]
    leaf = (slot - forest.slots[t]) * leaves // size
    while leaf_begin(forest, t, leaf + 1) <= slot:  # rounding can put it one too low
        leaf += 1
    begin = leaf_begin(forest, t, leaf)
    node = leaves + leaf
    forest.count[forest.base[t] + node] -= 1
    _exchange(forest, slot, begin + forest.count[forest.base[t] + node])
    _tell_leaf(forest, costs, forest.base[t] + node, begin)
    node //= 2
    base = forest.base[t]
    while node > 0 and _tell_parent(forest, costs, base + node, base + 2 * node):
        node //= 2


@inner_borrowed
def begin_box(box, costs, points, at):
    """The box of one record."""
    box.stamp[0] += 1
    for a in range(len(box.low)):
        point = points[at, a]
        box.low[a] = point
        box.high[a] = point
        if costs.form[a] == SET:
            box.distinct[a] = 1
            box.codes[a] = np.int64(1) << (np.int64(point) % BITS)
            box.seen[costs.start[a] + np.int64(point)] = box.stamp[0]


@inner_borrowed
def widen(box, costs, points, at):
    """Take a record into the box."""
    for a in range(len(box.low)):
        point = points[at, a]
        box.low[a] = min(box.low[a], point)
        box.high[a] = max(box.high[a], point)
        if costs.form[a] == SET:
            code = costs.start[a] + np.int64(point)
            if box.seen[code] != box.stamp[0]:
                box.seen[code] = box.stamp[0]
                box.distinct[a] += 1
                box.codes[a] |= np.int64(1) << (np.int64(point) % BITS)


@inner_borrowed
def _stretched(box, costs, a, low, high):
    """Weighted NCP of a range if the box took in the nearest of low..high."""
    begin = min(box.low[a], high)
    end = max(box.high[a], low)
    if costs.form[a] == SPAN:
        return costs.weight[a] * min(1.0, end - begin)
    return costs.weight[a] * range_loss(costs, a, np.int64(begin), np.int64(end))


@inner_borrowed
def _set_loss(box, costs, a, more):
    """Weighted NCP of SET with so many more codes than the box has."""
    distinct = box.distinct[a] + more
    return costs.weight[a] * distinct / costs.size[a] if distinct > 1 else 0.0


@inner_borrowed
def node_loss(box, costs, forest, node, wanted):
    """No record of the node has the box lose less; infinite if it has no value that is wanted."""
    if forest.values[node] & wanted == 0:
        return np.inf
    total = 0.0
    for a in range(len(box.low)):
        if costs.form[a] == SET:
            known = forest.codes[node, a] & box.codes[a]
            total += _set_loss(box, costs, a, 0 if known else 1)
        else:
            total += _stretched(box, costs, a, forest.low[node, a], forest.high[node, a])
    return total


@inner_borrowed
def nearer_child(box, costs, forest, base, node, depth, wanted):
    """The child of a node that promises less loss; the other one waits on the box's stack."""
    node *= 2
    bound = node_loss(box, costs, forest, base + node, wanted)
    other = node_loss(box, costs, forest, base + node + 1, wanted)
    box.node[depth], box.bound[depth] = node + 1, other
    if other < bound:
        box.node[depth], box.bound[depth] = node, bound
        return node + 1, other
    return node, bound


@inner_borrowed
def record_loss(box, costs, points, at):
    """Weighted NCP of the box with one more record."""
    total = 0.0
    for a in range(len(box.low)):
        point = points[at, a]
        if costs.form[a] == SET:
            known = box.seen[costs.start[a] + np.int64(point)] == box.stamp[0]
            total += _set_loss(box, costs, a, 0 if known else 1)
        else:
            total += _stretched(box, costs, a, point, point)
    return total


@inner_borrowed
def box_loss(box, costs):
    """Weighted NCP of the box."""
    total = 0.0
    for a in range(len(box.low)):
        if costs.form[a] == SET:
            total += _set_loss(box, costs, a, 0)
        else:
            total += _stretched(box, costs, a, box.low[a], box.high[a])
    return total
