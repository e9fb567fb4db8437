"""Greedy cover and Reduce: what every family of sets of paper 001, section 4, shares.

Records with equal quasi-identifiers are one point with many records, so that
distances and sets are kept by point. `Queue` hands out the set with the least
weight per record that is new; `place` turns each chosen set into a group, or
joins it to one, at once: Reduce, with the choices that section 4.2.2 leaves open
made so that few cells are lost.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

MOST_ATTRIBUTES = 62
"""Which attributes differ is one bit each of an int64."""


class Points(NamedTuple):
    """Distinct rows of quasi-identifiers, and the records that carry them."""

    codes: np.ndarray  # int32 (u, d)
    of_record: np.ndarray  # int64 (n,): point of each record
    records: np.ndarray  # int64 (n,): records by point
    offsets: np.ndarray  # int64 (u+1,): where the records of each point begin
    left: np.ndarray  # int64 (u,): records not covered yet: the last ones of each point


class Groups(NamedTuple):
    """A partition that grows: members in doubly linked lists, so that one can be lent."""

    of: np.ndarray  # int64 (n,): group of each record, -1 before it has one
    after: np.ndarray  # int64 (n,): next member, -1 at the end
    before: np.ndarray  # int64 (n,): previous member, -1 at the front
    first: np.ndarray  # int64 (n,): front of each group
    size: np.ndarray  # int64 (n,)
    differ: np.ndarray  # int64 (n,): attributes in which members may differ, as bits
    point: np.ndarray  # int64 (n,): a point whose values all members share elsewhere
    lent: np.ndarray  # int64 (n,): scratch of `place`, all zeros between calls
    count: np.ndarray  # int64 (1,)


class Choice(NamedTuple):
    """The set just chosen: records that are new in it, and covered ones it could borrow."""

    new: np.ndarray  # int64 (2k,)
    lenders: np.ndarray  # int64 (LENDERS * k + 1,)
    masks: np.ndarray  # int64 (LENDERS * k + 1,): how each lender differs from the first new one
    taken: np.ndarray  # bool (LENDERS * k + 1,)
    counts: np.ndarray  # int64 (2,): how many are new, how many lend


class Queue(NamedTuple):
    """Sets by ratio: a stack for each rank; a set waits until its rank comes up."""

    rank: np.ndarray  # int64 (weights, most + 1): place of weight / new among all ratios
    top: np.ndarray  # int64 (ranks,): top of each stack, -1 where empty
    below: np.ndarray  # int64 (sets,): next on the stack


LENDERS = 4
"""Covered records looked at for each record a group may have to borrow."""


def new_points(codes, of_record):
    """`Points` from the distinct rows and the row of each record; nothing is covered."""
    sizes = np.bincount(of_record, minlength=len(codes))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    records = np.argsort(of_record, kind="stable").astype(np.int64)
    return Points(codes, of_record, records, offsets, sizes.astype(np.int64))


def new_groups(n):
    """No group yet."""
    absent = [np.full(n, -1, dtype=np.int64) for _ in range(4)]
    zeros = [np.zeros(n, dtype=np.int64) for _ in range(4)]
    return Groups(*absent, *zeros, np.zeros(1, dtype=np.int64))


def new_choice(k):
    """Room for one choice."""
    room = LENDERS * k + 1
    lenders, masks = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    new, counts = np.zeros(2 * k, dtype=np.int64), np.zeros(2, dtype=np.int64)
    return Choice(new, lenders, masks, np.zeros(room, dtype=np.bool_), counts)


def new_queue(weights, most, sets):
    """An empty queue for sets of weight 0..weights that cover up to `most` new records.

    Equal fractions are equal floats, and fractions of such small numbers that
    differ are far apart: the ranks are exact.
    """
    ratios = np.arange(weights + 1)[:, None] / np.maximum(np.arange(most + 1), 1)[None, :]
    distinct, rank = np.unique(ratios, return_inverse=True)
    top = np.full(len(distinct), -1, dtype=np.int64)
    return Queue(rank.reshape(ratios.shape), top, np.full(sets, -1, dtype=np.int64))


@inner_kernel
def push(queue, rank, item):
    """Put a set on the stack of its rank."""
    queue.below[item] = queue.top[rank]
    queue.top[rank] = item


@inner_kernel
def pop(queue, rank):
    """A set of this rank, or -1."""
    item = queue.top[rank]
    if item >= 0:
        queue.top[rank] = queue.below[item]
    return item


@inner_kernel
def bits(mask):
    """Number of ones."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@inner_kernel
def difference(codes, a, b):
    """Attributes in which two points differ, as bits."""
    mask = np.int64(0)
    for j in range(codes.shape[1]):
        if codes[a, j] != codes[b, j]:
            mask |= np.int64(1) << j
    return mask


@inner_kernel
def take(points, choice, x, most):
    """Cover up to `most` records of point x; returns how many."""
    amount = min(points.left[x], most)
    begin = points.offsets[x + 1] - points.left[x]
    for i in range(begin, begin + amount):
        choice.new[choice.counts[0]] = points.records[i]
        choice.counts[0] += 1
    points.left[x] -= amount
    return amount


@inner_kernel
def offer(points, groups, choice, x, k):
    """Let covered records of point x, up to k of them, be lent; False once there is no room."""
    begin = points.offsets[x]
    for i in range(begin, min(begin + k, points.offsets[x + 1] - points.left[x])):
        if groups.of[points.records[i]] < 0:
            return True
        if choice.counts[1] == len(choice.lenders):
            return False
        choice.lenders[choice.counts[1]] = points.records[i]
        choice.counts[1] += 1
    return True


@inner_kernel
def _enter(groups, g, record):
    front = groups.first[g]
    groups.of[record] = g
    groups.after[record] = front
    groups.before[record] = -1
    if front >= 0:
        groups.before[front] = record
    groups.first[g] = record
    groups.size[g] += 1


@inner_kernel
def _leave(groups, record):
    g, after, before = groups.of[record], groups.after[record], groups.before[record]
    if before >= 0:
        groups.after[before] = after
    else:
        groups.first[g] = after
    if after >= 0:
        groups.before[after] = before
    groups.size[g] -= 1


@inner_kernel
def _open(groups, point, differ):
    g = groups.count[0]
    groups.count[0] += 1
    groups.point[g] = point
    groups.differ[g] = differ
    return g


@kernel
def group_repeated(points, groups, k):
    """Points of k or more records are groups as they are, at no cost."""
    for x in range(len(points.left)):
        if points.left[x] >= k:
            g = _open(groups, x, 0)
            for i in range(points.offsets[x], points.offsets[x + 1]):
                _enter(groups, g, points.records[i])
            points.left[x] = 0


@inner_kernel
def _borrow(groups, choice, wanted, differ, attributes):
    """Mark the lenders that widen the set least; returns how it differs then, or -1.

    A group lends what it has beyond its k records only: `lent` counts down from there.
    """
    for i in range(choice.counts[1]):
        choice.taken[i] = False
    for wider in range(attributes + 1):
        for i in range(choice.counts[1]):
            g = groups.of[choice.lenders[i]]
            if wanted == 0:
                return differ
            if choice.taken[i] or groups.lent[g] <= 0:
                continue
            if bits(differ | choice.masks[i]) - bits(differ) <= wider:
                choice.taken[i] = True
                groups.lent[g] -= 1
                differ |= choice.masks[i]
                wanted -= 1
    return differ if wanted == 0 else np.int64(-1)


@inner_kernel
def _own_cost(groups, choice, k, differ):
    """Stars of a group of its own, less those that the borrowed records have now."""
    cost = k * bits(differ)
    for i in range(choice.counts[1]):
        if choice.taken[i]:
            cost -= bits(groups.differ[groups.of[choice.lenders[i]]])
    return cost


@inner_kernel
def _cheapest_host(groups, choice, k, codes, point, differ):
    """The lending group that the new records can join at the fewest stars, up to 2k-1 in all."""
    best, least = -1, 1 << 60
    for i in range(choice.counts[1]):
        g = groups.of[choice.lenders[i]]
        size = groups.size[g]
        if size + choice.counts[0] > 2 * k - 1:
            continue
        joint = groups.differ[g] | differ | difference(codes, groups.point[g], point)
        cost = (size + choice.counts[0]) * bits(joint) - size * bits(groups.differ[g])
        if cost < least:
            best, least = g, cost
    return best, least


@inner_kernel
def place(points, groups, choice, k):
    """Make the chosen set a group of at least k records that no other group has.

    With k new records it is one. With fewer it borrows from groups that have
    more than k, or joins a group with which it has at most 2k-1: whichever
    costs fewer stars. Where too few can be borrowed, some lending group has
    fewer records to spare than are missing, so that it can be joined.
    """
    codes, new = points.codes, choice.counts[0]
    point = points.of_record[choice.new[0]]
    differ = np.int64(0)
    for i in range(1, new):
        differ |= difference(codes, point, points.of_record[choice.new[i]])
    host = -1
    if new < k:
        for i in range(choice.counts[1]):
            g = groups.of[choice.lenders[i]]
            groups.lent[g] = groups.size[g] - k
            choice.masks[i] = difference(codes, point, points.of_record[choice.lenders[i]])
        own = _borrow(groups, choice, k - new, differ, codes.shape[1])
        host, least = _cheapest_host(groups, choice, k, codes, point, differ)
        if own >= 0 and (host < 0 or _own_cost(groups, choice, k, own) <= least):
            host = -1
            differ = own
        for i in range(choice.counts[1]):
            groups.lent[groups.of[choice.lenders[i]]] = 0
    if host >= 0:
        groups.differ[host] |= differ | difference(codes, groups.point[host], point)
    else:
        host = _open(groups, point, differ)
        for i in range(choice.counts[1] if new < k else 0):
            if choice.taken[i]:
                _leave(groups, choice.lenders[i])
                _enter(groups, host, choice.lenders[i])
    for i in range(new):
        _enter(groups, host, choice.new[i])
