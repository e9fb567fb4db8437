"""The text of CSV lines, of columns that are dictionary-encoded.

Every distinct value is escaped once. Neighbouring columns of few values are joined once for each
of their combinations, and what a line has in common with the one before it, as records of a
class do, once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["BATCH_ROWS", "Cells", "Lines", "text_bytes"]

BATCH_ROWS = 1 << 16
"""Lines that are put together at once."""
PAIRS, PAIR_BYTES = 1 << 12, 1 << 20
"""Combinations of columns, and bytes of their texts, up to which they are joined ahead."""
ALIKE = 4
"""Lines that a joined text must serve, on average, to be worth it."""


class Cells(NamedTuple):
    """A column as it is written."""

    places: pa.Array
    """Which text each cell has: integers of any width; null has the last."""
    texts: pa.Array

    @classmethod
    def of(cls, column: pa.ChunkedArray, escape: Callable[[str | None], str]) -> Cells:
        """A column of any type, every distinct value of which is escaped once."""
        encoded = _as_dictionary(column)
        texts = [escape(text) for text in encoded.dictionary.cast(pa.string()).to_pylist()]
        return cls(encoded.indices, pa.array([*texts, ""], pa.string()))

    @property
    def longest(self) -> int:
        """Bytes of the longest text."""
        return int(pc.max(pc.binary_length(self.texts)).as_py() or 0)

    def batch(self, start: int) -> NDArray[np.int32]:
        """Which texts the cells of a batch of lines have."""
        some = self.places.slice(start, BATCH_ROWS)
        if some.null_count:
            some = some.cast(pa.int32()).fill_null(len(self.texts) - 1)
        return np.asarray(some).astype(np.int32, copy=False)


class Lines:
    """The lines of a table, each with an end: its break."""

    def __init__(self, columns: Sequence[Cells], delimiter: str, end: str = "\n") -> None:
        self.delimiter = delimiter
        ended = pc.binary_join_element_wise(columns[-1].texts, pa.scalar(""), end)
        columns = [*columns[:-1], columns[-1]._replace(texts=ended)]
        self.parts: list[tuple[list[Cells], pa.Array]] = []
        """Neighbouring columns that are written as one, and the texts of their combinations."""
        few = min(PAIRS, len(columns[0].places) // ALIKE)
        for column in columns:
            known = self.parts[-1] if self.parts else None
            if known is not None and _room(known[1], column.texts, few):
                pairs = _pairs(known[1], column.texts, delimiter)
                self.parts[-1] = ([*known[0], column], pairs)
            else:
                self.parts.append(([column], column.texts))

    def batch(self, start: int) -> bytes | memoryview:
        """The text of up to `BATCH_ROWS` lines."""
        return text_bytes(self.texts(start))

    def texts(self, start: int) -> pa.Array:
        """Up to `BATCH_ROWS` lines."""
        pieces: list[pa.Array] = []
        shared: list[tuple[NDArray[np.int32], pa.Array]] = []
        changes: NDArray[np.bool_] | None = None
        for cells, texts in self.parts:
            places = _combined(cells, start)
            changed = places[1:] != places[:-1]
            both = changed if changes is None else changes | changed
            if changes is not None and ALIKE * np.count_nonzero(both) > len(places):
                pieces.append(self._decoded(shared, changes))
                shared, both = [], changed
            shared.append((places, texts))
            changes = both
        if changes is not None:
            pieces.append(self._decoded(shared, changes))
        if len(pieces) == 1:
            return pieces[0]
        return pc.binary_join_element_wise(*pieces, self.delimiter)

    def _decoded(
        self, shared: list[tuple[NDArray[np.int32], pa.Array]], changes: NDArray[np.bool_]
    ) -> pa.Array:
        """Texts of some neighbouring parts, which are joined where one of them changes."""
        if len(shared) == 1:
            places, texts = shared[0]
            return texts.take(pa.array(places))
        begins = np.concatenate([[0], np.flatnonzero(changes) + 1])
        joined = pc.binary_join_element_wise(
            *(texts.take(pa.array(places[begins])) for places, texts in shared), self.delimiter
        )
        lengths = np.diff(np.append(begins, len(changes) + 1))
        return joined.take(pa.array(np.repeat(np.arange(len(begins), dtype=np.int32), lengths)))


def _room(first: pa.Array, second: pa.Array, few: int) -> bool:
    """Whether all combinations of texts are few and short."""
    if len(first) * len(second) > few:
        return False
    sizes = [int(pc.sum(pc.binary_length(texts)).as_py()) for texts in (first, second)]
    return sizes[0] * len(second) + sizes[1] * len(first) <= PAIR_BYTES


def _pairs(first: pa.Array, second: pa.Array, delimiter: str) -> pa.Array:
    """Every combination of texts, those of the first one after the other."""
    rows = np.repeat(np.arange(len(first), dtype=np.int32), len(second))
    columns = np.tile(np.arange(len(second), dtype=np.int32), len(first))
    joined = (first.take(pa.array(rows)), second.take(pa.array(columns)))
    return pc.binary_join_element_wise(*joined, delimiter)


def _combined(cells: Sequence[Cells], start: int) -> NDArray[np.int32]:
    """Which combination each line of a batch has."""
    places = cells[0].batch(start)
    for column in cells[1:]:
        places = places * np.int32(len(column.texts)) + column.batch(start)
    return places


def text_bytes(texts: pa.Array) -> bytes | memoryview:
    """All texts of an array, one after the other."""
    if len(texts) == 0:
        return b""
    width = 8 if pa.types.is_large_string(texts.type) else 4
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("q" if width == 8 else "i")
    begin, end = ends[texts.offset], ends[texts.offset + len(texts)]
    return memoryview(data)[begin:end] if data is not None else b""


def _as_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # zero or several chunks survive in old versions
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
