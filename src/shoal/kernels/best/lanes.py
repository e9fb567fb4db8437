"""Trades between many groups along a lane: the wide steps of the search.

A lane lists the records kind by kind, each kind along a space-filling curve. A step
takes some records that follow each other in it, and lets their groups trade them.
"""

import numpy as np

from shoal.kernels.best.search import NONE, link_group
from shoal.kernels.best.trades import MATCHED, price_trades, trade
from shoal.kernels.jit import BORROWED, kernel
from shoal.kernels.random import below


def lane_of(kind_of, place):
    """Records by kind and, within a kind, by `place`."""
    return np.lexsort((place, kind_of)).astype(np.int64)


@kernel(**BORROWED, no_cpython_wrapper=True)
def _enter(groups, scratch, count, record):
    """Enter the group of a record that it offers; whether there is room and others stay."""
    g = groups.of[record]
    begin = scratch.start[count]
    end = begin + groups.size[g]
    if groups.size[g] < 2 or end > len(scratch.member):
        return False
    for c in range(count):
        if scratch.group[c] == g:
            return False
    place = begin
    other = groups.head[g]
    while other != NONE:
        if other != record:
            scratch.member[place] = other
            place += 1
        other = groups.next[other]
    scratch.member[place] = record
    scratch.group[count] = g
    scratch.offered[count] = record
    scratch.start[count + 1] = end
    return True


@kernel(**BORROWED, no_cpython_wrapper=True)
def _draw(groups, kind_of, lane, random, region, scratch):
    """Different groups of the region, each offering a record of the lane: their number."""
    place = below(random, len(lane))
    kind = kind_of[lane[place]]
    count = 0
    scratch.start[0] = 0
    for p in range(place, min(len(lane), place + 2 * MATCHED)):
        record = lane[p]
        if count == MATCHED or kind_of[record] != kind:
            break
        if groups.region[groups.of[record]] == region and _enter(groups, scratch, count, record):
            count += 1
    return count


@kernel(**BORROWED)
def exchange_region(prices, records, kind_of, scratch, groups, lane, random, region, steps):
    """So many steps in one region; gives by how much the total price fell."""
    gained = 0.0
    member, start = scratch.member, scratch.start
    for _ in range(steps):
        count = _draw(groups, kind_of, lane, random, region, scratch)
        if count < 2:
            continue
        for c in range(count):
            price_trades(prices, records, scratch, c, member[start[c] : start[c + 1] - 1], count)
        gain = trade(scratch, count)
        if gain == 0.0:
            continue
        gained += gain
        for h in range(count):
            c = scratch.found.row[h + 1] - 1
            member[start[c + 1] - 1] = scratch.offered[h]
            link_group(groups, scratch.group[c], member[start[c] : start[c + 1]])
            groups.price[scratch.group[c]] = scratch.cost[c, h]
    return gained
