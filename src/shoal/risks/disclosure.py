"""What a release tells of sensitive values to whoever finds somebody's class."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.models import ClassHistograms

__all__ = ["Disclosure", "disclosure"]


@dataclass(frozen=True)
class Disclosure:
    """Of one sensitive column, how much more its classes tell than the whole table does."""

    column: str
    homogeneous_classes: int
    """Classes in which all have the same value: whoever is in one has it."""
    homogeneous_records: float
    """Share of the records that are in such classes."""
    base_rate: float
    """Share of the records that have the most frequent value of the table."""
    told_by_majority: float
    """Share of the records that have the most frequent value of their class."""
    gain: float
    """What a guess by class is better than one by the table: (told - base) / (1 - base)."""
    largest_share: float
    """The largest share of a class that any value has."""
    named_average: float | None = None
    """Paper 002, Theorem 3: the chance that somebody who takes any record that a person can be
    has the person's value, over all people; None where it is not known."""
    named_highest: float | None = None
    """The same of the person of whom it is largest."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: round(v, 9) if isinstance(v, float) else v for name, v in told.items()}


def disclosure(
    column: str, classes: ClassHistograms, of_people: tuple[float, float] | None = None
) -> Disclosure:
    """What classes tell of a sensitive column, from their histograms."""
    n = int(classes.mass.sum())
    alike = classes.distinct == 1
    base = int(classes.total.max()) / max(1, int(classes.total.sum()))
    told = int(classes.largest.sum()) / max(1, n)
    return Disclosure(
        column,
        int(np.count_nonzero(alike)),
        int(classes.mass[alike].sum()) / max(1, n),
        base,
        told,
        (told - base) / (1 - base) if base < 1 else 0.0,
        float((classes.largest / classes.mass).max()),
        *(of_people or (None, None)),
    )


def named(classes: ClassHistograms) -> tuple[float, float]:
    """Theorem 3 where a person can be in one class only: average and highest over the records."""
    mass = np.repeat(classes.mass, classes.distinct)
    average = float((classes.counts / mass * classes.counts).sum() / classes.mass.sum())
    return average, float((classes.counts / mass).max())
