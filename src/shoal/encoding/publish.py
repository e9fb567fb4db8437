"""The released table: which columns, in which form, in which order of rows.

The order of the input's rows can betray people, so a release is written in a
canonical order, by class and then by its other published values, which depends
on nothing but what is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.rebuild import narrowed, rebuilt, rebuilt_column
from shoal.encoding.recode import RecodedColumn, released_columns
from shoal.encoding.row_order import ranks_of_column, sorted_rows
from shoal.encoding.spreadsheet import disarm
from shoal.encoding.table import Partition
from shoal.encoding.treating import averaged
from shoal.encoding.values import distinct_values
from shoal.errors import PolicyError
from shoal.kernels.picking import picked
from shoal.policy import Policy

__all__ = ["COUNT", "GROUP", "Published", "publish", "with_nulls"]

GROUP, COUNT = "group", "count"
"""Columns that a release in two tables adds."""


class Published(NamedTuple):
    """A released table and how it came from the source."""

    table: pa.Table
    qi: tuple[str, ...]
    """Names of the quasi-identifiers as published."""
    rows: NDArray[np.integer[Any]]
    """Source row of each released row; never published."""
    sensitive_table: pa.Table | None = None
    """Sensitive values by group, where they are published apart (anatomy)."""


def publish(
    source: pa.Table,
    recoded: Sequence[RecodedColumn],
    policy: Policy,
    separated: Partition | None = None,
) -> Published:
    """The released table, or both tables where sensitive values are `separated` by group."""
    if separated is None:
        drafted = _in_one_table(source, recoded, policy)
    else:
        drafted = _in_two_tables(source, recoded, separated, policy)
    table, other = drafted.table, drafted.sensitive_table
    drafted = drafted._replace(table=None)  # its columns go, one by one, as they are rebuilt
    columns, names = table.columns, table.column_names
    del table
    for number in range(len(columns)):
        columns[number] = rebuilt_column(columns[number])
    return drafted._replace(
        table=pa.table(columns, names=names),
        sensitive_table=None if other is None else rebuilt(other),
    )


def _in_one_table(source: pa.Table, recoded: Sequence[RecodedColumn], policy: Policy) -> Published:
    """Put released quasi-identifiers in place, drop identifiers, order the rows."""
    if policy.treat or len({id(column.groups) for column in recoded}) != 1:
        return _row_by_row(source, recoded, policy)
    groups = recoded[0].groups
    once = np.arange(len(recoded[0].text_of_group))
    forms = _forms([replace(column, groups=once) for column in recoded], policy)
    names = _names(source, forms, policy)
    kept = {
        name: with_nulls(name, source.column(name), policy) for name in names if name not in forms
    }
    rows = np.arange(source.num_rows, dtype=np.int64)
    if not policy.keep_order:
        ranks = [
            ranks_of_column(pa.chunked_array([column]))
            for form in forms.values()
            for column in form.values()
        ]
        rank, count = _class_ranks(ranks, len(once))
        others = (ranks_of_column(column) for column in kept.values())
        rows = sorted_rows([(picked(rank, groups), count), *others])
    place, of_group = pa.array(rows), groups[rows]
    by_name = {column.name: replace(column, groups=of_group) for column in recoded}
    columns: dict[str, pa.Array] = {}
    for name in names:
        if name in by_name:
            released = released_columns([by_name[name]], policy.layout)
            columns.update({form: narrowed(array) for form, array in released.items()})
        else:
            columns[name] = kept.pop(name).take(place)
    if source.num_rows <= np.iinfo(np.int32).max:
        rows = rows.astype(np.int32)  # kept for as long as the release is made
    qi = tuple(published for name in policy.qi for published in forms[name])
    table = pa.table(columns)
    return Published(disarm(table) if policy.csv_safe else table, qi, rows)


def _forms(recoded: Sequence[RecodedColumn], policy: Policy) -> dict[str, dict[str, pa.Array]]:
    """What each quasi-identifier is published as, under which names."""
    return {column.name: released_columns([column], policy.layout) for column in recoded}


def _row_by_row(source: pa.Table, recoded: Sequence[RecodedColumn], policy: Policy) -> Published:
    """The same where columns are grouped apart, or means of classes are published."""
    forms = _forms(recoded, policy)
    columns: dict[str, pa.Array] = {}
    for name in _names(source, forms, policy):
        unchanged = forms.get(name) or {name: with_nulls(name, source.column(name), policy)}
        columns.update(unchanged)
    qi = tuple(published for name in policy.qi for published in forms[name])
    table = averaged(pa.table(columns), qi, policy, source)  # before rows are sorted
    if policy.keep_order:
        rows = np.arange(source.num_rows, dtype=np.int64)
    else:
        rows = _canonical_order(table, qi)
        table = table.take(pa.array(rows)).combine_chunks()
    return Published(disarm(table) if policy.csv_safe else table, qi, rows)


def _names(
    source: pa.Table, forms: Mapping[str, Mapping[str, pa.Array]], policy: Policy
) -> list[str]:
    """Columns of the source that are published, none of them under another's name."""
    names, taken = list[str](), set[str]()
    for name in source.column_names:
        if name in policy.identifier or name == policy.person:
            continue
        for published in forms.get(name, (name,)):
            if published in taken or (published != name and published in source.column_names):
                raise PolicyError(
                    f"layout bounds: column {published!r} exists already; rename it in the input"
                )
            taken.add(published)
        names.append(name)
    return names


def with_nulls(name: str, column: pa.ChunkedArray, policy: Policy) -> pa.ChunkedArray:
    """A column that is not recoded; what counts as missing is a null in every format.

    Written as text, NaN or a word for missing could not be told from a value.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(kind):
        values = column.cast(kind)
        return pc.if_else(pc.is_nan(values).fill_null(False), pa.scalar(None, kind), values)
    words = [text for text in policy.missing if text] if name in policy.sensitive else []
    if words and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        values = column.cast(kind)
        missing = pc.is_in(values, value_set=pa.array(words, kind))
        return (
            pc.if_else(missing, pa.scalar(None, kind), values)
            if pc.any(missing).as_py()
            else column
        )
    return column


def _in_two_tables(
    source: pa.Table, recoded: Sequence[RecodedColumn], groups: Partition, policy: Policy
) -> Published:
    """Two tables joined by a group number: exact quasi-identifiers, and sensitive values.

    Neither the order of the rows nor the numbers of the groups depend on which
    sensitive value belongs to which record.
    """
    (sensitive,) = policy.sensitive
    taken = {GROUP, COUNT} & set(source.column_names)
    if taken:
        raise PolicyError(f"anatomy adds a column {min(taken)!r}; rename yours in the input")
    apart = _in_one_table(source.drop_columns([sensitive]), recoded, policy)
    codes, values = _sorted_values(source.column(sensitive), policy.missing)
    rank_of_row = np.empty(source.num_rows, dtype=np.int64)
    rank_of_row[apart.rows] = _runs(apart.table)
    number = _group_numbers(groups, rank_of_row, codes)
    records = apart.table.append_column(GROUP, pa.array(number[apart.rows]))
    if not policy.keep_order:
        by_group = np.argsort(number[apart.rows], kind="stable")
        records = records.take(pa.array(by_group)).combine_chunks()
        apart = apart._replace(rows=apart.rows[by_group])
    table = _sensitive_table(sensitive, number, codes, values)
    if policy.csv_safe:
        table = disarm(table)
    return apart._replace(table=records, sensitive_table=table)


def _runs(table: pa.Table) -> NDArray[np.int64]:
    """Number of each row's tuple, counting up where a row differs from the one before."""
    ids, _ = class_ids([ranks_of_column(column) for column in table.columns], table.num_rows)
    return ids


def _group_numbers(
    groups: Partition, rank: NDArray[np.int64], codes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Group number of each record, from 1, in the order of what the groups publish."""
    widest = int(groups.sizes.max())
    place = np.arange(len(groups.order)) - np.repeat(groups.offsets[:-1], groups.sizes)
    of_group = np.repeat(np.arange(groups.groups), groups.sizes)
    keys = []
    for published in (rank, codes):
        cells = np.full((groups.groups, widest), -1, dtype=np.int64)
        cells[of_group, place] = published[groups.order]
        keys += list(np.sort(cells, axis=1).T)
    in_order = np.lexsort(keys[::-1])
    number = np.empty(groups.groups, dtype=np.int64)
    number[in_order] = np.arange(1, groups.groups + 1)
    return number[groups.group_ids()]


def _sensitive_table(
    name: str, number: NDArray[np.int64], codes: NDArray[np.int64], values: pa.Array
) -> pa.Table:
    """How often each sensitive value occurs in each group."""
    size = len(values) + 1
    pairs, counts = np.unique(number * size + codes, return_counts=True)
    index = pairs % size
    cells = values.take(pa.array(index, mask=index == size - 1))
    return pa.table({GROUP: pairs // size, name: cells, COUNT: counts})


def _sorted_values(
    column: pa.ChunkedArray, missing: tuple[str, ...]
) -> tuple[NDArray[np.int64], pa.Array]:
    """Codes in the order of the values, not of the input's rows; a missing value is the last."""
    distinct = distinct_values(column, missing)
    in_order = np.asarray(pc.sort_indices(distinct.values))
    rank = np.empty(len(in_order) + 1, dtype=np.int64)
    rank[in_order] = np.arange(len(in_order))
    rank[-1] = len(in_order)  # code -1
    return rank[distinct.codes], distinct.values.take(pa.array(in_order))


def _canonical_order(table: pa.Table, qi: Sequence[str]) -> NDArray[np.int64]:
    """Rows by class, classes by their texts, then by the other published values."""
    ranks = [ranks_of_column(table.column(name)) for name in qi]
    class_rank, count = _class_ranks(ranks, table.num_rows)
    others = [name for name in table.column_names if name not in qi]
    keys = [(class_rank, count), *(ranks_of_column(table.column(name)) for name in others)]
    return sorted_rows(keys)


def _class_ranks(
    ranks: Sequence[tuple[NDArray[np.integer[Any]], int]], n: int
) -> tuple[NDArray[np.int32], int]:
    """The place of each row's class among all classes, sorted by their texts; and how many."""
    ids, count = class_ids(ranks, n)
    first = first_of_each(ids, count)
    by_text = np.lexsort([codes[first] for codes, _ in reversed(ranks)]) if ranks else first
    class_rank = np.empty(count, dtype=np.int32)
    class_rank[by_text] = np.arange(count, dtype=np.int32)
    return class_rank[ids], count
