"""Many groups at once exchange parts, as cheaply as can be.

Every group of a pool is divided into a core and a part it offers; each core then
takes one of the parts, its own or another's. Which core takes which is an
assignment problem, solved exactly: the groups are never dearer than before, and
exchanges in a ring of many groups are found that no pair of groups would make.
A pair of core and part that fails a rule is as good as infinitely dear.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.assigning import Assignment, assign, new_assignment
from shoal.kernels.jit import inner_borrowed
from shoal.kernels.pricing import SET, Box, extend_box, range_price, set_price, start_box
from shoal.kernels.random import below, fraction
from shoal.kernels.tally import clear_tally, count_record, tally_holds

MATCHED = 64
"""Groups of a pool at most."""
SHORTEST = 8  # records of a pool for each group, at least


class Halves(NamedTuple):
    """Scratch: groups that are halved, boxes of their halves, and what each pair costs."""

    group: np.ndarray  # int64 (MATCHED,)
    member: np.ndarray  # int64 (records,): group by group, its core first
    draft: np.ndarray  # int64 (records,)
    start: np.ndarray  # int64 (MATCHED + 1,): where each group begins in `member`
    kept: np.ndarray  # int64 (MATCHED,): records of its core
    low: np.ndarray  # int32 (2 * MATCHED, d): boxes of cores, then of parts
    high: np.ndarray  # int32 (2 * MATCHED, d)
    bits: np.ndarray  # uint64 (2 * MATCHED, words)
    cost: np.ndarray  # float64 (MATCHED, MATCHED): of core g with part h
    noisy: np.ndarray  # float64 (MATCHED, MATCHED)
    found: Assignment


def new_halves(prices, records):
    """Room for pools of so many records."""
    d = len(prices.form)
    return Halves(
        np.zeros(MATCHED, np.int64),
        np.zeros(records, np.int64),
        np.zeros(records, np.int64),
        np.zeros(MATCHED + 1, np.int64),
        np.zeros(MATCHED, np.int64),
        np.zeros((2 * MATCHED, d), np.int32),
        np.zeros((2 * MATCHED, d), np.int32),
        np.zeros((2 * MATCHED, prices.words), np.uint64),
        np.zeros((MATCHED, MATCHED), np.float64),
        np.zeros((MATCHED, MATCHED), np.float64),
        new_assignment(MATCHED),
    )


@inner_borrowed
def offer_values(secrets, salt, members):
    """Reorder a group in place: records of half of the values are offered, they come last.

    Which half follows from `salt`, the same for every group of a pool, so that cores
    lack what the parts have. Gives how many records are kept.
    """
    kept = 0
    for i in range(len(members)):
        record = members[i]
        mixed = (np.uint64(secrets.value[record, 0]) + np.uint64(1)) * salt
        if mixed >> np.uint64(63) == np.uint64(0):
            members[i] = members[kept]
            members[kept] = record
            kept += 1
    return kept


@inner_borrowed
def offer_one(members, i):
    """Reorder a group in place: the record at place i is offered."""
    last = len(members) - 1
    record = members[i]
    members[i] = members[last]
    members[last] = record
    return last


@inner_borrowed
def _box_of(prices, records, members, low, high, bits):
    box = Box(low, high, bits)
    start_box(prices, records[members[0]], box)
    for i in range(1, len(members)):
        extend_box(prices, records[members[i]], box)


@inner_borrowed
def _ones(word):
    count = 0
    while word != np.uint64(0):
        word &= word - np.uint64(1)
        count += 1
    return count


@inner_borrowed
def _price_of_both(prices, halves, g, h):
    """Price of the box around two boxes."""
    price = 0.0
    for a in range(len(prices.form)):
        if prices.form[a] == SET:
            distinct = 0
            first = prices.start[a]
            for w in range(first, first + (prices.size[a] + 63) // 64):
                distinct += _ones(halves.bits[g, w] | halves.bits[h, w])
            price += set_price(prices, a, distinct)
        else:
            low = min(halves.low[g, a], halves.low[h, a])
            price += range_price(prices, a, low, max(halves.high[g, a], halves.high[h, a]))
    return price


@inner_borrowed
def _both_hold(secrets, tally, core, part):
    if secrets.plain:
        return len(core) + len(part) >= secrets.rules.smallest
    clear_tally(tally)
    for record in core:
        count_record(secrets, tally, record)
    for record in part:
        count_record(secrets, tally, record)
    return tally_holds(secrets, tally)


@inner_borrowed
def price_pairs(prices, records, secrets, tally, halves, count, never):
    """Fill ``halves.cost`` for so many groups; `never` stands where a rule fails."""
    member, start, kept = halves.member, halves.start, halves.kept
    for g in range(count):
        h = MATCHED + g
        middle = start[g] + kept[g]
        core, part = member[start[g] : middle], member[middle : start[g + 1]]
        _box_of(prices, records, core, halves.low[g], halves.high[g], halves.bits[g])
        _box_of(prices, records, part, halves.low[h], halves.high[h], halves.bits[h])
    for g in range(count):
        core = member[start[g] : start[g] + kept[g]]
        for h in range(count):
            part = member[start[h] + kept[h] : start[h + 1]]
            if g == h or _both_hold(secrets, tally, core, part):
                price = _price_of_both(prices, halves, g, MATCHED + h)
                halves.cost[g, h] = (len(core) + len(part)) * price
            else:
                halves.cost[g, h] = never


@inner_borrowed
def match(halves, random, count, never, temperature):
    """Assign parts to cores at the least price, up to chance; gives the gain.

    Every possible pair seems dearer by a random amount of about `temperature`.
    """
    before = 0.0
    for g in range(count):
        before += halves.cost[g, g]
        for h in range(count):
            cost = halves.cost[g, h]
            if cost < never and temperature > 0.0:
                cost += temperature * fraction(random)
            halves.noisy[g, h] = cost
    assign(halves.noisy, count, halves.found)
    after = 0.0
    for h in range(count):
        after += halves.cost[halves.found.row[h + 1] - 1, h]
    return before - after


@inner_borrowed
def join_halves(halves, g, h):
    """Records of core g with part h, in ``halves.draft``; gives their number."""
    size = 0
    for i in range(halves.start[g], halves.start[g] + halves.kept[g]):
        halves.draft[size] = halves.member[i]
        size += 1
    for i in range(halves.start[h] + halves.kept[h], halves.start[h + 1]):
        halves.draft[size] = halves.member[i]
        size += 1
    return size


__all__ = [
    "MATCHED", "Halves", "below", "join_halves", "match", "new_halves", "offer_one",
    "offer_values", "price_pairs",
]  # fmt: skip
