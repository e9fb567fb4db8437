"""Cover by patterns: the records that agree on some of the attributes.

All members of a group agree on the attributes that are not suppressed in it, so
every group is part of a pattern, and the number of attributes that the pattern
leaves open is exactly what the group loses per record. There are 2**d patterns
around each point, found by hashing, never by comparing pairs of points.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.cover.greedy import bits, offer, place, pop, push, take
from shoal.kernels.grouping import dense_ids, sort_by_id
from shoal.kernels.jit import inner_kernel, kernel


class Patterns(NamedTuple):
    """The classes of points on every set of attributes, all numbered in one go."""

    of_point: np.ndarray  # int32 (2**d, u): class of each point on each set of attributes
    members: np.ndarray  # int32 (2**d * u,): points by class; covered ones move to the back
    starts: np.ndarray  # int64 (classes + 1,)
    ends: np.ndarray  # int64 (classes,): where the covered members that were met begin
    weight: np.ndarray  # int64 (classes,): attributes left open
    total: np.ndarray  # int64 (classes,): records
    left: np.ndarray  # int64 (classes,): records not covered yet


def new_patterns(codes, sizes, total, left):
    """`Patterns` of the distinct rows.

    `sizes` is the number of codes of each attribute; `total` and `left` count the
    records of each point, all of them and those that are not covered yet.
    """
    d = codes.shape[1]
    of_point, members = _classes(codes, sizes)
    count = int(of_point[-1].max()) + 1
    starts, totals, lefts = (np.zeros(count + 1, dtype=np.int64) for _ in range(3))
    _count_members(of_point, total, left, starts, totals, lefts)
    starts = np.cumsum(starts)
    weight = np.zeros(count, dtype=np.int64)
    _weigh(of_point, d, weight)
    return Patterns(of_point, members, starts, starts[1:].copy(), weight, totals[1:], lefts[1:])


def _classes(codes, sizes):
    """Class of each point on each set of attributes, and the points sorted by class."""
    u, d = codes.shape
    of_point = np.zeros((1 << d, u), dtype=np.int32)
    members = np.empty((1 << d) * u, dtype=np.int32)
    ids, order = np.zeros(u, dtype=np.int64), np.empty(u, dtype=np.int64)
    first = np.zeros((1 << d) + 1, dtype=np.int64)
    for mask in range(1 << d):
        count = 1
        if mask:  # a set without its last attribute is known: refine its classes
            last = mask.bit_length() - 1
            coarse = mask ^ (1 << last)
            parent = of_point[coarse].astype(np.int64) - first[coarse]
            count = dense_ids(parent * sizes[last] + codes[:, last], ids)
        offsets = np.empty(count + 1, dtype=np.int64)
        sort_by_id(ids, offsets, order)
        members[mask * u : (mask + 1) * u] = order
        of_point[mask] = ids + first[mask]
        first[mask + 1] = first[mask] + count
    return of_point, members


@kernel
def _count_members(of_point, total, left, starts, totals, lefts):
    """Points, records and uncovered records of class c, at c + 1."""
    for mask in range(of_point.shape[0]):
        for x in range(of_point.shape[1]):
            c = of_point[mask, x] + 1
            starts[c] += 1
            totals[c] += total[x]
            lefts[c] += left[x]


@kernel
def _weigh(of_point, attributes, weight):
    """Attributes that each class leaves open."""
    for mask in range(of_point.shape[0]):
        for x in range(of_point.shape[1]):
            weight[of_point[mask, x]] = attributes - bits(np.int64(mask))


@kernel
def least_open(patterns, k, least):
    """Fewest open attributes of a pattern of k records or more around each point.

    A record loses at least as much in any release, whatever group it is in.
    """
    masks, u = patterns.of_point.shape
    for x in range(u):
        least[x] = 64
        for mask in range(masks):
            c = patterns.of_point[mask, x]
            if patterns.total[c] >= k:
                least[x] = min(least[x], patterns.weight[c])


@inner_kernel
def _choose(points, groups, patterns, choice, c, amount, k):
    """Cover `amount` records of pattern c; offer covered ones if they are fewer than k."""
    choice.counts[:] = 0
    members = patterns.members
    i = patterns.starts[c]
    while choice.counts[0] < amount:
        x = members[i]
        taken = take(points, choice, x, amount - choice.counts[0])
        for mask in range(len(patterns.of_point)):
            patterns.left[patterns.of_point[mask, x]] -= taken
        if points.left[x] == 0:
            patterns.ends[c] -= 1
            members[i] = members[patterns.ends[c]]
            members[patterns.ends[c]] = x
    if amount >= k:
        return
    for j in range(patterns.starts[c + 1] - 1, patterns.starts[c] - 1, -1):
        if not offer(points, groups, choice, members[j], k):
            return


@kernel
def cover_by_patterns(points, groups, patterns, queue, choice, k):
    """Greedy cover: the pattern with the fewest open attributes per new record comes next.

    A choice takes up to 2k-1 new records of its pattern. Returns the sum of the
    open attributes over all choices: the weight of the cover.
    """
    most = 2 * k - 1
    weight = 0
    for c in range(len(patterns.weight)):
        if patterns.total[c] >= k and patterns.left[c] > 0:
            push(queue, queue.rank[patterns.weight[c], min(most, patterns.left[c])], c)
    rank = 0
    while rank < len(queue.top):
        c = pop(queue, rank)
        if c < 0:
            rank += 1
            continue
        amount = min(most, patterns.left[c])
        if amount == 0:
            continue
        now = queue.rank[patterns.weight[c], amount]
        if now == rank:
            _choose(points, groups, patterns, choice, c, amount, k)
            place(points, groups, choice, k)
            weight += patterns.weight[c]
            amount = min(most, patterns.left[c])
            now = queue.rank[patterns.weight[c], amount]
        if amount > 0:
            push(queue, now, c)
    return weight
