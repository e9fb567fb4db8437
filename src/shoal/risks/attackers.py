"""Prosecutor, journalist and marketer: how likely a record is picked out (DESIGN section 7).

f is the number of records of a class, F the number of people of the population who can be in
it. The prosecutor knows that his target is in the table, the journalist does not, and the
marketer wants many. Which records exceed a threshold is decided in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.thresholds import Threshold

__all__ = ["Attacker", "journalist", "marketer", "prosecutor"]

Sizes = NDArray[np.int64]
LARGEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Attacker:
    """What one attacker can expect."""

    name: str
    largest: float | None
    """Risk of the record that is easiest to pick out; None where it makes no sense."""
    average: float
    """Share of all records that he picks out by guessing within classes."""
    above: float | None = None
    """Share of records with a risk above the threshold, where there is one."""
    broken: bool = False
    """Whether the threshold is exceeded: by any record, or by the average of a marketer."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told: dict[str, Any] = {}
        if self.largest is not None:
            told["largest"] = round(self.largest, 9)
        told["average"] = round(self.average, 9)
        if self.above is not None:
            told["share_above_threshold"] = round(self.above, 9)
        return told


def prosecutor(sizes: Sizes, threshold: Threshold | None = None) -> Attacker:
    """``1/f``; average: classes / records."""
    n = int(sizes.sum())
    largest = 1 / int(sizes.min())
    return _judged("prosecutor", largest, len(sizes) / n, sizes, sizes, threshold)


def journalist(sizes: Sizes, people: NDArray[Any], threshold: Threshold | None = None) -> Attacker:
    """``1/F``; average: the larger of ``J / sum F`` and ``(1/n) sum f/F``."""
    average = max(len(sizes) / float(people.sum()), _matched(sizes, people))
    return _judged("journalist", 1 / float(people.min()), average, sizes, people, threshold)


def marketer(sizes: Sizes, people: NDArray[Any], threshold: Threshold | None = None) -> Attacker:
    """``(1/n) sum f/F``: the share of records that he matches rightly on the average."""
    average = _matched(sizes, people)
    broken = threshold is not None and average > float(threshold.tau) * (1 + 1e-12)
    return Attacker("marketer", None, average, None, broken)


def _matched(sizes: Sizes, people: NDArray[Any]) -> float:
    return float((sizes / people).sum() / sizes.sum())


def _judged(
    name: str,
    largest: float,
    average: float,
    sizes: Sizes,
    among: NDArray[Any],
    threshold: Threshold | None,
) -> Attacker:
    """With the share of records that are among too few: ``1/among > tau`` iff among < ceil(1/tau).

    Estimated numbers of people are compared as they are: 11.9 people are fewer than 12.
    """
    if threshold is None:
        return Attacker(name, largest, average)
    few = _fewer(among, threshold)
    above = int(sizes[few].sum())
    return Attacker(name, largest, average, above / int(sizes.sum()), above > 0)


def _fewer(among: NDArray[Any], threshold: Threshold) -> NDArray[np.bool_]:
    """Who is among fewer than the threshold asks for, exactly, however it was written."""
    if among.dtype.kind in "iu":
        return np.asarray(among < min(threshold.smallest_class, LARGEST))
    least = 1 / threshold.tau
    values, place = np.unique(among, return_inverse=True)
    fewer = np.array([Fraction(float(value)) < least for value in values], dtype=np.bool_)
    return np.asarray(fewer[place.ravel()], dtype=np.bool_)
