"""What the cells of a column of numbers add to a sum, an average or a quantile.

A cell stands for numbers; a condition on the column itself leaves some of them. For every
cell, and every way (signature) in which these conditions can come out on it, `Measured` says
how likely the way is, where the numbers lie then (pieces), and between which ends they must.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.recipient.columns import Released
from shoal.recipient.logic import Expression, On, Truth, negated
from shoal.recipient.spread import Asked
from shoal.released.cells import Anything, Range, Values
from shoal.released.conditions import Test

__all__ = ["Measured", "measured", "present"]

Floats = NDArray[np.float64]
Piece = tuple[int, int, float, float, float]
"""Cell, signature, lowest, highest, and the share of the cell that lies there."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A column that is summed, averaged or asked for a quantile."""

    codes: NDArray[np.int32]
    """Which distinct cell each record has."""
    signatures: list[dict[On, Truth]]
    """Ways in which the conditions on the column can come out together."""
    possible: NDArray[np.bool_]
    """Cell by signature: whether it can come out so."""
    low: Floats
    high: Floats
    """Cell by signature: between which ends its numbers must lie then."""
    cell: NDArray[np.int32]
    signature: NDArray[np.int32]
    first: Floats
    last: Floats
    share: Floats
    """Pieces: where the numbers of a cell are, evenly from first to last."""
    whole: bool
    """All are whole numbers."""

    @cached_property
    def shares(self) -> Floats:
        """Cell by signature: how likely it is to come out so."""
        return self._summed(self.share)

    @cached_property
    def totals(self) -> Floats:
        """Cell by signature: the share times the mean of the numbers there."""
        return self._summed(self.share * (self.first + self.last) / 2)

    def _summed(self, of_piece: Floats) -> Floats:
        cells, ways = self.possible.shape
        at = self.cell.astype(np.int64) * ways + self.signature
        found = np.bincount(at, of_piece, cells * ways).astype(np.float64, copy=False)
        return found.reshape(cells, ways)


def present(name: str) -> Expression:
    """That a column is not missing: SQL leaves missing values out of sums and averages."""
    return negated(Test(name, "null"))


def measured(released: Released, name: str, parts: Sequence[On]) -> Measured:
    """How a column of numbers is measured under the parts of a condition that look at it."""
    own = [part for part in parts if part.column == name]
    if len(own) == 1 and own[0].condition == present(name):
        numbers = released.numbers(name)
        if numbers is not None:
            return _plain(*numbers, own[0])
    codes, cells, reading = released.cells(name)
    if reading.kind != "numeric":
        raise PolicyError(
            f"query: column {name!r} is {reading.kind}; sums, averages and quantiles are of numbers"
        )
    return _general(codes, Asked(name, reading, cells, own))


def _plain(codes: NDArray[np.int32], numbers: pa.Array, has_missing: bool, part: On) -> Measured:
    """Cells that are one number each, with no condition on them."""
    values = np.append(np.asarray(numbers.to_numpy(zero_copy_only=False)), [0.0] * has_missing)
    there = np.ones(len(values), dtype=bool)
    if has_missing:
        there[-1] = False
    ends = np.column_stack([values, np.zeros(len(values))])
    return Measured(
        codes=codes, signatures=[{part: True}, {part: False}],
        possible=np.column_stack([there, ~there]), low=ends, high=ends,
        cell=np.arange(len(values), dtype=np.int32),
        signature=np.where(there, 0, 1).astype(np.int32),
        first=values, last=values, share=np.ones(len(values)),
        whole=bool((values % 1 == 0).all()),
    )  # fmt: skip


def _general(codes: NDArray[np.int32], asked: Asked) -> Measured:
    """Cells of any form, region by region of the conditions on the column."""
    sheet = _Sheet(asked)
    stars = [row for row, cell in enumerate(asked.cells) if isinstance(cell, Anything)]
    for row, cell in enumerate(asked.cells):
        if isinstance(cell, Values):
            for text in cell.texts:
                sheet.put_value(row, text, 1 / len(cell.texts))
    sheet.put_ranges([(row, cell) for row, cell in enumerate(asked.cells)
                      if isinstance(cell, Range)])  # fmt: skip
    if stars:
        sheet.put_star(stars[0])
    return sheet.measured(codes, stars)


class _Sheet:
    """A column being measured, one row a cell."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        regions = asked.regions
        shape = (len(asked.cells), len(regions.signatures))
        self.possible = np.zeros(shape, dtype=bool)
        self.low, self.high = np.full(shape, np.inf), np.full(shape, -np.inf)
        self.pieces: list[Piece] = []
        self.cuts = [float(cut) for cut in regions.cuts]

    def _reach(self, row: int, region: int, low: float, high: float) -> None:
        """Numbers from `low` to `high` are possible, and come out as the region does."""
        signature = self.asked.regions.signature[region]
        self.possible[row, signature] = True
        self.low[row, signature] = min(self.low[row, signature], low)
        self.high[row, signature] = max(self.high[row, signature], high)

    def put_value(self, row: int, text: str | None, share: float) -> None:
        regions = self.asked.regions
        key = None if text is None else self.asked.line.key(text)
        region = regions.missing if key is None else regions.of(key)
        value = 0.0 if key is None else float(key)
        self._reach(row, region, value, value)
        self.pieces.append((row, regions.signature[region], value, value, share))

    def put_ranges(self, ranges: Sequence[tuple[int, Range]]) -> None:
        line, regions = self.asked.line, self.asked.regions
        for row, cell in ranges:
            low, high = sorted((line.key(cell.low), line.key(cell.high)))
            for region in range(regions.of(low), regions.of(high) + 1):
                below, above = self._ends(region)
                self._reach(row, region, max(float(low), below), min(float(high), above))
            self._spread(row, float(low), float(high), 1.0)

    def put_star(self, row: int) -> None:
        """A suppressed cell: any number at all, and a missing value."""
        regions, domain = self.asked.regions, self.asked.domain
        for region in range(regions.missing):
            self._reach(row, region, *self._ends(region))
        self._reach(row, regions.missing, 0.0, 0.0)
        absent = domain.share_of_missing()
        self.pieces.append((row, regions.signature[regions.missing], 0.0, 0.0, absent))
        if domain.values:
            self._spread(row, float(domain.values[0]), float(domain.values[-1]), 1 - absent)

    def _spread(self, row: int, low: float, high: float, weight: float) -> None:
        """Numbers evenly from `low` to `high`, cut where the conditions cut."""
        regions, whole = self.asked.regions, self.asked.domain.whole
        for region in range(regions.of(low), regions.of(high) + 1):
            below, above = self._ends(region)
            single = region % 2 == 1
            if low == high:
                first, last, part = low, low, 1.0
            elif whole and not single:
                first = max(low, math.floor(below) + 1 if math.isfinite(below) else low)
                last = min(high, math.ceil(above) - 1 if math.isfinite(above) else high)
                part = (last - first + 1) / (high - low + 1)
            elif whole:
                first = last = below
                part = float(below == math.floor(below)) / (high - low + 1)
            else:
                first, last = max(low, below), min(high, above)
                part = 0.0 if single else (last - first) / (high - low)
            if part > 0:
                self.pieces.append((row, regions.signature[region], first, last, weight * part))

    def _ends(self, region: int) -> tuple[float, float]:
        i = region // 2
        if region % 2:
            return self.cuts[i], self.cuts[i]
        below = self.cuts[i - 1] if i > 0 else -math.inf
        return below, self.cuts[i] if i < len(self.cuts) else math.inf

    def measured(self, codes: NDArray[np.int32], stars: Sequence[int]) -> Measured:
        """What came of it; all stars are alike."""
        own = [piece for piece in self.pieces if stars and piece[0] == stars[0]]
        pieces = [*self.pieces, *((row, *piece[1:]) for row in stars[1:] for piece in own)]
        for row in stars[1:]:
            for sheet in (self.possible, self.low, self.high):
                sheet[row] = sheet[stars[0]]
        cell, signature, first, last, share = (
            np.array(column) for column in zip(*pieces, strict=True)
        )
        return Measured(
            codes=codes, signatures=self.asked.regions.signatures, possible=self.possible,
            low=np.where(self.possible, self.low, 0.0),
            high=np.where(self.possible, self.high, 0.0),
            cell=cell.astype(np.int32), signature=signature.astype(np.int32), first=first,
            last=last, share=share, whole=self.asked.domain.whole,
        )  # fmt: skip
