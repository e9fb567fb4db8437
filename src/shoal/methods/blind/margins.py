"""How far a group is from breaking a model, in exchanges of values; all in integers.

A margin is a whole number that is negative where the group breaks the model,
and that exchanging one record's sensitive value for another changes by at most
one. That is what lets a random margin hide whose value decided.

Where a model caps the share of a value (frequency l: 1/l; alpha), the cap is
one on what a reader may believe. A reader who also knows how groups are made
may have learnt odds of at most `spent`; the group must then have so much less
of the value that his belief still meets the cap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.rules import (
    ALPHA,
    CLOSE,
    DISTINCT,
    FREQUENCY,
    GAIN,
    LOG_GAIN,
    RATIO,
    RECURSIVE,
    SIZE,
    Rules,
)
from shoal.models.base import Model

__all__ = ["UNIT", "Counts", "Margins", "without_margin"]

Counts = NDArray[np.int64]

UNIT = 1 << 32
"""Odds are whole numbers of this fraction of one, rounded up."""
ENDLESS = 1 << 62


def _shared(a: int, b: int, kind: int) -> Fraction | None:
    """The most that one value may have of a group, if the rule is of that kind."""
    if kind == FREQUENCY:
        return Fraction(1, a)
    return min(Fraction(a, b), Fraction(1)) if kind == ALPHA else None


def room(share: Fraction, n: int, spent: int) -> int:
    """The most of n records that may have one value, if odds of `spent` were learnt.

    With r of n records, odds r / (n - r) times `spent` are to stay below those of the share.
    """
    allowed = share.numerator * UNIT
    return n * allowed // (allowed + (share.denominator - share.numerator) * spent)


def _distinct(least: int, _: int, l: int, counts: Counts, total: Counts, ordered: bool) -> int:  # noqa: E741
    return int(np.count_nonzero(counts)) - least


def _recursive(a: int, b: int, l: int, counts: Counts, total: Counts, ordered: bool) -> int:  # noqa: E741
    """``b r_1 < a (r_l + ... + r_m)``; an exchange changes either sum by one at most."""
    falling = np.sort(counts)[::-1]
    slack = a * int(falling[l - 1 :].sum()) - b * int(falling[0])
    return (slack - 1) // (a + b)


def _close(a: int, b: int, table: int, counts: Counts, total: Counts, ordered: bool) -> int:
    """Distance to the table; an exchange moves one record, over all values at most."""
    here = [int(c) for c in counts[total > 0]]
    there = [int(c) for c in total[total > 0]]
    mass, steps = sum(here), max(1, len(there) - 1) if ordered else 1
    excess = [h * table - t * mass for h, t in zip(here, there, strict=True)]
    moved = _running(excess) if ordered else sum(max(0, e) for e in excess)
    return (steps * mass * table * a // b - moved) // (steps * table)


def _running(excess: Sequence[int]) -> int:
    gap = moved = 0
    for e in excess:
        gap += e
        moved += abs(gap)
    return moved


def _gain(a: int, b: int, table: int, counts: Counts, total: Counts, ordered: bool) -> int:
    """``q <= (a / b) p``: a cap on the count of each value."""
    mass = int(counts.sum())
    cells = zip(counts.tolist(), total.tolist(), strict=True)
    return min((a * there * mass // (b * table) - here for here, there in cells), default=ENDLESS)


def _log_gain(a: int, b: int, table: int, counts: Counts, total: Counts, ordered: bool) -> int:
    """``q <= (1 - ln p) p``: a cap on the count of each value, rounded down."""
    mass = int(counts.sum())
    there = total[total > 0].astype(np.float64)
    caps = mass * there / table * (1 - np.log(there / table))
    even = total[total > 0] * mass // table
    room = np.maximum(even, np.floor(caps * (1 - 1e-9)).astype(np.int64)) - counts[total > 0]
    return int(room.min(initial=ENDLESS))


def _ratio(a: int, b: int, table: int, counts: Counts, total: Counts, ordered: bool) -> int:
    """The same, and ``q >= (b / a) p``: a least count of each value."""
    mass = int(counts.sum())
    cells = zip(counts.tolist(), total.tolist(), strict=True)
    least = min((here - -(-b * there * mass // (a * table)) for here, there in cells), default=0)
    return min(_gain(a, b, table, counts, total, ordered), least)


OTHERS: dict[int, Callable[[int, int, int, Counts, Counts, bool], int]] = {
    DISTINCT: _distinct,
    RECURSIVE: _recursive,
    CLOSE: _close,
    GAIN: _gain,
    LOG_GAIN: _log_gain,
    RATIO: _ratio,
}
KNOWN = {SIZE, FREQUENCY, ALPHA, *OTHERS}


def without_margin(models: Sequence[Model]) -> list[Model]:
    """Models for which no margin is known that one exchange changes by at most one."""
    return [model for model in models if any(rule.kind not in KNOWN for rule in model.rules())]


class Margins:
    """The rules about sensitive values, asked of groups by their counts."""

    def __init__(self, rules: Rules) -> None:
        self.columns = len(rules.start) - 1
        self.shares: list[tuple[int, Fraction]] = []
        self.others: list[Callable[[Sequence[Counts]], int]] = []
        for r, kind in enumerate(rules.kind.tolist()):
            column, a, b = int(rules.column[r]), int(rules.a[r]), int(rules.b[r])
            share = _shared(a, b, kind)
            if share is not None:
                self.shares.append((column, share))
            elif kind != SIZE:
                self.others.append(self._other(rules, r, OTHERS[kind]))

    @staticmethod
    def _other(
        rules: Rules, r: int, margin: Callable[..., int]
    ) -> Callable[[Sequence[Counts]], int]:
        column, a, b = int(rules.column[r]), int(rules.a[r]), int(rules.b[r])
        x, ordered = int(rules.x[r]), bool(rules.ordered[column])
        total = rules.total[rules.start[column] : rules.start[column + 1]]
        return lambda counts: margin(a, b, x, counts[column], total, ordered)

    @property
    def blindfold(self) -> bool:
        """Whether nothing is asked about sensitive values."""
        return not (self.shares or self.others)

    def of(self, n: int, counts: Sequence[Counts], spent: int) -> int:
        """The margin of a group of n records by the counts of each sensitive column."""
        by_share = (room(s, n, spent) - int(counts[c].max(initial=0)) for c, s in self.shares)
        return min((*by_share, *(margin(counts) for margin in self.others)), default=ENDLESS)

    def surely(self, sizes: Sequence[int], counts: Sequence[Counts], spent: int) -> bool:
        """Whether parts of these sizes keep the rules whichever record has which value."""
        return not self.others and all(
            min(n, int(counts[c].max(initial=0))) <= room(share, n, spent)
            for c, share in self.shares
            for n in sizes
        )
