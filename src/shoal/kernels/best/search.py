"""Large-neighbourhood search: pool a few near groups, divide the pool anew, keep what is better.

A step draws a group, one whose price is far above what its records owe (`methods.best.dues`),
and some groups of its neighbours, and divides their records anew by cutting or by growing. The
result replaces the old groups if it costs less, or with a small chance if it costs a little
more (Metropolis).
Groups belong to regions, and so do the numbers that are free; neither changes its
region while calls are under way. A call works in one region only, so that two
threads never meet: `regions_are_apart` checks it.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.best.growing import FAILED, grow
from shoal.kernels.best.guillotine import cut_down
from shoal.kernels.best.neighbours import NOBODY
from shoal.kernels.best.regrowing import regrow, shed
from shoal.kernels.best.trades import polish
from shoal.kernels.jit import BORROWED, kernel
from shoal.kernels.pricing import members_price
from shoal.kernels.random import below, fraction

NONE = -1
WIDEST = 16
"""Groups in one pool at most."""
TRIES = 3
"""Neighbours asked for each further group of the pool."""

HOPEFUL = 1.15
"""Grown groups up to so many times as dear as before are worth trades between them."""
RIVALS = 4
"""Of so many groups the one with most to give is pooled: half of them hold all loss."""
NO_SLACK = 1e-9
"""Groups that cost no more than they owe, but for so small a part, are left alone."""


class Groups(NamedTuple):
    """A partition that changes: groups as linked lists of records."""

    of: np.ndarray  # int64 (n,): group of a record
    next: np.ndarray  # int64 (n,): next record of its group, NONE at the end
    head: np.ndarray  # int64 (room,): first record, NONE if the number is free
    size: np.ndarray  # int64 (room,)
    price: np.ndarray  # float64 (room,): of the whole group, size times the box
    due: np.ndarray  # float64 (n,): what a record costs in any group, at least, as far as is known
    dues: np.ndarray  # float64 (room,): of all records of the group
    region: np.ndarray  # int64 (room,)
    free: np.ndarray  # int64 (regions, room): free numbers of each region
    frees: np.ndarray  # int64 (regions,): how many


class Graph(NamedTuple):
    """Who is near whom: records with equal codes are one point."""

    point: np.ndarray  # int64 (n,): point of a record
    near: np.ndarray  # int32 (points, .): near points, NOBODY where there are no more
    start: np.ndarray  # int64 (points + 1,): records of a point in `member`
    member: np.ndarray  # int64 (n,)


class Pool(NamedTuple):
    """Scratch for one pool."""

    groups: np.ndarray  # int64 (WIDEST,)
    members: np.ndarray  # int64
    grown: np.ndarray  # int64
    ends: np.ndarray  # int64
    starts: np.ndarray  # int64 (WIDEST + 1,): where each group begins in `members`
    kept: np.ndarray  # int64 (WIDEST,): how many records, its first, a group keeps


def new_pool(records):
    """Room for a pool of so many records."""
    return Pool(
        np.zeros(WIDEST, np.int64),
        np.zeros(records, np.int64),
        np.zeros(records, np.int64),
        np.zeros(records + 1, np.int64),
        np.zeros(WIDEST + 1, np.int64),
        np.zeros(WIDEST, np.int64),
    )


@kernel
def link_groups(prices, records, order, offsets, groups, box):
    """Fill `groups` from a partition; gives the total price."""
    total = 0.0
    for g in range(len(offsets) - 1):
        members = order[offsets[g] : offsets[g + 1]]
        link_group(groups, g, members)
        groups.price[g] = len(members) * members_price(prices, records, members, box)
        total += groups.price[g]
    return total


@kernel(**BORROWED, no_cpython_wrapper=True)
def link_group(groups, g, members):
    """Make these records group g."""
    groups.head[g] = NONE
    groups.dues[g] = 0.0
    for i in range(len(members) - 1, -1, -1):
        record = members[i]
        groups.dues[g] += groups.due[record]
        groups.next[record] = groups.head[g]
        groups.head[g] = record
        groups.of[record] = g
    groups.size[g] = len(members)


def regions_are_apart(groups, regions):
    """Whether each number is used, or free in just the region it belongs to, and none is lost."""
    used = groups.head != NONE
    owners = used.astype(np.int64)
    for region in range(regions):
        free = groups.free[region, : groups.frees[region]]
        if (groups.region[free] != region).any():
            return False
        owners += np.bincount(free, minlength=len(owners))
    in_range = (groups.region >= 0) & (groups.region < regions)
    sizes = groups.size[used]
    complete = sizes.sum() == len(groups.of) and (sizes > 0).all()
    return bool((owners == 1).all() and in_range.all() and complete)


@kernel(**BORROWED, no_cpython_wrapper=True)
def _draw_pool(
    prices, records, groups, graph, random, region, width, least, shedding, pool
):  # fmt: skip
    """A random group of the region and some near ones: their number and records.

    The first is the one of some that has most to give: its price less its dues.
    """
    room = len(pool.members)
    n = len(groups.of)
    asked = 0
    first = NONE
    most = 0.0
    for _ in range(64):
        g = groups.of[below(random, n)]
        if groups.region[g] == region and groups.size[g] <= room:
            slack = groups.price[g] - groups.dues[g]
            if first == NONE or slack > most:
                first = g
                most = slack
            asked += 1
            if asked >= RIVALS:
                break
    if first == NONE:
        return 0, 0
    pool.groups[0] = first
    chosen = 1
    filled = _collect(groups, first, pool, 0)
    pool.kept[0] = filled
    if shedding:
        pool.kept[0] = shed(prices, records, random, pool.members[:filled], below(random, 8) > 0)
    loose = filled - pool.kept[0]
    if filled >= 2 * least:
        width = 1
    # all near one record: groups around a point have more to exchange than groups in a row
    anchor = graph.point[pool.members[below(random, filled)]]
    if loose > 0:
        anchor = graph.point[pool.members[pool.kept[0] + below(random, loose)]]
    for _ in range(TRIES * (width - 1)):
        if chosen == width:
            break
        other = graph.near[anchor, below(random, graph.near.shape[1])]
        if other != NOBODY and below(random, 3) == 0:
            other = graph.near[other, below(random, graph.near.shape[1])]
        if other == NOBODY:
            continue
        begin = graph.start[other]
        friend = graph.member[begin + below(random, graph.start[other + 1] - begin)]
        g = groups.of[friend]
        if groups.region[g] != region or filled + groups.size[g] > room:
            continue
        known = False
        for c in range(chosen):
            known = known or pool.groups[c] == g
        if not known:
            pool.groups[chosen] = g
            begin = filled
            filled = _collect(groups, g, pool, filled)
            pool.starts[chosen] = begin
            pool.kept[chosen] = filled - begin
            if shedding:
                slab = below(random, 3) == 0
                pool.kept[chosen] = shed(prices, records, random, pool.members[begin:filled], slab)
            chosen += 1
    pool.starts[chosen] = filled
    return chosen, filled


@kernel(**BORROWED, no_cpython_wrapper=True)
def _collect(groups, g, pool, filled):
    record = groups.head[g]
    while record != NONE:
        pool.members[filled] = record
        filled += 1
        record = groups.next[record]
    return filled


@kernel(**BORROWED, no_cpython_wrapper=True)
def _replace(prices, records, groups, region, pool, chosen, members, parts, box):
    """Put the new groups in the place of the old ones."""
    for c in range(chosen):
        g = pool.groups[c]
        groups.head[g] = NONE
        groups.free[region, groups.frees[region]] = g
        groups.frees[region] += 1
    begin = 0
    for p in range(parts):
        groups.frees[region] -= 1
        g = groups.free[region, groups.frees[region]]
        part = members[begin : pool.ends[p]]
        begin = pool.ends[p]
        link_group(groups, g, part)
        groups.price[g] = len(part) * members_price(prices, records, part, box)


@kernel(**BORROWED)
def search_region(
    prices, records, check, kind_of, cut_scratch, grow_scratch, cores, trade_scratch, graph,
    groups, pool, random, region, steps, temperature, width, cutting, regrowing,
):  # fmt: skip
    """So many steps in one region; gives by how much the total price fell.

    `width` is the most groups in one pool, `cutting` and `regrowing` are the shares of pools
    that are cut and regrown; the others are grown.
    """
    gained = 0.0
    least = max(np.int64(1), check.rules.smallest)
    for _ in range(steps):
        dice = fraction(random)
        regrows = cutting <= dice < cutting + regrowing
        chosen, filled = _draw_pool(
            prices, records, groups, graph, random, region, 2 + below(random, width - 1),
            least, regrows, pool,
        )  # fmt: skip
        if chosen == 0 or (chosen == 1 and filled < 2 * least):
            continue
        if chosen == 1:
            dice = 0.0
            regrows = False
        before = dues = 0.0
        for c in range(chosen):
            before += groups.price[pool.groups[c]]
            dues += groups.dues[pool.groups[c]]
        if before - dues <= NO_SLACK * before:
            continue
        members = pool.members[:filled]
        if dice < cutting or chosen == 1:
            parts, after = cut_down(prices, records, check, cut_scratch, members, 0, pool.ends)
        elif regrows:
            parts, after = regrow(
                prices, records, check, cores, members, pool.starts, pool.kept,
                chosen, pool.grown, pool.ends,
            )  # fmt: skip
            if parts == FAILED:
                continue
            members = pool.grown[:filled]
        else:
            parts, after = grow(
                prices, records, check, grow_scratch, random, members, pool.grown, pool.ends
            )
            if parts == FAILED:
                continue
            members = pool.grown[:filled]
            if not check.sizes_only and after < HOPEFUL * before:
                after -= polish(prices, records, kind_of, trade_scratch, members, pool.ends, parts)
        better = before - after
        if better >= 0.0 or (temperature > 0.0 and fraction(random) < np.exp(better / temperature)):
            gained += better
            _replace(prices, records, groups, region, pool, chosen, members, parts, cut_scratch.box)
    return gained
