"""Small groups become large enough: they merge with a neighbour or borrow from one.

The second step of Xu et al., KDD 2006 (TopDown). Groups are in tree order, so
that those divided last are neighbours.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.pricing import box_price, extend_box, price_with, start_box


class Groups(NamedTuple):
    """Groups that merge and lend: lists of records, and a list of the groups still there."""

    first: np.ndarray  # int64 (G,): first record of a group
    last: np.ndarray  # int64 (G,)
    following: np.ndarray  # int64 (n,): next record of the same group, -1 after the last
    size: np.ndarray  # int64 (G,): 0 if the group is no more
    loss: np.ndarray  # float64 (G,): weighted NCP
    before: np.ndarray  # int64 (G,): group before it that is still there, -1 if none
    after: np.ndarray  # int64 (G,)


def groups_from(order, offsets):
    """`Groups` of a partition, their losses yet unknown."""
    count = len(offsets) - 1
    following = np.full(len(order), -1, dtype=np.int64)
    following[order[:-1]] = order[1:]
    following[order[offsets[1:] - 1]] = -1
    return Groups(
        first=order[offsets[:-1]],
        last=order[offsets[1:] - 1],
        following=following,
        size=np.diff(offsets),
        loss=np.zeros(count),
        before=np.arange(-1, count - 1),
        after=np.append(np.arange(1, count), -1),
    )


@inner_kernel
def _cover(groups, g, prices, codes, box):
    """The box of a group; returns its weighted NCP."""
    row = groups.first[g]
    start_box(prices, codes[row], box)
    while row >= 0:
        extend_box(prices, codes[row], box)
        row = groups.following[row]
    return box_price(prices, box)


@inner_kernel
def _cheapest_members(groups, h, wanted, prices, codes, box):
    """Members of h that widen the box least, each on its own; the first of equals."""
    rows = np.empty(wanted, dtype=np.int64)
    grows = np.empty(wanted, dtype=np.float64)
    filled = 0
    row = groups.first[h]
    while row >= 0:
        grow = price_with(prices, codes[row], box, np.inf)
        if filled < wanted or grow < grows[wanted - 1]:
            at = min(filled, wanted - 1)
            while at > 0 and grow < grows[at - 1]:
                rows[at], grows[at] = rows[at - 1], grows[at - 1]
                at -= 1
            rows[at], grows[at] = row, grow
            filled = min(filled + 1, wanted)
        row = groups.following[row]
    return rows


@inner_kernel
def _price(groups, g, h, k, prices, codes, box, trial):
    """What it adds to the loss if g, whose box is given, merges with h or borrows from it.

    A merger of fewer than 2k records; else h can spare what g lacks. What h
    saves by lending is not counted, only that the lent records leave.
    """
    merge = groups.size[g] + groups.size[h] < 2 * k
    _cover(groups, g, prices, codes, trial)
    if merge:
        row = groups.first[h]
        while row >= 0:
            extend_box(prices, codes[row], trial)
            row = groups.following[row]
        lent = groups.size[h]
    else:
        lent = k - groups.size[g]
        for row in _cheapest_members(groups, h, lent, prices, codes, box):
            extend_box(prices, codes[row], trial)
    before = groups.size[g] * groups.loss[g] + lent * groups.loss[h]
    return (groups.size[g] + lent) * box_price(prices, trial) - before


@inner_kernel
def _best_partner(groups, g, k, reach, prices, codes, box, trial):
    """The cheapest of the `reach` groups on either side in tree order; -1 if there is none."""
    best, least = -1, np.inf
    for side in (groups.before, groups.after):
        h = side[g]
        steps = 0
        while h >= 0 and steps < reach:
            price = _price(groups, g, h, k, prices, codes, box, trial)
            if price < least:
                best, least = h, price
            h = side[h]
            steps += 1
    return best


@inner_kernel
def _merge(groups, g, h):
    """Put g's records behind h's; g is no more."""
    groups.following[groups.last[h]] = groups.first[g]
    groups.last[h] = groups.last[g]
    groups.size[h] += groups.size[g]
    groups.size[g] = 0
    if groups.before[g] >= 0:
        groups.after[groups.before[g]] = groups.after[g]
    if groups.after[g] >= 0:
        groups.before[groups.after[g]] = groups.before[g]


@inner_kernel
def _lend(groups, h, g, rows, lent):
    """Move these rows of h behind g's; ``lent`` is all False, one entry a record, and stays so."""
    for row in rows:
        lent[row] = True
    last = -1
    row = groups.first[h]
    while row >= 0:
        after = groups.following[row]
        if not lent[row]:
            if last < 0:
                groups.first[h] = row
            else:
                groups.following[last] = row
            last = row
        row = after
    groups.following[last] = -1
    groups.last[h] = last
    for row in rows:
        lent[row] = False
        groups.following[groups.last[g]] = row
        groups.last[g] = row
        groups.following[row] = -1
    groups.size[h] -= len(rows)
    groups.size[g] += len(rows)


@kernel
def join_small(groups, k, reach, prices, codes, box, trial, lent):
    """Bring every group to k records, those of the tree's front first: merge or borrow."""
    for g in range(len(groups.size)):
        groups.loss[g] = _cover(groups, g, prices, codes, box)
    for g in range(len(groups.size)):
        if groups.size[g] == 0 or groups.size[g] >= k:
            continue
        _cover(groups, g, prices, codes, box)
        h = _best_partner(groups, g, k, reach, prices, codes, box, trial)
        if h < 0:
            continue
        if groups.size[g] + groups.size[h] < 2 * k:
            _merge(groups, g, h)
        else:
            wanted = k - groups.size[g]
            rows = _cheapest_members(groups, h, wanted, prices, codes, box)
            _lend(groups, h, g, rows, lent)
            groups.loss[g] = _cover(groups, g, prices, codes, box)
        groups.loss[h] = _cover(groups, h, prices, codes, box)


@kernel
def in_order(groups, order, ends):
    """Write the records group by group, and where the groups end; returns how many."""
    at = 0
    count = 0
    for g in range(len(groups.size)):
        if groups.size[g] == 0:
            continue
        row = groups.first[g]
        while row >= 0:
            order[at] = row
            at += 1
            row = groups.following[row]
        ends[count] = at
        count += 1
    return count
