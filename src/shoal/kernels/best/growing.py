"""Groups grown record by record: a seed takes in whatever keeps its box cheapest.

Groups of the smallest size are grown one after the other; what is left over
joins the group in which it costs least. Where a value of a sensitive column is
so frequent in what remains that the rest would fail without it, the group has
to take it in; apart from that the cheapest record is taken that leaves the
group on course for its rules.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.group_check import members_hold, tally_holds
from shoal.kernels.histogram import add, reset, value_of
from shoal.kernels.jit import inner_borrowed
from shoal.kernels.pricing import Box, box_price, extend_box, new_box, price_with, start_box
from shoal.kernels.random import below
from shoal.kernels.rules import (
    ALPHA,
    CLOSE,
    DISTINCT,
    ENTROPY,
    FREQUENCY,
    GAIN,
    LOG_GAIN,
    RATIO,
    RECURSIVE,
    SIZE,
    SPREAD,
)

FAILED = -1


class GrowScratch(NamedTuple):
    """Scratch to grow in."""

    left: np.ndarray  # int64: records that have no group yet
    known: np.ndarray  # float64: what the group would cost with each of them, at least
    group: np.ndarray  # int64: records of the group that grows, then a candidate
    remaining: np.ndarray  # int64: histogram of the records in `left`
    most: np.ndarray  # int64 (rules,): how often a value may occur in the group
    spare: np.ndarray  # int64 (rules,): the same in what the group leaves behind
    box: Box
    low: np.ndarray  # int32 (groups, d): boxes of grown groups
    high: np.ndarray  # int32 (groups, d)
    bits: np.ndarray  # uint64 (groups, words)
    price: np.ndarray  # float64 (groups,)


def new_grow_scratch(prices, rules, records):
    """A scratch for so many records."""
    d = len(prices.form)
    groups = records // max(1, int(rules.smallest)) + 2
    return GrowScratch(
        np.zeros(records, np.int64),
        np.zeros(records, np.float64),
        np.zeros(records, np.int64),
        np.zeros(int(rules.start[-1]), np.int64),
        np.zeros(len(rules.kind), np.int64),
        np.zeros(len(rules.kind), np.int64),
        new_box(prices),
        np.zeros((groups, d), np.int32),
        np.zeros((groups, d), np.int32),
        np.zeros((groups, prices.words), np.uint64),
        np.zeros(groups, np.float64),
    )


@inner_borrowed
def _most(rules, r, n):
    """How often one value may occur among n members by rule r."""
    if rules.kind[r] == FREQUENCY:
        return n // rules.a[r]
    if rules.kind[r] == ALPHA:
        return rules.a[r] * n // rules.b[r]
    return n


@inner_borrowed
def fits(check, record, size):
    """Whether the group stays on course for its rules, at `size` members, with this record."""
    rules = check.rules
    members = check.tally.count[0]
    goal = max(size, members + 1)
    slots = goal - members
    for r in range(len(rules.kind)):
        kind = rules.kind[r]
        if kind == SIZE:
            continue
        v = value_of(check.records, rules.column[r], record)
        count = check.tally.histogram[v]
        if kind in (FREQUENCY, ALPHA):
            if count + 1 > _most(rules, r, goal):
                return False
        elif kind in (DISTINCT, ENTROPY, RECURSIVE):
            least = np.int64(rules.x[r]) if kind == RECURSIVE else rules.a[r]
            if count > 0:
                distinct = 0
                begin, end = rules.start[rules.column[r]], rules.start[rules.column[r] + 1]
                for j in range(check.tally.n_touched[0]):
                    if begin <= check.tally.touched[j] < end:
                        distinct += 1
                if least - distinct >= slots:
                    return False
        elif kind in (CLOSE, GAIN, LOG_GAIN, RATIO):
            # beyond the smallest size, only what the group has too little of
            total = np.int64(rules.x[r])
            if members >= size and count * total > rules.total[v] * members:
                return False
        elif kind == SPREAD and members >= size and count > 0:
            return False
    return True


@inner_borrowed
def _set_limits(check, scratch, goal, rest):
    """Note how often a value may occur in a group of `goal` members, and in a rest of so many.

    Gives the surplus: records that the rest cannot hold, because their values are frequent.
    """
    rules = check.rules
    surplus = 0
    for r in range(len(rules.kind)):
        if rules.kind[r] == FREQUENCY or rules.kind[r] == ALPHA:
            scratch.most[r] = _most(rules, r, goal)
            scratch.spare[r] = _most(rules, r, rest)
            column = rules.column[r]
            for v in range(rules.start[column], rules.start[column + 1]):
                surplus += max(np.int64(0), scratch.remaining[v] - scratch.spare[r])
    return surplus


@inner_borrowed
def _surplus_of(check, scratch, record):
    """By how much the surplus falls with this record: above 0 where the group must take it."""
    rules = check.rules
    surplus = 0
    for r in range(len(rules.kind)):
        counts = rules.kind[r] == FREQUENCY or rules.kind[r] == ALPHA
        if (
            counts
            and scratch.remaining[value_of(check.records, rules.column[r], record)]
            > scratch.spare[r]
        ):
            surplus += 1
    return surplus


@inner_borrowed
def _allowed(check, scratch, record, size, only_musts):
    """Whether the group may take this record: `fits`, by the limits noted if they suffice."""
    rules = check.rules
    wanted = not only_musts
    others = False
    for r in range(len(rules.kind)):
        if rules.kind[r] == FREQUENCY or rules.kind[r] == ALPHA:
            v = value_of(check.records, rules.column[r], record)
            if check.tally.histogram[v] >= scratch.most[r]:
                return False
            wanted = wanted or scratch.remaining[v] > scratch.spare[r]
        elif rules.kind[r] != SIZE:
            others = True
    return wanted and (not others or fits(check, record, size))


@inner_borrowed
def _cheapest(prices, records, check, scratch, left, size, only_musts):
    """Position in `left` of the record that keeps the box cheapest, or FAILED."""
    free = box_price(prices, scratch.box)
    best = np.inf
    where = np.int64(FAILED)
    for j in range(left):
        if scratch.known[j] >= best:
            continue  # it was dearer before the box grew
        record = scratch.left[j]
        if not check.sizes_only and not _allowed(check, scratch, record, size, only_musts):
            continue
        price = price_with(prices, records[record], scratch.box, best)
        scratch.known[j] = price
        if price < best:
            best = price
            where = np.int64(j)
            if price <= free:
                break  # inside the box: nothing is cheaper
    return where


@inner_borrowed
def _take(check, scratch, j, left, size):
    """Move the record at position j of `left` into the group of so many records."""
    record = scratch.left[j]
    scratch.left[j] = scratch.left[left - 1]
    scratch.known[j] = scratch.known[left - 1]
    scratch.group[size] = record
    if not check.sizes_only:
        add(check.tally, check.records, record)
        for s in range(len(check.records.columns)):
            scratch.remaining[value_of(check.records, s, record)] -= 1
    return record


@inner_borrowed
def _begin(check, scratch, members):
    """All members are left, and nothing is grown."""
    for j in range(len(members)):
        scratch.left[j] = members[j]
    if check.sizes_only:
        return
    scratch.remaining[:] = 0
    for j in range(len(members)):
        for s in range(len(check.records.columns)):
            scratch.remaining[value_of(check.records, s, members[j])] += 1


@inner_borrowed
def _begin_group(prices, records, check, scratch, seed, left):
    """A group of the record at position `seed` of `left`; gives how many are left."""
    reset(check.tally)
    record = _take(check, scratch, seed, left, 0)
    start_box(prices, records[record], scratch.box)
    for j in range(left - 1):
        scratch.known[j] = 0.0
    return left - 1


@inner_borrowed
def _grow_group(prices, records, check, scratch, left, smallest):
    """Let a group of one record grow until it holds: whether it does, its size, who is left."""
    size = 1
    done = smallest == 1 and (check.sizes_only or tally_holds(check))
    rest = np.int64(-1)
    surplus = 0
    while not done and left > 0:
        if not check.sizes_only and rest != left + size - max(smallest, size + 1):
            # what the group must leave behind: the same until it is of the smallest size
            rest = left + size - max(smallest, size + 1)
            surplus = _set_limits(check, scratch, max(smallest, size + 1), rest)
        forced = surplus > 0
        where = _cheapest(prices, records, check, scratch, left, smallest, forced)
        if where == FAILED and forced:
            where = _cheapest(prices, records, check, scratch, left, smallest, False)
        if where == FAILED:
            break
        if surplus > 0:
            surplus -= _surplus_of(check, scratch, scratch.left[where])
        record = _take(check, scratch, where, left, size)
        extend_box(prices, records[record], scratch.box)
        left -= 1
        size += 1
        done = size >= smallest and (check.sizes_only or tally_holds(check))
    return done, size, left


@inner_borrowed
def _take_inside(prices, records, check, scratch, size, left, smallest, price):
    """Take in whoever lies inside the box: what is left may do better without them."""
    j = 0
    while j < left and left > smallest:
        if price_with(prices, records[scratch.left[j]], scratch.box, np.inf) <= price:
            _take(check, scratch, j, left, size)
            left -= 1
            size += 1
        else:
            j += 1
    return size, left


@inner_borrowed
def _keep(scratch, g, size, price, out, ends):
    """Keep the group that has grown, with its box and price, as group g."""
    for a in range(len(scratch.box.low)):
        scratch.low[g, a] = scratch.box.low[a]
        scratch.high[g, a] = scratch.box.high[a]
    for w in range(len(scratch.box.bits)):
        scratch.bits[g, w] = scratch.box.bits[w]
    scratch.price[g] = price
    begin = ends[g - 1] if g > 0 else 0
    for i in range(size):
        out[begin + i] = scratch.group[i]
    ends[g] = begin + size


@inner_borrowed
def grow(prices, records, check, scratch, random, members, out, ends):
    """Divide `members` into grown groups: ``out`` in order, ``ends[:groups]`` where they end.

    Gives the number of groups and their total price; FAILED if the rules cannot be
    met this way.
    """
    left = len(members)
    smallest = max(np.int64(1), check.rules.smallest)
    _begin(check, scratch, members)
    groups = 0
    total = 0.0
    seed = below(random, left)
    while left > 0 and (groups == 0 or left >= smallest):
        left = _begin_group(prices, records, check, scratch, seed, left)
        done, size, left = _grow_group(prices, records, check, scratch, left, smallest)
        if not done:
            for i in range(size):  # what was begun is left over
                scratch.left[left] = scratch.group[i]
                left += 1
            break
        price = box_price(prices, scratch.box)
        if check.sizes_only and below(random, 4) == 0:
            inside = _take_inside(prices, records, check, scratch, size, left, smallest, price)
            size, left = inside
        _keep(scratch, groups, size, price, out, ends)
        total += size * price
        groups += 1
        if left > 0:
            seed = _next_seed(prices, records, scratch, random, left)
    if groups == 0:
        return np.int64(FAILED), np.inf
    if left > 0:
        total = _place_leftovers(prices, records, check, scratch, left, out, ends, groups, total)
        if total == np.inf:
            return np.int64(FAILED), np.inf
    return groups, total


@inner_borrowed
def _next_seed(prices, records, scratch, random, left):
    """A random record, or the one that is farthest from the group just grown."""
    if below(random, 2) == 0:
        return below(random, left)
    worst = -1.0
    where = 0
    for j in range(left):
        price = price_with(prices, records[scratch.left[j]], scratch.box, np.inf)
        if price > worst:
            worst = price
            where = j
    return where


@inner_borrowed
def _place_leftovers(prices, records, check, scratch, left, out, ends, groups, total):
    """Each leftover record into the group in which it costs least; infinite if one finds none."""
    for j in range(left):
        record = scratch.left[j]
        best = np.inf
        home = FAILED
        for g in range(groups):
            begin = ends[g - 1] if g > 0 else 0
            size = ends[g] - begin
            box = Box(scratch.low[g], scratch.high[g], scratch.bits[g])
            price = price_with(prices, records[record], box, np.inf)
            added = (size + 1) * price - size * scratch.price[g]
            if added < best:
                if not check.sizes_only:
                    for i in range(size):
                        scratch.group[i] = out[begin + i]
                    scratch.group[size] = record
                    if not members_hold(check, scratch.group[: size + 1]):
                        continue
                best = added
                home = g
        if home == FAILED:
            return np.inf
        total += best
        box = Box(scratch.low[home], scratch.high[home], scratch.bits[home])
        extend_box(prices, records[record], box)
        scratch.price[home] = box_price(prices, box)
        for i in range(ends[groups - 1], ends[home], -1):
            out[i] = out[i - 1]
        out[ends[home]] = record
        for g in range(home, groups):
            ends[g] += 1
    return total
