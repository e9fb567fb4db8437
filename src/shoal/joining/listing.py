"""Where to look for rows that meet: rows are listed under the values their cells can hide.

Two rows that meet have a value in common in every column. Listed under each
value of a few columns, they need to be compared only where they stand in one
list. Which columns pay is estimated on some rows; the lists themselves have all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.kernels.joining.pairs import Cells, Plan

__all__ = ["Ints", "best_order", "offsets_of", "plan_of", "work_of"]

Ints = NDArray[np.int64]
Order = tuple[Ints, Ints, Ints]
"""Begin, end and order: row i of one side is to be compared with ``order[begin[i]:end[i]]``."""
Ends = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Lowest and highest rank in one column: of the rows of one side, and of the other."""

WORTH_LISTING = 1 << 20
"""Comparisons below which nothing is gained by lists."""
SAMPLE = 1_000
"""Rows of each side on which the lists are estimated."""
BUCKETS = 32
"""Ranges of ranks are listed under so many buckets at most."""
ENTRY = 8
"""An entry of a list takes as long as so many comparisons."""
GAIN = 0.8
"""A column is listed only if it leaves less than this part of the work."""


class _Hidden(NamedTuple):
    """Values that the cells of one column can hide: cell c has ``values[offsets[c]:...]``."""

    offsets: Ints
    values: Ints
    cells: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
    """Which cell each row of both sides has."""


class _Listed(NamedTuple):
    """Entries of one side: a row, and the list in which it stands."""

    row: Ints
    key: Ints


_Both = tuple[_Listed, _Listed]


def work_of(plan: Plan) -> int:
    """Comparisons that a plan asks for."""
    return int((plan.end - plan.begin).sum())


def plan_of(left: Cells, right: Cells, bits: NDArray[np.uint64]) -> Plan:
    """The rows of `right` to compare each row of `left` with.

    Columns in which every cell is a single value must be equal: they are a key.
    """
    exact = (left.low == left.high).all(axis=0) & (right.low == right.high).all(axis=0)
    open_spans = np.flatnonzero(~exact)
    keys = [np.concatenate([left.low[:, s], right.low[:, s]]) for s in np.flatnonzero(exact)]
    offsets, values = _members(bits)
    hidden = []
    for s in range(left.sets.shape[1]):
        cells = left.sets[:, s], right.sets[:, s]
        if all((np.diff(offsets)[part] == 1).all() for part in cells):
            keys.append(values[offsets[np.concatenate(cells)]])
        else:
            hidden.append(_Hidden(offsets, values, cells))
    ids, _ = class_ids([(key, int(key.max()) + 1) for key in keys], len(left.low) + len(right.low))
    rows = len(left.low)
    both = (
        _Listed(np.arange(rows), ids[:rows]),
        _Listed(np.arange(len(right.low)), ids[rows:]),
    )
    spans = [
        (left.low[:, s], left.high[:, s], right.low[:, s], right.high[:, s]) for s in open_spans
    ]
    hidden += [_in_buckets(*part) for part in spans]
    chosen, ends = _worth_listing(both, hidden, spans)
    for column in chosen:
        both = _listed(both, column)
    begin, end, order = best_order((both[0].key, both[1].key), _of_entries(both, ends))
    return Plan(offsets_of(both[0].row, rows), begin, end, both[1].row[order])


def offsets_of(ids: Ints, count: int) -> Ints:
    """Where each of `count` numbers begins, once they are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=count))]).astype(np.int64)


def _members(bits: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    rows, values = np.nonzero(np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little"))
    return offsets_of(rows, len(bits)), values


@cache
def _bucket_members() -> tuple[Ints, Ints]:
    """The buckets from a to b, as the members of cell ``a * BUCKETS + b``."""
    low, high = np.divmod(np.arange(BUCKETS * BUCKETS), BUCKETS)
    lengths = np.maximum(high - low + 1, 0)
    parts = [np.arange(a, a + n) for a, n in zip(low, lengths, strict=True)]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), np.concatenate(parts)


def _in_buckets(
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    other_low: NDArray[np.int32],
    other_high: NDArray[np.int32],
) -> _Hidden:
    top = int(max(high.max(initial=0), other_high.max(initial=0)))
    width = top // BUCKETS + 1
    cells = [a // width * BUCKETS + b // width for a, b in ((low, high), (other_low, other_high))]
    return _Hidden(*_bucket_members(), (cells[0], cells[1]))


def _worth_listing(
    both: _Both, hidden: Sequence[_Hidden], ends: Sequence[Ends]
) -> tuple[list[_Hidden], Sequence[Ends]]:
    """Columns under whose values rows are listed, chosen greedily on some of the rows.

    With the range by which the lists are best sorted.
    """
    if len(both[0].row) * len(both[1].row) <= WORTH_LISTING:
        return [], ends
    steps = [len(side.row) // SAMPLE + 1 for side in both]
    some = [
        _Listed(side.row[::step], side.key[::step]) for side, step in zip(both, steps, strict=True)
    ]
    best: _Both = (some[0], some[1])
    work, chosen, left = _work(best, ends, steps), [], list(range(len(hidden)))
    while left:
        tried = {c: _listed(best, hidden[c]) for c in left}
        works = {c: _work(listed, ends, steps) for c, listed in tried.items()}
        column = min(works, key=works.__getitem__)
        if works[column] > GAIN * work:
            break
        best, work = tried[column], works[column]
        chosen.append(hidden[column])
        left.remove(column)
    by = min(range(len(ends)), key=lambda e: _work(best, ends[e : e + 1], steps), default=0)
    return chosen, ends[by : by + 1]


def _work(both: _Both, ends: Sequence[Ends], steps: Sequence[int]) -> int:
    begin, end, _ = best_order((both[0].key, both[1].key), _of_entries(both, ends))
    entries = sum(len(side.row) * step for side, step in zip(both, steps, strict=True))
    return int((end - begin).sum()) * steps[0] * steps[1] + ENTRY * entries


def _of_entries(both: _Both, ends: Sequence[Ends]) -> list[Ends]:
    a, b = both[0].row, both[1].row
    return [(low[a], high[a], other[b], last[b]) for low, high, other, last in ends]


def _listed(both: _Both, column: _Hidden) -> _Both:
    """List every entry under each value that its cell in one more column can hide."""
    sides = []
    for side, cells in zip(both, column.cells, strict=True):
        first = column.offsets[cells[side.row]]
        count = column.offsets[cells[side.row] + 1] - first
        place = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(count.sum())
        sides.append((np.repeat(side.row, count), np.repeat(side.key, count), column.values[place]))
    (row_a, *a), (row_b, *b) = sides
    parts = [np.concatenate(part) for part in zip(a, b, strict=True)]
    ids, _ = class_ids([(part, int(part.max()) + 1) for part in parts], len(parts[0]))
    return _Listed(row_a, ids[: len(row_a)]), _Listed(row_b, ids[len(row_a) :])


def best_order(keys: tuple[Ints, Ints], ranges: Sequence[Ends]) -> Order:
    """Compare rows of equal key, sorted by the column that leaves the fewest comparisons."""
    left, right = (np.zeros(len(key), dtype=np.int32) for key in keys)
    anywhere = (left, left, right, right)
    orders = (_sorted_by(keys, *ends) for ends in [anywhere, *ranges])
    return min(orders, key=lambda order: int((order[1] - order[0]).sum()))


def _sorted_by(
    keys: tuple[Ints, Ints],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    other_low: NDArray[np.int32],
    other_high: NDArray[np.int32],
) -> Order:
    """Compare rows of equal key whose ranges in one column can meet, and few more."""
    width = int(max(high.max(initial=0), other_high.max(initial=0))) + 1
    start = keys[1] * width + other_low
    order = np.argsort(start, kind="stable").astype(np.int64)
    # Ends never fall when taken as "the furthest so far", so that they can be searched.
    furthest = np.maximum.accumulate((keys[1] * width + other_high)[order])
    begin = np.searchsorted(furthest, keys[0] * width + low, side="left")
    end = np.searchsorted(start[order], keys[0] * width + high, side="right")
    return begin, np.maximum(begin, end), order
