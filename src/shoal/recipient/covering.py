"""What each cell of a column can stand for, with how likely each value is.

A cell that covers several values says nothing about which of them a record has. The other
cells of the column do: a value that many records are known to have is likelier also where it
is hidden. `Covered.weigh` moves equal shares towards those that the whole column makes
likeliest (a few rounds of expectation-maximisation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.recipient.apart import Apart
from shoal.recipient.columns import Released
from shoal.recipient.groups import spread_grouping
from shoal.recipient.spread import Asked
from shoal.released.cells import Anything, Label, Range, Values

__all__ = ["Continuous", "Covered", "Dealt", "covered", "dealt"]

ROUNDS = 2
"""Of weighing. More would find peaks that are not there: on census(2000), k = 50, the mean age
from samples is off by 1.5 years without it, by 0.1 after two rounds, by 0.8 after fifty."""
MOST_LISTED = 10_000
"""Whole numbers or days beyond which each is as likely as its neighbours."""
EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False)
class Covered:
    """A column whose values can be listed."""

    name: str
    kind: str
    """Of the column: numeric, date, ordinal, categorical."""
    codes: NDArray[np.int32]
    """Which distinct cell each record has."""
    values: pa.Array
    """What records can have, in order; a missing value is a null, and the last."""
    offsets: NDArray[np.int64]
    value: NDArray[np.int32]
    share: NDArray[np.float64]
    """``value[offsets[c]:offsets[c + 1]]`` are the values that cell c covers, with their shares."""

    @property
    def cells(self) -> int:
        return len(self.offsets) - 1

    @property
    def cell(self) -> NDArray[np.int64]:
        """The cell that each entry belongs to."""
        return np.repeat(np.arange(self.cells), np.diff(self.offsets))

    def weigh(self) -> Covered:
        """With shares that the whole column makes likelier."""
        records = np.bincount(self.codes, minlength=self.cells).astype(float)
        cell, share = self.cell, self.share
        for _ in range(ROUNDS):
            found = np.bincount(self.value, share * records[cell], minlength=len(self.values))
            raw = self.share * found[self.value]
            total = np.bincount(cell, raw, minlength=self.cells)
            share = raw / np.where(total > 0, total, 1.0)[cell]
        return replace(self, share=share)

    def likeliest(self) -> NDArray[np.int32]:
        """The likeliest value of each cell; the first of equals."""
        order = np.lexsort((self.value, -self.share, self.cell))
        first: NDArray[np.int32] = self.value[order[self.offsets[:-1]]]
        return first

    def draw(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """A value for each record, by the shares of its cell."""
        ends = np.cumsum(self.share)
        starts = np.concatenate([[0.0], ends])[self.offsets]
        at = starts[:-1][self.codes] + rng.random(len(self.codes)) * np.diff(starts)[self.codes]
        entry = np.searchsorted(ends, at, side="right")
        # Rounding must not reach into the next cell.
        entry = np.clip(entry, self.offsets[self.codes], self.offsets[self.codes + 1] - 1)
        drawn: NDArray[np.int32] = self.value[entry]
        return drawn


@dataclass(frozen=True, eq=False)
class Dealt(Covered):
    """Values that are published by group (anatomy): each group has its values just so often."""

    def draw(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """The values of each group, dealt out to its records."""
        order = np.lexsort((rng.random(len(self.codes)), self.codes))
        sizes = np.bincount(self.codes, minlength=self.cells)
        counts = np.rint(self.share * sizes[self.cell]).astype(np.int64)
        drawn = np.empty(len(self.codes), dtype=np.int32)
        drawn[order] = np.repeat(self.value, counts)
        return drawn


@dataclass(frozen=True, eq=False)
class Continuous:
    """A column of numbers or moments, of which only the ends of cells are known."""

    name: str
    kind: str
    codes: NDArray[np.int32]
    low: NDArray[np.float64]
    """Of each cell; NaN where it is missing, the ends of all others where it is a star."""
    high: NDArray[np.float64]
    star: NDArray[np.bool_]
    whole: bool = False
    """Whole numbers or days, too many to be listed."""

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """A value for each record, from the ends of its cell and what lies between."""
        low, high = self.low[self.codes], self.high[self.codes]
        if self.whole:
            return np.minimum(high, low + np.floor(rng.random(len(low)) * (high - low + 1)))
        return np.asarray(low + rng.random(len(low)) * (high - low))


def dealt(apart: Apart) -> Dealt:
    """The sensitive column of a release in two tables."""
    grouping = spread_grouping(apart.name, apart.codes, apart.cells, apart.reading, ())
    order = np.argsort(grouping.cell, kind="stable")
    sizes = np.bincount(grouping.cell, minlength=len(apart.cells))
    return Dealt(
        apart.name, apart.reading.kind, apart.codes, grouping.values,
        np.concatenate([[0], np.cumsum(sizes)]), grouping.value[order], grouping.share[order],
    )  # fmt: skip


def covered(released: Released, name: str) -> Covered | Continuous:
    """What the cells of a column cover."""
    codes, cells, reading = released.cells(name)
    if any(isinstance(cell, Label) for cell in cells):
        raise PolicyError(
            f"expand: column {name!r} was generalised along a hierarchy that is not at hand; "
            f"give --hierarchy {name}=FILE, or the policy"
        )
    if reading.hidden_order and any(isinstance(cell, Range) for cell in cells):
        raise PolicyError(
            f"expand: the order of column {name!r} is not at hand; give the policy (--policy)"
        )
    asked = Asked(name, reading, cells, ())
    known = asked.domain.values
    many = len(known) > 1 and asked.domain.measured and known[-1] - known[0] >= MOST_LISTED
    if asked.domain.measured and (many or not asked.domain.whole):
        return _continuous(name, codes, asked, reading.kind)
    grouping = spread_grouping(name, codes, cells, reading, ())
    offsets = np.concatenate([[0], np.cumsum(np.bincount(grouping.cell, minlength=len(cells)))])
    return Covered(
        name, reading.kind, codes, grouping.values, offsets, grouping.value, grouping.share
    ).weigh()  # fmt: skip


def _continuous(name: str, codes: NDArray[np.int32], asked: Asked, kind: str) -> Continuous:
    known = asked.domain.values
    ends = (float(known[0]), float(known[-1])) if known else (np.nan, np.nan)
    pairs: list[tuple[float, float]] = []
    for cell in asked.cells:
        if isinstance(cell, Anything):
            pairs.append(ends)
        elif isinstance(cell, Range):
            pairs.append(_floats(asked, cell.low, cell.high))
        elif isinstance(cell, Values) and cell.texts[0] is not None:
            pairs.append(_floats(asked, cell.texts[0], cell.texts[-1] or cell.texts[0]))
        else:
            pairs.append((np.nan, np.nan))
    low, high = np.array(pairs, dtype=float).reshape(-1, 2).T
    star = np.array([isinstance(cell, Anything) for cell in asked.cells])
    return Continuous(name, kind, codes, low, high, star, asked.domain.whole)


def _floats(asked: Asked, *texts: str) -> tuple[float, float]:
    keys = sorted(asked.line.key(text) for text in texts)
    return float(keys[0]), float(keys[-1])


def as_days(ordinals: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Day numbers since 1970 in place of those since year 1."""
    return np.asarray(ordinals, dtype=np.float64) - float(EPOCH)
