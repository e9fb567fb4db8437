"""Rings of exchanges between many near groups: the wide steps of the search.

A step draws up to `MATCHED` groups around one record, halves each of them in one of
several ways, and lets `shoal.kernels.matching` join the halves anew.
"""

import numpy as np

from shoal.kernels.jit import BORROWED, kernel
from shoal.kernels.matching import (
    MATCHED,
    join_halves,
    match,
    offer_one,
    offer_values,
    price_pairs,
)
from shoal.kernels.neighbours import NOBODY
from shoal.kernels.random import below, fraction
from shoal.kernels.regrowing import shed
from shoal.kernels.search import NONE, _link

TRIES = 4
"""Neighbours asked for each group of the pool."""


@kernel(**BORROWED, no_cpython_wrapper=True)
def _offer(prices, records, secrets, random, way, salt, members, friend):
    """Halve a group in one of the ways; how many records it keeps, all if none can be offered."""
    m = len(members)
    if m < 2:
        return m
    if way == 0:
        for i in range(m):
            if members[i] == friend:
                return offer_one(members, i)
    if way == 1:
        kept = offer_values(secrets, salt, members)
        if kept == 0:
            return m
        return kept
    if way == 2:
        return shed(prices, records, random, members, True)
    return offer_one(members, below(random, m))


@kernel(**BORROWED, no_cpython_wrapper=True)
def _draw_halves(prices, records, secrets, groups, graph, random, region, width, way, halves):
    """Near groups of the region, halved: their number."""
    room = len(halves.member)
    n = len(groups.of)
    salt = np.uint64(below(random, 2**31)) << np.uint64(33) | np.uint64(2 * below(random, 2**31) + 1)
    anchor = graph.point[below(random, n)]
    count = 0
    filled = 0
    for _ in range(TRIES * width):
        if count == width:
            break
        point = anchor
        for hop in range(3):
            if hop > 0 and below(random, 3) == 0:
                break
            other = graph.near[point, below(random, graph.near.shape[1])]
            if other != NOBODY:
                point = other
        begin = graph.start[point]
        friend = graph.member[begin + below(random, graph.start[point + 1] - begin)]
        g = groups.of[friend]
        if groups.region[g] != region or filled + groups.size[g] > room:
            continue
        known = False
        for c in range(count):
            known = known or halves.group[c] == g
        if known:
            continue
        begin = filled
        record = groups.head[g]
        while record != NONE:
            halves.member[filled] = record
            filled += 1
            record = groups.next[record]
        kept = _offer(
            prices, records, secrets, random, way, salt, halves.member[begin:filled], friend
        )
        if kept == filled - begin:
            filled = begin
            continue
        halves.group[count] = g
        halves.start[count] = begin
        halves.kept[count] = kept
        count += 1
    halves.start[count] = filled
    return count


@kernel(**BORROWED)
def match_region(
    prices, records, secrets, tally, halves, graph, groups, random, region, steps, width, ways,
    temperature,
):  # fmt: skip
    """So many steps in one region; gives by how much the total price fell."""
    gained = 0.0
    for _ in range(steps):
        way = 0
        dice = fraction(random)
        while way < 3 and dice >= ways[way]:
            dice -= ways[way]
            way += 1
        count = _draw_halves(
            prices, records, secrets, groups, graph, random, region, min(width, MATCHED), way, halves
        )
        if count < 2:
            continue
        never = 1.0
        for c in range(count):
            never += 2.0 * groups.price[halves.group[c]] + temperature
        price_pairs(prices, records, secrets, tally, halves, count, never)
        gained += match(halves, random, count, never, temperature)
        for h in range(count):
            g = halves.found.row[h + 1] - 1
            if g != h:
                size = join_halves(halves, g, h)
                _link(groups, halves.group[g], halves.draft[:size])
                groups.price[halves.group[g]] = halves.cost[g, h]
    return gained
