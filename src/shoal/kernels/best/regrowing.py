"""Groups that let go of some records and take in others, each keeping a core.

A group of the pool loses what lies at one end of one attribute, or some records
at random; loose records then go where they cost least, first to groups that
are too small or fail a rule.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.best.growing import FAILED, fits
from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import inner_borrowed
from shoal.kernels.pricing import (
    SET,
    Box,
    box_price,
    extend_box,
    price_with,
    range_price,
    start_box,
)
from shoal.kernels.random import below, fraction

NO_CODE = -1
MOST_SHED = 0.4


class Cores(NamedTuple):
    """Scratch for the groups of one pool."""

    member: np.ndarray  # int64 (groups, records)
    size: np.ndarray  # int64 (groups,)
    low: np.ndarray  # int32 (groups, d)
    high: np.ndarray  # int32 (groups, d)
    bits: np.ndarray  # uint64 (groups, words)
    price: np.ndarray  # float64 (groups,)
    loose: np.ndarray  # int64 (records,)
    known: np.ndarray  # float64 (groups, records): of each core with each loose record, at least


def new_cores(prices, groups, records):
    """Room for the cores of so many groups."""
    d = len(prices.form)
    return Cores(
        np.zeros((groups, records), np.int64),
        np.zeros(groups, np.int64),
        np.zeros((groups, d), np.int32),
        np.zeros((groups, d), np.int32),
        np.zeros((groups, prices.words), np.uint64),
        np.zeros(groups, np.float64),
        np.zeros(records, np.int64),
        np.zeros((groups, records), np.float64),
    )


@inner_borrowed
def _beyond(prices, a, code, border, up):
    """Whether a record with this code is beyond the border; of a SET, at it."""
    if prices.form[a] == SET:
        return code == border
    return code >= border if up else code <= border


@inner_borrowed
def _saving(prices, records, members, a, border, up):
    """What the group would save without the records beyond a border, for each of them."""
    beyond = 0
    low = high = inner_low = inner_high = NO_CODE
    for record in members:
        code = records[record, a]
        low = code if low == NO_CODE else min(low, code)
        high = max(high, code)
        if _beyond(prices, a, code, border, up):
            beyond += 1
        else:
            inner_low = code if inner_low == NO_CODE else min(inner_low, code)
            inner_high = max(inner_high, code)
    if low == high or inner_low == NO_CODE:
        return 0.0
    if prices.form[a] == SET:
        return prices.weight[a] / prices.size[a] * len(members) / beyond
    saved = range_price(prices, a, low, high) - range_price(prices, a, inner_low, inner_high)
    return saved * len(members) / beyond


@inner_borrowed
def _best_slab(prices, records, random, members):
    """Attribute, border and side of the records that are worth most to lose, by chance too."""
    m = len(members)
    best = -1.0
    best_a = 0
    best_border = np.int64(0)
    best_up = False
    for a in range(records.shape[1]):
        up = below(random, 2) == 0
        border = np.int64(records[members[below(random, m)], a])
        for _ in range(3):
            code = records[members[below(random, m)], a]
            border = max(border, code) if up else min(border, code)
        score = _saving(prices, records, members, a, border, up) * fraction(random)
        if score > best:
            best = score
            best_a = a
            best_border = border
            best_up = up
    return best_a, best_border, best_up


@inner_borrowed
def shed(prices, records, random, members, slab):
    """Reorder a group's records in place: those it keeps, at least one, then the loose ones.

    Gives how many it keeps. It loses a slab at one end of one attribute, or some
    records at random.
    """
    m = len(members)
    a, border, up = 0, np.int64(0), False
    share = fraction(random) * MOST_SHED
    if slab:
        a, border, up = _best_slab(prices, records, random, members)
    kept = 0
    for i in range(m):
        record = members[i]
        if slab:
            stays = not _beyond(prices, a, records[record, a], border, up)
        else:
            stays = fraction(random) >= share
        if stays:
            members[i] = members[kept]
            members[kept] = record
            kept += 1
    return max(1, kept)


@inner_borrowed
def _core(prices, records, cores, g, members, kept, loose):
    """Make the core of group g from the records it keeps; the others are loose."""
    box = Box(cores.low[g], cores.high[g], cores.bits[g])
    for i in range(kept):
        cores.member[g, i] = members[i]
        if i == 0:
            start_box(prices, records[members[0]], box)
        else:
            extend_box(prices, records[members[i]], box)
    for i in range(kept, len(members)):
        cores.loose[loose] = members[i]
        loose += 1
    cores.size[g] = kept
    cores.price[g] = box_price(prices, box)
    return loose


@inner_borrowed
def _recount(check, cores, g):
    reset(check.tally)
    for i in range(cores.size[g]):
        add(check.tally, check.records, cores.member[g, i])


@inner_borrowed
def _cheapest_loose(prices, records, check, cores, g, loose, least):
    box = Box(cores.low[g], cores.high[g], cores.bits[g])
    best = np.inf
    where = np.int64(FAILED)
    for j in range(loose):
        if cores.known[g, j] >= best:
            continue  # it was dearer before the box grew
        record = cores.loose[j]
        price = price_with(prices, records[record], box, best)
        cores.known[g, j] = price
        if price < best and (check.sizes_only or fits(check, record, least)):
            best = price
            where = np.int64(j)
            if price <= cores.price[g]:
                break
    return where


@inner_borrowed
def _join(prices, records, cores, g, record):
    box = Box(cores.low[g], cores.high[g], cores.bits[g])
    if extend_box(prices, records[record], box):
        cores.price[g] = box_price(prices, box)
    cores.member[g, cores.size[g]] = record
    cores.size[g] += 1


@inner_borrowed
def _holds(check, cores, g, least):
    """Whether a core satisfies the rules; its values are counted then, if they matter."""
    if check.sizes_only:
        return cores.size[g] >= least
    _recount(check, cores, g)
    return cores.size[g] >= least and tally_holds(check)


@inner_borrowed
def _fill_up(prices, records, check, cores, count, loose):
    """Cores that fail take in the cheapest loose records, in turns; FAILED if one finds none."""
    least = max(np.int64(1), check.rules.smallest)
    waiting = True
    while waiting:
        waiting = False
        for g in range(count):
            if _holds(check, cores, g, least):
                continue
            where = _cheapest_loose(prices, records, check, cores, g, loose, least)
            if where == FAILED:
                return np.int64(FAILED)
            _join(prices, records, cores, g, cores.loose[where])
            loose -= 1
            cores.loose[where] = cores.loose[loose]
            for other in range(count):
                cores.known[other, where] = cores.known[other, loose]
            waiting = True
    return np.int64(loose)


@inner_borrowed
def _home_of(prices, records, check, cores, count, record):
    """The core in which a record costs least and which it does not break, or FAILED."""
    best = np.inf
    home = FAILED
    for g in range(count):
        box = Box(cores.low[g], cores.high[g], cores.bits[g])
        size = cores.size[g]
        price = price_with(prices, records[record], box, np.inf)
        added = (size + 1) * price - size * cores.price[g]
        if added < best:
            if not check.sizes_only:
                _recount(check, cores, g)
                add(check.tally, check.records, record)
                if not tally_holds(check):
                    continue
            best = added
            home = g
    return home


@inner_borrowed
def regrow(prices, records, check, cores, members, starts, kept, count, out, ends):
    """Divide the members of `count` groups anew, each with the records that it keeps.

    ``starts`` are where each group begins in `members`, and ``kept`` how many of its
    records, the first, it keeps.

    Fills ``out`` and ``ends`` as `grow` does, and gives the number of groups (or FAILED) and
    the total price.
    """
    loose = 0
    for g in range(count):
        group = members[starts[g] : starts[g + 1]]
        loose = _core(prices, records, cores, g, group, kept[g], loose)
    for g in range(count):
        for j in range(loose):
            cores.known[g, j] = 0.0
    left = _fill_up(prices, records, check, cores, count, loose)
    if left == FAILED:
        return np.int64(FAILED), np.inf
    for j in range(left):
        record = cores.loose[j]
        home = _home_of(prices, records, check, cores, count, record)
        if home == FAILED:
            return np.int64(FAILED), np.inf
        _join(prices, records, cores, home, record)
    total = 0.0
    filled = 0
    for g in range(count):
        for i in range(cores.size[g]):
            out[filled] = cores.member[g, i]
            filled += 1
        ends[g] = filled
        total += cores.size[g] * cores.price[g]
    return np.int64(count), total
