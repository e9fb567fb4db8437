"""Cover by balls: the records that differ from a centre in at most i attributes.

Paper 001, section 4.3. There a ball pays its radius once, however many records
it holds; but cut into groups of at most 2k-1 it costs that much in every part,
which its Theorem 4.2 overlooks. Here a choice takes at most 2k-1 new records of
a ball: it is cut before it is chosen, and every part pays. (The analysis of the
greedy cover then never sees more than 2k-1 records of a set either.)
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.cover.greedy import bits, difference, offer, place, pop, push, take
from shoal.kernels.jit import inner_kernel, kernel


class Balls(NamedTuple):
    """Balls around every point: column i is radius i."""

    total: np.ndarray  # int64 (u, d+1): records within the radius
    left: np.ndarray  # int64 (u, d+1): those that are not covered yet
    found: np.ndarray  # int64 (u,): scratch: uncovered points of the ball looked at
    masks: np.ndarray  # int64 (u,): scratch: how they differ from the centre


def new_balls(codes, total, left):
    """`Balls` of the distinct rows; the counts are those of the records of each point."""
    u, d = codes.shape
    balls = Balls(
        np.zeros((u, d + 1), dtype=np.int64),
        np.zeros((u, d + 1), dtype=np.int64),
        np.zeros(u, dtype=np.int64),
        np.zeros(u, dtype=np.int64),
    )
    _count_near(codes, total, left, balls.total, balls.left)
    np.cumsum(balls.total, axis=1, out=balls.total)
    np.cumsum(balls.left, axis=1, out=balls.left)
    return balls


@inner_kernel
def _distance(codes, a, b):
    apart = 0
    for j in range(codes.shape[1]):
        apart += codes[a, j] != codes[b, j]
    return apart


@kernel
def _count_near(codes, total, left, totals, lefts):
    """Records at each distance from each point."""
    for x in range(len(codes)):
        totals[x, 0] += total[x]
        lefts[x, 0] += left[x]
        for y in range(x):
            apart = _distance(codes, x, y)
            totals[x, apart] += total[y]
            totals[y, apart] += total[x]
            lefts[x, apart] += left[y]
            lefts[y, apart] += left[x]


@kernel
def nearest(balls, k, least):
    """Radius of the smallest ball of k records around each point.

    Some record of its group is at least as far from a record as the k-th
    nearest, itself included: it loses at least as much in any release.
    """
    for x in range(len(least)):
        least[x] = 0
        while balls.total[x, least[x]] < k:
            least[x] += 1


@inner_kernel
def _cover_point(points, balls, x, amount):
    """Tell all centres that `amount` records of point x are covered now."""
    for c in range(len(points.codes)):
        for radius in range(_distance(points.codes, c, x), balls.left.shape[1]):
            balls.left[c, radius] -= amount


@inner_kernel
def _find(points, balls, centre, radius):
    """Uncovered points of a ball; returns how many."""
    found = 0
    for x in range(len(points.codes)):
        if points.left[x] > 0:
            mask = difference(points.codes, centre, x)
            if bits(mask) <= radius:
                balls.found[found] = x
                balls.masks[found] = mask
                found += 1
    return found


@inner_kernel
def _choose(points, groups, balls, choice, centre, radius, amount, k):
    """Cover `amount` records of a ball, those first that add the fewest differences."""
    choice.counts[:] = 0
    found = _find(points, balls, centre, radius)
    differ = np.int64(0)
    while choice.counts[0] < amount:
        best, least = 0, 1 << 30
        for i in range(found):
            wide = bits(differ | balls.masks[i])
            if wide < least:
                best, least = i, wide
        x = balls.found[best]
        differ |= balls.masks[best]
        _cover_point(points, balls, x, take(points, choice, x, amount - choice.counts[0]))
        found -= 1
        balls.found[best] = balls.found[found]
        balls.masks[best] = balls.masks[found]
    if amount >= k:
        return
    for x in range(len(points.codes)):
        near = _distance(points.codes, centre, x) <= radius
        if near and not offer(points, groups, choice, x, k):
            return


@kernel
def cover_by_balls(points, groups, balls, queue, choice, k):
    """Greedy cover: the ball with the least radius per new record comes next.

    Returns the sum of the radii over all choices: the weight of the cover.
    """
    most = 2 * k - 1
    weight = 0
    u, radii = balls.left.shape
    for ball in range(u * radii):
        centre, radius = ball // radii, ball % radii
        if balls.total[centre, radius] >= k and balls.left[centre, radius] > 0:
            push(queue, queue.rank[radius, min(most, balls.left[centre, radius])], ball)
    rank = 0
    while rank < len(queue.top):
        ball = pop(queue, rank)
        if ball < 0:
            rank += 1
            continue
        centre, radius = ball // radii, ball % radii
        amount = min(most, balls.left[centre, radius])
        if amount == 0:
            continue
        now = queue.rank[radius, amount]
        if now == rank:
            _choose(points, groups, balls, choice, centre, radius, amount, k)
            place(points, groups, choice, k)
            weight += radius
            amount = min(most, balls.left[centre, radius])
            now = queue.rank[radius, amount]
        if amount > 0:
            push(queue, now, ball)
    return weight
