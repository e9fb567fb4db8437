"""The heaviest group around a record, by branch and bound over pairs of boxes.

Records have weights y. Asked is the group of `size` records with a given one, the *anchor*,
whose weights exceed `size` times the price of its box by the most. A node of the search is a
pair of boxes: all groups between them hold the inner and lie in the outer box. What they
weigh at most are the heaviest records of the outer box, what they cost at least is the inner.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_loss
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

PROVEN, OPEN, FOUND = 0, 1, 2
"""No group is above the limit; the budget ended before that was known; there is one."""
TINY = 1e-12
"""A node is not looked into for a group that is better by less."""
AGAIN = 0.99
"""Records are looked through again where the dearest box worth a look is so much cheaper."""


class BoxPrices(NamedTuple):
    """What ranges of codes cost, weights included, and never more than any group in them."""

    listed: np.ndarray  # bool (d,): in `table`, and in the rows of a node
    start: np.ndarray  # int64 (d,): where the attribute begins in `table`
    size: np.ndarray  # int64 (d,)
    place: np.ndarray  # int64 (d,): where it begins in a row
    table: np.ndarray  # float64: price of lo..hi at start + lo * size + hi
    costs: tuple  # Costs


class Near(NamedTuple):
    """Scratch: the records around an anchor, heaviest first."""

    leaf: np.ndarray  # bool (L,): leaves of the tree that may hold some
    point: np.ndarray  # int64 (room,)
    code: np.ndarray  # int32 (room, d)
    y: np.ndarray  # float64 (room,)
    left: np.ndarray  # int64 (room,): copies that may join
    value: np.ndarray  # int64 (room,)


class Nodes(NamedTuple):
    """Scratch: nodes on the way from the root to the one that is looked at."""

    low: np.ndarray  # int32 (levels, d): outer box
    high: np.ndarray  # int32 (levels, d)
    inner_low: np.ndarray  # int32 (levels, d)
    inner_high: np.ndarray  # int32 (levels, d)
    price: np.ndarray  # float64 (levels,): of the inner box
    most: np.ndarray  # float64 (levels,): dearer boxes are not worth a look
    row: np.ndarray  # float64 (levels, codes): what a code adds to the price; inf outside
    owner: np.ndarray  # int64 (levels,): level that owns the list of candidates
    begin: np.ndarray  # int64 (levels,): of the list, in `lists`
    end: np.ndarray  # int64 (levels,)
    lists: np.ndarray  # int32: places in `Near`
    top: np.ndarray  # int64 (size,): the heaviest candidates
    copies: np.ndarray  # int64 (size,): of each of them
    used: np.ndarray  # int64 (V,)
    group: np.ndarray  # int64 (size,): points of the best group found
    steps: np.ndarray  # int64 (1,)


@inner_borrowed
def box_price(prices, a, lo, hi):
    """Price of the codes lo..hi of one attribute."""
    if prices.listed[a]:
        return prices.table[prices.start[a] + lo * prices.size[a] + hi]
    costs = prices.costs
    if costs.form[a] == SET:
        return 0.0 if lo == hi else costs.weight[a] * 2.0 / costs.size[a]
    return costs.weight[a] * range_loss(costs, a, lo, hi)


@kernel
def list_box_prices(prices, floor):
    """Fill the table; `floor` is the loss of a code alone, laid out as ``costs.position``."""
    costs = prices.costs
    for a in range(len(prices.listed)):
        if not prices.listed[a]:
            continue
        size = prices.size[a]
        for lo in range(size):
            for hi in range(lo, size):
                if lo == hi:
                    loss = floor[costs.start[a] + lo]
                elif costs.form[a] == SET:
                    loss = 2.0 / size
                else:
                    loss = range_loss(costs, a, lo, hi)
                prices.table[prices.start[a] + lo * size + hi] = costs.weight[a] * loss


@kernel(**BORROWED)
def heaviest_groups(
    prices, space, y, order, since, near, nodes, anchors, size, limit, budget, eager, state, value,
    groups,
):  # fmt: skip
    """For each anchor whether a group around it weighs more than it costs by over `limit`.

    Candidates are ``order[since[i]:]``, points by falling weight. `eager` stops at the first
    group; else the search goes on for the best one within the budget, which counts candidates.
    """
    for i in range(len(anchors)):
        state[i], value[i] = _heaviest_group(
            prices, space, y, order, since[i], near, nodes, anchors[i], size, limit, budget, eager
        )
        if state[i] == FOUND:
            for j in range(size):
                groups[i, j] = nodes.group[j]


@inner_borrowed
def _heaviest_group(
    prices, space, y, order, since, near, nodes, anchor, size, limit, budget, eager
):  # fmt: skip
    _root(prices, space, nodes, anchor)
    heaviest = y[order[since]] if since < len(order) else 0.0
    nodes.most[0] = (y[anchor] + (size - 1) * max(heaviest, y[anchor]) - limit) / size
    nodes.used[:] = 0
    nodes.used[space.value[anchor]] = 1
    spent = _narrow(prices, space, y, order, since, near, nodes, anchor, size, limit)
    if spent < 0:
        return PROVEN, limit
    found = _gather(prices, space, y, order, since, near, nodes, anchor)
    if found < 0:
        return OPEN, limit
    best = limit
    answer = PROVEN
    level = 0
    while level >= 0:
        if spent > budget or level + 1 >= len(nodes.most):
            nodes.steps[0] += spent
            return (answer if answer == FOUND else OPEN), best
        weight, taken, looked = _weigh(prices, space, near, nodes, level, y[anchor], size, best)
        spent += looked
        if taken < 0:
            level -= 1
            continue
        a, up, code, price = _widest(prices, near, nodes, level, taken)
        if weight - size * price > best:
            best = weight - size * price
            answer = FOUND
            _note_group(near, nodes, anchor, taken)
            if eager:
                break
        if a < 0 or weight <= size * nodes.price[level] + best + TINY:
            level -= 1
            continue
        _branch(prices, nodes, level, a, up, code)
        level += 1
    nodes.steps[0] += spent
    return answer, best


@inner_borrowed
def _root(prices, space, nodes, anchor):
    """The inner box is the anchor, the outer one everything."""
    price = 0.0
    for a in range(len(prices.size)):
        code = space.codes[anchor, a]
        nodes.low[0, a] = 0
        nodes.high[0, a] = prices.size[a] - 1
        nodes.inner_low[0, a] = code
        nodes.inner_high[0, a] = code
        price += box_price(prices, a, code, code)
    nodes.price[0] = price
    for a in range(len(prices.size)):
        _fill(prices, nodes, 0, a)


@inner_borrowed
def _fill(prices, nodes, level, a):
    """What each code of an attribute adds to the price of the inner box."""
    if not prices.listed[a]:
        return
    low, high = nodes.low[level, a], nodes.high[level, a]
    inner_low, inner_high = nodes.inner_low[level, a], nodes.inner_high[level, a]
    place = prices.place[a]
    here = box_price(prices, a, inner_low, inner_high)
    for code in range(prices.size[a]):
        if code < low or code > high:
            nodes.row[level, place + code] = np.inf
        else:
            wide = box_price(prices, a, min(code, inner_low), max(code, inner_high))
            nodes.row[level, place + code] = wide - here


@inner_borrowed
def _added(prices, nodes, level, a, code):
    """What a code adds to the price of the inner box; inf outside of the outer one."""
    if prices.listed[a]:
        return nodes.row[level, prices.place[a] + code]
    if code < nodes.low[level, a] or code > nodes.high[level, a]:
        return np.inf
    low, high = nodes.inner_low[level, a], nodes.inner_high[level, a]
    wide = box_price(prices, a, min(code, low), max(code, high))
    return wide - box_price(prices, a, low, high)


@inner_borrowed
def _narrow(prices, space, y, order, since, near, nodes, anchor, size, limit):
    """How dear a box worth a look is at most, from the heaviest candidates; what that took.

    They weigh only so much, so boxes as dear as that are out, so are candidates far away, and
    so on. -1: no group is worth a look.
    """
    looked, marked = 0, False
    while True:
        room = nodes.most[0] - nodes.price[0]
        weight, count, taken = y[anchor], 1, 0
        for i in range(since, len(order)):
            if count == size:
                break
            q = order[i]
            looked += 1
            if marked and not near.leaf[space.leaf_of[q]]:
                continue
            value = space.value[q]
            copies = space.count[q] - (1 if q == anchor else 0)
            copies = min(copies, size - count, space.cap[value] - nodes.used[value])
            if copies <= 0 or not _within(prices, nodes, space.codes, q, room):
                continue
            nodes.used[value] += copies
            weight += copies * y[q]
            count += copies
            nodes.top[taken] = q
            nodes.copies[taken] = copies
            taken += 1
        for i in range(taken):
            nodes.used[space.value[nodes.top[i]]] -= nodes.copies[i]
        most = (weight - limit) / size
        if count < size or most <= nodes.price[0]:
            return -1
        again = most < AGAIN * nodes.most[0]
        nodes.most[0] = min(most, nodes.most[0])
        if not again:
            return looked
        # what is too far away now will be so in all further turns
        _mark_near(prices, space, near, nodes, nodes.most[0] - nodes.price[0])
        marked = True


@inner_borrowed
def _within(prices, nodes, codes, q, room):
    """Whether a point adds less than that to the price of the anchor alone."""
    added = 0.0
    for a in range(len(prices.size)):
        added += _added(prices, nodes, 0, a, codes[q, a])
        if added >= room:
            return False
    return True


@inner_borrowed
def _mark_near(prices, space, near, nodes, room):
    """Mark the leaves of the tree that may hold records within the room around the anchor."""
    for g in range(len(space.block) - 1):
        far = _farther(prices, nodes, space.block_low[g], space.block_high[g], room)
        for b in range(space.block[g], space.block[g + 1]):
            low, high = space.leaf_low[b], space.leaf_high[b]
            near.leaf[b] = not far and not _farther(prices, nodes, low, high, room)


@inner_borrowed
def _gather(prices, space, y, order, since, near, nodes, anchor):
    """Candidates that a group worth a look may hold, heaviest first; -1: there is no room."""
    d, found = len(prices.size), 0
    room = nodes.most[0] - nodes.price[0]
    _mark_near(prices, space, near, nodes, room)
    for i in range(since, len(order)):
        q = order[i]
        if not near.leaf[space.leaf_of[q]]:
            continue
        left = min(space.count[q], space.cap[space.value[q]])
        if q == anchor:
            left -= 1
        if left == 0 or not _within(prices, nodes, space.codes, q, room):
            continue
        if found == len(near.point):
            return -1
        near.point[found] = q
        near.y[found] = y[q]
        near.left[found] = left
        near.value[found] = space.value[q]
        for a in range(d):
            near.code[found, a] = space.codes[q, a]
        nodes.lists[found] = found
        found += 1
    nodes.owner[0] = 0
    nodes.begin[0] = 0
    nodes.end[0] = found
    return found


@inner_borrowed
def _farther(prices, nodes, low, high, room):
    """Whether all records of a box are too dear together with the anchor."""
    added = 0.0
    for a in range(len(prices.size)):
        own = nodes.inner_low[0, a]
        added += _added(prices, nodes, 0, a, min(max(own, low[a]), high[a]))
        if added >= room:
            return True
    return False


@inner_borrowed
def _weigh(prices, space, near, nodes, level, own, size, best):
    """The most that groups of the node weigh, how many points that takes, and what was looked at.

    The points are in ``nodes.top``; -1 of them: no group of the node is better than the best.
    A better group costs less than (its weight - best) / size, so candidates that make the
    inner box as dear as that are out, which lowers the weight, and so on.
    """
    d = len(prices.size)
    owner = nodes.owner[level]
    begin, end = nodes.begin[owner], nodes.end[owner]
    to = begin if owner == level else end
    keep = to + (end - begin) <= len(nodes.lists)
    price = nodes.price[level]
    worth = size * price + best
    looked = 1
    while True:
        weight, count, taken, kept = own, 1, 0, 0
        room = nodes.most[level] - price
        pruned = room <= 0.0
        for i in range(begin, end):
            if pruned:
                break
            q = nodes.lists[i]
            looked += 1
            added = 0.0
            for a in range(d):
                added += _added(prices, nodes, level, a, near.code[q, a])
                if added >= room:
                    break
            if added >= room:
                continue
            if keep:
                nodes.lists[to + kept] = q
                kept += 1
            if count < size:
                value = near.value[q]
                copies = min(near.left[q], size - count, space.cap[value] - nodes.used[value])
                if copies > 0:
                    nodes.used[value] += copies
                    weight += copies * near.y[q]
                    count += copies
                    nodes.top[taken] = q
                    nodes.copies[taken] = copies
                    taken += 1
                pruned = weight + (size - count) * near.y[q] <= worth
            elif not keep:
                break
        for i in range(taken):
            nodes.used[near.value[nodes.top[i]]] -= nodes.copies[i]
        if pruned or count < size or weight <= worth:
            return weight, -1, looked
        if keep:
            nodes.owner[level] = level
            nodes.begin[level] = to
            nodes.end[level] = to + kept
            begin, end = to, to + kept
        most = (weight - best) / size
        again = most < AGAIN * nodes.most[level]
        nodes.most[level] = min(most, nodes.most[level])
        if not again:
            return weight, taken, looked


@inner_borrowed
def _widest(prices, near, nodes, level, taken):
    """Where the heaviest points widen the inner box by most; and the price of their own box.

    Gives the attribute, whether upwards, and the code to branch at: the nearest one of these
    points that is at least half way to the farthest. Attribute -1: they do not widen it.
    """
    price = nodes.price[level]
    most = 0.0
    attribute, up, far = -1, False, 0
    for a in range(len(prices.size)):
        inner_low, inner_high = nodes.inner_low[level, a], nodes.inner_high[level, a]
        low, high = inner_low, inner_high
        for i in range(taken):
            code = near.code[nodes.top[i], a]
            low = min(low, code)
            high = max(high, code)
        if low == inner_low and high == inner_high:
            continue
        here = box_price(prices, a, inner_low, inner_high)
        price += box_price(prices, a, low, high) - here
        down = box_price(prices, a, low, inner_high) - here if low < inner_low else -1.0
        rise = box_price(prices, a, inner_low, high) - here if high > inner_high else -1.0
        if max(down, rise) >= most:
            most = max(down, rise)
            attribute, up = a, rise >= down
            far = high if up else low
    if attribute < 0:
        return attribute, up, far, price
    inner_low, inner_high = nodes.inner_low[level, attribute], nodes.inner_high[level, attribute]
    middle = (inner_high + far + 1) // 2 if up else (inner_low + far) // 2
    nearest = far
    for i in range(taken):
        code = near.code[nodes.top[i], attribute]
        if up and code >= middle and code > inner_high:
            nearest = min(nearest, code)
        elif not up and code <= middle and code < inner_low:
            nearest = max(nearest, code)
    return attribute, up, nearest, price


@inner_borrowed
def _note_group(near, nodes, anchor, taken):
    """Write the anchor and the heaviest points, each as often as it is taken."""
    nodes.group[0] = anchor
    filled = 1
    for i in range(taken):
        for _ in range(nodes.copies[i]):
            nodes.group[filled] = near.point[nodes.top[i]]
            filled += 1


@inner_borrowed
def _branch(prices, nodes, level, a, up, code):
    """Divide the node: groups that reach the code go one level deeper, the others stay here."""
    below = level + 1
    for b in range(len(prices.size)):
        nodes.low[below, b] = nodes.low[level, b]
        nodes.high[below, b] = nodes.high[level, b]
        nodes.inner_low[below, b] = nodes.inner_low[level, b]
        nodes.inner_high[below, b] = nodes.inner_high[level, b]
    for i in range(nodes.row.shape[1]):
        nodes.row[below, i] = nodes.row[level, i]
    nodes.owner[below] = nodes.owner[level]
    nodes.most[below] = nodes.most[level]
    before = box_price(prices, a, nodes.inner_low[level, a], nodes.inner_high[level, a])
    if up:
        nodes.inner_high[below, a] = code
        nodes.high[level, a] = code - 1
    else:
        nodes.inner_low[below, a] = code
        nodes.low[level, a] = code + 1
    after = box_price(prices, a, nodes.inner_low[below, a], nodes.inner_high[below, a])
    nodes.price[below] = nodes.price[level] + (after - before)
    _fill(prices, nodes, below, a)
    _fill(prices, nodes, level, a)
