"""l-diversity by counting: the frequency, distinct and recursive readings.

n_e is the size of class e, r_1 >= r_2 >= ... >= r_m the counts of its sensitive
values. All decisions are taken in integers. Entropy l-diversity, which needs
logarithms, is in `entropy`; unique distinct l-diversity, which looks at all
classes at once, in `unique`.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.rules import DISTINCT, FREQUENCY, RECURSIVE, SIZE
from shoal.model_settings import READINGS
from shoal.models.base import ClassHistograms, Model, Rule, WholeTable
from shoal.models.exact import Number, exact, limited, plain, text, whole_number

__all__ = [
    "DistinctL",
    "Diversity",
    "FrequencyL",
    "RecursiveL",
    "divisor",
    "exemption",
    "largest_l",
    "share_text",
]


def largest_l(counts: NDArray[np.int64], size: int | None = None) -> int:
    """Largest l for which a table with these value counts can be l-diverse.

    That is ``floor(N / r_1)``: a table is eligible iff ``l * r_1 <= N``
    (DESIGN section 2). `size` is N where it is not the sum of the counts.
    0 for an empty table.
    """
    largest = int(np.max(counts, initial=0))
    total = int(np.sum(counts)) if size is None else size
    return total // largest if largest else 0


def share_text(whole: WholeTable) -> str:
    """``one value is 31.0% of the records (column disease)``."""
    share = 100 * whole.top_count / max(1, whole.size)
    return f"{whole.top_value} is {share:.1f}% of the {whole.unit} (column {whole.column})"


def exemption(whole: WholeTable) -> str:
    """The way on where the value that is too frequent says nothing that must not be known."""
    name = whole.column
    return f"; if that value is not sensitive, exempt it: exempt = {{{name} = [...]}}"


def _another_reading(whole: WholeTable, l: int) -> str:
    """The reading that allows for frequent values, where it reaches the l that is asked for."""
    values = min(int(whole.classes.distinct.sum()), whole.size)
    if values < l:
        return ""
    return f"; l_reading = distinct lets values be frequent, and allows up to {values}"


def divisor(l: int) -> int:
    """The number to divide class sizes by where l is asked for, however large."""
    # numpy divides by int64 only; no table has 2**62 records, so the answer is the same
    return min(l, 2**62)


class Diversity(Model):
    """A reading of l-diversity: what the setting ``l_reading`` names."""

    option: ClassVar[str] = "l"
    reading: ClassVar[str]

    @classmethod
    def asked(cls, settings: Mapping[str, Any]) -> Model | None:
        l, c = settings.get("l"), settings.get("c")
        reading = settings.get("l_reading", "frequency")
        if l is None and c is None:
            return None
        if l is None:
            raise PolicyError("c: expected together with l (recursive l-diversity); got c alone")
        _refuse_strange_readings(reading, c)
        return cls._read(l, c) if reading == cls.reading else None

    @classmethod
    def _read(cls, l: Number, c: Number | None) -> Model:
        return cls.of(l)


def _refuse_strange_readings(reading: str, c: Number | None) -> None:
    if reading not in READINGS:
        raise PolicyError(f"l_reading: expected one of {', '.join(READINGS)}; got {reading}")
    if reading == RecursiveL.reading and c is None:
        raise PolicyError("c: expected a number above 0 for recursive l-diversity; got none")
    if reading != RecursiveL.reading and c is not None:
        raise PolicyError(f"c: expected with l_reading = recursive only; got l_reading = {reading}")


@dataclass(frozen=True)
class FrequencyL(Diversity):
    """No sensitive value is more frequent than 1/l in a class: ``l * r_1 <= n_e``.

    The default reading of l-diversity (papers 000 and 004).
    """

    l: int

    name: ClassVar[str] = "frequency-l"
    reading: ClassVar[str] = "frequency"
    summary: ClassVar[str] = "no sensitive value is more frequent than 1/l in a class"
    monotone: ClassVar[bool] = True
    exact_rules: ClassVar[bool] = True
    size_and_cap: ClassVar[bool] = True
    takes_exempt: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole_number(self.l, "l"))

    @classmethod
    def of(cls, l: Number) -> FrequencyL:
        return cls(whole_number(l, "l"))

    @property
    def smallest_class(self) -> int:
        return self.l

    @property
    def cap(self) -> Fraction:
        return Fraction(1, self.l)

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        # l * r_1 <= n_e  iff  r_1 <= floor(n_e / l), which cannot overflow
        return np.asarray(classes.largest <= classes.sizes // divisor(self.l), dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> int | None:
        return int((classes.sizes // classes.largest).min()) if classes.classes else None

    def parameters(self) -> dict[str, Any]:
        return {"l": self.l}

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(FREQUENCY, self.l),)

    def possible(self, whole: WholeTable) -> bool:
        # With persons, sum the condition over classes: someone in several classes
        # counts in each, but there are never more members than records.
        most = whole.records if whole.persons else whole.size
        return self.l * whole.top_count <= most

    def refusal(self, whole: WholeTable) -> str:
        if not whole.top_count:
            return f"no {self.l}-diverse release exists: the table has no records"
        best = (whole.records if whole.persons else whole.size) // whole.top_count
        return (
            f"no {self.l}-diverse release exists: {share_text(whole)}, "
            f"more than 1/{self.l}; the largest possible l is {best}"
            f"{_another_reading(whole, self.l)}{exemption(whole)}"
        )

    def __str__(self) -> str:
        return f"l = {self.l} (frequency)"


@dataclass(frozen=True)
class DistinctL(Diversity):
    """A class has at least l distinct sensitive values (and l persons, where declared).

    Exempt values together count as one of them; a class of nothing else needs l records only.
    """

    l: int

    name: ClassVar[str] = "distinct-l"
    reading: ClassVar[str] = "distinct"
    summary: ClassVar[str] = "every class has at least l distinct sensitive values"
    monotone: ClassVar[bool] = True
    monotone_with_persons: ClassVar[bool] = True
    exact_rules: ClassVar[bool] = True
    takes_exempt: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole_number(self.l, "l"))

    @classmethod
    def of(cls, l: Number) -> DistinctL:
        return cls(whole_number(l, "l"))

    @property
    def smallest_class(self) -> int:
        return self.l

    @property
    def values_enough(self) -> int:
        return self.l

    @property
    def distinct_asked(self) -> int:
        return self.l

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        return np.asarray(self._reached(classes) >= self.l, dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> int | None:
        return int(self._reached(classes).min()) if classes.classes else None

    def parameters(self) -> dict[str, Any]:
        return {"l": self.l}

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(SIZE, self.l), Rule(DISTINCT, self.l))

    def refusal(self, whole: WholeTable) -> str:
        return (
            f"no distinct {self.l}-diverse release exists: column {whole.column} has "
            f"{whole.classes.distinct.sum()} distinct values in {whole.size} {whole.unit}; "
            f"the largest possible l is {self.level(whole.classes) or 0}"
        )

    def __str__(self) -> str:
        return f"l = {self.l} (distinct)"

    @staticmethod
    def _reached(classes: ClassHistograms) -> NDArray[np.int64]:
        # One person with l values must not pass for l persons.
        if classes.exempt is None:
            return np.minimum(classes.distinct, classes.sizes)
        sensitive = classes.sensitive_values
        counted = sensitive + (classes.distinct > sensitive)  # all exempt values are one
        return np.where(sensitive > 0, np.minimum(counted, classes.sizes), classes.sizes)


@dataclass(frozen=True)
class RecursiveL(Diversity):
    """Recursive (c, l)-diversity: ``r_1 < c * (r_l + r_{l+1} + ... + r_m)``.

    Paper 002 prints r_1 in place of r_l, a typo. A class of fewer than l
    distinct values has an empty tail and fails.
    """

    c: Fraction
    l: int

    name: ClassVar[str] = "recursive-l"
    reading: ClassVar[str] = "recursive"
    summary: ClassVar[str] = "the most frequent value is rarer than c times the l-th and later ones"
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        c = exact(self.c, "c", "a number above 0")
        if c <= 0:
            raise PolicyError(f"c: expected a number above 0; got {text(c)}")
        object.__setattr__(self, "c", c)
        object.__setattr__(self, "l", whole_number(self.l, "l"))

    @classmethod
    def of(cls, c: Number, l: Number) -> RecursiveL:
        return cls(exact(c, "c", "a number above 0"), whole_number(l, "l"))

    @classmethod
    def _read(cls, l: Number, c: Number | None) -> Model:
        assert c is not None  # a recursive reading without c was refused
        return cls.of(c, l)

    @property
    def smallest_class(self) -> int:
        return self.l

    @property
    def values_enough(self) -> int:
        return max(self.l, math.floor(self.l - 1 + 1 / self.c) + 1)  # 1 < c * (values - l + 1)

    @property
    def distinct_asked(self) -> int:
        return self.l

    def largest_shares(
        self, counts: NDArray[np.int64], ordered: bool, moving: bool
    ) -> list[Fraction]:
        # r_1 < c * (n - r_1), as the tail leaves r_1 out
        share = self.c / (1 + self.c) if self.l > 1 else min(self.c, Fraction(1))
        return [share] * len(counts)

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        return np.asarray(self._reached(classes) >= self.l, dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> int | None:
        """The largest l that every class reaches with this c; 0 if not even l = 1."""
        return int(self._reached(classes).min()) if classes.classes else None

    def parameters(self) -> dict[str, Any]:
        return {"c": plain(self.c), "l": self.l}

    def rules(self) -> tuple[Rule, ...]:
        as_float = float(min(self.l, 2**52))
        return (Rule(SIZE, self.l), Rule(RECURSIVE, *limited(self.c), as_float))

    def refusal(self, whole: WholeTable) -> str:
        return (
            f"no recursive ({text(self.c)}, {self.l})-diverse release exists: column "
            f"{whole.column} as a whole is not; the largest possible l with "
            f"c = {text(self.c)} is {self.level(whole.classes) or 0}"
        )

    def __str__(self) -> str:
        return f"l = {self.l} (recursive, c = {text(self.c)})"

    def _reached(self, classes: ClassHistograms) -> NDArray[np.int64]:
        """For each class the largest l it satisfies with this c.

        The tail r_l + ... + r_m shrinks as l grows, so that l is the number of
        places in the descending order of counts where the tail is long enough.
        """
        if not classes.classes:
            return np.zeros(0, dtype=np.int64)
        of_class = np.repeat(np.arange(classes.classes), classes.distinct)
        counts = classes.counts[np.lexsort((-classes.counts, of_class))]
        before = np.cumsum(counts) - counts
        tail = classes.mass[of_class] - (before - before[classes.offsets[:-1]][of_class])
        enough = _less_than(classes.largest[of_class], self.c, tail)
        reached = np.add.reduceat(enough.astype(np.int64), classes.offsets[:-1])
        return np.minimum(reached, classes.sizes)


def _less_than(
    amount: NDArray[np.int64], ratio: Fraction, whole: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """``amount < ratio * whole``, exactly, for any positive ratio."""
    numerator, denominator = ratio.numerator, ratio.denominator
    most = int(np.max(whole, initial=0))
    if most * max(numerator, denominator) < 2**63:
        return np.asarray(amount * denominator < whole * numerator, dtype=np.bool_)
    left = amount.astype(object) * denominator
    return np.asarray(left < whole.astype(object) * numerator, dtype=np.bool_)
