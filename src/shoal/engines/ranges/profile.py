"""What is known of a table after one pass: distinct values, how often, where first.

Values are numbered as they appear, and records are staged as these numbers, so that the
input is read once. What the numbers mean is decided when all values are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import Values, is_present
from shoal.errors import InputError

__all__ = ["BITS", "Growing", "Profiled", "keys_of"]


BITS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
"""What floats are as whole numbers of as many bits."""


@dataclass(frozen=True, eq=False)
class Profiled(Values):
    """Distinct values of a column whose records are elsewhere."""

    firsts: NDArray[np.int64]
    """The first record that has each value, counted from 1."""

    def first_record(self, indices: NDArray[np.int64]) -> int | None:
        """See `Values`."""
        return int(self.firsts[indices].min())


class Growing:
    """The distinct values of one column, numbered from 1 as they appear; 0 is a null."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.index: dict[Any, int] = {}
        self.chunks: list[pa.Array] = []
        self.counts = np.zeros(1, dtype=np.int64)
        self.firsts: list[NDArray[np.int64]] = []
        self.type: pa.DataType | None = None

    def numbers(self, column: pa.ChunkedArray, before: int) -> NDArray[np.int64]:
        """Number of each cell; `before` records were there already."""
        encoded = column.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        values = encoded.dictionary
        self.type = self.type or values.type
        if values.type != self.type:
            raise InputError(
                f"column {self.name!r}: of type {values.type} here and {self.type} in an earlier "
                "file; give it one type"
            )
        known = len(self.counts)
        number = np.zeros(len(values) + 1, dtype=np.int64)
        new: list[int] = []
        for place, key in enumerate(keys_of(values)):
            if key is None:
                continue
            found = self.index.get(key)
            if found is None:
                found = self.index[key] = known + len(new)
                new.append(place)
            number[place] = found
        codes = np.asarray(encoded.indices.cast(pa.int32()).fill_null(-1))
        numbers = number[codes]
        counts = np.bincount(numbers, minlength=known + len(new))
        counts[:known] += self.counts
        self.counts = counts
        if new:
            self.chunks.append(values.take(pa.array(new)))
            first = np.full(len(new), np.iinfo(np.int64).max)
            rows = np.flatnonzero(numbers >= known)
            np.minimum.at(first, numbers[rows] - known, rows + before + 1)
            self.firsts.append(first)
        return np.asarray(numbers, dtype=np.int64)

    def values(self, missing: tuple[str, ...], notation: str | None) -> Profiled:
        """The values that are there, without missing ones."""
        kept = np.flatnonzero(self.used(missing))
        firsts = np.concatenate(self.firsts)[kept] if len(kept) else np.zeros(0, dtype=np.int64)
        there = int(self.counts[1:][kept].sum())
        return Profiled(
            self.all_values().take(pa.array(kept)),
            there < int(self.counts.sum()),
            firsts,
            notation=notation,
        )

    def all_values(self) -> pa.Array:
        """Every value but nulls, by its number less 1."""
        return pa.concat_arrays(self.chunks) if self.chunks else pa.array([], self.type)

    def used(self, missing: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which values are present: in some record, and not what counts as missing."""
        present = is_present(self.all_values(), missing)
        return np.asarray(present & (self.counts[1:] > 0))

    def code_of_number(
        self, code_of_value: NDArray[np.int32], missing: tuple[str, ...]
    ) -> NDArray[np.int32]:
        """The code of each number, of those of the present values and of a missing one at last."""
        codes = np.full(len(self.counts), code_of_value[-1], dtype=np.int32)
        codes[1:][self.used(missing)] = code_of_value[:-1]
        return codes


def keys_of(values: pa.Array) -> list[Any]:
    """Values as Python objects that are equal where they are."""
    kind = values.type
    if pa.types.is_temporal(kind):
        width = pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()
        keys: list[Any] = values.cast(width).to_pylist()
        return keys
    if pa.types.is_floating(kind):  # by their bits: 0.0 equals -0.0, and is another text
        keys = values.view(BITS[kind.bit_width]).to_pylist()
        numbers = values.to_pylist()
        return [
            "nan" if number is not None and math.isnan(number) else key
            for key, number in zip(keys, numbers, strict=True)
        ]
    keys = values.to_pylist()
    return keys
