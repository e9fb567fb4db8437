"""(k, e)-anonymity: classes of k whose numeric sensitive values lie apart by e."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.rules import SIZE, SPREAD
from shoal.models.base import ClassHistograms, Model, Rule, WholeTable
from shoal.models.exact import Number, exact, plain, text, whole_number

__all__ = ["KE"]

EXPECTED = "a number of at least 0"

LARGEST_FLOAT = Fraction(sys.float_info.max)


@dataclass(frozen=True)
class KE(Model):
    """``n_e >= k`` and ``max - min >= e`` of a numeric sensitive column in every class.

    Missing values are left out of max and min; a class of missing values only
    has spread 0. Differences are float64, exact for whole numbers (columns in
    which they are not are refused), and e is rounded to float64 too.
    """

    k: int
    e: Fraction

    name: ClassVar[str] = "(k,e)"
    option: ClassVar[str] = "e"
    partner: ClassVar[str] = "k"
    summary: ClassVar[str] = "classes of k whose numeric sensitive values span at least e"
    monotone: ClassVar[bool] = True
    monotone_with_persons: ClassVar[bool] = True
    needs_numbers: ClassVar[bool] = True
    exact_rules: ClassVar[bool] = True

    def __post_init__(self) -> None:
        e = exact(self.e, "e", EXPECTED)
        if not 0 <= e <= LARGEST_FLOAT:
            raise PolicyError(f"e: expected {EXPECTED}; got {text(e)}")
        object.__setattr__(self, "e", e)
        object.__setattr__(self, "k", whole_number(self.k, "k"))

    @classmethod
    def of(cls, k: Number, e: Number) -> KE:
        return cls(whole_number(k, "k"), exact(e, "e", EXPECTED))

    @property
    def smallest_class(self) -> int:
        return max(self.k, 2) if self.e > 0 else self.k

    @property
    def k_asked(self) -> int:
        return self.k

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        enough = classes.sizes >= self.smallest_class
        return np.asarray(enough & (_spreads(classes) >= float(self.e)), dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> float | None:
        """The smallest spread of a class."""
        return float(_spreads(classes).min()) if classes.classes else None

    def parameters(self) -> dict[str, Any]:
        return {"k": self.k, "e": plain(self.e)}

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(SIZE, self.smallest_class), Rule(SPREAD, x=float(self.e)))

    def refusal(self, whole: WholeTable) -> str:
        start = f"no (k, e)-anonymous release with {self} exists: "
        if whole.size < self.smallest_class:
            return (
                f"{start}the table has {whole.size} {whole.unit}; "
                f"the largest possible k is {whole.size}"
            )
        spread = self.level(whole.classes) or 0.0
        return (
            f"{start}column {whole.column} spans {spread:g} in the whole table; "
            f"the largest possible e is {spread:g}"
        )

    def __str__(self) -> str:
        return f"k = {self.k}, e = {text(self.e)}"


def _spreads(classes: ClassHistograms) -> NDArray[np.float64]:
    """Largest minus smallest number of each class."""
    if classes.numbers is None:
        raise PolicyError("(k,e): expected a numeric sensitive column; got one without numbers")
    if not classes.classes:
        return np.zeros(0)
    numbers = classes.numbers[classes.values]
    low = np.minimum.reduceat(np.where(np.isnan(numbers), np.inf, numbers), classes.offsets[:-1])
    high = np.maximum.reduceat(np.where(np.isnan(numbers), -np.inf, numbers), classes.offsets[:-1])
    with np.errstate(invalid="ignore"):
        return np.where(high >= low, high - low, 0.0)
