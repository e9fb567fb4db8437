"""(alpha, k)-anonymity: classes of k in which no sensitive value dominates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.rules import ALPHA, SIZE
from shoal.models.base import ClassHistograms, Model, Rule, WholeTable
from shoal.models.diversity import exemption, share_text
from shoal.models.exact import (
    DIGITS,
    Number,
    at_most,
    exact,
    limited,
    plain,
    round_up,
    text,
    whole_number,
)

__all__ = ["AlphaK"]

EXPECTED = "a number above 0 and at most 1"


@dataclass(frozen=True)
class AlphaK(Model):
    """``n_e >= k`` and ``r_1 <= alpha * n_e`` in every class."""

    alpha: Fraction
    k: int

    name: ClassVar[str] = "(alpha,k)"
    option: ClassVar[str] = "alpha"
    partner: ClassVar[str] = "k"
    summary: ClassVar[str] = "classes of k in which no sensitive value has a share above alpha"
    monotone: ClassVar[bool] = True
    takes_exempt: ClassVar[bool] = True
    size_and_cap: ClassVar[bool] = True

    def __post_init__(self) -> None:
        alpha = exact(self.alpha, "alpha", EXPECTED)
        if not 0 < alpha <= 1:
            raise PolicyError(f"alpha: expected {EXPECTED}; got {text(alpha)}")
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "k", whole_number(self.k, "k"))

    @classmethod
    def of(cls, alpha: Number, k: Number) -> AlphaK:
        return cls(exact(alpha, "alpha", EXPECTED), whole_number(k, "k"))

    @property
    def smallest_class(self) -> int:
        return max(self.k, self.values_by_cap)

    @property
    def k_asked(self) -> int:
        return self.k

    @property
    def cap(self) -> Fraction:
        return self.alpha

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        rare = at_most(classes.largest, self.alpha, classes.sizes)
        return np.asarray((classes.sizes >= self.k) & rare, dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> float | None:
        """The largest share of a value in a class, rounded up to 6 decimals."""
        if not classes.classes:
            return None
        millionths = -(-classes.largest * 10**DIGITS // classes.sizes)
        return float(Fraction(int(millionths.max()), 10**DIGITS))

    def worst(self, levels: Iterable[float | int]) -> float | int:
        return max(levels)

    def parameters(self) -> dict[str, Any]:
        return {"alpha": plain(self.alpha), "k": self.k}

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(SIZE, self.smallest_class), Rule(ALPHA, *limited(self.alpha)))

    def possible(self, whole: WholeTable) -> bool:
        # With persons, alpha * records bounds what classes that share persons can hold.
        most = whole.records if whole.persons else whole.size
        return whole.size >= self.k and whole.top_count <= self.alpha * most

    def refusal(self, whole: WholeTable) -> str:
        start = f"no ({text(self.alpha)}, {self.k})-anonymous release exists: "
        if whole.size < self.k:
            return (
                f"{start}the table has {whole.size} {whole.unit}; "
                f"the largest possible k is {whole.size}"
            )
        most = whole.records if whole.persons else whole.size
        return (
            f"{start}{share_text(whole)}, more than {text(self.alpha)}; "
            f"the smallest possible alpha is {round_up(Fraction(whole.top_count, most))}"
            f"{exemption(whole)}"
        )

    def __str__(self) -> str:
        return f"alpha = {text(self.alpha)}, k = {self.k}"
