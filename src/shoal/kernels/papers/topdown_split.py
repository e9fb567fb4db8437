"""Divide a set of records in two, again and again: Xu et al., KDD 2006 (TopDown).

Records come in random order and keep it on both sides of a split, so that the
first records of any set are a random sample of it and no random numbers are
needed here. Codes are (n, d), one record's together: they are visited at random.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_loss
from shoal.kernels.jit import inner_kernel, kernel

ROUNDS = 3
"""How often the farther seed is looked for, each time from the seed found last."""


class Box(NamedTuple):
    """What a growing group covers."""

    low: np.ndarray  # int32 (d,)
    high: np.ndarray  # int32 (d,)
    distinct: np.ndarray  # int64 (d,): SET only
    loss: np.ndarray  # float64 (d,): weighted NCP of each attribute
    seen: np.ndarray  # int64 (sum of sizes,): SET only: stamp of the group that has the value
    stamp: np.ndarray  # int64 (1,)


def new_box(costs):
    """A box that covers nothing yet."""
    d = len(costs.size)
    return Box(
        low=np.zeros(d, dtype=np.int32),
        high=np.zeros(d, dtype=np.int32),
        distinct=np.zeros(d, dtype=np.int64),
        loss=np.zeros(d, dtype=np.float64),
        seen=np.zeros(int(costs.size.sum()), dtype=np.int64),
        stamp=np.zeros(1, dtype=np.int64),
    )


@inner_kernel
def set_loss(costs, attribute, distinct):
    """Weighted NCP of a SET attribute with so many values."""
    if distinct < 2:
        return 0.0
    return costs.weight[attribute] * distinct / costs.size[attribute]


@inner_kernel
def pair_loss(costs, codes, u, v):
    """Weighted NCP of two records: how far apart they are."""
    total = 0.0
    for a in range(codes.shape[1]):
        low, high = codes[u, a], codes[v, a]
        if low == high:
            continue
        if costs.form[a] == SET:
            total += set_loss(costs, a, 2)
        else:
            low, high = min(low, high), max(low, high)
            total += costs.weight[a] * range_loss(costs, a, low, high)
    return total


@inner_kernel
def begin_box(box, costs, codes, row):
    """The box of one record."""
    box.stamp[0] += 1
    for a in range(len(box.low)):
        code = codes[row, a]
        box.low[a] = code
        box.high[a] = code
        box.loss[a] = 0.0
        if costs.form[a] == SET:
            box.distinct[a] = 1
            box.seen[costs.start[a] + code] = box.stamp[0]


@kernel
def growth(box, costs, codes, row):
    """By how much the box's weighted NCP would grow if it took the record in."""
    total = 0.0
    for a in range(len(box.low)):
        code = codes[row, a]
        if costs.form[a] == SET:
            if box.seen[costs.start[a] + code] != box.stamp[0]:
                total += set_loss(costs, a, box.distinct[a] + 1) - box.loss[a]
        elif code < box.low[a]:
            total += costs.weight[a] * range_loss(costs, a, code, box.high[a]) - box.loss[a]
        elif code > box.high[a]:
            total += costs.weight[a] * range_loss(costs, a, box.low[a], code) - box.loss[a]
    return total


@inner_kernel
def widen(box, costs, codes, row):
    """Take a record into the box."""
    for a in range(len(box.low)):
        code = codes[row, a]
        if costs.form[a] == SET:
            value = costs.start[a] + code
            if box.seen[value] != box.stamp[0]:
                box.seen[value] = box.stamp[0]
                box.distinct[a] += 1
                box.loss[a] = set_loss(costs, a, box.distinct[a])
        elif code < box.low[a] or code > box.high[a]:
            box.low[a] = min(box.low[a], code)
            box.high[a] = max(box.high[a], code)
            box.loss[a] = costs.weight[a] * range_loss(costs, a, box.low[a], box.high[a])


@inner_kernel
def _farthest(costs, codes, order, begin, end, row):
    """The record of a range that is farthest from one record, and how far; first of equals."""
    found, far = row, 0.0
    for i in range(begin, end):
        away = pair_loss(costs, codes, row, order[i])
        if away > far:
            found, far = order[i], away
    return found, far


@kernel
def seeds(costs, codes, order, begin, end, sample):
    """Two records of a range that are far apart; twice the same if all are alike.

    From the first record to the farthest one, from there to the farthest from
    it, and so on, among the first `sample` records. Only if these are all alike
    the rest is looked at.
    """
    u = order[begin]
    v, far = u, 0.0
    until = min(end, begin + sample)
    for _ in range(ROUNDS):
        other, away = _farthest(costs, codes, order, begin, until, u)
        if away == 0.0 and until < end:
            until = end
            other, away = _farthest(costs, codes, order, begin, until, u)
        if away <= far:
            break
        u, v, far = other, u, away
    return u, v


@inner_kernel
def total_loss(box):
    """Weighted NCP of a box."""
    total = 0.0
    for a in range(len(box.loss)):
        total += box.loss[a]
    return total


@inner_kernel
def _leaning(costs, codes, u, v, left, right, row, by_group):
    """Below 0 if a record belongs to the left group of seed u, above 0 if to v's.

    The nearer seed, then the group that covers less with the record in it; the
    other way round if `by_group`.
    """
    if not by_group:
        by_seed = pair_loss(costs, codes, u, row) - pair_loss(costs, codes, v, row)
        if by_seed != 0.0:
            return by_seed
    covers = total_loss(left) + growth(left, costs, codes, row)
    covers -= total_loss(right) + growth(right, costs, codes, row)
    if by_group and covers == 0.0:
        return pair_loss(costs, codes, u, row) - pair_loss(costs, codes, v, row)
    return covers


@kernel
def divide(costs, codes, order, begin, end, sample, by_group, left, right, spare):
    """Divide a range between two far seeds; both sides keep their order.

    Each record joins a seed's group by `_leaning`, the smaller group if it leans
    nowhere. Returns where the right side begins, `end` if all records are
    alike. ``spare`` is scratch for the records of the range.
    """
    u, v = seeds(costs, codes, order, begin, end, sample)
    if u == v:
        return end
    begin_box(left, costs, codes, u)
    begin_box(right, costs, codes, v)
    lefts, rights = 0, 0
    for i in range(begin, end):
        row = order[i]
        if row in (u, v):
            to_left = row == u
        else:
            leaning = _leaning(costs, codes, u, v, left, right, row, by_group)
            to_left = leaning < 0.0 or (leaning == 0.0 and lefts <= rights)
            widen(left if to_left else right, costs, codes, row)
        if to_left:
            order[begin + lefts] = row
            lefts += 1
        else:
            spare[rights] = row
            rights += 1
    for i in range(rights):
        order[begin + lefts + i] = spare[i]
    return begin + lefts


@kernel
def divide_all(costs, codes, order, k, sample, by_group, left, right, spare, stack, ends):
    """Divide every set of 2k records or more; writes where the groups end, returns how many.

    Groups are in tree order, left before right; some are smaller than k.
    ``stack`` has room for n + 1 entries, ``spare`` and ``ends`` for n.
    """
    count = 0
    begin = 0
    stack[0] = len(order)
    depth = 1
    while depth > 0:
        end = stack[depth - 1]
        middle = end
        if end - begin >= 2 * k:
            middle = divide(costs, codes, order, begin, end, sample, by_group, left, right, spare)
        if middle < end:
            stack[depth] = middle
            depth += 1
        else:
            ends[count] = end
            count += 1
            begin = end
            depth -= 1
    return count
