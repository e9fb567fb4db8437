"""m-invariance, as far as one release shows it (Xiao and Tao, SIGMOD 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.models.base import Model, WholeTable
from shoal.models.diversity import FrequencyL, share_text
from shoal.models.exact import Number, whole_number

__all__ = ["MInvariance"]


@dataclass(frozen=True)
class MInvariance(FrequencyL):
    """A class splits into groups of m records or more, all of different values.

    That is ``m * r_1 <= n_e``: deal the records out, value by value, to ``floor(n_e / m)``
    groups in turn. What m-invariance asks for beyond one release, that persons keep the set
    of values of their group in all of them, is kept and checked by `shoal.series`.
    """

    name: ClassVar[str] = "m-invariance"
    option: ClassVar[str] = "m"
    reading: ClassVar[str] = ""
    summary: ClassVar[str] = "groups of m different values, the same set for a person in a series"
    takes_exempt: ClassVar[bool] = False

    @classmethod
    def of(cls, m: Number) -> MInvariance:
        return cls(whole_number(m, "m"))

    @classmethod
    def asked(cls, settings: Mapping[str, Any]) -> Model | None:
        value = settings.get("m")
        return None if value is None else cls.of(value)

    @property
    def m(self) -> int:
        return self.l

    def parameters(self) -> dict[str, Any]:
        return {"m": self.m}

    def refusal(self, whole: WholeTable) -> str:
        if not whole.top_count:
            return f"no {self.m}-invariant release exists: the table has no records"
        best = (whole.records if whole.persons else whole.size) // whole.top_count
        return (
            f"no {self.m}-invariant release exists: {share_text(whole)}, more than 1/{self.m}; "
            f"the largest possible m is {best}"
        )

    def __str__(self) -> str:
        return f"m = {self.m}"
