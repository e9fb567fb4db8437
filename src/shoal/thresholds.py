"""Thresholds of risk that custodians are asked to keep, and the class size that keeps each.

A threshold tau is the largest chance of being picked out that is tolerated. A record of a
class of f is picked out with a chance of 1/f, so a class keeps it iff ``f * tau >= 1``:
compared in integers, 0.09 asks for 12 records, as 1/11 = 0.0909. This module imports
nothing but errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.errors import PolicyError

__all__ = ["THRESHOLDS", "Threshold", "check_kept", "with_k_of_threshold"]

Given = str | int | float | Fraction

EXPECTED = "a name ({}) or a number above 0 and at most 1"


@dataclass(frozen=True)
class Threshold:
    """The largest risk of a record that is tolerated."""

    tau: Fraction
    name: str = ""
    why: str = ""

    @property
    def smallest_class(self) -> int:
        """The fewest records of a class that keep it."""
        return math.ceil(1 / self.tau)

    @classmethod
    def of(cls, given: Given) -> Threshold:
        """By name, or by number as it was written: 0.09 is 9/100.

        Raises
        ------
        PolicyError
            It is neither.
        """
        if isinstance(given, str) and given.strip().lower() in THRESHOLDS:
            return THRESHOLDS[given.strip().lower()]
        expected = EXPECTED.format(", ".join(THRESHOLDS))
        try:
            if isinstance(given, bool):
                raise ValueError
            tau = given if isinstance(given, Fraction) else Fraction(str(given).strip())
        except (ValueError, ZeroDivisionError):
            raise PolicyError(f"threshold: expected {expected}; got {given}") from None
        if not 0 < tau <= 1:
            raise PolicyError(f"threshold: expected {expected}; got {given}")
        return cls(tau)

    def reason(self) -> str:
        """Why so many records: ``1/11 = 0.0909 is more than 0.09, 1/12 = 0.0833 is not``."""
        k = self.smallest_class
        if k == 1:
            return "any class keeps it"
        if Fraction(1, k) == self.tau:
            return f"1/{k} = {float(self.tau):.4g} is just kept, 1/{k - 1} is more"
        above, kept = f"1/{k - 1} = {1 / (k - 1):.3g}", f"1/{k} = {1 / k:.3g}"
        return f"{above} is more than {float(self.tau):g}, {kept} is not"

    def __str__(self) -> str:
        number = f"{float(self.tau):.4g}"
        return f"{self.name} ({number})" if self.name else number


THRESHOLDS = {
    "ema": Threshold(
        Fraction(9, 100), "ema", "European Medicines Agency, Policy 0070: clinical data"
    ),
    "health-canada": Threshold(
        Fraction(9, 100), "health-canada", "Health Canada: public release of clinical information"
    ),
    "cms": Threshold(
        Fraction(1, 11), "cms", "Centers for Medicare and Medicaid Services: no cell below 11"
    ),
    "public": Threshold(Fraction(1, 20), "public", "files for everybody: classes of 20"),
}
"""Thresholds by name."""


def with_k_of_threshold(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings of a policy with k raised to what their threshold asks for, if they have one.

    Raises
    ------
    ValueError
        It is none; what is of no type for a threshold is left to the policy to refuse.
    """
    given, k = settings.get("threshold"), settings.get("k")
    if not isinstance(given, str | int | float) or isinstance(given, bool):
        return settings
    try:
        least = Threshold.of(given).smallest_class
    except PolicyError as error:
        raise ValueError(str(error)) from None
    return {**settings, "k": max(k, least) if type(k) is int else least if k is None else k}


def check_kept(given: Given | None, ks: Mapping[str, int | None]) -> None:
    """Refuse a k of its own, of a reader or of all together, that breaks the threshold."""
    if given is None:
        return
    least = Threshold.of(given).smallest_class
    for name, k in ks.items():
        if k is not None and k < least:
            raise ValueError(f"{name}: the threshold asks for at least {least}; got {k}")
