"""Rows in the order of what they hold, whatever order they came in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.values import coded
from shoal.kernels.picking import narrow, picked

__all__ = ["order_by_content", "ranks_of_column", "rows_at", "sorted_rows"]

LARGEST = 1 << 62
FEWEST, MOST = 1 << 12, 1 << 20
"""Stretches of the first word that rows are counted in, where few of them are looked for."""
A_STRETCH = 32
"""Rows of one, about."""
AT_ONCE = 1 << 15
COUNTED = 1 << 20
"""Rows that are looked at and counted together."""


def order_by_content(table: pa.Table) -> NDArray[np.int64]:
    """Rows sorted by all their cells: rows that are equal are interchangeable."""
    return sorted_rows([ranks_of_column(column) for column in table.columns])


def ranks_of_column(column: pa.ChunkedArray) -> tuple[NDArray[np.integer[Any]], int]:
    """Rank of each value among the column's distinct values; missing is the lowest.

    In as few bytes as hold it: to be packed or compared, not to be multiplied.
    """
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes, values = coded(column)
    in_order = np.array(pc.sort_indices(values))
    if pa.types.is_floating(values.type):
        _sort_zeros(in_order, values)
    ranks = np.empty(len(in_order) + 1, dtype=narrow(len(in_order) + 1))
    ranks[in_order] = np.arange(1, len(in_order) + 1)
    ranks[-1] = 0
    return picked(ranks, codes), len(in_order) + 1


def _sort_zeros(in_order: NDArray[np.uint64], values: pa.Array) -> None:
    """Minus zero before zero: they are equal, and would stay as they came."""
    sorted_ = values.to_numpy(zero_copy_only=False)[in_order]
    zeros = np.flatnonzero(sorted_ == 0)
    in_order[zeros] = in_order[zeros][np.argsort(~np.signbit(sorted_[zeros]))]


def sorted_rows(
    keys: list[tuple[NDArray[Any], int]], rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Rows in lexicographic order of the keys, packed into as few 64-bit words as possible.

    Of some `rows` alone, their places among these.
    """
    words = [_packed(some, rows) for some in _words(keys)]
    if len(words) == 1:
        return np.argsort(words[0]).astype(np.int64, copy=False)
    return np.asarray(np.lexsort(words[::-1]), dtype=np.int64)


def rows_at(
    keys: list[tuple[NDArray[Any], int]],
    places: NDArray[np.int64],
    last: Sequence[tuple[NDArray[Any], int]],
) -> list[NDArray[np.int64]]:
    """The rows at some places of `sorted_rows` of the keys and one of the `last`, for each of them.

    Not all rows are sorted. Which of several equal rows it is may differ.
    """
    first, n = _words(keys)[0], len(keys[0][0])
    buckets = max(FEWEST, min(MOST, n // A_STRETCH))
    width = -(-math.prod(size for _, size in first) // buckets)
    bucket, sizes = np.empty(n, dtype=np.int32), np.zeros(buckets, dtype=np.int64)
    for start in range(0, n, COUNTED):
        some = slice(start, start + COUNTED)
        bucket[some] = _packed([(ranks[some], size) for ranks, size in first]) // width
        sizes += np.bincount(bucket[some], minlength=buckets)
    ends = np.cumsum(sizes)
    wanted = np.searchsorted(ends, places, side="right")
    there = np.zeros(buckets, dtype=bool)
    there[wanted] = True
    rows = np.flatnonzero(picked(there, bucket))
    del bucket
    looked_at = np.unique(wanted)
    begins = np.cumsum(sizes[looked_at]) - sizes[looked_at]
    within = begins[np.searchsorted(looked_at, wanted)] + places - (ends - sizes)[wanted]
    return [rows[sorted_rows([*keys, tie], rows)[within]] for tie in last]


def _words(keys: list[tuple[NDArray[Any], int]]) -> list[list[tuple[NDArray[Any], int]]]:
    """The keys, as many together as fit into one 64-bit word."""
    words: list[list[tuple[NDArray[Any], int]]] = []
    span = 0
    for ranks, size in keys:
        if span == 0 or span * size > LARGEST:
            words.append([(ranks, size)])
            span = size
        else:
            words[-1].append((ranks, size))
            span *= size
    return words


def _packed(
    keys: list[tuple[NDArray[Any], int]], rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Several keys as one number, of all rows or some."""
    word = np.zeros(len(keys[0][0]) if rows is None else len(rows), dtype=np.int64)
    for start in range(0, len(word), AT_ONCE):  # a piece stays in the cache for all keys
        some = slice(start, start + AT_ONCE)
        piece, chosen = word[some], some if rows is None else rows[some]
        for ranks, size in keys:
            piece *= size
            piece += ranks[chosen]
    return word
