"""Groups trade records that can stand for each other, as cheaply as can be.

Records of one kind (the same sensitive values) may change places between groups
whatever the models ask: no group's histogram changes. Every group of a pool offers
one record of that kind; who takes which is an assignment problem, solved exactly.
So groups are never dearer than before, and exchanges in a ring of many groups are
found that no two of them would make.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.best.assigning import Assignment, assign, new_assignment
from shoal.kernels.jit import inner_borrowed
from shoal.kernels.pricing import Box, extend_box, new_box, price_with, start_box

MATCHED = 32
"""Groups that trade at once, at most: the work grows with the square of it, and more."""
TINY = 1e-9
"""Gains below this share of the price are rounding."""


class TradeScratch(NamedTuple):
    """Scratch: groups that trade, what each offers, and what each would cost with each."""

    group: np.ndarray  # int64 (MATCHED,)
    offered: np.ndarray  # int64 (MATCHED,): a record of each group
    member: np.ndarray  # int64 (records,): records group by group, the one offered last
    start: np.ndarray  # int64 (MATCHED + 1,): where each group begins in `member`
    cost: np.ndarray  # float64 (MATCHED, MATCHED): of group g with the record of group h
    box: Box
    found: Assignment


def new_trade_scratch(prices, records):
    """Room for groups of so many records in all."""
    return TradeScratch(
        np.zeros(MATCHED, np.int64),
        np.zeros(MATCHED, np.int64),
        np.zeros(records, np.int64),
        np.zeros(MATCHED + 1, np.int64),
        np.zeros((MATCHED, MATCHED), np.float64),
        new_box(prices),
        new_assignment(MATCHED),
    )


def kinds_of(records):
    """Number of each record's kind: equal where persons and all sensitive values are."""
    columns = [records.person, *records.pair] if len(records.person) else records.columns
    return _equal_rows(columns, records.columns.shape[1])


def _equal_rows(columns, n):
    """Equal numbers for equal rows, ascending with them."""
    kind_of = np.zeros(n, dtype=np.int64)
    for column in columns:
        key = kind_of * (int(column.max(initial=0)) + 1) + column
        kind_of = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return kind_of


@inner_borrowed
def price_trades(prices, records, scratch, g, others, count):
    """Fill row g of ``scratch.cost``: its `others` with each of the records offered."""
    box = scratch.box
    start_box(prices, records[others[0]], box)
    for i in range(1, len(others)):
        extend_box(prices, records[others[i]], box)
    for h in range(count):
        price = price_with(prices, records[scratch.offered[h]], box, np.inf)
        scratch.cost[g, h] = (len(others) + 1) * price


@inner_borrowed
def trade(scratch, count):
    """Assign the records offered to the groups; gives the gain, 0 if all stays as it is."""
    before = 0.0
    for g in range(count):
        before += scratch.cost[g, g]
    gain = before - assign(scratch.cost, count, scratch.found)
    return gain if gain > TINY * before else 0.0


@inner_borrowed
def _offer(kind_of, scratch, kind, members, ends, parts):
    """Groups with others and a record of this kind, moved to their end: their number."""
    count = 0
    begin = 0
    for p in range(parts):
        last = ends[p] - 1
        place = begin
        while place <= last and kind_of[members[place]] != kind:
            place += 1
        if begin < last and place <= last and count < MATCHED:
            record = members[place]
            members[place] = members[last]
            members[last] = record
            scratch.group[count] = p
            scratch.offered[count] = record
            count += 1
        begin = ends[p]
    return count


@inner_borrowed
def _first_of_kind(kind_of, members, i):
    """Position of the first record of the same kind as the one at i."""
    first = 0
    while kind_of[members[first]] != kind_of[members[i]]:
        first += 1
    return first


@inner_borrowed
def polish(prices, records, kind_of, scratch, members, ends, parts):
    """Let the groups of a pool trade, kind after kind, in place; gives the gain."""
    gained = 0.0
    for i in range(ends[parts - 1]):
        if _first_of_kind(kind_of, members, i) < i:
            continue
        count = _offer(kind_of, scratch, kind_of[members[i]], members, ends, parts)
        if count < 2:
            continue
        for g in range(count):
            p = scratch.group[g]
            begin = ends[p - 1] if p > 0 else 0
            price_trades(prices, records, scratch, g, members[begin : ends[p] - 1], count)
        gain = trade(scratch, count)
        if gain > 0.0:
            gained += gain
            for h in range(count):
                g = scratch.found.row[h + 1] - 1
                members[ends[scratch.group[g]] - 1] = scratch.offered[h]
    return gained
