"""Unique distinct l-diversity: classes that split into groups of l different values (paper 002)."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.models.base import ClassHistograms
from shoal.models.diversity import FrequencyL, divisor
from shoal.models.exact import Number, whole_number
from shoal.models.findings import Finding, of_kind

__all__ = ["UniqueDistinctL"]


@dataclass(frozen=True)
class UniqueFinding(Finding):
    """A finding that knows what is left over in all classes, for any l."""

    crowded: int = 0
    """Classes in which a value is too frequent."""
    crowded_or_uneven: int = 0
    """Those, and the classes whose size is no multiple of l."""
    highest: int | None = None
    """The level by shares alone."""
    sizes: dict[int, int] = field(default_factory=dict)
    """How many classes have each size."""


@dataclass(frozen=True)
class UniqueDistinctL(FrequencyL):
    """A class splits into groups of l records with l different values each (paper 002).

    By its Theorem 2 that is ``l | n_e`` and ``l * r_1 <= n_e``. N records leave
    ``N mod l`` over however they are grouped, so that many, and no more, may
    have been taken in as residuals: summed over the classes,
    ``n_e mod l`` must not exceed l - 1. This looks at all classes at once;
    ``l * r_1 <= n_e`` holds in every class without exception.
    """

    name: ClassVar[str] = "unique-l"
    reading: ClassVar[str] = "unique"
    summary: ClassVar[str] = "every class splits into groups of l records with l different values"
    local: ClassVar[bool] = False

    @classmethod
    def of(cls, l: Number) -> UniqueDistinctL:
        return cls(whole_number(l, "l"))

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        diverse = super().holds(classes)
        leftover = classes.sizes % divisor(self.l)
        return diverse if int(leftover.sum()) < self.l else diverse & (leftover == 0)

    def level(self, classes: ClassHistograms) -> int | None:
        """The largest l that holds; smaller ones need not: 3 + 3 does not split into pairs."""
        level = self.finding(classes).level
        return None if level is None else int(level)

    def finding(self, classes: ClassHistograms) -> UniqueFinding:
        diverse = super().holds(classes)
        uneven = classes.sizes % divisor(self.l) != 0
        sizes, counts = np.unique(classes.sizes, return_counts=True)
        return self._found(
            int((~diverse).sum()),
            int((~diverse | uneven).sum()),
            super().level(classes),
            dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
        )

    def merge(self, findings: Sequence[Finding]) -> UniqueFinding:
        parts = of_kind(UniqueFinding, findings)
        sizes: Counter[int] = Counter()
        for part in parts:
            sizes.update(part.sizes)
        highest = [f.highest for f in parts if f.highest is not None]
        return self._found(
            sum(f.crowded for f in parts),
            sum(f.crowded_or_uneven for f in parts),
            min(highest, default=None),
            dict(sizes),
        )

    def _found(
        self, crowded: int, crowded_or_uneven: int, highest: int | None, sizes: dict[int, int]
    ) -> UniqueFinding:
        """The finding in classes of these sizes, size by number, that reach `highest` by share."""
        avoidable = _leftover(sizes, self.l) >= self.l
        return UniqueFinding(
            failing=crowded_or_uneven if avoidable else crowded,
            level=None if highest is None else _largest_that_divides(sizes, highest),
            facts={"residual_classes": sum(n for size, n in sizes.items() if size % self.l)},
            crowded=crowded,
            crowded_or_uneven=crowded_or_uneven,
            highest=highest,
            sizes=sizes,
        )

    def __str__(self) -> str:
        return f"l = {self.l} (unique distinct)"


def _leftover(sizes: dict[int, int], l: int) -> int:
    """Records that are over when every class is split into groups of l."""
    return sum(size % l * classes for size, classes in sizes.items())


def _largest_that_divides(sizes: dict[int, int], highest: int) -> int:
    # l = 1 leaves nothing over, so the search always ends
    return next(l for l in range(highest, 0, -1) if _leftover(sizes, l) < l or l == 1)
