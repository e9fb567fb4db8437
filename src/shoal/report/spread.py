"""A released column as bars: which part of each cell lies where.

A generalised cell counts for each value it may stand for with an equal share,
a number's interval evenly over what it covers. The same bars count the
original, where it is at hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.values import Distinct, distinct_values
from shoal.released.about import About
from shoal.released.cells import (
    Anything,
    Cell,
    Label,
    Range,
    Reading,
    Values,
    infer_reading,
    pair_cell,
    read_cell,
)
from shoal.released.lines import line_of

__all__ = ["Bars", "Column", "bars_of", "column_of", "counts_of", "shares_of_original", "width_of"]

BINS = 12
"""Bars of a column of numbers or dates."""
MOST_VALUES = 10
"""Bars of a column of categories; the rest is one bar."""
OTHERS, MISSING, ANYTHING = "all others", "(missing)", "*"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Column:
    """A released quasi-identifier: its distinct cells, and which one each record has."""

    name: str
    reading: Reading
    cells: tuple[Cell, ...]
    codes: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records of each cell."""
        return np.bincount(self.codes, minlength=len(self.cells)).astype(np.int64)

    @property
    def measured(self) -> bool:
        """Whether its values are places on a line."""
        return self.reading.kind in {"numeric", "date"}


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars of a column, and which part of each distinct cell lies in each."""

    labels: tuple[str, ...]
    shares: Floats
    """By cell and bar; what has no place (missing or starred numbers) is in none."""
    edges: Floats | None = None
    """Of bars of numbers or dates: where they begin, and where the last ends."""
    values: tuple[str | None, ...] = ()
    """Of bars of categories: the value of each; the last bar may be all others."""


def column_of(table: pa.Table, about: About, name: str) -> Column:
    """A quasi-identifier of a release, read."""
    if pair := about.pair(name):
        low, high = (distinct_values(table.column(part), ()) for part in pair)
        kind = about.kind(name) or infer_reading(low.texts()).kind
        keyed = [(part.codes.astype(np.int64) + 1, len(part.values) + 1) for part in (low, high)]
        ids, count = class_ids(keyed, table.num_rows)
        first = first_of_each(ids, count)
        texts = [(*part.texts(), None) for part in (low, high)]
        cells = tuple(
            pair_cell(texts[0][low.codes[row]], texts[1][high.codes[row]], about.has_stars)
            for row in first
        )
        return Column(name, Reading(kind, True), cells, ids)
    distinct = distinct_values(table.column(name), ())
    texts_of = [*distinct.texts(), *([None] if (distinct.codes < 0).any() else [])]
    guess = infer_reading(texts_of)
    if (generalised := about.generalised(name)) is not None:
        guess = guess._replace(generalised=generalised)
    reading = about.reading(name, guess)
    cells = tuple(read_cell(text, reading, name) for text in texts_of)
    codes = np.where(distinct.codes < 0, len(distinct.values), distinct.codes).astype(np.int64)
    return Column(name, reading, cells, codes)


def counts_of(distinct: Distinct) -> dict[str | None, int]:
    """Records of each text of a column; None for missing ones."""
    counts = np.bincount(distinct.codes + 1, minlength=len(distinct.values) + 1)
    found: dict[str | None, int] = dict(zip(distinct.texts(), counts[1:].tolist(), strict=True))
    return {**found, **({None: int(counts[0])} if counts[0] else {})}


def bars_of(column: Column) -> Bars:
    """The bars that show a column: of equal width, or its most frequent values."""
    return _on_a_line(column) if column.measured else _by_value(column)


def width_of(cell: Cell, column: Column) -> float | None:
    """How much a generalised cell leaves open: the span of an interval, or values of a set."""
    if column.measured:
        ends = _ends(cell, column)
        return None if ends is None or ends[1] <= ends[0] else ends[1] - ends[0]
    values = _values_of(cell, column.reading)
    return float(len(values)) if len(values) > 1 else None


def span_of(column: Column) -> float:
    """From the lowest end of a column's cells to the highest."""
    ends = [found for cell in column.cells if (found := _ends(cell, column))]
    return max((b for _, b in ends), default=0.0) - min((a for a, _ in ends), default=0.0)


def shares_of_original(
    column: Column, bars: Bars, original: pa.ChunkedArray, missing: tuple[str, ...]
) -> tuple[NDArray[np.int64], Floats]:
    """The original's records in the same bars: each record's distinct value, and its bar."""
    distinct = distinct_values(original, missing)
    texts: list[str | None] = [*distinct.texts(), None]
    shares = np.zeros((len(texts), len(bars.labels)))
    line = line_of(column.name, column.reading, [], []) if column.measured else None
    for number, text in enumerate(texts):
        if bars.edges is None:
            place = _place_of(text, bars)
            shares[number, place] = 1.0
        elif text is not None and line is not None:
            key = float(line.key(text))
            if bars.edges[0] <= key <= bars.edges[-1]:
                shares[number, _bin_of(key, bars.edges)] = 1.0
    codes = np.where(distinct.codes < 0, len(distinct.values), distinct.codes).astype(np.int64)
    return codes, shares


def _place_of(text: str | None, bars: Bars) -> int:
    return bars.values.index(text) if text in bars.values else len(bars.labels) - 1


def _ends(cell: Cell, column: Column) -> tuple[float, float] | None:
    """Lowest and highest place of a cell; None where it has none."""
    if isinstance(cell, Range):
        texts = [cell.low, cell.high]
    elif isinstance(cell, Values):
        texts = [text for text in cell.texts if text is not None]
    else:
        return None
    line = line_of(column.name, column.reading, [], [])
    keys = [float(line.key(text)) for text in texts]
    return (min(keys), max(keys)) if keys else None


def _on_a_line(column: Column) -> Bars:
    """Bars of equal width; whole numbers and days are counted one by one."""
    ends = [_ends(cell, column) for cell in column.cells]
    known = [place for place in ends if place is not None]
    if not known:
        return Bars((), np.zeros((len(ends), 0)), np.zeros(1))
    low, high = min(a for a, _ in known), max(b for _, b in known)
    whole = all(a.is_integer() and b.is_integer() for a, b in known)
    if whole:
        step = math.ceil((high - low + 1) / BINS)
        edges = np.arange(low, high + 1 + step, step)
        edges = edges[: math.ceil((high + 1 - low) / step) + 1]
    else:
        edges = np.linspace(low, high, BINS + 1) if high > low else np.array([low, low])
    shares = np.zeros((len(ends), len(edges) - 1))
    for number, place in enumerate(ends):
        if place is not None:
            shares[number] = _share_of_bins(place[0], place[1] + whole, edges)
    pairs = zip(edges[:-1].tolist(), (edges[1:] - whole).tolist(), strict=True)
    labels = tuple(_range_text(a, min(b, high), column.reading.kind, whole) for a, b in pairs)
    return Bars(labels, shares, edges)


def _bin_of(place: float, edges: Floats) -> int:
    return min(max(int(np.searchsorted(edges, place, side="right")) - 1, 0), len(edges) - 2)


def _share_of_bins(low: float, high: float, edges: Floats) -> Floats:
    """Which part of an interval lies in each bin."""
    if high <= low:
        share = np.zeros(len(edges) - 1)
        share[_bin_of(low, edges)] = 1.0
        return share
    overlap: Floats = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    return np.maximum(overlap, 0.0) / (high - low)


def _by_value(column: Column) -> Bars:
    """A bar a value, the most frequent first; a set gives each member an equal share."""
    hidden = [_values_of(cell, column.reading) for cell in column.cells]
    expected: dict[str | None, float] = {}
    for values, records in zip(hidden, column.counts.tolist(), strict=True):
        for value in values:
            expected[value] = expected.get(value, 0.0) + records / len(values)
    ordered = sorted(expected, key=lambda value: (-expected[value], value or ""))
    shown = tuple(ordered[:MOST_VALUES]) if len(ordered) > MOST_VALUES + 1 else tuple(ordered)
    place: Mapping[str | None, int] = {value: number for number, value in enumerate(shown)}
    shares = np.zeros((len(hidden), len(shown) + 1))
    for number, values in enumerate(hidden):
        for value in values:
            shares[number, place.get(value, len(shown))] += 1 / len(values)
    labels = tuple(MISSING if value is None else value for value in shown)
    return Bars((*labels, OTHERS), shares, values=shown)


def _values_of(cell: Cell, reading: Reading) -> Sequence[str | None]:
    """What a cell may stand for, as far as it says so."""
    if isinstance(cell, Values):
        return cell.texts
    if isinstance(cell, Label):
        return (cell.text,)
    if isinstance(cell, Anything):
        return (ANYTHING,)
    order = reading.order or ()
    if cell.low in order and cell.high in order:
        return order[order.index(cell.low) : order.index(cell.high) + 1]
    return (f"[{cell.low},{cell.high}]",)


def _range_text(low: float, high: float, kind: str, whole: bool) -> str:
    if kind == "date":
        texts = [date.fromordinal(max(1, int(day))).isoformat() for day in (low, high)]
    elif whole:
        texts = [f"{value:.0f}" for value in (low, high)]
    else:
        digits = max(0, 1 - math.floor(math.log10(high - low))) if high > low else 0
        texts = [f"{value:.{min(digits, 6)}f}" for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"
