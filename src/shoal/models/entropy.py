"""Entropy l-diversity: the sensitive values of a class are as uncertain as l equal ones."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.rules import ENTROPY, MARGIN, SIZE
from shoal.models.base import ClassHistograms, Rule, WholeTable
from shoal.models.diversity import Diversity
from shoal.models.exact import Number, exact, plain, round_down, text
from shoal.models.findings import Finding, Level, of_kind

__all__ = ["EntropyL"]

SHARE_MARGIN = 1e-9
"""Shares that come from logarithms are widened by this."""

LARGEST_EXACT = 20_000
"""Ties of classes larger than this (after dividing by the gcd) count as failed."""


@dataclass(frozen=True)
class EntropyFinding(Finding):
    """A finding that knows its level before ties were decided."""

    measured: float | None = None


@dataclass(frozen=True)
class EntropyL(Diversity):
    """``-sum p ln p >= ln l`` in every class; l may be any real number from 1.

    Written without fractions, ``n ln n - sum c ln c >= n ln l`` for counts c
    that sum to n. Floats decide where the two sides are clearly apart; at a
    near-tie integers do: ``n**n >= l**n * prod(c**c)``.
    """

    l: Fraction

    name: ClassVar[str] = "entropy-l"
    reading: ClassVar[str] = "entropy"
    summary: ClassVar[str] = "the values of a class are as uncertain as l equally frequent ones"
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        l = exact(self.l, "l", "a number of at least 1")
        if l < 1:
            raise PolicyError(f"l: expected a number of at least 1; got {text(l)}")
        object.__setattr__(self, "l", l)

    @classmethod
    def of(cls, l: Number) -> EntropyL:
        return cls(exact(l, "l", "a number of at least 1"))

    @property
    def smallest_class(self) -> int:
        return math.ceil(self.l)

    @property
    def values_enough(self) -> int:
        return math.ceil(self.l)

    @property
    def distinct_asked(self) -> int:
        return math.ceil(self.l)

    def largest_shares(
        self, counts: NDArray[np.int64], ordered: bool, moving: bool
    ) -> list[Fraction]:
        return [_largest_share(self.l, int(np.count_nonzero(counts)))] * len(counts)

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        least = self.smallest_class
        large = (classes.sizes >= least) & (classes.distinct >= least)
        uniform = classes.largest * classes.distinct == classes.mass
        surplus = _entropies(classes) - _log(self.l)
        result = np.asarray(large & (uniform | (surplus > MARGIN)), dtype=np.bool_)
        for e in np.flatnonzero(large & ~uniform & (np.abs(surplus) <= MARGIN)):
            counts = classes.counts[classes.offsets[e] : classes.offsets[e + 1]]
            result[e] = _holds_exactly(self.l, _reduced(counts))
        return result

    def level(self, classes: ClassHistograms) -> Level:
        """exp(entropy) of the worst class, rounded down to 6 decimals."""
        return self.finding(classes).level

    def finding(self, classes: ClassHistograms) -> EntropyFinding:
        failing = int((~self.holds(classes)).sum())
        if not classes.classes:
            return self._found(failing, None)
        uniform = classes.largest * classes.distinct == classes.mass
        reached = np.where(uniform, classes.distinct, np.exp(_entropies(classes) - MARGIN / 100))
        least = float(np.minimum(reached, classes.sizes).min())
        return self._found(failing, round_down(Fraction(least)))

    def merge(self, findings: Sequence[Finding]) -> EntropyFinding:
        parts = of_kind(EntropyFinding, findings)
        measured = [f.measured for f in parts if f.measured is not None]
        return self._found(sum(f.failing for f in parts), min(measured, default=None))

    def _found(self, failing: int, measured: float | None) -> EntropyFinding:
        # An exact tie was rounded down although the model holds: say what holds.
        tie = measured is not None and measured < self.l and not failing
        return EntropyFinding(failing, float(self.l) if tie else measured, measured=measured)

    def parameters(self) -> dict[str, Any]:
        return {"l": plain(self.l)}

    def rules(self) -> tuple[Rule, ...]:
        least = self.smallest_class
        return (Rule(SIZE, least), Rule(ENTROPY, least, 1, _log(self.l)))

    def refusal(self, whole: WholeTable) -> str:
        return (
            f"no entropy {text(self.l)}-diverse release exists: column {whole.column} "
            f"as a whole is not; the largest possible l is {self.level(whole.classes) or 0:g}"
        )

    def __str__(self) -> str:
        return f"l = {text(self.l)} (entropy)"


def _log(l: Fraction) -> float:
    """Logarithm, also where l is too large for a float."""
    return math.log(l.numerator) - math.log(l.denominator)


def _largest_share(l: Fraction, values: int) -> Fraction:
    """A share above which the rest cannot make up for: its entropy is the largest if uniform."""
    if l <= 1 or values < 2:
        return Fraction(1)
    wanted = _log(l) - SHARE_MARGIN
    low, high = 1 / values, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        rest = 1 - middle
        entropy = -middle * math.log(middle)
        if rest > 0:
            entropy += rest * (math.log(values - 1) - math.log(rest))
        if entropy >= wanted:
            low = middle
        else:
            high = middle
    return min(Fraction(1), Fraction(high) + Fraction(SHARE_MARGIN))


def _entropies(classes: ClassHistograms) -> NDArray[np.float64]:
    """Entropy of each class in nats."""
    if not classes.classes:
        return np.zeros(0)
    terms = classes.counts * np.log(classes.counts)
    sums = np.add.reduceat(terms, classes.offsets[:-1])
    return np.asarray(np.log(classes.mass) - sums / classes.mass, dtype=np.float64)


def _reduced(counts: NDArray[np.int64]) -> tuple[int, ...]:
    """The counts in ascending order without their common factor: the same distribution."""
    return tuple(sorted((counts // np.gcd.reduce(counts)).tolist()))


@lru_cache(maxsize=4096)
def _holds_exactly(l: Fraction, counts: tuple[int, ...]) -> bool:
    n = sum(counts)
    if n > LARGEST_EXACT:
        return False
    product = math.prod(c**c for c in counts)
    return bool((n * l.denominator) ** n >= l.numerator**n * product)
