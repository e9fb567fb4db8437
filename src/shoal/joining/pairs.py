"""Which rows of the releases can be one record, and which joined classes are too small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.errors import InputError
from shoal.joining.columns import Column
from shoal.kernels.joining.pairs import (
    Cells,
    Found,
    Marks,
    Plan,
    Side,
    expose,
    join,
)

__all__ = ["Exposure", "Rows", "exposure", "joined_rows", "rows_of"]

MOST_PAIRS = 50_000_000
"""Pairs of rows that fit into memory; beyond, the releases have too little in common."""
STRANGERS = "they are no releases of one table, or need other hierarchies"
Ints = NDArray[np.int64]
Order = tuple[Ints, Ints, Ints]
"""Begin, end and order: row i of one side is to be compared with ``order[begin[i]:end[i]]``."""


Ends = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Lowest and highest rank in one column: of the rows of one side, and of the other."""


class Rows(NamedTuple):
    """Distinct rows of one release, or of several that were joined."""

    cells: Cells
    records: Ints
    """One column a release: which of all distinct rows of the releases this row is."""


class Table(NamedTuple):
    """All releases: their distinct rows, how many records each has, and the table of sets."""

    releases: list[Rows]
    sizes: Ints
    bits: NDArray[np.uint64]
    spans: list[str]
    sets: list[str]
    """Names of the columns in ranges and in sets, as the cells have them."""


class Exposure(NamedTuple):
    """What an adversary who knows some quasi-identifiers gains by joining."""

    certain: int
    """Records that are in a joined class of fewer than k, whichever of theirs is the right one."""
    possible: int
    """Records that can be in one."""
    smallest: int
    narrowed: list[str]


def rows_of(columns: Sequence[Column], releases: int, records: int) -> Table:
    """Distinct rows of every release in the columns that matter."""
    spans = [column for column in columns if column.ranges]
    sets = [column for column in columns if column.sets]
    bits, numbers = _bit_table(sets, releases)
    rows: list[Rows] = []
    sizes: list[Ints] = []
    for r in range(releases):
        codes = [c.codes[r] for c in columns]
        keys = [(code, int(code.max()) + 1) for code in codes if code is not None]
        ids, count = class_ids(keys, records)
        first = first_of_each(ids, count)
        start = sum(len(part) for part in sizes)
        cells = Cells(
            _stacked([_ends(column, r, first, 0) for column in spans], count),
            _stacked([_ends(column, r, first, 1) for column in spans], count),
            _stacked(
                [_numbered(n[r], c.codes[r], first) for n, c in zip(numbers, sets, strict=True)],
                count,
            ),
        )
        rows.append(Rows(cells, (start + np.arange(count, dtype=np.int64))[:, None]))
        sizes.append(np.bincount(ids, minlength=count).astype(np.int64))
    names = [column.name for column in spans], [column.name for column in sets]
    return Table(rows, np.concatenate(sizes), bits, *names)


def _ends(column: Column, release: int, first: Ints, end: int) -> NDArray[np.int32]:
    ranges, codes = column.ranges[release], column.codes[release]
    if ranges is None or codes is None:  # not published: it may be anything
        return np.full(len(first), (0, column.top)[end], dtype=np.int32)
    return np.asarray(ranges[end][codes[first]], dtype=np.int32)


def _numbered(
    numbers: NDArray[np.int32], codes: NDArray[np.int32] | None, first: Ints
) -> NDArray[np.int32]:
    if codes is None:
        return np.full(len(first), numbers[0], dtype=np.int32)
    return np.asarray(numbers[codes[first]], dtype=np.int32)


def _stacked(columns: Sequence[NDArray[np.int32]], rows: int) -> NDArray[np.int32]:
    return np.column_stack(columns) if columns else np.zeros((rows, 0), dtype=np.int32)


def _bit_table(
    columns: Sequence[Column], releases: int
) -> tuple[NDArray[np.uint64], list[list[NDArray[np.int32]]]]:
    """Every distinct set of every column once, and which one each distinct cell has."""
    width = max(((column.top >> 6) + 1 for column in columns), default=1)
    tables, numbers, start = [np.zeros((0, width), dtype=np.uint64)], [], 0
    for column in columns:
        parts = [_padded(column, r, width) for r in range(releases)]
        unique, index = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        tables.append(unique)
        place = (index.reshape(-1) + start).astype(np.int32)
        numbers.append(np.split(place, np.cumsum([len(part) for part in parts])[:-1]))
        start += len(unique)
    return np.ascontiguousarray(np.concatenate(tables)), numbers


def _padded(column: Column, release: int, width: int) -> NDArray[np.uint64]:
    """The sets of a release; all bits, once, where it does not publish the column."""
    own = (column.top >> 6) + 1
    sets = column.sets[release]
    if sets is None:
        every = [1 if bit <= column.top else 0 for bit in range(own * 64)]
        words = np.packbits(np.array(every, dtype=np.uint8), bitorder="little").view(np.uint64)
        sets = words.reshape(1, -1)
    return np.pad(sets, ((0, 0), (0, width - own)))


# Joining


def joined_rows(table: Table) -> tuple[Rows, Rows, NDArray[np.uint64]]:
    """All releases but the last joined into one, the last, and the table of sets."""
    left, *others, last = table.releases
    bits = table.bits
    for right in others:
        i, j = _pairs(left.cells, right.cells, bits)
        if not len(i):
            raise InputError("no row of one release goes with a row of another: " + STRANGERS)
        sets, bits = _common_sets(left.cells.sets[i], right.cells.sets[j], bits)
        cells = Cells(
            np.maximum(left.cells.low[i], right.cells.low[j]),
            np.minimum(left.cells.high[i], right.cells.high[j]),
            sets,
        )
        left = Rows(cells, np.column_stack([left.records[i], right.records[j]]))
    return left, last, bits


def _common_sets(
    a: NDArray[np.int32], b: NDArray[np.int32], bits: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Intersections of sets, added to the table of sets."""
    if a.size == 0:
        return a, bits
    pairs = a.astype(np.int64) * len(bits) + b
    unique, index = np.unique(pairs, return_inverse=True)
    common = bits[unique // len(bits)] & bits[unique % len(bits)]
    added, place = np.unique(common, axis=0, return_inverse=True)
    numbers = place.reshape(-1)[index.reshape(a.shape)] + len(bits)
    return numbers.astype(np.int32), np.concatenate([bits, added])


def _pairs(
    left: Cells, right: Cells, bits: NDArray[np.uint64], within: NDArray[np.bool_] | None = None
) -> tuple[Ints, Ints]:
    """Rows that can be one record."""
    begin, end, order = _order(left, right, bits)
    if within is None:
        within = np.zeros(left.low.shape[1] + left.sets.shape[1], dtype=np.bool_)
    room = 4 * (len(left.low) + len(right.low))
    while True:
        i, j = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        count = int(join(left, right, bits, begin, end, order, within, i, j))
        if count > MOST_PAIRS:
            raise InputError(
                f"the rows of the releases go together in {count:,} ways, more than can be "
                "checked: they have too little in common"
            )
        if count <= room:
            return i[:count], j[:count]
        room = count


def _order(left: Cells, right: Cells, bits: NDArray[np.uint64]) -> Order:
    """The rows of `right` to compare each row of `left` with.

    Columns in which every cell is a single value must be equal: they are a key.
    """
    exact = (left.low == left.high).all(axis=0) & (right.low == right.high).all(axis=0)
    keys = [np.concatenate([left.low[:, s], right.low[:, s]]) for s in np.flatnonzero(exact)]
    for s in range(left.sets.shape[1]):
        values = _single_values(np.concatenate([left.sets[:, s], right.sets[:, s]]), bits)
        keys += [values] if values is not None else []
    rows = len(left.low)
    ids, _ = class_ids([(key, int(key.max()) + 1) for key in keys], rows + len(right.low))
    ranges = [
        (left.low[:, s], left.high[:, s], right.low[:, s], right.high[:, s])
        for s in np.flatnonzero(~exact)
    ]
    return _best_order((ids[:rows], ids[rows:]), ranges)


def _single_values(sets: NDArray[np.int32], bits: NDArray[np.uint64]) -> Ints | None:
    """The value each set holds, if all of them hold but one."""
    used, index = np.unique(sets, return_inverse=True)
    members = np.unpackbits(bits[used].view(np.uint8), axis=1, bitorder="little")
    if (members.sum(axis=1) != 1).any():
        return None
    return np.asarray(members.argmax(axis=1)[index.reshape(-1)], dtype=np.int64)


def _best_order(keys: tuple[Ints, Ints], ranges: Sequence[Ends]) -> Order:
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


def _work(plan: Plan) -> int:
    return int((plan.end - plan.begin).sum())


# Counting


def exposure(
    table: Table, joined: tuple[Rows, Rows, NDArray[np.uint64]], qi: Sequence[str], k: int
) -> Exposure:
    """How many records an adversary who knows `qi` finds among fewer than k."""
    left, right, bits = joined
    known = np.isin([*table.spans, *table.sets], qi)
    sides = _sides(left, right, bits, known, len(table.spans))
    found = Found(
        np.zeros(len(table.sizes), dtype=np.bool_),
        np.zeros(len(table.sizes), dtype=np.bool_),
        np.zeros(int(known.sum()), dtype=np.bool_),
        np.array([table.sizes[table.releases[0].records[:, 0]].sum()], dtype=np.int64),
    )
    _judge_all(*sides, bits, k, table.sizes, found)
    lonely = ~(found.exposed | found.hidden)
    if lonely.any():
        raise InputError(
            f"{int(table.sizes[lonely].sum()):,} rows of the releases go with no row of the "
            "others: " + STRANGERS
        )
    certain, possible = [], []
    for release in table.releases:
        rows = release.records[:, 0]
        sizes, exposed, hidden = table.sizes[rows], found.exposed[rows], found.hidden[rows]
        certain.append(int(sizes[exposed & ~hidden].sum()))
        possible.append(int(sizes[exposed].sum()))
    names = np.array([*table.spans, *table.sets])[known][found.narrowed]
    return Exposure(max(certain), min(possible), int(found.smallest[0]), names.tolist())


def _judge_all(
    left: Side, right: Side, bits: NDArray[np.uint64], k: int, sizes: Ints, found: Found
) -> None:
    """Judge all pairs of classes, found by their cells or by what stands beside them."""
    marks = Marks(
        np.zeros(len(left.match_offsets) - 1, dtype=np.int64),
        np.zeros(len(right.match_offsets) - 1, dtype=np.int64),
        np.zeros(len(sizes), dtype=np.int64),
        np.zeros(left.records.shape[1] + right.records.shape[1], dtype=np.int64),
    )
    tried = np.full(len(right.offsets) - 1, -1, dtype=np.int64)
    expose(left, right, bits, _plan(left, right, bits), k, sizes, marks, found, tried)


def _plan(left: Side, right: Side, bits: NDArray[np.uint64]) -> Plan:
    """The plan with the fewest comparisons; either finds every pair."""
    by_cells = _by_cells(left, right, bits)
    by_rests = _by_rests(left, right, most=_work(by_cells))
    return by_cells if by_rests is None else min(by_cells, by_rests, key=_work)


def _by_cells(left: Side, right: Side, bits: NDArray[np.uint64]) -> Plan:
    """Compare classes whose cells can meet, whatever stands beside them."""
    begin, end, order = _order(left.cells, right.cells, bits)
    return Plan(np.arange(len(begin) + 1), begin, end, order)


def _by_rests(left: Side, right: Side, most: int) -> Plan | None:
    """Compare classes that have rows whose rests go together; None if that is not less work."""
    matches = np.diff(left.match_offsets)[left.rest]
    total = int(matches.sum())
    if total > most:
        return None
    first = left.match_offsets[left.rest] - (np.cumsum(matches) - matches)
    key = left.match[np.repeat(first, matches) + np.arange(total)]
    mine = np.repeat(_class_of_rows(left), matches)
    theirs = _class_of_rows(right)
    a, b = left.cells, right.cells
    begin, end, order = _best_order(
        (key, right.rest),
        [
            (a.low[mine, s], a.high[mine, s], b.low[theirs, s], b.high[theirs, s])
            for s in range(a.low.shape[1])
        ],
    )
    return Plan(_offsets(mine, len(left.offsets) - 1), begin, end, theirs[order])


def _class_of_rows(side: Side) -> Ints:
    return np.repeat(np.arange(len(side.offsets) - 1), np.diff(side.offsets))


def _sides(
    left: Rows, right: Rows, bits: NDArray[np.uint64], known: NDArray[np.bool_], spans: int
) -> tuple[Side, Side]:
    """Both sides by what the adversary knows of a person, and what else their rows say."""
    parts = [_split(rows.cells, known, spans) for rows in (left, right)]
    (classes_a, class_a), (classes_b, class_b) = (_distinct(part) for part, _ in parts)
    (rests_a, rest_a), (rests_b, rest_b) = (_distinct(part) for _, part in parts)
    i, j = _pairs(rests_a, rests_b, bits)
    return (
        _side(classes_a, class_a, rest_a, left.records, (i, j), len(rests_a.low), classes_b, bits),
        _side(classes_b, class_b, rest_b, right.records, (j, i), len(rests_b.low), classes_a, bits),
    )


def _split(cells: Cells, known: NDArray[np.bool_], spans: int) -> tuple[Cells, Cells]:
    a, b = known[:spans], known[spans:]
    return (
        Cells(*map(np.ascontiguousarray, (cells.low[:, a], cells.high[:, a], cells.sets[:, b]))),
        Cells(*map(np.ascontiguousarray, (cells.low[:, ~a], cells.high[:, ~a], cells.sets[:, ~b]))),
    )


def _distinct(cells: Cells) -> tuple[Cells, Ints]:
    """Distinct rows of cells, and which one each row is."""
    keys = [(column, int(column.max()) + 1) for part in cells for column in part.T]
    ids, count = class_ids(keys, len(cells.low))
    first = first_of_each(ids, count)
    return Cells(cells.low[first], cells.high[first], cells.sets[first]), ids


def _side(
    cells: Cells,
    class_of: Ints,
    rest: Ints,
    records: Ints,
    match: tuple[Ints, Ints],
    rests: int,
    other: Cells,
    bits: NDArray[np.uint64],
) -> Side:
    order = np.argsort(class_of, kind="stable")
    near, near_offsets = _csr(
        _pairs(cells, cells, bits, _silent(cells, other, bits)), len(cells.low)
    )
    return Side(
        cells,
        _offsets(class_of, len(cells.low)),
        rest[order],
        np.ascontiguousarray(records[order]),
        near,
        near_offsets,
        *_csr(match, rests),
    )


def _silent(own: Cells, other: Cells, bits: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Columns in which no cell of the other side says more than any cell of one's own."""
    low = other.low.max(axis=0) <= own.low.min(axis=0)
    high = other.high.min(axis=0) >= own.high.max(axis=0)
    sets = [
        not (np.bitwise_or.reduce(bits[a]) & ~np.bitwise_and.reduce(bits[b])).any()
        for a, b in zip(own.sets.T, other.sets.T, strict=True)
    ]
    return np.concatenate([low & high, np.array(sets, dtype=np.bool_)])


def _csr(pairs: tuple[Ints, Ints], rows: int) -> tuple[Ints, Ints]:
    order = np.argsort(pairs[0], kind="stable")
    return pairs[1][order], _offsets(pairs[0], rows)


def _offsets(ids: Ints, count: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=count))]).astype(np.int64)
