"""Rungs of the lower bound: one search for every point, and the ascent of the dual."""

import numpy as np

from shoal.kernels.bounds.points import copy_into, fill_row, reach, sort_by_reach
from shoal.kernels.bounds.search import cheapest_group
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

GROWN = 64
"""Up to this size a first group is grown step by step; beyond, that takes too long."""
WIDER = 1e-11
"""What is looked at beyond a limit, so that rounding leaves nothing out."""
NEARLY = 1e-4
"""A weight that can rise by less than this part of itself is left as it is."""


@kernel(**BORROWED)
def cheapest_boxes(costs, space, scratch, weights, points, size, budget, bounds, exact, groups):
    """Least NCP of a group of `size` records around each of the points.

    ``bounds[p]`` is a lower bound, ``exact[p]`` tells whether it is met by ``groups[p]``.
    With a budget of 0 it is the distance to the nearest ``size - 1`` records.
    """
    for i in range(len(points)):
        p = points[i]
        copies = min(size, space.count[p], space.cap[space.value[p]])
        best, farthest = _nearby(costs, space, scratch, p, copies, size)
        # neighbours alone are no farther than those just found: no need to look beyond
        limit = best if budget else min(best, size * farthest + WIDER)
        if budget and size <= GROWN:
            limit = best = min(best, _grown(costs, space, scratch, p, copies, size))
        bound, _, met = cheapest_group(
            costs, space, scratch, weights, p, copies, size, limit, budget
        )
        bounds[p] = bound / size
        exact[p] = met if budget else bound >= best - WIDER
        if len(groups):
            copy_into(groups[p], 0, scratch.group, size)


@inner_borrowed
def _nearby(costs, space, scratch, point, copies, size):
    """Cost of a group of the point and neighbours in the tree, and the distance of the farthest."""
    low, high, row = scratch.low[0], scratch.high[0], scratch.row[0]
    copy_into(low, 0, space.codes[point], len(low))
    copy_into(high, 0, space.codes[point], len(low))
    scratch.chosen[0] = point
    fill_row(costs, space, low, high, scratch.chosen, 1, row)
    begin, end = _around(space, point, size)
    for j in range(begin, end):
        scratch.found[j - begin] = j
        scratch.found_reach[j - begin] = reach(costs, space, row, low, high, j)
    sort_by_reach(scratch.found_reach, scratch.found, end - begin, None)
    scratch.used[:] = 0
    scratch.used[space.value[point]] = copies
    scratch.group[:copies] = point
    filled = copies
    for i in range(end - begin):
        j = scratch.found[i]
        if j == point:
            continue
        value = space.value[j]
        taken = min(space.count[j], space.cap[value] - scratch.used[value], size - filled)
        scratch.used[value] += taken
        scratch.group[filled : filled + taken] = j
        filled += taken
        if filled == size:
            farthest = max(scratch.found_reach[i], reach(costs, space, row, low, high, point))
            return size * group_cost(costs, space, scratch, size), farthest
    return np.inf, np.inf


@inner_borrowed
def _grown(costs, space, scratch, point, copies, size):
    """Cost of the group that takes in the point nearest to its box, again and again.

    It chooses among the neighbours that `_nearby` has left in ``scratch.found``.
    """
    low, high, row = scratch.low[0], scratch.high[0], scratch.row[0]
    copy_into(low, 0, space.codes[point], len(low))
    copy_into(high, 0, space.codes[point], len(low))
    scratch.used[:] = 0
    scratch.used[space.value[point]] = copies
    scratch.group[:copies] = point
    filled = copies
    begin, end = _around(space, point, size)
    while filled < size:
        fill_row(costs, space, low, high, scratch.group, filled, row)
        nearest = np.inf
        at = -1
        for i in range(end - begin):
            j = scratch.found[i]
            if j < 0 or j == point or scratch.used[space.value[j]] >= space.cap[space.value[j]]:
                continue
            far = reach(costs, space, row, low, high, j)
            if far < nearest:
                nearest = far
                at = i
        if at < 0:
            return np.inf
        j = scratch.found[at]
        scratch.found[at] = -1
        value = space.value[j]
        taken = min(space.count[j], space.cap[value] - scratch.used[value], size - filled)
        scratch.used[value] += taken
        scratch.group[filled : filled + taken] = j
        filled += taken
        for a in range(len(low)):
            low[a] = min(low[a], space.codes[j, a])
            high[a] = max(high[a], space.codes[j, a])
    return size * group_cost(costs, space, scratch, size)


@inner_borrowed
def _around(space, point, size):
    """Points beside this one in the order of the tree, from the first to before the last."""
    window = 2 * size + 32
    return max(0, point - window), min(len(space.count), point + window + 1)


@inner_borrowed
def group_cost(costs, space, scratch, size):
    """Weighted NCP of ``scratch.group``."""
    low, high, row = scratch.low[0], scratch.high[0], scratch.row[0]
    copy_into(low, 0, space.codes[scratch.group[0]], len(low))
    copy_into(high, 0, low, len(low))
    for i in range(1, size):
        for a in range(len(low)):
            code = space.codes[scratch.group[i], a]
            low[a] = min(low[a], code)
            high[a] = max(high[a], code)
    fill_row(costs, space, low, high, scratch.group, size, row)
    return reach(costs, space, row, low, high, scratch.group[0])


@kernel(**BORROWED)
def ascend(costs, space, scratch, weights, points, size, budget, groups, slack_exact):
    """Raise the weight of each of the points, in turn, by its slack.

    The slack is what the weight may rise before some group with the point weighs more
    than it costs. ``slack_exact[p]`` tells whether it was found exactly.
    """
    for i in range(len(points)):
        p = points[i]
        slack, exact = _slack(costs, space, scratch, weights, p, size, budget, groups)
        slack_exact[p] = exact
        _move(space, weights, p, max(0.0, slack))


@inner_borrowed
def _slack(costs, space, scratch, weights, point, size, budget, groups):
    """What the weight of the point may rise at least, and whether that is exact.

    ``groups[point]`` is the tightest group found so far: looked at first, with as
    many copies of the point, it keeps all searches short.
    """
    known = 0
    total = 0.0
    for i in range(size):
        j = groups[point, i]
        known += j == point
        total += weights.y[j]
        scratch.group[i] = j
    slack = (size * group_cost(costs, space, scratch, size) - total) / known
    slack_exact = True
    most = min(size, space.count[point], space.cap[space.value[point]])
    for turn in range(most + 1):
        copies = known if turn == 0 else turn
        if slack < NEARLY * weights.y[point]:
            return 0.0, slack_exact  # the weight is as good as fixed by a group
        if turn == known:
            continue
        scratch.group[0] = -1
        bound, _, met = cheapest_group(
            costs, space, scratch, weights, point, copies, size, copies * slack, budget
        )
        if scratch.group[0] >= 0:
            copy_into(groups[point], 0, scratch.group, size)
        slack_exact = slack_exact and met
        slack = min(slack, bound / copies)
    return slack, slack_exact


@inner_borrowed
def _move(space, weights, point, step):
    weights.y[point] += step
    leaf = space.leaf_of[point]
    block = space.block_of[point]
    weights.leaf[leaf] = max(weights.leaf[leaf], weights.y[point])
    weights.block[block] = max(weights.block[block], weights.y[point])
