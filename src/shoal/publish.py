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

from shoal.classes import class_ids
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.recode import RecodedColumn, released_columns
from shoal.write import disarm

__all__ = ["Published", "plain_columns", "publish"]


class Published(NamedTuple):
    """A released table and how it came from the source."""

    table: pa.Table
    qi: tuple[str, ...]
    """Names of the quasi-identifiers as published."""
    rows: NDArray[np.int64]
    """Source row of each released row; never published."""


def plain_columns(names: Sequence[str], policy: Policy) -> list[str]:
    """Columns that have no role and are published as they are."""
    roles = {*policy.identifier, *policy.qi, *policy.sensitive, policy.person}
    return [name for name in names if name not in roles]


def publish(source: pa.Table, recoded: Sequence[RecodedColumn], policy: Policy) -> Published:
    """Put released quasi-identifiers in place, drop identifiers, order the rows."""
    forms = {column.name: released_columns([column], policy.layout) for column in recoded}
    columns: dict[str, pa.Array] = {}
    for name in source.column_names:
        if name in policy.identifier or name == policy.person:
            continue
        for published, column in forms.get(name, {name: source.column(name)}).items():
            if published in columns or (published != name and published in source.column_names):
                raise PolicyError(
                    f"layout bounds: column {published!r} exists already; rename it in the input"
                )
            columns[published] = column
    qi = tuple(published for name in policy.qi for published in forms[name])
    table = pa.table(columns)
    if policy.keep_order:
        rows = np.arange(source.num_rows, dtype=np.int64)
    else:
        rows = _canonical_order(table, qi)
        table = table.take(pa.array(rows)).combine_chunks()
    return Published(disarm(table) if policy.csv_safe else table, qi, rows)


def _canonical_order(table: pa.Table, qi: Sequence[str]) -> NDArray[np.int64]:
    """Rows by class, classes by their texts, then by the other published values."""
    ranks = [_ranks(table.column(name)) for name in qi]
    ids, count = class_ids(ranks, table.num_rows)
    first = np.empty(count, dtype=np.int64)
    first[ids[::-1]] = np.arange(table.num_rows)[::-1]  # the earliest row of each class
    by_text = np.lexsort([codes[first] for codes, _ in reversed(ranks)]) if ranks else first
    class_rank = np.empty(count, dtype=np.int64)
    class_rank[by_text] = np.arange(count)
    others = [name for name in table.column_names if name not in qi]
    keys = [(class_rank[ids], count), *(_ranks(table.column(name)) for name in others)]
    return _sorted_rows(keys)


def _ranks(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    """Rank of each value among the column's distinct values; missing is the lowest."""
    array = column.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    in_order = np.asarray(pc.sort_indices(array.dictionary))
    ranks = np.empty(len(in_order) + 1, dtype=np.int64)
    ranks[in_order] = np.arange(1, len(in_order) + 1)
    ranks[-1] = 0
    codes = np.asarray(array.indices.cast(pa.int32()).fill_null(-1))
    return ranks[codes], len(in_order) + 1


def _sorted_rows(keys: list[tuple[NDArray[np.int64], int]]) -> NDArray[np.int64]:
    """Rows in lexicographic order of the keys, packed into as few 64-bit words as possible."""
    words: list[NDArray[np.int64]] = []
    span = 0
    for ranks, size in keys:
        if span == 0 or span * size > 1 << 62:
            words.append(ranks)
            span = size
        else:
            words[-1] = words[-1] * size + ranks
            span *= size
    if len(words) == 1:
        return np.argsort(words[0]).astype(np.int64, copy=False)
    return np.asarray(np.lexsort(words[::-1]), dtype=np.int64)
