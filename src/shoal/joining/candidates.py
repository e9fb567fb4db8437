"""Distinct rows of the releases, and which of them can be one record by their cells alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.errors import InputError
from shoal.joining.columns import Column
from shoal.joining.listing import Ints, plan_of
from shoal.kernels.joining.pairs import Cells, join

__all__ = [
    "STRANGERS",
    "Ints",
    "Rows",
    "Table",
    "joined_rows",
    "pairs_of",
    "rows_of",
]

MOST_PAIRS = 50_000_000
"""Pairs of rows that fit into memory; beyond, the releases have too little in common."""
STRANGERS = "they are no releases of one table, or need other hierarchies"


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
        i, j = pairs_of(left.cells, right.cells, bits)
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


def pairs_of(
    left: Cells, right: Cells, bits: NDArray[np.uint64], within: NDArray[np.bool_] | None = None
) -> tuple[Ints, Ints]:
    """Rows that can be one record."""
    plan = plan_of(left, right, bits)
    if within is None:
        within = np.zeros(left.low.shape[1] + left.sets.shape[1], dtype=np.bool_)
    room = 4 * (len(left.low) + len(right.low))
    while True:
        i, j = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        tried = np.full(len(right.low), -1, dtype=np.int64)
        count = int(join(left, right, bits, plan, within, tried, i, j))
        if count > MOST_PAIRS:
            raise InputError(
                f"the rows of the releases go together in {count:,} ways, more than can be "
                "checked: they have too little in common"
            )
        if count <= room:
            return i[:count], j[:count]
        room = count
