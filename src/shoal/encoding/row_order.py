"""Rows in the order of what they hold, whatever order they came in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["order_by_content", "ranks_of_column", "sorted_rows"]


def order_by_content(table: pa.Table) -> NDArray[np.int64]:
    """Rows sorted by all their cells: rows that are equal are interchangeable."""
    return sorted_rows([ranks_of_column(column) for column in table.columns])


def ranks_of_column(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    """Rank of each value among the column's distinct values; missing is the lowest."""
    array = column.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    in_order = np.array(pc.sort_indices(array.dictionary))
    if pa.types.is_floating(array.dictionary.type):
        _sort_zeros(in_order, array.dictionary)
    ranks = np.empty(len(in_order) + 1, dtype=np.int64)
    ranks[in_order] = np.arange(1, len(in_order) + 1)
    ranks[-1] = 0
    codes = np.asarray(array.indices.cast(pa.int32()).fill_null(-1))
    return ranks[codes], len(in_order) + 1


def _sort_zeros(in_order: NDArray[np.uint64], values: pa.Array) -> None:
    """Minus zero before zero: they are equal, and would stay as they came."""
    sorted_ = values.to_numpy(zero_copy_only=False)[in_order]
    zeros = np.flatnonzero(sorted_ == 0)
    in_order[zeros] = in_order[zeros][np.argsort(~np.signbit(sorted_[zeros]))]


def sorted_rows(keys: list[tuple[NDArray[np.int64], int]]) -> NDArray[np.int64]:
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
