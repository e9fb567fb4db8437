"""A column of texts that comes batch by batch, as places in one dictionary, as narrow as can be.

Arrow reads a file at once into places of four bytes, and joins its pieces into as many again:
for columns of few values that is eight times what they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.kernels.picking import narrow

__all__ = ["Texts", "joined_texts"]


class Texts:
    """A dictionary-encoded column in the making."""

    def __init__(self) -> None:
        self.places: list[NDArray[Any]] = []
        self.values: list[pa.Array] = []

    def add(self, cells: pa.DictionaryArray) -> None:
        """The next cells, with a dictionary of their own."""
        places = cells.indices.fill_null(-1) if cells.null_count else cells.indices
        self.places.append(np.asarray(places).astype(narrow(len(cells.dictionary))))
        self.values.append(cells.dictionary)

    def column(self) -> pa.DictionaryArray:
        """All of them, which are given up here; values in the order in which they came."""
        lengths = [len(values) for values in self.values]
        parts = pa.chunked_array(self.values, pa.string()).dictionary_encode().unify_dictionaries()
        self.values = []
        dictionary = parts.chunk(0).dictionary if parts.num_chunks else pa.array([], pa.string())
        kind = narrow(len(dictionary))
        # All together: Arrow leaves out parts that have no value.
        known = [np.zeros(0, np.int32), *(np.asarray(part.indices) for part in parts.chunks)]
        numbers = np.concatenate(known).astype(kind)
        whole = np.empty(sum(map(len, self.places)), dtype=kind)
        begin = first = 0
        for number, length in enumerate(lengths):
            there = np.append(numbers[first : first + length], kind(-1))  # -1 finds the last
            end = begin + len(self.places[number])
            whole[begin:end] = there[self.places[number]]
            self.places[number] = self.places[number][:0]
            begin, first = end, first + length
        absent = whole < 0
        indices = pa.array(whole, mask=absent) if absent.any() else pa.array(whole)
        return pa.DictionaryArray.from_arrays(indices, dictionary)


def joined_texts(names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """A table of all batches, whose columns are dictionary-encoded texts."""
    columns = [Texts() for _ in names]
    for batch in batches:
        for column, cells in zip(columns, batch.columns, strict=True):
            column.add(cells)
    pa.default_memory_pool().release_unused()  # of what was read ahead
    return pa.table([column.column() for column in columns], names=names)
