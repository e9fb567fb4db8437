"""What is known of a table without its records: O(domain), never O(n).

An `Attribute` says what the codes of a quasi-identifier stand for and what a
range of them loses; a `SensitiveAttribute` the same of a sensitive column. A
`Codebook` has all of them, with how many records carry each code. Losses,
compiled rules, eligibility, the best l and the texts of released values follow
from it alone, wherever the records are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.costs import ROUND, SET, SPAN, TREE, Costs, range_maxima

if TYPE_CHECKING:
    from shoal.encoding.rounding import RoundEnds
    from shoal.hierarchy import Hierarchy

__all__ = [
    "ROUND",
    "SET",
    "SPAN",
    "TREE",
    "Attribute",
    "Codebook",
    "Kind",
    "SensitiveAttribute",
    "coordinates",
    "costs_of",
]

Kind = Literal["numeric", "date", "ordinal", "categorical"]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

PRESENT_SHARE = 0.75
"""Present values fill this share of a coordinate that has a missing value at 1."""


@dataclass(frozen=True, eq=False)
class Attribute:
    """One quasi-identifier: codes 0..size-1 in value, rank or leaf order.

    A missing value, where there is one, is the last code.
    """

    name: str
    kind: Kind
    labels: Sequence[str | None]
    """Text of each code as it is published when unchanged; None is missing."""
    form: int
    """SPAN, TREE, SET or ROUND of `shoal.kernels.costs`: how a loss follows from codes."""
    position: Floats
    """SPAN: loss of lo..hi is min(1, position[hi] - position[lo]); ROUND: with `end` in place of
    the first; else unused zeros."""
    coordinate: Floats
    """Where each code stands on [0, 1], for curves and distances; no loss follows from it."""
    climb: Floats = field(default_factory=lambda: np.zeros(0))
    """TREE: loss of the lowest common ancestor of leaf i and leaf i + 1."""
    hierarchy: Hierarchy | None = None
    """TREE and flat: the tree whose leaves are exactly the present codes, in code order."""
    weight: float = 1.0
    has_missing: bool = False
    values: Any = None
    """Numeric and date: the typed Arrow values of the codes, for the bounds layout."""
    floor: Floats | None = None
    """Loss of each code where nothing is mixed: above 0 if values were coarsened to a level,
    or are published as round intervals."""
    end: Floats | None = None
    """ROUND: where the interval of each code ends; it begins at its `position`."""
    ends: RoundEnds | None = None
    """ROUND: what the present codes are published as."""
    suppressed: bool = False
    """Whatever is mixed is released as ``*``, loss 1."""

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def present(self) -> int:
        """Codes that are not the missing one."""
        return len(self.labels) - self.has_missing

    def suppressing(self) -> Attribute:
        """The attribute whose codes are all far apart; their coordinates stay."""
        apart = np.arange(self.size, dtype=np.float64)
        stars = replace(self, form=SPAN, position=apart, climb=np.zeros(0), suppressed=True)
        return replace(stars, end=None, ends=None, floor=None) if self.form == ROUND else stars


@dataclass(frozen=True, eq=False)
class SensitiveAttribute:
    """One sensitive column: what its codes stand for, and numbers where its kind has them."""

    name: str
    kind: Kind
    labels: Sequence[str | None]
    ordered: bool
    """True for numeric, date, ordinal: t-closeness then uses the ordered distance."""
    numbers: Floats | None = None
    """Numeric only: the number behind each code, NaN where missing."""
    exempt: NDArray[np.bool_] | None = None
    """Which codes are declared not to be sensitive; None: all are sensitive."""

    @property
    def size(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Codebook:
    """All attributes of a table, with how often each code occurs in it."""

    qi: tuple[Attribute, ...]
    sensitive: tuple[SensitiveAttribute, ...]
    counts: tuple[Counts, ...]
    """Records of each code of each quasi-identifier."""
    sensitive_counts: tuple[Counts, ...]
    """Records of each sensitive code; or the persons who have it, where persons are declared."""
    records: int
    persons: int | None = None
    """Different persons, where they are declared: models then count these."""
    of_table: tuple[Counts, ...] | None = None
    """Counts of sensitive codes in a longer table, where this is the codebook of a part of it."""

    @property
    def compared_with(self) -> tuple[Counts, ...]:
        """Counts of the sensitive codes that models compare classes with."""
        return self.sensitive_counts if self.of_table is None else self.of_table

    @cached_property
    def costs(self) -> Costs:
        """The loss of all quasi-identifiers in the form that kernels take."""
        return costs_of(self.qi)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each quasi-identifier and sensitive column, for a manifest."""
        kinds = {column.name: column.kind for column in self.qi}
        return kinds | {column.name: column.kind for column in self.sensitive}

    @cached_property
    def _suppressing(self) -> Codebook:
        return replace(self, qi=tuple(attribute.suppressing() for attribute in self.qi))

    def suppressing(self) -> Codebook:
        """The same codebook, of whose table only exact values and stars are released."""
        return self._suppressing


def costs_of(attributes: Sequence[Attribute]) -> Costs:
    """The loss of some quasi-identifiers in the form that kernels take."""
    sizes = np.array([a.size for a in attributes], dtype=np.int64)
    peaks = [range_maxima(a.climb) if a.form == TREE else np.zeros(0) for a in attributes]
    position = [a.position if a.form in (SPAN, ROUND) else np.zeros(a.size) for a in attributes]
    end = [p if a.end is None else a.end for a, p in zip(attributes, position, strict=True)]
    return Costs(
        form=np.array([a.form for a in attributes], dtype=np.int64),
        weight=np.array([a.weight for a in attributes], dtype=np.float64),
        size=sizes,
        start=_starts(sizes),
        position=_joined(position),
        end=_joined(end),
        peak_start=_starts(np.array([len(p) for p in peaks], dtype=np.int64)),
        peak=_joined(peaks),
    )


def coordinates(scaled: Floats, missing: bool) -> Floats:
    """Coordinates of the present values, given on [0, 1], with the missing one apart at 1."""
    return np.append(scaled * PRESENT_SHARE, [1.0]) if missing else scaled


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)
