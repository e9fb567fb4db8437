"""Models that bound how much more, or less, likely a class makes a sensitive value.

With q the share of a value in a class and p > 0 its share in the table, they look at
q / p: beta-likeness at how far it rises, delta-disclosure at how far it moves either
way. A logarithm of a rational other than 1 and a power of e are irrational, so no class
is ever exactly at such a limit: a limit rounded to the strict side at 60 digits decides
as the exact one does for all tables that fit a machine.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.rules import GAIN, LOG_GAIN, RATIO
from shoal.model_settings import BETA_READINGS
from shoal.models.base import ClassHistograms, Model, Rule, WholeTable
from shoal.models.exact import Number, exact, limited, plain, round_up, text
from shoal.models.findings import Finding, Level, of_kind

__all__ = ["BasicBeta", "DeltaDisclosure", "EnhancedBeta"]

EXPECTED = "a number above 0"
FIGURES = 60
"""Digits of limits that are irrational."""
NEAR = 1e-9
"""Floats that are closer than this, relatively, do not decide."""
FARTHEST = 100
"""No delta above this asks for less: e**100 is more than any table has records."""

Ratios = Sequence[Fraction]


@dataclass(frozen=True)
class Movement(Finding):
    """A finding that knows its level also where no parameter would do: infinity."""

    measured: float | None = None


class Likeness(Model):
    """What beta-likeness and delta-disclosure share: each looks at q / p of every value."""

    monotone: ClassVar[bool] = True
    compares_with_table: ClassVar[bool] = True

    @abstractmethod
    def rises(self, counts: NDArray[np.int64]) -> Ratios:
        """How large q / p may be, of each of these table counts (each above 0)."""

    @abstractmethod
    def measured(self, classes: ClassHistograms) -> float:
        """The strictest parameter that all classes (at least one) satisfy, infinity if none."""

    @property
    def smallest_class(self) -> int:
        return 1

    def largest_shares(
        self, counts: NDArray[np.int64], ordered: bool, moving: bool
    ) -> list[Fraction]:
        if moving:
            return super().largest_shares(counts, ordered, moving)
        total = int(counts.sum())
        shares = [Fraction(1)] * len(counts)
        present = np.flatnonzero(counts)
        for v, rise in zip(present, self.rises(counts[present]), strict=True):
            # rises are rounded down: a bound must not be stricter than the model
            wide = rise * (1 + Fraction(1, 10 ** (FIGURES - 5)))
            shares[v] = min(Fraction(1), Fraction(int(counts[v]), total) * wide)
        return shares

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        if not classes.classes:
            return np.zeros(0, dtype=np.bool_)
        present = np.flatnonzero(classes.total)
        rank = np.cumsum(classes.total > 0) - 1
        within = _within(_Cells.of(classes), self.rises(classes.total[present]), rank)
        return np.asarray(np.logical_and.reduceat(within, classes.offsets[:-1]), dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> Level:
        return self.finding(classes).level

    def finding(self, classes: ClassHistograms) -> Movement:
        measured = self.measured(classes) if classes.classes else None
        return self._found(int((~self.holds(classes)).sum()), measured)

    def merge(self, findings: Sequence[Finding]) -> Movement:
        parts = of_kind(Movement, findings)
        measured = [f.measured for f in parts if f.measured is not None]
        return self._found(sum(f.failing for f in parts), max(measured, default=None))

    @staticmethod
    def _found(failing: int, measured: float | None) -> Movement:
        endless = measured is not None and math.isinf(measured)
        return Movement(failing, None if endless else measured, measured=measured)

    def worst(self, levels: Iterable[float | int]) -> float | int:
        return max(levels)


class Beta(Likeness):
    """A reading of beta-likeness: what the setting ``beta_reading`` names."""

    beta: Fraction

    option: ClassVar[str] = "beta"
    reading: ClassVar[str]

    @classmethod
    def asked(cls, settings: Mapping[str, Any]) -> Model | None:
        beta, reading = settings.get("beta"), settings.get("beta_reading", "enhanced")
        if reading not in BETA_READINGS:
            expected = ", ".join(BETA_READINGS)
            raise PolicyError(f"beta_reading: expected one of {expected}; got {reading}")
        return cls.of(beta) if beta is not None and reading == cls.reading else None

    def parameters(self) -> dict[str, Any]:
        return {"beta": plain(self.beta)}

    def refusal(self, whole: WholeTable) -> str:  # the table gains nothing over itself
        return f"no release with {self} exists: column {whole.column}"

    def __str__(self) -> str:
        return f"beta = {text(self.beta)} ({self.reading})"


@dataclass(frozen=True)
class BasicBeta(Beta):
    """No value is more than 1 + beta times as frequent in a class as in the table.

    ``(q - p) / p <= beta`` where q > p (Cao and Karras 2012, Definition 2).
    """

    beta: Fraction

    name: ClassVar[str] = "basic-beta-likeness"
    reading: ClassVar[str] = "basic"
    summary: ClassVar[str] = "no value gains more than beta times its share in the table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _positive(self.beta, "beta"))

    @classmethod
    def of(cls, beta: Number) -> BasicBeta:
        return cls(_positive(beta, "beta"))

    def rises(self, counts: NDArray[np.int64]) -> Ratios:
        return [1 + self.beta] * len(counts)

    def measured(self, classes: ClassHistograms) -> float:
        """The largest gain (q - p) / p, rounded up to 6 decimals."""
        return round_up(_largest_gain(_Cells.of(classes)))

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(GAIN, *limited(1 + self.beta)),)


@dataclass(frozen=True)
class EnhancedBeta(Beta):
    """As basic beta-likeness, and frequent values rise less: ``(q - p) / p <= min(beta, -ln p)``.

    With the second limit no value of the table can reach a share of 1 in a class,
    however large beta is (Cao and Karras 2012, Definition 3).
    """

    beta: Fraction

    name: ClassVar[str] = "beta-likeness"
    reading: ClassVar[str] = "enhanced"
    summary: ClassVar[str] = "no value is much more frequent in a class than in the table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _positive(self.beta, "beta"))

    @classmethod
    def of(cls, beta: Number) -> EnhancedBeta:
        return cls(_positive(beta, "beta"))

    def rises(self, counts: NDArray[np.int64]) -> Ratios:
        return [1 + min(self.beta, limit) for limit in _log_gains(counts)]

    def measured(self, classes: ClassHistograms) -> float:
        """The largest gain (q - p) / p, rounded up; no beta will do where it exceeds -ln p."""
        endless = type(self)(Fraction(2**63))
        if not endless.holds(classes).all():
            return math.inf
        return round_up(_largest_gain(_Cells.of(classes)))

    def implied_by(self, other: Model) -> bool:
        return isinstance(other, EnhancedBeta) and other.beta <= self.beta

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(GAIN, *limited(1 + self.beta)), Rule(LOG_GAIN))


@dataclass(frozen=True)
class DeltaDisclosure(Likeness):
    """Every value of the table is in every class about as frequent as in the table.

    ``|ln(q / p)| < delta`` (Brickell and Shmatikov 2008, Definition 2). A class that
    lacks a value of the table fails: whoever is in it is known not to have that value.
    """

    delta: Fraction

    name: ClassVar[str] = "delta-disclosure"
    option: ClassVar[str] = "delta"
    summary: ClassVar[str] = "each value is in each class almost as frequent as in the table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _positive(self.delta, "delta"))

    @classmethod
    def of(cls, delta: Number) -> DeltaDisclosure:
        return cls(_positive(delta, "delta"))

    @property
    def rise(self) -> Fraction:
        """e**delta, rounded down."""
        power = min(self.delta, Fraction(FARTHEST))
        down = Context(prec=FIGURES, rounding=ROUND_FLOOR)
        result = down.exp(down.divide(Decimal(power.numerator), Decimal(power.denominator)))
        return Fraction(down.next_minus(result))

    def rises(self, counts: NDArray[np.int64]) -> Ratios:
        return [self.rise] * len(counts)

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        present = np.count_nonzero(classes.total)
        complete = np.asarray(classes.distinct == present, dtype=np.bool_)
        if not complete.any():
            return complete
        swapped = _Cells.of(classes).swapped()
        falls = _within(swapped, [self.rise], np.zeros(classes.domain, dtype=np.int64))
        kept = np.logical_and.reduceat(falls, classes.offsets[:-1])
        return np.asarray(complete & kept & super().holds(classes), dtype=np.bool_)

    def measured(self, classes: ClassHistograms) -> float:
        """The largest |ln(q / p)|, rounded up; infinity where a class lacks a value."""
        if (classes.distinct < np.count_nonzero(classes.total)).any():
            return math.inf
        cells = _Cells.of(classes)
        largest = float(np.abs(np.log(cells.left) - np.log(cells.right)).max())
        return round_up(Fraction(largest) + Fraction(NEAR))

    def parameters(self) -> dict[str, Any]:
        return {"delta": plain(self.delta)}

    def implied_by(self, other: Model) -> bool:
        return isinstance(other, DeltaDisclosure) and other.delta <= self.delta

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(RATIO, *limited(self.rise)),)

    def refusal(self, whole: WholeTable) -> str:  # the table is like itself
        return f"no release with {self} exists: column {whole.column}"

    def __str__(self) -> str:
        return f"delta = {text(self.delta)}"


@dataclass(frozen=True, eq=False)
class _Cells:
    """q / p of each cell (class, value) as ``left / right``, with the integers behind them.

    ``q / p = (count * N) / (C * n)``: N the sum of the table's counts, C the value's, n
    the class's.
    """

    factors: tuple[NDArray[np.int64], ...]
    """count, N, C, n."""
    values: NDArray[np.int64]

    @classmethod
    def of(cls, classes: ClassHistograms) -> _Cells:
        whole = np.full(len(classes.counts), classes.total.sum(), dtype=np.int64)
        mass = np.repeat(classes.mass, classes.distinct)
        table = classes.total[classes.values]
        return cls((classes.counts, whole, table, mass), classes.values)

    def swapped(self) -> _Cells:
        """The same with p / q."""
        count, whole, table, mass = self.factors
        return _Cells((table, mass, count, whole), self.values)

    @property
    def left(self) -> NDArray[np.float64]:
        return self.factors[0].astype(np.float64) * self.factors[1]

    @property
    def right(self) -> NDArray[np.float64]:
        return self.factors[2].astype(np.float64) * self.factors[3]

    def ratio(self, cell: int) -> Fraction:
        """Q / p of one cell, exactly."""
        a, b, c, d = (int(factor[cell]) for factor in self.factors)
        return Fraction(a * b, c * d)


def _within(cells: _Cells, rises: Ratios, rank: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which cells have q / p of at most the rise of their value.

    Floats decide what is clearly apart, integers the rest.
    """
    place = rank[cells.values]
    limit = np.array([float(rise) for rise in rises])[place]
    ratio = cells.left / cells.right
    within = np.asarray(ratio <= limit, dtype=np.bool_)
    for cell in np.flatnonzero(np.abs(ratio - limit) <= NEAR * limit):
        within[cell] = cells.ratio(cell) <= rises[place[cell]]
    return within


def _largest_gain(cells: _Cells) -> Fraction:
    """The largest (q - p) / p of any cell, exactly; 0 where none gains."""
    ratio = cells.left / cells.right
    near = np.flatnonzero(ratio >= ratio.max() * (1 - NEAR))
    distinct = np.unique(np.stack([factor[near] for factor in cells.factors]), axis=1)
    exactly = [Fraction(a * b, c * d) for a, b, c, d in distinct.T.tolist()]
    return max(Fraction(0), max(exactly) - 1)


def _log_gains(counts: NDArray[np.int64]) -> list[Fraction]:
    """-ln p of each value, rounded down; 0 for a value that all have."""
    down = Context(prec=FIGURES, rounding=ROUND_FLOOR)
    up = Context(prec=FIGURES, rounding=ROUND_CEILING)
    total = int(counts.sum())
    gains = []
    for count in counts.tolist():
        if count == total:
            gains.append(Fraction(0))
            continue
        # ln of the smaller p is the larger gain: p is rounded up, the logarithm away from 0
        log = up.next_plus(up.ln(up.divide(Decimal(count), Decimal(total))))
        gains.append(max(Fraction(0), Fraction(down.minus(log))))
    return gains


def _positive(value: Number, name: str) -> Fraction:
    number = exact(value, name, EXPECTED)
    if number <= 0:
        raise PolicyError(f"{name}: expected {EXPECTED}; got {text(number)}")
    return number
