"""A table from fresh buffers, which hold what it shows and nothing else.

An Arrow column can carry more than its cells: values under its nulls, values of
its dictionary that no row has any more, and what lies before and behind a
slice. All of that would go out with a release.
"""

from __future__ import annotations

import hashlib
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.encoding.values import distinct_values
from shoal.kernels.picking import narrow, picked

__all__ = ["fingerprint_of", "narrowed", "rebuilt", "rebuilt_column"]


def rebuilt(table: pa.Table) -> pa.Table:
    """The same cells, in buffers of their own."""
    return pa.table([rebuilt_column(column) for column in table.columns], names=table.column_names)


def rebuilt_column(column: pa.ChunkedArray) -> pa.Array:
    """The same cells of one column, in buffers of its own."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column))
    if pa.types.is_dictionary(column.type):
        return _with_used_values(column)
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # none or several, by the version of Arrow
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    valid = np.asarray(array.is_valid())
    # Taking by a null index writes zeros; what lies under a null would be copied.
    place = pa.array(np.cumsum(valid) - 1, mask=~valid)
    return array.drop_null().take(place)


def _with_used_values(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The dictionary in the order of its values: it tells neither who is gone nor who came first"""
    distinct = distinct_values(column, ())
    in_order = np.asarray(pc.sort_indices(distinct.values))
    rank = np.zeros(len(in_order) + 1, narrow(len(in_order)))  # the last, of code -1, is masked
    rank[in_order] = np.arange(len(in_order), dtype=rank.dtype)
    absent = distinct.codes < 0 if distinct.has_missing else None
    indices = pa.array(picked(rank, distinct.codes), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, distinct.values.take(pa.array(in_order)))


def narrowed(column: pa.Array) -> pa.Array:
    """The same column; where it is dictionary-encoded, in as few bytes a cell as its values need.

    Of whole tables only: pieces of one column would come out in different types.
    """
    if not pa.types.is_dictionary(column.type):
        return column
    kind = pa.from_numpy_dtype(narrow(len(column.dictionary)))
    return pa.DictionaryArray.from_arrays(column.indices.cast(kind), column.dictionary)


def fingerprint_of(*tables: pa.Table | None) -> str:
    """SHA-256 of the cells, names and types of tables, in memory."""
    digest = hashlib.sha256()
    for table in tables:
        if table is None:
            digest.update(b"none")
            continue
        with (
            pa.PythonFile(_Digesting(digest), "w") as sink,
            pa.ipc.new_stream(sink, table.schema) as stream,
        ):
            stream.write_table(table)
    return digest.hexdigest()


class _Digesting(io.RawIOBase):
    """A file that nothing is kept of but its hash."""

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)
