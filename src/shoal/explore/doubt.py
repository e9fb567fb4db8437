"""Columns that neither name nor values explain: whom they copy, whom they single out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, class_sizes
from shoal.encoding.exposure import told

__all__ = ["Doubt", "Keyed", "copies", "doubts"]

Keyed = tuple[NDArray[np.int32], int]
"""Codes of a column and how many codes it has."""


class Doubt(NamedTuple):
    """How much a column that was not recognised singles out, as shares of the records."""

    name: str
    alone: float
    """Unique by it alone."""
    together: float
    """Unique by it together with the proposed quasi-identifiers."""

    def __str__(self) -> str:
        return f"{self.name} ({self.alone:.0%} unique by it, {self.together:.0%} with the others)"


def copies(
    unknown: Sequence[str], explained: Sequence[str], keyed: Mapping[str, Keyed]
) -> dict[str, str]:
    """Of columns that were not recognised, which recognised one they tell nearly always."""
    found = {}
    for name in unknown:
        for other in explained:
            # Fewer values cannot tell more: most pairs need no look at the records.
            if keyed[name][1] >= keyed[other][1] > 2 and told(keyed[name], keyed[other]):
                found[name] = other
                break
    return found


def doubts(
    unknown: Sequence[str], qi: Sequence[str], keyed: Mapping[str, Keyed], rows: int
) -> list[Doubt]:
    """What is not recognised, most telling first."""
    ids, count = class_ids([keyed[name] for name in qi], rows)
    found = [
        Doubt(
            name,
            _unique([keyed[name]], rows),
            _unique([(ids, count), keyed[name]], rows),
        )
        for name in unknown
    ]
    return sorted(found, key=lambda doubt: (-doubt.together, -doubt.alone))


def _unique(columns: Sequence[tuple[NDArray[Any], int]], rows: int) -> float:
    return int((class_sizes(columns, rows) == 1).sum()) / rows
