"""k-anonymity: nobody can be told from at least k - 1 others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.rules import SIZE
from shoal.models.base import ClassHistograms, Model, Rule, WholeTable
from shoal.models.exact import Number, whole_number

__all__ = ["KAnonymity"]


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every class holds at least k records (persons, where they are declared)."""

    k: int

    name: ClassVar[str] = "k-anonymity"
    option: ClassVar[str] = "k"
    summary: ClassVar[str] = "every record shares its quasi-identifiers with at least k - 1 others"
    monotone: ClassVar[bool] = True
    monotone_with_persons: ClassVar[bool] = True
    about_sensitive: ClassVar[bool] = False
    exact_rules: ClassVar[bool] = True
    takes_exempt: ClassVar[bool] = True
    size_and_cap: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k"))

    @classmethod
    def of(cls, k: Number) -> KAnonymity:
        return cls(whole_number(k, "k"))

    @property
    def smallest_class(self) -> int:
        return self.k

    @property
    def k_asked(self) -> int:
        return self.k

    def implied_by(self, other: Model) -> bool:
        return isinstance(other, KAnonymity) and other.k >= self.k

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        return np.asarray(classes.sizes >= self.k, dtype=np.bool_)

    def level(self, classes: ClassHistograms) -> int | None:
        return int(classes.sizes.min()) if classes.classes else None

    def parameters(self) -> dict[str, Any]:
        return {"k": self.k}

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(SIZE, self.k),)

    def refusal(self, whole: WholeTable) -> str:
        return (
            f"no {self.k}-anonymous release exists: the table has {whole.size} {whole.unit}; "
            f"the largest possible k is {whole.size}"
        )

    def __str__(self) -> str:
        return f"k = {self.k}"
