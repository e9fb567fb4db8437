"""What happened to each quasi-identifier: how many cells, how wide, and how its values spread.

Everything is worked out from the released cells, so that whoever has the
release finds the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.encoding.values import distinct_values
from shoal.released.about import About
from shoal.released.cells import Anything, Cell, Label, Range, Values
from shoal.report.spread import (
    Bars,
    Column,
    bars_of,
    column_of,
    counts_of,
    shares_of_original,
    span_of,
    width_of,
)

__all__ = ["Bar", "Change", "Pair", "changes_of"]

SORTS = ("unchanged", "generalised", "labels", "starred", "missing")
"""What a cell can be."""


@dataclass(frozen=True)
class Bar:
    """One bar of a distribution: a value or a range of values."""

    label: str
    after: float
    """Records that the release lets expect here."""
    before: int | None = None
    """Records of the original; None where it is not at hand, or too few to be shown."""


@dataclass(frozen=True)
class Change:
    """One quasi-identifier of a release, in numbers."""

    name: str
    kind: str
    unchanged: int
    generalised: int
    labels: int
    """Texts of a hierarchy that is not at hand: values, or groups of values."""
    starred: int
    missing: int
    typical: float | None
    """Half of the generalised cells are no wider: the span of an interval, or values of a set."""
    typical_share: float | None
    """The same as a share of the column's span."""
    distribution: tuple[Bar, ...]

    @property
    def records(self) -> int:
        """Records in the release."""
        return sum(getattr(self, sort) for sort in SORTS)

    @property
    def technique(self) -> str:
        """In words: what was done to the column."""
        ranges = self.kind in {"numeric", "date", "ordinal"}
        done = [
            *([("intervals" if ranges else "sets of values")] if self.generalised else []),
            *(["values or groups of its hierarchy"] if self.labels else []),
            *(["stars"] if self.starred else []),
        ]
        return ", ".join(done) or "published as it was"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("name", "kind", "technique", *SORTS, "typical", "typical_share")
        bars = [
            {"label": bar.label, "after": round(bar.after, 1), "before": bar.before}
            for bar in self.distribution
        ]
        return {**{name: getattr(self, name) for name in names}, "distribution": bars}


@dataclass(frozen=True)
class Pair:
    """Two quasi-identifiers together: how far their joint distribution moved."""

    names: tuple[str, str]
    distance: float
    """Total variation: the share of records that would have to move to another pair of bars."""
    labels: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The bars of each."""
    before: Any = field(default=None, compare=False, repr=False)
    """Share of the original's records in each pair of bars; NaN where there are too few."""
    after: Any = field(default=None, compare=False, repr=False)
    """The same of the release."""


def changes_of(
    table: pa.Table,
    about: About,
    qi: Sequence[str],
    original: pa.Table | None = None,
    least: int = 0,
) -> tuple[list[Change], list[Pair]]:
    """What happened to each quasi-identifier; with the original, also what it was before.

    Counts of the original below `least` are left out. Pairs need the original.
    """
    columns = [column_of(table, about, name) for name in qi]
    bars = [bars_of(column) for column in columns]
    if original is None:
        return [_change(*both, None, 0) for both in zip(columns, bars, strict=True)], []
    known = [
        _known(column, original, about) if column.reading.labels else column for column in columns
    ]
    before = [
        shares_of_original(column, found, original.column(column.name), about.missing)
        for column, found in zip(known, bars, strict=True)
    ]
    totals = [np.bincount(codes, minlength=len(s)) @ s for codes, s in before]
    changes = [
        _change(column, found, total, least)
        for column, found, total in zip(known, bars, totals, strict=True)
    ]
    after = [(column.codes, found.shares) for column, found in zip(columns, bars, strict=True)]
    named = [(column.name, found.labels) for column, found in zip(columns, bars, strict=True)]
    return changes, _pairs(named, before, after, least)


def _known(column: Column, original: pa.Table, about: About) -> Column:
    """Labels that occur in the original are values; the others are groups of values."""
    values = counts_of(distinct_values(original.column(column.name), about.missing))
    cells = tuple(
        Values((cell.text,)) if isinstance(cell, Label) and cell.text in values else cell
        for cell in column.cells
    )
    return replace(column, cells=cells)


def _change(column: Column, bars: Bars, before: Any, least: int) -> Change:
    counts = column.counts
    sorts = Counter[str]()
    widths = []
    for cell, records in zip(column.cells, counts.tolist(), strict=True):
        sorts[_sort_of(cell)] += records
        if (width := width_of(cell, column)) is not None:
            widths.append((width, records))
    typical = _weighted_median(widths)
    span = span_of(column) if column.measured else 0.0
    after = counts @ bars.shares
    found = [None] * len(after) if before is None else [int(number) for number in before]
    shown = _enough(found, least)
    return Change(
        name=column.name,
        kind=column.reading.kind,
        typical=typical,
        typical_share=typical / span if typical is not None and span else None,
        distribution=tuple(
            Bar(label, float(expected), told)
            for label, expected, was, told in zip(bars.labels, after, found, shown, strict=True)
            if expected > 0 or was
        ),
        **{sort: sorts[sort] for sort in SORTS},
    )


def _enough(counts: Sequence[int | None], least: int) -> list[int | None]:
    """Counts, but those of so few that they would tell of somebody.

    The total is known: what is left of it by the counts that are shown is that of all hidden
    ones together. So the smallest others are hidden, too, until those are enough.
    """
    hidden = {n for n, was in enumerate(counts) if was is not None and 0 < was < least}
    others = sorted((was, n) for n, was in enumerate(counts) if was and n not in hidden)
    while hidden and others and sum(counts[n] or 0 for n in hidden) < least:
        hidden.add(others.pop(0)[1])
    if len(hidden) == 1 and others:  # alone it is what the total lacks
        hidden.add(others[0][1])
    return [None if n in hidden else was for n, was in enumerate(counts)]


def _sort_of(cell: Cell) -> str:
    if isinstance(cell, Anything):
        return "starred"
    if isinstance(cell, Label):
        return "labels"
    if isinstance(cell, Range):
        return "generalised"
    if cell.texts == (None,):
        return "missing"
    return "unchanged" if len(cell.texts) == 1 else "generalised"


def _weighted_median(values: Sequence[tuple[float, int]]) -> float | None:
    total = sum(records for _, records in values)
    seen = 0
    for value, records in sorted(values):
        seen += records
        if 2 * seen >= total:
            return value
    return None


def _pairs(
    named: Sequence[tuple[str, tuple[str, ...]]],
    before: Sequence[Any],
    after: Sequence[Any],
    least: int,
) -> list[Pair]:
    """How far each two columns moved together, the furthest first."""
    found = []
    for a, (one, bars) in enumerate(named):
        for b, (other, others) in enumerate(named[a + 1 :], start=a + 1):
            was, now = (_joint(side[a], side[b]) for side in (before, after))
            shares, spread = was / was.sum(), now / now.sum()
            distance = float(np.abs(shares - spread).sum() / 2)
            few = (was > 0) & (was < least)
            shown = np.where(few, np.nan, shares)
            found.append(Pair((one, other), distance, (bars, others), shown, spread))
    return sorted(found, key=lambda pair: -pair.distance)


def _joint(a: Any, b: Any) -> Any:
    """Records in each pair of bars."""
    from scipy.sparse import coo_array

    (code_a, shares_a), (code_b, shares_b) = a, b
    ones = np.ones(len(code_a))
    together = coo_array((ones, (code_a, code_b)), shape=(len(shares_a), len(shares_b))).tocsr()
    return shares_a.T @ (together @ shares_b)
