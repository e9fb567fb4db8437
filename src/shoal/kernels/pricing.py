"""Boxes of records and their price: the weighted NCP, made for searches that try many groups.

`shoal.kernels.costs` says what a range of codes costs. Searches ask millions of
times, so the price of every range of a short attribute is laid out in a table;
long attributes are priced by formula. Records are rows (codes of one record lie
side by side), because a search touches few records and all their attributes.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, SPAN, TREE, range_loss
from shoal.kernels.jit import inner_borrowed, kernel

LISTED = 4  # beside SPAN, TREE, SET and ROUND: the price of lo..hi is table[start + lo * size + hi]

LONGEST_LISTED = 512
"""Attributes of more codes are priced by formula: their table would not fit a cache."""

WORD = 64


class Prices(NamedTuple):
    """What every attribute costs, weights included."""

    form: np.ndarray  # int64 (d,): LISTED, SPAN, TREE, SET or ROUND
    weight: np.ndarray  # float64 (d,)
    size: np.ndarray  # int64 (d,)
    start: np.ndarray  # int64 (d,): LISTED: in `table`; SET: first word of its bits
    table: np.ndarray  # float64: prices of all ranges of LISTED attributes
    words: int  # 64-bit words that hold the value sets of one box
    costs: tuple  # Costs, for SPAN, TREE and ROUND


class Box(NamedTuple):
    """The smallest box around some records; a SET attribute keeps its values as bits."""

    low: np.ndarray  # int32 (d,)
    high: np.ndarray  # int32 (d,): of a SET attribute the number of distinct values
    bits: np.ndarray  # uint64 (words,)


def prices_of(costs):
    """The prices of `Costs`."""
    d = len(costs.form)
    form = costs.form.copy()
    start = np.zeros(d, dtype=np.int64)
    entries = words = 0
    for a in range(d):
        if form[a] == SET:
            start[a] = words
            words += -(-int(costs.size[a]) // WORD)
        elif costs.size[a] <= LONGEST_LISTED:
            form[a] = LISTED
            start[a] = entries
            entries += int(costs.size[a]) ** 2
    table = np.zeros(entries, dtype=np.float64)
    _list_prices(costs, form, start, table)
    return Prices(form, costs.weight, costs.size, start, table, words, costs)


def new_box(prices):
    """Room for one box."""
    d = len(prices.form)
    return Box(np.zeros(d, np.int32), np.zeros(d, np.int32), np.zeros(prices.words, np.uint64))


@kernel
def _list_prices(costs, form, start, table):
    for a in range(len(form)):
        if form[a] == LISTED:
            size = costs.size[a]
            for lo in range(size):
                for hi in range(lo, size):
                    price = costs.weight[a] * range_loss(costs, a, lo, hi)
                    table[start[a] + lo * size + hi] = price


@inner_borrowed
def range_price(prices, a, lo, hi):
    """Price of the codes lo..hi of an attribute that is not a SET."""
    if prices.form[a] == LISTED:
        return prices.table[prices.start[a] + lo * prices.size[a] + hi]
    return prices.weight[a] * range_loss(prices.costs, a, lo, hi)


@inner_borrowed
def set_price(prices, a, distinct):
    """Price of a set of so many distinct values."""
    return prices.weight[a] * distinct / prices.size[a] if distinct > 1 else 0.0


@inner_borrowed
def start_box(prices, codes, box):
    """Make the box of one record."""
    for w in range(prices.words):
        box.bits[w] = 0
    for a in range(len(prices.form)):
        box.low[a] = codes[a]
        box.high[a] = codes[a]
        if prices.form[a] == SET:
            box.high[a] = 1
            box.bits[prices.start[a] + (codes[a] >> 6)] = np.uint64(1) << np.uint64(codes[a] & 63)


@inner_borrowed
def extend_box(prices, codes, box):
    """Take in one more record; whether the box changed."""
    changed = False
    for a in range(len(prices.form)):
        code = codes[a]
        if prices.form[a] == SET:
            word = prices.start[a] + (code >> 6)
            bit = np.uint64(1) << np.uint64(code & 63)
            if not box.bits[word] & bit:
                box.bits[word] |= bit
                box.high[a] += 1
                changed = True
        elif code < box.low[a]:
            box.low[a] = code
            changed = True
        elif code > box.high[a]:
            box.high[a] = code
            changed = True
    return changed


@inner_borrowed
def box_price(prices, box):
    """Price of the box, for each of its records."""
    price = 0.0
    for a in range(len(prices.form)):
        if prices.form[a] == SET:
            price += set_price(prices, a, box.high[a])
        else:
            price += range_price(prices, a, box.low[a], box.high[a])
    return price


@inner_borrowed
def price_with(prices, codes, box, limit):
    """Price of the box with one more record, or something at or above `limit`."""
    price = 0.0
    for a in range(len(prices.form)):
        code = codes[a]
        if prices.form[a] == LISTED:
            low = min(box.low[a], code)
            high = max(box.high[a], code)
            price += prices.table[prices.start[a] + low * prices.size[a] + high]
        elif prices.form[a] == SET:
            known = box.bits[prices.start[a] + (code >> 6)] >> np.uint64(code & 63) & np.uint64(1)
            price += set_price(prices, a, box.high[a] + np.int64(1) - np.int64(known))
        else:
            price += range_price(prices, a, min(box.low[a], code), max(box.high[a], code))
        if price >= limit:
            break
    return price


@inner_borrowed
def pair_price(prices, first, second, limit):
    """Price of the box of two records, or something at or above `limit`."""
    price = 0.0
    for a in range(len(prices.form)):
        if first[a] != second[a]:
            if prices.form[a] == SET:
                price += set_price(prices, a, 2)
            else:
                price += range_price(prices, a, min(first[a], second[a]), max(first[a], second[a]))
            if price >= limit:
                break
    return price


@inner_borrowed
def members_price(prices, records, members, box):
    """Price of the box of some records, which it is made to be."""
    start_box(prices, records[members[0]], box)
    for i in range(1, len(members)):
        extend_box(prices, records[members[i]], box)
    return box_price(prices, box)


__all__ = [
    "SET",
    "SPAN",
    "TREE",
    "Box",
    "Prices",
    "box_price",
    "extend_box",
    "members_price",
    "new_box",
    "pair_price",
    "price_with",
    "prices_of",
    "range_price",
    "start_box",
]  # fmt: skip
