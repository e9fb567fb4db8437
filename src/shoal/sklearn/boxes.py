"""Which boxes of a release cover a row: every value lies in the box's cell of its column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import Distinct, distinct_values
from shoal.errors import InputError, PolicyError
from shoal.recipient.columns import Released
from shoal.recipient.spread import Asked
from shoal.released.cells import Anything, Cell, Range, Values
from shoal.released.lines import Line

__all__ = ["Boxes", "choose"]

AT_ONCE = 20_000_000
"""Pairs of rows and boxes that are looked at together."""


class _Column(NamedTuple):
    """A column of the release: its distinct cells, and which one each box has."""

    name: str
    cells: Sequence[Cell]
    line: Line
    of_box: NDArray[np.int64]


class Boxes:
    """The classes of a release, each as the box of its cells."""

    def __init__(self, released: Released, names: Sequence[str], rows: NDArray[np.int64]) -> None:
        """`rows` are records of the release, one of each class."""
        self.size = len(rows)
        self.columns = []
        for name in names:
            codes, cells, reading = released.cells(name)
            asked = Asked(name, reading, cells, ())
            self.columns.append(
                _Column(name, asked.cells, asked.line, codes[rows].astype(np.int64))
            )

    def covering(self, table: pa.Table) -> NDArray[np.bool_]:
        """Row by box: whether the box covers the row."""
        found = np.ones((table.num_rows, self.size), dtype=bool)
        for column in self.columns:
            values = distinct_values(table.column(column.name), ("",))
            fits = _fits(values, column)
            codes = np.where(values.codes < 0, len(fits) - 1, values.codes)
            found &= fits[:, column.of_box][codes]
        return found

    def parts(self, table: pa.Table) -> list[pa.Table]:
        """A table in parts that `covering` can look at in one go."""
        rows = max(1, AT_ONCE // max(1, self.size))
        return [table.slice(start, rows) for start in range(0, table.num_rows, rows)]


def _fits(values: Distinct, column: _Column) -> NDArray[np.bool_]:
    """Distinct value (the last is missing) by distinct cell: whether the cell covers it."""
    texts = [*values.texts(), None]
    keys = [None if text is None else _key(column.line, text) for text in texts]
    return np.array(
        [[_covers(cell, text, key, column.line) for cell in column.cells]
         for text, key in zip(texts, keys, strict=True)],
        dtype=bool,
    ).reshape(len(texts), len(column.cells))  # fmt: skip


def _key(line: Line, text: str) -> object:
    """Where a value is on the column's line; None if it is nowhere there."""
    try:
        return line.key(text)
    except (InputError, PolicyError):
        return None


def _covers(cell: Cell, text: str | None, key: object, line: Line) -> bool:
    if isinstance(cell, Anything):
        return True
    if isinstance(cell, Values):
        if text is None or None in cell.texts:
            return text in cell.texts
        return text in cell.texts or (
            key is not None and any(line.key(t) == key for t in cell.texts if t is not None)
        )
    if not isinstance(cell, Range) or key is None:
        return False
    low, high = sorted((line.key(cell.low), line.key(cell.high)))
    return bool(low <= key <= high)


def choose(covering: NDArray[np.bool_], lots: NDArray[np.float64]) -> NDArray[np.int64]:
    """One of the boxes that cover each row, by a lot from 0 to 1 for each row; -1 without any.

    By lot, not the smallest: whoever sees a row in a large box must not learn that it was in no
    smaller one.
    """
    counts = covering.sum(axis=1)
    place = np.minimum((lots * counts).astype(np.int64), np.maximum(counts - 1, 0))
    ranks = np.cumsum(covering, axis=1) - 1
    picked = (covering & (ranks == place[:, None])).argmax(axis=1)
    return np.where(counts > 0, picked, -1)
