"""The released table: which columns, in which form, in which order of rows.

The order of the input's rows can betray people, so a release is written in a
canonical order, by class and then by its other published values, which depends
on nothing but what is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.rebuild import rebuilt
from shoal.encoding.recode import RecodedColumn, released_columns
from shoal.encoding.row_order import ranks_of_column, sorted_rows
from shoal.encoding.spreadsheet import disarm
from shoal.encoding.table import Partition
from shoal.encoding.treating import averaged
from shoal.encoding.values import distinct_values
from shoal.errors import PolicyError
from shoal.policy import Policy

__all__ = ["COUNT", "GROUP", "Published", "publish", "with_nulls"]

GROUP, COUNT = "group", "count"
"""Columns that a release in two tables adds."""


class Published(NamedTuple):
    """A released table and how it came from the source."""

    table: pa.Table
    qi: tuple[str, ...]
    """Names of the quasi-identifiers as published."""
    rows: NDArray[np.int64]
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
    other = drafted.sensitive_table
    return drafted._replace(
        table=rebuilt(drafted.table), sensitive_table=None if other is None else rebuilt(other)
    )


def _in_one_table(source: pa.Table, recoded: Sequence[RecodedColumn], policy: Policy) -> Published:
    """Put released quasi-identifiers in place, drop identifiers, order the rows."""
    forms = {column.name: released_columns([column], policy.layout) for column in recoded}
    columns: dict[str, pa.Array] = {}
    for name in source.column_names:
        if name in policy.identifier or name == policy.person:
            continue
        unchanged = forms.get(name) or {name: with_nulls(name, source.column(name), policy)}
        for published, column in unchanged.items():
            if published in columns or (published != name and published in source.column_names):
                raise PolicyError(
                    f"layout bounds: column {published!r} exists already; rename it in the input"
                )
            columns[published] = column
    qi = tuple(published for name in policy.qi for published in forms[name])
    table = averaged(pa.table(columns), qi, policy, source)  # before rows are sorted
    if policy.keep_order:
        rows = np.arange(source.num_rows, dtype=np.int64)
    else:
        rows = _canonical_order(table, qi)
        table = table.take(pa.array(rows)).combine_chunks()
    return Published(disarm(table) if policy.csv_safe else table, qi, rows)


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
    ids, count = class_ids(ranks, table.num_rows)
    first = np.empty(count, dtype=np.int64)
    first[ids[::-1]] = np.arange(table.num_rows)[::-1]  # the earliest row of each class
    by_text = np.lexsort([codes[first] for codes, _ in reversed(ranks)]) if ranks else first
    class_rank = np.empty(count, dtype=np.int64)
    class_rank[by_text] = np.arange(count)
    others = [name for name in table.column_names if name not in qi]
    keys = [(class_rank[ids], count), *(ranks_of_column(table.column(name)) for name in others)]
    return sorted_rows(keys)
