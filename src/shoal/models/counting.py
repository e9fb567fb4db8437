"""From class numbers and sensitive codes to the histograms that models read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import Codebook
from shoal.encoding.table import EncodedTable
from shoal.models.base import ClassHistograms

__all__ = [
    "histograms",
    "known_sizes",
    "sizes_only",
    "table_histograms",
    "whole_histograms",
    "whole_sizes",
]

Integers = NDArray[np.integer[Any]]

PACKED = 2**63
"""Rows with fewer possible values than this are sorted as one int64."""


def histograms(
    class_ids: Integers,
    codes: Integers,
    domain: int,
    *,
    person: Integers | None = None,
    ordered: bool = False,
    numbers: NDArray[np.float64] | None = None,
    exempt: NDArray[np.bool_] | None = None,
) -> ClassHistograms:
    """Count the sensitive values of every class.

    Parameters
    ----------
    class_ids
        Class of each record, 0..C-1, each number used.
    codes, domain
        Sensitive value of each record, 0..domain-1.
    person
        Person of each record as a code; then persons are counted, not records.
    ordered, numbers, exempt
        As in `ClassHistograms`.
    """
    if person is not None:
        return _person_histograms(class_ids, codes, domain, person, ordered, numbers, exempt)
    sizes = _sizes(class_ids)
    (of_class, values), counts = _counted([class_ids, codes], [len(sizes), domain])
    offsets = _offsets(of_class, len(sizes))
    return ClassHistograms(sizes, offsets, values, counts, domain, ordered, numbers, exempt=exempt)


def sizes_only(class_ids: Integers, *, person: Integers | None = None) -> ClassHistograms:
    """Class sizes without a sensitive column: enough for k-anonymity."""
    sizes = _sizes(class_ids)
    if person is not None:
        (of_class, _), _ = _counted([class_ids, person], [len(sizes), _top(person)])
        sizes = np.bincount(of_class, minlength=len(sizes)).astype(np.int64)
    return known_sizes(sizes)


def known_sizes(sizes: NDArray[np.int64]) -> ClassHistograms:
    """Classes of which only the sizes are known."""
    empty = np.zeros(0, dtype=np.int64)
    return ClassHistograms(sizes, np.zeros(len(sizes) + 1, dtype=np.int64), empty, empty, 0)


def table_histograms(
    table: EncodedTable, class_ids: Integers, rows: NDArray[np.int64] | None = None
) -> tuple[ClassHistograms, ...]:
    """The histograms of every sensitive column of a table, in its order.

    `rows` are the records that `class_ids` speaks of; all, if not given.
    """
    some = slice(None) if rows is None else rows
    person = None if table.person is None else table.person[some]
    counted = tuple(
        histograms(
            class_ids,
            codes[some],
            column.size,
            person=person,
            ordered=column.ordered,
            numbers=column.numbers,
            exempt=column.exempt,
        )
        for column, codes in zip(table.sensitive, table.sensitive_codes, strict=True)
    )
    if table.of_table is None:
        return counted
    longer = zip(counted, table.of_table, strict=True)
    return tuple(replace(classes, table=total) for classes, total in longer)


def whole_histograms(book: Codebook) -> tuple[ClassHistograms, ...]:
    """The table as one class, for every sensitive column, without a look at its records."""
    sizes = whole_sizes(book).sizes
    whole = []
    known = zip(book.sensitive, book.sensitive_counts, book.compared_with, strict=True)
    for column, counts, table in known:
        values = np.flatnonzero(counts)
        offsets = np.array([0, len(values)], dtype=np.int64)
        cells = (sizes, offsets, values, counts[values], column.size)
        whole.append(ClassHistograms(*cells, column.ordered, column.numbers, table, column.exempt))
    return tuple(whole)


def whole_sizes(book: Codebook) -> ClassHistograms:
    """The table as one class, without a sensitive column: how many records or persons."""
    units = book.records if book.persons is None else book.persons
    return known_sizes(np.array([units], dtype=np.int64))


def _person_histograms(
    class_ids: Integers,
    codes: Integers,
    domain: int,
    person: Integers,
    ordered: bool,
    numbers: NDArray[np.float64] | None,
    exempt: NDArray[np.bool_] | None,
) -> ClassHistograms:
    persons = _top(person)
    sizes = sizes_only(class_ids, person=person).sizes
    # each (class, value, person) once, then persons per (class, value)
    (of_class, values, _), _ = _counted([class_ids, codes, person], [len(sizes), domain, persons])
    (of_class, values), counts = _runs([of_class, values])
    (in_table, _), _ = _counted([codes, person], [domain, persons])
    total = np.bincount(in_table, minlength=domain).astype(np.int64)
    offsets = _offsets(of_class, len(sizes))
    return ClassHistograms(sizes, offsets, values, counts, domain, ordered, numbers, total, exempt)


def _sizes(class_ids: Integers) -> NDArray[np.int64]:
    sizes = np.bincount(class_ids).astype(np.int64)
    if not sizes.all():
        raise ValueError("class_ids: expected each of 0..C-1 to occur; some class is empty")
    return sizes


def _top(codes: Integers) -> int:
    return int(codes.max()) + 1 if len(codes) else 0


def _offsets(of_class: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    ends = np.cumsum(np.bincount(of_class, minlength=classes))
    return np.concatenate([[0], ends]).astype(np.int64)


def _counted(
    columns: list[Integers], limits: list[int]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Distinct rows in ascending order, column by column, and how often each occurs.

    `limits` bounds the values of each column. Rows are packed into one integer
    to sort, which is several times faster than to sort by many keys.
    """
    space = 1
    for limit in limits:
        space *= max(1, limit)
    if space >= PACKED:
        order = np.lexsort(columns[::-1])
        return _runs([c[order].astype(np.int64) for c in columns])
    key = columns[0].astype(np.int64)
    for column, limit in zip(columns[1:], limits[1:], strict=True):
        key *= max(1, limit)
        key += column
    key.sort()
    (key,), counts = _runs([key])
    distinct: list[NDArray[np.int64]] = []
    for limit in limits[:0:-1]:
        key, last = np.divmod(key, max(1, limit))
        distinct.append(last)
    return [key, *distinct[::-1]], counts


def _runs(
    columns: list[NDArray[np.int64]],
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """First rows of the runs of equal rows, and the lengths of the runs."""
    n = len(columns[0])
    if not n:
        return columns, np.zeros(0, dtype=np.int64)
    new = np.zeros(n, dtype=np.bool_)
    new[0] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(new)
    return [c[starts] for c in columns], np.diff(starts, append=n).astype(np.int64)
