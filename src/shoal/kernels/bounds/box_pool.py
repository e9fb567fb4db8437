"""Weights that fit a pool of boxes: raised together, then lowered where a box holds too much.

A box holds too much if its `size` heaviest records weigh more than `size` times its price.
These are the constraints of the dual that are known so far; there are many more.
"""

from shoal.kernels.bounds.box_dual import box_price
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

PROJECTIONS = 20
"""Of one box at a time, at most: it takes more than one where weights have come to 0."""
FITS = 1e-9


@kernel
def pool_prices(prices, low, high, price):
    """Price of each box."""
    for b in range(len(low)):
        price[b] = 0.0
        for a in range(low.shape[1]):
            price[b] += box_price(prices, a, low[b, a], high[b, a])


@kernel
def boxes_of_groups(codes, groups, low, high):
    """The box of each group of points."""
    for g in range(len(groups)):
        for a in range(codes.shape[1]):
            low[g, a] = codes[groups[g, 0], a]
            high[g, a] = low[g, a]
            for i in range(1, groups.shape[1]):
                low[g, a] = min(low[g, a], codes[groups[g, i], a])
                high[g, a] = max(high[g, a], codes[groups[g, i], a])


@kernel(**BORROWED)
def heaviest_inside(space, order, near, low, high, members, held):
    """The first points of `order` that lie in each box: ``members[b, :held[b]]``."""
    d = low.shape[1]
    for b in range(len(low)):
        for leaf in range(len(space.leaf) - 1):
            near[leaf] = True
            for a in range(d):
                if space.leaf_low[leaf, a] > high[b, a] or space.leaf_high[leaf, a] < low[b, a]:
                    near[leaf] = False
                    break
        held[b] = 0
        for i in range(len(order)):
            q = order[i]
            if not near[space.leaf_of[q]]:
                continue
            inside = True
            for a in range(d):
                if space.codes[q, a] < low[b, a] or space.codes[q, a] > high[b, a]:
                    inside = False
                    break
            if inside:
                members[b, held[b]] = q
                held[b] += 1
                if held[b] == members.shape[1]:
                    break


@kernel(**BORROWED)
def project(space, y, turns, members, held, price, size, used, slack):
    """Lower the heaviest records of every box that holds too much, box by box, until it fits.

    Weights only fall, so at the end all boxes fit at once. ``slack[b]`` is what box b had left
    before, over `size`; below zero, what it held too much.
    """
    for turn in range(len(turns)):
        b = turns[turn]
        _sort_by_weight(y, members[b], held[b])
        for again in range(PROJECTIONS):
            weight, last = _weigh_top(space, y, members[b], held[b], size, used)
            over = weight / size - price[b]
            if again == 0:
                slack[b] = -over
            if over <= FITS:
                break
            # `last` members, those of a value that is full left out, give up the same
            count = 0
            for i in range(last):
                q = members[b, i]
                copies = min(
                    space.count[q], size - count, space.cap[space.value[q]] - used[space.value[q]]
                )
                if copies <= 0:
                    continue
                used[space.value[q]] += copies
                count += copies
                y[q] = max(0.0, y[q] - over)
            for i in range(last):
                used[space.value[members[b, i]]] = 0
            _sort_by_weight(y, members[b], held[b])


@inner_borrowed
def _weigh_top(space, y, members, held, size, used):
    """Weight of the heaviest group, and how many members were looked at for it."""
    weight, count, last = 0.0, 0, 0
    for i in range(held):
        if count == size:
            break
        q = members[i]
        value = space.value[q]
        copies = min(space.count[q], size - count, space.cap[value] - used[value])
        last = i + 1
        if copies <= 0:
            continue
        used[value] += copies
        count += copies
        weight += copies * y[q]
    for i in range(last):
        used[space.value[members[i]]] = 0
    return weight, last


@inner_borrowed
def _sort_by_weight(y, members, held):
    """Heaviest first. Members were in order before weights changed a little."""
    for i in range(1, held):
        q = members[i]
        weight = y[q]
        j = i
        while j > 0 and y[members[j - 1]] < weight:
            members[j] = members[j - 1]
            j -= 1
        members[j] = q
