"""Cut records in two at the price that is lowest after the cut, again and again.

One cut sorts the records by one attribute and divides them at one place; of
all attributes and places the one with the least ``|L| price(L) + |R| price(R)``
is taken among those after which every rule holds on both sides.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.best.growing import FAILED, grow
from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import inner_borrowed, kernel
from shoal.kernels.pricing import Box, box_price, extend_box, new_box, start_box

NOWHERE = -1
DEEPEST = 1024
"""Parts that can wait to be cut: cuts that split off little make them many."""
VALUED, FAST_VALUES = 3.0, 16
"""Steps of a record where values are counted, and how many values are looked at in a step."""


class CutScratch(NamedTuple):
    """Scratch to cut on: as many entries as records are cut at once."""

    line: np.ndarray  # int64: records sorted by one attribute
    best: np.ndarray  # int64: records in the order of the best cut
    price: np.ndarray  # float64: of the box of line[i:]
    right: np.ndarray  # bool: every rule holds in line[i:]
    count: np.ndarray  # int64 (largest size + 1,): to sort by
    box: Box
    stack: np.ndarray  # int64 (2, .): parts that wait to be cut


def new_cut_scratch(prices, records):
    """A scratch for so many records."""
    return CutScratch(
        np.zeros(records, np.int64),
        np.zeros(records, np.int64),
        np.zeros(records, np.float64),
        np.zeros(records, np.bool_),
        np.zeros(int(prices.size.max(initial=0)) + 1, np.int64),
        new_box(prices),
        np.zeros((2, DEEPEST), np.int64),
    )


@inner_borrowed
def _sort_by(records, members, a, count, line):
    """`members` by their code of attribute a into `line`; whether there is more than one code."""
    m = len(members)
    low = high = records[members[0], a]
    for i in range(1, m):
        code = records[members[i], a]
        low = min(low, code)
        high = max(high, code)
    if low == high:
        return False
    for c in range(high - low + 2):
        count[c] = 0
    for i in range(m):
        count[records[members[i], a] - low + 1] += 1
    for c in range(1, high - low + 1):
        count[c] += count[c - 1]
    for i in range(m):
        c = records[members[i], a] - low
        line[count[c]] = members[i]
        count[c] += 1
    return True


@inner_borrowed
def _price_right_parts(prices, records, check, scratch, m, least):
    """Price of line[i:] for every i, and whether the rules hold there."""
    line, box = scratch.line, scratch.box
    start_box(prices, records[line[m - 1]], box)
    price = box_price(prices, box)
    scratch.price[m - 1] = price
    if not check.sizes_only:
        reset(check.tally)
        add(check.tally, check.records, line[m - 1])
        scratch.right[m - 1] = least <= 1 and tally_holds(check)
    for i in range(m - 2, least - 1, -1):
        if extend_box(prices, records[line[i]], box):
            price = box_price(prices, box)
        scratch.price[i] = price
        if not check.sizes_only:
            add(check.tally, check.records, line[i])
            scratch.right[i] = m - i >= least and tally_holds(check)


@inner_borrowed
def best_cut(prices, records, check, scratch, members):
    """Where to cut, and what all records cost then; the sorted order is in ``scratch.best``.

    ``NOWHERE`` if no cut leaves both sides as the rules ask.
    """
    m = len(members)
    least = max(np.int64(1), check.rules.smallest)
    where = np.int64(NOWHERE)
    lowest = np.inf
    if m < 2 * least:
        return where, lowest
    box = scratch.box
    for a in range(len(prices.form)):
        if not _sort_by(records, members, a, scratch.count, scratch.line):
            continue
        line = scratch.line
        _price_right_parts(prices, records, check, scratch, m, least)
        start_box(prices, records[line[0]], box)
        price = box_price(prices, box)
        if not check.sizes_only:
            reset(check.tally)
        found = False
        for i in range(m - least):
            if i > 0 and extend_box(prices, records[line[i]], box):
                price = box_price(prices, box)
            if not check.sizes_only:
                add(check.tally, check.records, line[i])
            left = i + 1
            if left * price >= lowest:
                break  # the left side alone costs more, and will not cost less
            if left < least:
                continue
            total = left * price + (m - left) * scratch.price[left]
            if total < lowest and (
                check.sizes_only or (scratch.right[left] and tally_holds(check))
            ):
                lowest = total
                where = np.int64(left)
                found = True
        if found:
            for i in range(m):
                scratch.best[i] = line[i]
    return where, lowest


@inner_borrowed
def cut_down(prices, records, check, scratch, members, stop, ends):
    """Cut `members`, in place, until no part can be cut or is larger than `stop`.

    ``ends[:parts]`` are where the parts end; gives their number and total price.
    """
    stack = scratch.stack
    stack[0, 0], stack[1, 0] = 0, len(members)
    waiting = 1
    parts = 0
    total = 0.0
    while waiting > 0:
        waiting -= 1
        begin, end = stack[0, waiting], stack[1, waiting]
        part = members[begin:end]
        where = np.int64(NOWHERE)
        if end - begin > stop and waiting + 2 <= stack.shape[1]:
            where, _ = best_cut(prices, records, check, scratch, part)
        if where == NOWHERE:
            ends[parts] = end
            parts += 1
            start_box(prices, records[part[0]], scratch.box)
            for i in range(1, len(part)):
                extend_box(prices, records[part[i]], scratch.box)
            total += len(part) * box_price(prices, scratch.box)
            continue
        for i in range(end - begin):
            part[i] = scratch.best[i]
        # the left part is cut next, so that parts come out in order; a part that finds the
        # stack full stays whole
        stack[0, waiting], stack[1, waiting] = begin + where, end
        stack[0, waiting + 1], stack[1, waiting + 1] = begin, begin + where
        waiting += 2
    return parts, total


@kernel
def cut_tree(prices, records, check, scratch, members, stop, ends, state, allowance):
    """`cut_down` in slices: as many cuts as take `allowance` steps, or nearly; the steps taken.

    ``state`` are the parts that wait in ``scratch.stack`` and those that are done: (1, 0)
    with all members on the stack to begin with. Nothing waits when the work is done. A
    step is a look at one value of one record, and at the values its group has by then.
    """
    stack = scratch.stack
    steps = 0.0
    while state[0] > 0 and steps < allowance:
        state[0] -= 1
        waiting = state[0]
        begin, end = stack[0, waiting], stack[1, waiting]
        part = members[begin:end]
        where = np.int64(NOWHERE)
        if end - begin > stop and waiting + 2 <= stack.shape[1]:
            where, _ = best_cut(prices, records, check, scratch, part)
            steps += steps_of_cut(check, end - begin, len(prices.form))
        if where == NOWHERE:
            ends[state[1]] = end
            state[1] += 1
            continue
        for i in range(end - begin):
            part[i] = scratch.best[i]
        stack[0, waiting], stack[1, waiting] = begin + where, end
        stack[0, waiting + 1], stack[1, waiting + 1] = begin, begin + where
        state[0] += 2
    return steps


@inner_borrowed
def steps_of_cut(check, records, attributes):
    """What the search for one cut is worth: more where values are counted at every place."""
    if check.sizes_only:
        return float(records * attributes)
    values = min(records, check.rules.start[-1])
    return records * attributes * (VALUED + values / FAST_VALUES)


def stop_cutting(scratch, ends, state):
    """What still waits to be cut stays whole: the parts that are then done."""
    while state[0] > 0:
        state[0] -= 1
        ends[state[1]] = scratch.stack[1, state[0]]
        state[1] += 1
    return int(state[1])


@kernel
def rebuild_parts(
    prices, records, check, scratch, grow_scratch, random, tries, largest, members, ends, first,
    parts, groups, draft, draft_ends, out, out_ends,
):  # fmt: skip
    """Divide every part by cutting and by growing, and keep the cheapest: the number of groups.

    ``members`` holds the parts one after the other, up to ``ends``; ``out`` and
    ``out_ends`` receive the groups in the same way. Growing is tried so often. A call
    goes from part `first` to before `parts`, and continues after so many groups. Parts of
    more than `largest` records, which were not cut for want of time, stay as they are.
    """
    begin = ends[first - 1] if first > 0 else np.int64(0)
    for p in range(first, parts):
        part = members[begin : ends[p]]
        m = len(part)
        lowest = np.inf
        count = 0
        if m > largest:
            for i in range(m):
                out[begin + i] = part[i]
            out_ends[groups] = begin + m
            groups += 1
            begin = ends[p]
            continue
        for attempt in range(tries + 1):
            if attempt == 0:
                for i in range(m):
                    draft[i] = part[i]
                made, price = cut_down(prices, records, check, scratch, draft[:m], 0, draft_ends)
            else:
                made, price = grow(
                    prices, records, check, grow_scratch, random, part, draft, draft_ends
                )
            if made == FAILED or price >= lowest:
                continue
            lowest = price
            count = made
            for i in range(m):
                out[begin + i] = draft[i]
            for g in range(made):
                out_ends[groups + g] = begin + draft_ends[g]
        groups += count
        begin = ends[p]
    return groups
