"""Divide a set of records in two, again and again: Xu et al., KDD 2006 (TopDown).

Records come in random order and keep it on both sides of a split, so that the
first records of any set are a random sample of it and no random numbers are
needed here. Codes are (n, d), one record's together: they are visited at random.
"""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.pricing import extend_box, pair_price, price_with, start_box

ROUNDS = 3
"""How often the farther seed is looked for, each time from the seed found last."""


@inner_kernel
def _farthest(prices, codes, order, begin, end, row):
    """The record of a range that is farthest from one record, and how far; first of equals."""
    found, far = row, 0.0
    for i in range(begin, end):
        away = pair_price(prices, codes[row], codes[order[i]], np.inf)
        if away > far:
            found, far = order[i], away
    return found, far


@kernel
def seeds(prices, codes, order, begin, end, sample):
    """Two records of a range that are far apart; twice the same if all are alike.

    From the first record to the farthest one, from there to the farthest from
    it, and so on, among the first `sample` records. Only if these are all alike
    the rest is looked at.
    """
    u = order[begin]
    v, far = u, 0.0
    until = min(end, begin + sample)
    for _ in range(ROUNDS):
        other, away = _farthest(prices, codes, order, begin, until, u)
        if away == 0.0 and until < end:
            until = end
            other, away = _farthest(prices, codes, order, begin, until, u)
        if away <= far:
            break
        u, v, far = other, u, away
    return u, v


@inner_kernel
def _leaning(prices, codes, u, v, left, right, row, by_group):
    """Below 0 if a record belongs to the left group of seed u, above 0 if to v's.

    The nearer seed, then the group that covers less with the record in it; the
    other way round if `by_group`.
    """
    if not by_group:
        by_seed = _nearer(prices, codes, u, v, row)
        if by_seed != 0.0:
            return by_seed
    covers = price_with(prices, codes[row], left, np.inf)
    covers -= price_with(prices, codes[row], right, np.inf)
    if by_group and covers == 0.0:
        return _nearer(prices, codes, u, v, row)
    return covers


@inner_kernel
def _nearer(prices, codes, u, v, row):
    """Below 0 if a record is nearer to u, above 0 if to v."""
    to_u = pair_price(prices, codes[u], codes[row], np.inf)
    return to_u - pair_price(prices, codes[v], codes[row], np.inf)


@kernel
def divide(prices, codes, order, begin, end, sample, by_group, left, right, spare):
    """Divide a range between two far seeds; both sides keep their order.

    Each record joins a seed's group by `_leaning`, the smaller group if it leans
    nowhere. Returns where the right side begins, `end` if all records are
    alike. ``spare`` is scratch for the records of the range.
    """
    u, v = seeds(prices, codes, order, begin, end, sample)
    if u == v:
        return end
    start_box(prices, codes[u], left)
    start_box(prices, codes[v], right)
    lefts, rights = 0, 0
    for i in range(begin, end):
        row = order[i]
        if row in (u, v):
            to_left = row == u
        else:
            leaning = _leaning(prices, codes, u, v, left, right, row, by_group)
            to_left = leaning < 0.0 or (leaning == 0.0 and lefts <= rights)
            extend_box(prices, codes[row], left if to_left else right)
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
def divide_all(prices, codes, order, k, sample, by_group, left, right, spare, stack, ends):
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
            middle = divide(prices, codes, order, begin, end, sample, by_group, left, right, spare)
        if middle < end:
            stack[depth] = middle
            depth += 1
        else:
            ends[count] = end
            count += 1
            begin = end
            depth -= 1
    return count
