"""The group around a record that costs least, less the weights of its members.

`cheapest_group` minimises ``size * NCP(S) - sum of y over S`` over the groups S
of `size` records that hold a given point, by branch and bound over boxes. With
y = 0 that is the cheapest box (rung "boxes"), and its root alone is the distance to
the (size - 1)-th neighbour (rung "neighbours"); with y it prices a group for the
dual (rung "dual"). Whatever the budget, what comes back is a lower bound of the minimum.

Each group has a member that is farthest from the box so far: that is what is
branched on, with only nearer points left for the rest of the group.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.bounds.points import copy_into, fill_row, least_reach, reach, sort_by_reach
from shoal.kernels.jit import inner_borrowed

LIGHTER = 0.9
"""When what is still to come is lighter by this, points found before are looked at again."""
TINY = 1e-12
"""A node this little below the best group found so far is not looked into."""


class Weights(NamedTuple):
    """The weight y of a record of each point, and what it is at most in leaves and blocks."""

    y: np.ndarray  # float64 (D,)
    leaf: np.ndarray  # float64 (L,)
    block: np.ndarray  # float64 (G,)
    box: np.ndarray  # float64 (D,): at most the NCP of any group with the point


class SearchScratch(NamedTuple):
    """Scratch of one thread. Row n of each array belongs to level n of the search."""

    row: np.ndarray  # float64 (levels, codes)
    low: np.ndarray  # int32 (levels, d)
    high: np.ndarray  # int32 (levels, d)
    point: np.ndarray  # int64 (levels, room): candidates, nearest first
    left: np.ndarray  # int64 (levels, room): records of it that may still join
    reach: np.ndarray  # float64 (levels, room): cost of the box with it
    least: np.ndarray  # float64 (levels, room): bound where it is the farthest member
    length: np.ndarray  # int64 (levels,)
    cursor: np.ndarray  # int64 (levels,)
    need: np.ndarray  # int64 (levels,): members still to choose
    gained: np.ndarray  # float64 (levels,): y of the members chosen so far
    chosen: np.ndarray  # int64 (levels,): the member that each level added
    used: np.ndarray  # int64 (V,): members of each sensitive value
    top: np.ndarray  # int64 (size,): points of the largest weights passed, largest first
    top_sum: np.ndarray  # float64 (1,): sum of those weights
    to_come: np.ndarray  # float64 (G,): largest weight of each block and all after it
    found: np.ndarray  # int64 (D,): points near the record
    found_reach: np.ndarray  # float64 (D,)
    group: np.ndarray  # int64 (size,): members of the best group
    steps: np.ndarray  # int64 (1,): points and boxes that were looked at


@inner_borrowed
def cheapest_group(costs, space, scratch, weights, point, copies, size, best, budget):
    """Lower bound of ``size * NCP(S) - y(S)`` over groups S with exactly these copies of the point.

    ``best`` is the value of a group that is known; groups that are no better are not
    looked for, and ``scratch.group`` holds the members if a better one was found.
    ``budget`` counts the candidates to look at, after those around the root.
    Returns the bound, the least value found, and whether they are the same.
    """
    y = weights.y
    need = size - copies
    scratch.chosen[0] = point
    scratch.used[:] = 0
    scratch.used[space.value[point]] = copies
    scratch.need[0] = need
    scratch.gained[0] = copies * y[point]
    copy_into(scratch.low[0], 0, space.codes[point], space.codes.shape[1])
    copy_into(scratch.high[0], 0, space.codes[point], space.codes.shape[1])
    fill_row(costs, space, scratch.low[0], scratch.high[0], scratch.chosen, 1, scratch.row[0])
    if need == 0:
        alone = reach(costs, space, scratch.row[0], scratch.low[0], scratch.high[0], point)
        value = size * alone - scratch.gained[0]
        if value < best:
            best = value
            scratch.group[:] = point
        return best, best, True
    found = _gather(costs, space, scratch, weights, point, size, best)
    outside = _open_root(space, scratch, y, found, size)
    best = _attained(costs, space, scratch, y, 0, copies, size, best)
    inside, best = _descend(costs, space, scratch, weights, copies, size, best, budget)
    bound = min(inside, outside)
    return min(bound, best), best, bound >= best - TINY


@inner_borrowed
def _gather(costs, space, scratch, weights, point, size, best):
    """Points that may be in a group better than the best, into ``scratch.found``; how many.

    With a member at distance d, ``size * d`` less its own weight, those of the
    chosen and those of the others must stay below the best. The others are
    points found already or points of this block and later ones, which come in
    shells of falling weight: so few heavy points do not spoil the bound for all.
    """
    row, low, high = scratch.row[0], scratch.low[0], scratch.high[0]
    full = space.cap[space.value[point]] <= scratch.used[space.value[point]]
    _heaviest_to_come(scratch, weights)
    found = 0
    passed = 0
    last = np.inf
    for g in range(len(space.block) - 1):
        if scratch.to_come[g] < LIGHTER * last:
            last = scratch.to_come[g]
            found, passed = _tighten(space, scratch, weights.y, found, size, best, last)
        limit = best + scratch.gained[0] + _cover(scratch, weights.y, passed, scratch.to_come[g])
        scratch.steps[0] += 1
        near = least_reach(costs, space, row, low, high, space.block_low[g], space.block_high[g])
        if size * near >= limit + weights.block[g]:
            continue
        scratch.steps[0] += space.block[g + 1] - space.block[g]
        for b in range(space.block[g], space.block[g + 1]):
            near = least_reach(costs, space, row, low, high, space.leaf_low[b], space.leaf_high[b])
            if size * near >= limit + weights.leaf[b]:
                continue
            scratch.steps[0] += space.leaf[b + 1] - space.leaf[b]
            for j in range(space.leaf[b], space.leaf[b + 1]):
                far = max(weights.box[j], reach(costs, space, row, low, high, j))
                if size * far >= limit + weights.y[j] or j == point:
                    continue
                if full and space.value[j] == space.value[point]:
                    continue
                scratch.found[found] = j
                scratch.found_reach[found] = far
                found += 1
                passed = _pass(
                    space, scratch, weights.y, j, space.count[j], passed, scratch.need[0] - 1
                )
    found, _ = _tighten(space, scratch, weights.y, found, size, best, 0.0)
    return found


@inner_borrowed
def _heaviest_to_come(scratch, weights):
    """Largest weight of each block and all after it."""
    largest = 0.0
    for g in range(len(weights.block) - 1, -1, -1):
        largest = max(largest, weights.block[g])
        scratch.to_come[g] = largest


@inner_borrowed
def _cover(scratch, y, passed, to_come):
    """What the others weigh at most: points passed, or as heavy as the heaviest to come."""
    others = scratch.need[0] - 1
    cover = 0.0
    for i in range(others):
        if i >= passed or y[scratch.top[i]] <= to_come:
            return cover + (others - i) * to_come
        cover += y[scratch.top[i]]
    return cover


@inner_borrowed
def _tighten(space, scratch, y, found, size, best, to_come):
    """Drop points again, now that heavier ones have gone; how many are left, and passed."""
    while True:
        scratch.steps[0] += found
        passed = 0
        scratch.top_sum[0] = 0.0
        for i in range(found):
            j = scratch.found[i]
            passed = _pass(space, scratch, y, j, space.count[j], passed, scratch.need[0] - 1)
        limit = best + scratch.gained[0] + _cover(scratch, y, passed, to_come)
        kept = 0
        for i in range(found):
            j = scratch.found[i]
            if size * scratch.found_reach[i] < limit + y[j]:
                scratch.found[kept] = j
                scratch.found_reach[kept] = scratch.found_reach[i]
                kept += 1
        if kept == found:
            return found, passed
        found = kept


@inner_borrowed
def _pass(space, scratch, y, point, copies, passed, most):
    """Take a point's copies into the `most` largest weights that a group may hold together.

    The sets that keep to the caps are a matroid, so that one exchange a copy
    keeps the sum the largest. Returns how many weights are held.
    """
    value = space.value[point]
    room = space.cap[value] - scratch.used[value]
    weight = y[point]
    for _ in range(min(copies, room)):
        if passed == most and (most == 0 or weight <= y[scratch.top[most - 1]]):
            return passed
        same = 0
        last_same = -1
        if room < most:
            for i in range(passed):
                if space.value[scratch.top[i]] == value:
                    same += 1
                    last_same = i
        gap = passed
        if room < most and same == room:
            if weight <= y[scratch.top[last_same]]:
                return passed
            gap = last_same
        elif passed == most:
            gap = most - 1
        if gap < passed:
            scratch.top_sum[0] -= y[scratch.top[gap]]
        else:
            passed += 1
        scratch.top_sum[0] += weight
        while gap > 0 and y[scratch.top[gap - 1]] < weight:
            scratch.top[gap] = scratch.top[gap - 1]
            gap -= 1
        scratch.top[gap] = point
    return passed


@inner_borrowed
def _open_root(space, scratch, y, found, size):
    """Candidates of the root, nearest first; the bound of those that find no room."""
    sort_by_reach(scratch.found_reach, scratch.found, found, None)
    room = scratch.point.shape[1]
    scratch.length[0] = min(found, room)
    scratch.cursor[0] = 0
    passed = 0
    scratch.top_sum[0] = 0.0
    outside = np.inf
    for i in range(found):
        j = scratch.found[i]
        far = scratch.found_reach[i]
        least, passed = _least(space, scratch, y, 0, size, j, far, space.count[j], passed)
        if i >= room:
            outside = min(outside, least)
            continue
        scratch.point[0, i] = j
        scratch.left[0, i] = space.count[j]
        scratch.reach[0, i] = far
        scratch.least[0, i] = least
    return outside


@inner_borrowed
def _least(space, scratch, y, level, size, point, far, copies, passed):
    """Bound where this candidate is the farthest member, and the weights passed so far."""
    others = scratch.need[level] - 1
    passed = _pass(space, scratch, y, point, copies - 1, passed, others)
    least = np.inf
    if passed == others:
        least = size * far - scratch.gained[level] - y[point] - scratch.top_sum[0]
    passed = _pass(space, scratch, y, point, 1, passed, others)
    return least, passed


@inner_borrowed
def _attained(costs, space, scratch, y, level, copies, size, best):
    """The best group whose last members do not widen the box, or of which one is left to choose."""
    single = scratch.need[level] == 1
    row, low, high = scratch.row[level], scratch.low[level], scratch.high[level]
    base = reach(costs, space, row, low, high, scratch.chosen[level])
    for i in range(scratch.length[level]):
        if not single and scratch.reach[level, i] > base + TINY:
            break
        if scratch.least[level, i] < best:
            passed, value = _complete(space, scratch, y, level, size, i)
            if value < best:
                best = value
                _keep_group(scratch, level, copies, i, passed)
    return best


@inner_borrowed
def _complete(space, scratch, y, level, size, at):
    """Value of the group of candidate `at` and the largest before it, which are ``scratch.top``."""
    point = scratch.point[level, at]
    others = scratch.need[level] - 1
    scratch.used[space.value[point]] += 1
    passed = 0
    scratch.top_sum[0] = 0.0
    value = size * scratch.reach[level, at] - scratch.gained[level] - y[point]
    if others:
        for i in range(at + 1):
            left = scratch.left[level, i] - (1 if i == at else 0)
            passed = _pass(space, scratch, y, scratch.point[level, i], left, passed, others)
    value -= scratch.top_sum[0]
    scratch.used[space.value[point]] -= 1
    return passed, value if passed == others else np.inf


@inner_borrowed
def _keep_group(scratch, level, copies, at, passed):
    """Write the members chosen so far, the candidate `at` and those that `_complete` found."""
    scratch.group[:copies] = scratch.chosen[0]
    for n in range(1, level + 1):
        scratch.group[copies + n - 1] = scratch.chosen[n]
    place = copies + level
    scratch.group[place] = scratch.point[level, at]
    copy_into(scratch.group, place + 1, scratch.top, passed)


@inner_borrowed
def _descend(costs, space, scratch, weights, copies, size, best, budget):
    """Depth-first from the root; returns the bound of what was left open, and the best value."""
    y = weights.y
    levels = len(scratch.length)
    level = 0
    spent = 0
    unseen = np.inf
    while level >= 0:
        at = scratch.cursor[level]
        if at == scratch.length[level] or scratch.need[level] == 1:
            scratch.used[space.value[scratch.chosen[level]]] -= 1
            level -= 1
            continue
        scratch.cursor[level] = at + 1
        if scratch.least[level, at] >= best - TINY:
            continue
        if spent >= budget or level + 1 == levels:
            unseen = min(unseen, scratch.least[level, at])
            continue
        spent += at + 1
        scratch.steps[0] += at + 1
        _open(costs, space, scratch, weights, level, at, size, best)
        level += 1
        best = _attained(costs, space, scratch, y, level, copies, size, best)
    return unseen, best


@inner_borrowed
def _open(costs, space, scratch, weights, level, at, size, best):
    """Make candidate `at` a member: the next level, whose candidates are those before it."""
    y = weights.y
    below = level + 1
    point = scratch.point[level, at]
    scratch.chosen[below] = point
    scratch.used[space.value[point]] += 1
    scratch.need[below] = scratch.need[level] - 1
    scratch.gained[below] = scratch.gained[level] + y[point]
    scratch.cursor[below] = 0
    for a in range(scratch.low.shape[1]):
        scratch.low[below, a] = min(scratch.low[level, a], space.codes[point, a])
        scratch.high[below, a] = max(scratch.high[level, a], space.codes[point, a])
    row, low, high = scratch.row[below], scratch.low[below], scratch.high[below]
    fill_row(costs, space, low, high, scratch.chosen, below + 1, row)
    # what the members still to choose weigh at most: the bound of `at`, solved for it
    cover = size * scratch.reach[level, at] - scratch.gained[below] - scratch.least[level, at]
    limit = (best + scratch.gained[below] + cover) / size
    kept = 0
    for i in range(at + 1):
        left = scratch.left[level, i] - (1 if i == at else 0)
        j = scratch.point[level, i]
        if left == 0 or scratch.used[space.value[j]] >= space.cap[space.value[j]]:
            continue
        far = max(weights.box[j], reach(costs, space, row, low, high, j))
        if far < limit:
            scratch.point[below, kept] = j
            scratch.left[below, kept] = left
            scratch.reach[below, kept] = far
            kept += 1
    scratch.length[below] = kept
    if scratch.need[below] > 1:
        sort_by_reach(scratch.reach[below], scratch.point[below], kept, scratch.left[below])
    passed = 0
    scratch.top_sum[0] = 0.0
    for i in range(kept):
        j, far, left = scratch.point[below, i], scratch.reach[below, i], scratch.left[below, i]
        scratch.least[below, i], passed = _least(
            space, scratch, y, below, size, j, far, left, passed
        )
