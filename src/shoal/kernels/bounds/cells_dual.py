"""Weights of records that no group of any cell exceeds: lowered cell by cell, in whole numbers.

For every cell and every range of the scanned codes in it, the `size` heaviest records inside
(at most ``cap[v]`` of them with value v) may weigh at most ``size`` times the price. Where
they weigh more, all of them are made lighter by the same amount. Weights only fall, so that
one pass over all cells leaves weights that no group exceeds: the pass is the proof. Weights
and prices are integers, prices rounded down, so that no sum is rounded.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

NEVER = np.int64(1) << np.int64(61)
"""More room than any group can have."""


class CellPoints(NamedTuple):
    """What a pass has to know of the points."""

    code: np.ndarray  # int32 (D,): scanned code, 0 where there is no scanned attribute
    count: np.ndarray  # int64 (D,): records
    value: np.ndarray  # int64 (D,): sensitive value
    cap: np.ndarray  # int64 (V,): most records of a value in a group
    capped: bool  # whether any cap is below the size


class Scanned(NamedTuple):
    """Price of a range of the scanned codes: end[hi] - begin[lo], within `most`."""

    begin: np.ndarray  # int64 (A,): rounded up
    end: np.ndarray  # int64 (A,): rounded down
    alone: np.ndarray  # int64 (A,): of a code alone
    most: int


class Top(NamedTuple):
    """The heaviest records so far; without caps a heap with the lightest first."""

    weight: np.ndarray  # int64 (size,): with caps in descending order
    point: np.ndarray  # int64 (size,)
    used: np.ndarray  # int64 (V,): members of each value
    copies: np.ndarray  # int64 (D,): zeros, scratch
    state: np.ndarray  # int64 (3,): members, their weight, and what was looked at in all


def new_top(size, values, points):
    """Scratch of one thread."""
    return Top(
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(values, np.int64),
        np.zeros(points, np.int64), np.zeros(3, np.int64),
    )  # fmt: skip


@kernel(**BORROWED)
def lower_weights(cells, points, scanned, y, size, order, risen, due, top, reach):
    """One pass over the cells in `order`: lower y where a group weighs more than it costs.

    ``risen`` is by how much a weight can have risen in all since the beginning. While that is
    at most ``due[c]``, no group of cell c can weigh too much, and the cell is passed over; a
    cell that is looked at gets a new due, by how much room its tightest group has left.
    ``reach`` is scratch, as long as the longest cell. Returns by how much groups were too
    heavy, in all.
    """
    excess = 0
    top.state[2] = 0
    for i in range(len(order)):
        c = order[i]
        if risen <= due[c]:
            continue
        begin, end = cells.offset[c], cells.offset[c + 1]
        base = size * cells.price[c]
        room = base - _reach(cells, points, y, size, begin, end, top, reach)
        if room < 0:
            room = NEVER
            at = begin
            while at < end:
                if reach[at - begin] <= base:
                    room = min(room, base - reach[at - begin])
                    break  # what begins later weighs no more
                low = points.code[cells.member[at]]
                while True:
                    left = _tightest_from(
                        cells, points, scanned, y, size, base, at, end, top, reach[at - begin]
                    )
                    if left >= 0:
                        break
                    excess -= left
                    _lower(points, y, size, -left, top)
                room = min(room, left)
                while at < end and points.code[cells.member[at]] == low:
                    at += 1
        due[c] = risen + room
    return excess


@inner_borrowed
def _reach(cells, points, y, size, begin, end, top, reach):
    """What groups weigh at most whose members come at or after each place, into `reach`."""
    _clear(top)
    for at in range(end - 1, begin - 1, -1):
        _take(points, y, size, cells.member[at], top)
        reach[at - begin] = top.state[1]
    return top.state[1]


@inner_borrowed
def _tightest_from(cells, points, scanned, y, size, base, first, end, top, most):
    """The least room of the ranges from this place on; below 0 at once, with the group in `top`.

    ``most`` is what groups from here on weigh at most.
    """
    _clear(top)
    low = points.code[cells.member[first]]
    room = NEVER
    at = first
    while at < end:
        high = points.code[cells.member[at]]
        cost = scanned.alone[low]
        if high > low:
            cost = min(scanned.most, max(0, scanned.end[high] - scanned.begin[low]))
        cost = base + size * cost
        if most <= cost:
            return min(room, cost - most)
        while at < end and points.code[cells.member[at]] == high:
            _take(points, y, size, cells.member[at], top)
            at += 1
        if top.state[0] == size:
            room = min(room, cost - top.state[1])
            if room < 0:
                return room
    return room


@inner_borrowed
def _lower(points, y, size, over, top):
    """Make the heaviest records lighter by `over` together, with as little weight lost as can be.

    Of a point with more records than are in the group less is taken: all of them lose it. (It
    is the nearest point of the plane where the group weighs what it costs, if the square of a
    distance counts once for each record.)
    """
    for i in range(size):
        top.copies[top.point[i]] += 1
    spread = 0.0
    for i in range(size):
        p = top.point[i]
        spread += top.copies[p] / points.count[p]
    for i in range(size):
        p = top.point[i]
        if top.copies[p] > 0:
            part = over * (top.copies[p] / points.count[p]) / spread
            y[p] = max(0, y[p] - np.int64(part) - 1)
            top.copies[p] = 0


@inner_borrowed
def _clear(top):
    top.state[0] = 0
    top.state[1] = 0
    top.used[:] = 0


@inner_borrowed
def _take(points, y, size, p, top):
    """Take the records of a point into the heaviest."""
    top.state[2] += 1
    if points.capped:
        _take_capped(points, y[p], size, p, top)
        return
    w = y[p]
    held = top.state[0]
    if held == size and w <= top.weight[0]:
        return
    for _ in range(points.count[p]):
        if held < size:
            at = held
            held += 1
            top.state[1] += w
            while at > 0 and top.weight[(at - 1) >> 1] > w:
                top.weight[at] = top.weight[(at - 1) >> 1]
                top.point[at] = top.point[(at - 1) >> 1]
                at = (at - 1) >> 1
        elif w > top.weight[0]:
            top.state[1] += w - top.weight[0]
            at = 0
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                if child + 1 < size and top.weight[child + 1] < top.weight[child]:
                    child += 1
                if top.weight[child] >= w:
                    break
                top.weight[at] = top.weight[child]
                top.point[at] = top.point[child]
                at = child
        else:
            break
        top.weight[at] = w
        top.point[at] = p
    top.state[0] = held


@inner_borrowed
def _take_capped(points, w, size, p, top):
    """The same with caps: one exchange a record keeps the sum the largest (a matroid)."""
    value = points.value[p]
    for _ in range(min(points.count[p], points.cap[value])):
        held = top.state[0]
        gap = held
        if top.used[value] >= points.cap[value]:
            gap = held - 1  # the lightest of the same value goes
            while points.value[top.point[gap]] != value:
                gap -= 1
            if top.weight[gap] >= w:
                return
        elif held == size:
            gap = size - 1
            if top.weight[gap] >= w:
                return
        if gap < held:
            top.state[1] -= top.weight[gap]
            top.used[points.value[top.point[gap]]] -= 1
        else:
            top.state[0] = held + 1
        top.state[1] += w
        top.used[value] += 1
        while gap > 0 and top.weight[gap - 1] < w:
            top.weight[gap] = top.weight[gap - 1]
            top.point[gap] = top.point[gap - 1]
            gap -= 1
        top.weight[gap] = w
        top.point[gap] = p
