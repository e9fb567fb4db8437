"""What is left to an attacker, from class sizes: chances and thresholds.

An attacker who knows a person's quasi-identifiers, and that the person is in
the table, finds the class and guesses among its f records: 1/f. Thresholds
are compared in whole records: at most 0.09 means classes of 12, because 1/11
is above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import thresholds
from shoal.thresholds import Threshold

__all__ = ["ACCESS", "THRESHOLDS", "Risk", "class_bins", "risk_of"]

Ints = NDArray[np.int64]

CONTRACT = Threshold(Fraction(1, 5), "contract", "shared under a contract: classes of 5")
THRESHOLDS = (CONTRACT, *(thresholds.THRESHOLDS[name] for name in ("cms", "ema", "public")))
"""What a release is held against, whoever receives it."""
ACCESS = {"public": thresholds.THRESHOLDS["public"], "trusted": CONTRACT, "controlled": CONTRACT}
"""Who receives a release, and the threshold that follows."""


@dataclass(frozen=True)
class Risk:
    """Chances of an attacker who knows that the target is in the table."""

    records: int
    classes: int
    smallest: int
    largest: int
    unique: int
    """Records that are alone in their class."""
    below: tuple[int, ...]
    """Records in classes that are too small for each of `THRESHOLDS`."""

    @property
    def highest(self) -> float:
        """Chance to pick the right record in the smallest class."""
        return 1 / self.smallest

    @property
    def average(self) -> float:
        """The same on average over all records."""
        return self.classes / self.records

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "records": self.records, "classes": self.classes, "smallest_class": self.smallest,
            "largest_class": self.largest, "highest": round(self.highest, 6),
            "average": round(self.average, 6),
            "below": {str(t): n for t, n in zip(THRESHOLDS, self.below, strict=True)},
        }  # fmt: skip


def risk_of(sizes: Ints) -> Risk:
    """The chances that class sizes leave."""
    below = tuple(int(sizes[sizes < threshold.smallest_class].sum()) for threshold in THRESHOLDS)
    return Risk(
        records=int(sizes.sum()),
        classes=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        unique=int((sizes == 1).sum()),
        below=below,
    )


def class_bins(sizes: Ints, most: int = 10) -> list[tuple[int, int, int]]:
    """Records in classes by size: from, to and records, in a few bins that grow with the size."""
    values = np.unique(sizes)
    if len(values) <= most:
        edges = [*values.tolist(), int(values[-1]) + 1]
    else:
        low, high = int(values[0]), int(values[-1])
        grown = np.geomspace(low, high + 1, most + 1).round().astype(np.int64).tolist()
        edges = sorted(set(grown) | {low})
    found = []
    for a, b in pairwise(edges):
        here = sizes[(sizes >= a) & (sizes < b)]
        if len(here):
            found.append((int(here.min()), int(here.max()), int(here.sum())))
    return found
