"""Distinct records in a tree of boxes, and what a box costs with one record more.

The bounds of `shoal.bounds` ask one question over and over: what does the
smallest box around some chosen records cost, if this record is taken in too? A
*row* answers it by table: for each code of each attribute the weighted NCP of
the box with that code. The tree lets a search skip records that are far away.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import ROUND, SET, SPAN, range_loss
from shoal.kernels.jit import inner_borrowed, inner_kernel, kernel

LEAF = 32
"""Points of a leaf of the tree, at most."""
BLOCK = 1024
"""Points of a block, a box around neighbouring leaves, at most."""
WIDE = 512
"""Attributes of more codes than this are looked at code by code: their row would be long."""
SHORT = 16
"""Keys that are sorted by insertion before longer runs are merged."""
LOW_HALF = (1 << 32) - 1


class Space(NamedTuple):
    """Distinct records (points) in the order of a tree, with what they cost together."""

    codes: np.ndarray  # int32 (D, d)
    count: np.ndarray  # int64 (D,): records of each point
    value: np.ndarray  # int64 (D,): sensitive value, 0 where none is looked at
    cap: np.ndarray  # int64 (V,): most records of a value in a group
    leaf: np.ndarray  # int64 (L + 1,): where each leaf begins in the points
    leaf_low: np.ndarray  # int32 (L, d)
    leaf_high: np.ndarray  # int32 (L, d)
    block: np.ndarray  # int64 (G + 1,): where each block begins in the leaves
    leaf_of: np.ndarray  # int64 (D,)
    block_of: np.ndarray  # int64 (D,)
    block_low: np.ndarray  # int32 (G, d)
    block_high: np.ndarray  # int32 (G, d)
    floor: np.ndarray  # float64, laid out as ``costs.position``: NCP of a code alone
    wide: np.ndarray  # bool (d,): the attribute has no row


@kernel
def tree_order(costs, codes, order, leaf_of, block_of):
    """Sort points into a tree of halves; number the leaf and the block of each place.

    Each half is cut at the median of the attribute that costs the most there.
    Returns the number of leaves and of blocks.
    """
    n = len(codes)
    begins = np.empty(128, dtype=np.int64)
    ends = np.empty(128, dtype=np.int64)
    inside = np.empty(128, dtype=np.bool_)  # of a block that was counted already
    begins[0], ends[0], inside[0] = 0, n, False
    keys = np.empty(n, dtype=np.int64)
    spare = np.empty(n, dtype=np.int64)
    depth = 1
    leaves = 0
    blocks = 0
    while depth > 0:
        depth -= 1
        begin, end, known = begins[depth], ends[depth], inside[depth]
        if end - begin <= BLOCK and not known:
            blocks += 1
            known = True
        if end - begin <= LEAF:
            leaf_of[begin:end] = leaves
            block_of[begin:end] = blocks - 1
            leaves += 1
            continue
        attribute = _dearest(costs, codes, order, begin, end)
        _sort_by_code(codes, attribute, order, begin, end, keys, spare)
        middle = (begin + end) // 2
        begins[depth], ends[depth], inside[depth] = middle, end, known
        begins[depth + 1], ends[depth + 1], inside[depth + 1] = begin, middle, known
        depth += 2
    return leaves, blocks


@inner_kernel
def _sort_by_code(codes, attribute, order, begin, end, keys, spare):
    """Sort order[begin:end] by an attribute; points of one code stay as they are.

    What np.argsort and an assignment to a slice would do: Numba compiles these for two
    seconds, mostly messages of errors. A key is a code and a place, so no two are equal.
    """
    count = end - begin
    for i in range(count):
        keys[i] = np.int64(codes[order[begin + i], attribute]) << 32 | i
    for first in range(0, count, SHORT):
        for i in range(first + 1, min(first + SHORT, count)):
            key = keys[i]
            j = i
            while j > first and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
    width = SHORT
    while width < count:
        for first in range(0, count, 2 * width):
            middle = min(first + width, count)
            last = min(first + 2 * width, count)
            left, right = first, middle
            for i in range(first, last):
                if right >= last or (left < middle and keys[left] < keys[right]):
                    spare[i] = keys[left]
                    left += 1
                else:
                    spare[i] = keys[right]
                    right += 1
        keys, spare = spare, keys
        width *= 2
    for i in range(count):
        spare[i] = order[begin + (keys[i] & LOW_HALF)]
    for i in range(count):
        order[begin + i] = spare[i]


@inner_kernel
def _dearest(costs, codes, order, begin, end):
    """The attribute whose codes cost the most together."""
    dearest = 0
    most = -1.0
    for a in range(codes.shape[1]):
        lo = codes[order[begin], a]
        hi = lo
        for i in range(begin + 1, end):
            code = codes[order[i], a]
            lo = min(lo, code)
            hi = max(hi, code)
        if lo == hi:
            continue
        cost = costs.weight[a]
        if costs.form[a] != SET:
            cost *= range_loss(costs, a, lo, hi)
        if cost > most:
            most = cost
            dearest = a
    return dearest


@kernel
def boxes_of(codes, starts, low, high):
    """Smallest and largest code of the points starts[b]..starts[b + 1] - 1."""
    for b in range(len(starts) - 1):
        for a in range(codes.shape[1]):
            lo = codes[starts[b], a]
            hi = lo
            for i in range(starts[b] + 1, starts[b + 1]):
                lo = min(lo, codes[i, a])
                hi = max(hi, codes[i, a])
            low[b, a] = lo
            high[b, a] = hi


@inner_borrowed
def fill_row(costs, space, low, high, members, n_members, row):
    """Weighted NCP, for each code, of the box low..high with that code in it.

    ``members[:n_members]`` are points that span the box: value sets need them.
    """
    for a in range(len(low)):
        if space.wide[a]:
            continue
        start = costs.start[a]
        size = costs.size[a]
        weight = costs.weight[a]
        lo, hi = low[a], high[a]
        if costs.form[a] == SET:
            _fill_set(space, a, start, size, weight, members, n_members, row)
            continue
        inner = weight * space.floor[start + lo]
        if lo < hi:
            inner = weight * range_loss(costs, a, lo, hi)
        for code in range(lo, hi + 1):
            row[start + code] = inner
        if costs.form[a] == SPAN or costs.form[a] == ROUND:
            for code in range(lo):
                span = costs.end[start + hi] - costs.position[start + code]
                row[start + code] = weight * min(1.0, span)
            for code in range(hi + 1, size):
                span = costs.end[start + code] - costs.position[start + lo]
                row[start + code] = weight * min(1.0, span)
            continue
        climb = costs.peak_start[a]
        peak = range_loss(costs, a, lo, hi)
        for code in range(lo - 1, -1, -1):
            peak = max(peak, costs.peak[climb + code])
            row[start + code] = weight * peak
        peak = range_loss(costs, a, lo, hi)
        for code in range(hi + 1, size):
            peak = max(peak, costs.peak[climb + code - 1])
            row[start + code] = weight * peak


@inner_borrowed
def _fill_set(space, attribute, start, size, weight, members, n_members, row):
    distinct = 0
    for i in range(n_members):
        code = space.codes[members[i], attribute]
        new = 1
        for j in range(i):
            if space.codes[members[j], attribute] == code:
                new = 0
        distinct += new
    row[start : start + size] = weight * (distinct + 1) / size
    for i in range(n_members):
        code = space.codes[members[i], attribute]
        alone = weight * space.floor[start + code]
        row[start + code] = alone if distinct == 1 else weight * distinct / size


@inner_borrowed
def _code_cost(costs, space, row, low, high, attribute, code):
    """Weighted NCP of one attribute of the box with the code."""
    start = costs.start[attribute]
    if not space.wide[attribute]:
        return row[start + code]
    lo = min(low[attribute], code)
    hi = max(high[attribute], code)
    if lo == hi:
        return costs.weight[attribute] * space.floor[start + lo]
    return costs.weight[attribute] * range_loss(costs, attribute, lo, hi)


@inner_borrowed
def reach(costs, space, row, low, high, point):
    """Weighted NCP of the box with the point in it."""
    total = 0.0
    for a in range(len(low)):
        total += _code_cost(costs, space, row, low, high, a, space.codes[point, a])
    return total


@inner_borrowed
def least_reach(costs, space, row, low, high, other_low, other_high):
    """What `reach` is at least for all points of another box; `low..high` is one point."""
    total = 0.0
    for a in range(len(low)):
        code = min(max(low[a], other_low[a]), other_high[a])
        total += _code_cost(costs, space, row, low, high, a, code)
    return total


@inner_borrowed
def sort_by_reach(distance, point, length, left):
    """Shell sort of the first `length` points, nearest first, in place.

    ``left`` goes along with them; None where nothing does, which is compiled without it.
    """
    gap = 1
    while 9 * gap < 4 * length:
        gap = 9 * gap // 4 + 1
    while gap > 0:
        for i in range(gap, length):
            far, here = distance[i], point[i]
            if left is not None:
                copies = left[i]
            at = i
            while at >= gap and distance[at - gap] > far:
                distance[at] = distance[at - gap]
                point[at] = point[at - gap]
                if left is not None:
                    left[at] = left[at - gap]
                at -= gap
            distance[at], point[at] = far, here
            if left is not None:
                left[at] = copies
        gap = 0 if gap == 1 else max(1, 4 * gap // 9)


@inner_borrowed
def copy_into(target, begin, source, length):
    """``target[begin : begin + length] = source[:length]``, which borrowed arrays cannot do."""
    for i in range(length):
        target[begin + i] = source[i]
