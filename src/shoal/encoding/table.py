"""The table as the methods see it: small integer codes, never strings.

`EncodedTable` holds the quasi-identifiers and sensitive columns as codes with
what turns a range of codes into a loss. `Partition` assigns every record to a
group. `Recoding` says which partition governs which attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.costs import SET, SPAN, TREE, Costs, range_maxima
from shoal.kernels.grouping import group_extents, sort_by_id

if TYPE_CHECKING:
    from shoal.hierarchy import Hierarchy

__all__ = [
    "Domain",
    "EncodedTable",
    "Kind",
    "Partition",
    "QIColumn",
    "Recoding",
    "SensitiveColumn",
]

Kind = Literal["numeric", "date", "ordinal", "categorical"]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

PRESENT_SHARE = 0.75
"""Present values fill this share of a coordinate that has a missing value at 1."""


@dataclass(frozen=True, eq=False)
class QIColumn:
    """One quasi-identifier as codes 0..size-1 in value, rank or leaf order.

    A missing value, where there is one, is the last code.
    """

    name: str
    kind: Kind
    codes: Codes
    labels: Sequence[str | None]
    """Text of each code as it is published when unchanged; None is missing."""
    form: int
    """SPAN, TREE or SET of `shoal.kernels.costs`: how a group's loss follows from its codes."""
    position: Floats
    """SPAN: loss of lo..hi is min(1, position[hi] - position[lo]); else unused zeros."""
    place: Floats
    """Where each code stands on [0, 1]: the coordinate that curves and distances use."""
    climb: Floats = field(default_factory=lambda: np.zeros(0))
    """TREE: loss of the lowest common ancestor of leaf i and leaf i + 1."""
    hierarchy: Hierarchy | None = None
    """TREE and flat: the tree whose leaves are exactly the present codes, in code order."""
    weight: float = 1.0
    has_missing: bool = False
    values: Any = None
    """Numeric and date: the typed Arrow values of the codes, for the bounds layout."""
    floor: Floats | None = None
    """Loss of each code where nothing is mixed: above 0 if values were coarsened to a level."""
    suppressed: bool = False
    """Whatever is mixed is released as ``*``, loss 1."""

    @property
    def size(self) -> int:
        return len(self.labels)

    def suppressing(self) -> QIColumn:
        """The column whose codes are all far apart, in their places along the curve."""
        apart = np.arange(self.size, dtype=np.float64)
        return replace(self, form=SPAN, position=apart, climb=np.zeros(0), suppressed=True)


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """One sensitive column as codes; numeric values where its kind has an order."""

    name: str
    kind: Kind
    codes: Codes
    labels: Sequence[str | None]
    ordered: bool
    """True for numeric, date, ordinal: t-closeness then uses the ordered distance."""
    values: Floats | None = None
    """Numeric only: the number behind each code, NaN where missing."""

    @property
    def size(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """N records: QI columns, sensitive columns, and persons where declared."""

    n: int
    qi: tuple[QIColumn, ...]
    sensitive: tuple[SensitiveColumn, ...] = ()
    person: Codes | None = None

    @cached_property
    def costs(self) -> Costs:
        """The loss of all quasi-identifiers in the form that kernels take."""
        sizes = np.array([c.size for c in self.qi], dtype=np.int64)
        peaks = [range_maxima(c.climb) if c.form == TREE else np.zeros(0) for c in self.qi]
        return Costs(
            form=np.array([c.form for c in self.qi], dtype=np.int64),
            weight=np.array([c.weight for c in self.qi], dtype=np.float64),
            size=sizes,
            start=_starts(sizes),
            position=_joined([c.position if c.form == SPAN else np.zeros(c.size) for c in self.qi]),
            peak_start=_starts(np.array([len(p) for p in peaks], dtype=np.int64)),
            peak=_joined(peaks),
        )

    @cached_property
    def matrix(self) -> NDArray[np.int32]:
        """QI codes as one C-contiguous array of shape (d, n)."""
        if not self.qi:
            return np.zeros((0, self.n), dtype=np.int32)
        return np.ascontiguousarray(np.stack([c.codes for c in self.qi]))

    @cached_property
    def _suppressing(self) -> EncodedTable:
        return replace(self, qi=tuple(column.suppressing() for column in self.qi))

    def suppressing(self) -> EncodedTable:
        """The same table, of which only exact values and stars are released."""
        return self._suppressing

    def take(self, rows: NDArray[np.int64]) -> EncodedTable:
        """Some of the records; what a range of codes costs is as in the whole table."""
        return EncodedTable(
            n=len(rows),
            qi=tuple(replace(column, codes=column.codes[rows]) for column in self.qi),
            sensitive=tuple(replace(s, codes=s.codes[rows]) for s in self.sensitive),
            person=None if self.person is None else self.person[rows],
        )


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of records: ``order[offsets[g]:offsets[g+1]]`` are those of group g."""

    order: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def whole(cls, n: int) -> Partition:
        """All records in one group."""
        return cls(np.arange(n, dtype=np.int64), np.array([0, n], dtype=np.int64))

    @classmethod
    def from_group_ids(cls, ids: NDArray[np.integer[Any]]) -> Partition:
        """Records with equal id are one group; groups in order of id, which is small and >= 0."""
        offsets = np.empty(int(ids.max()) + 2 if len(ids) else 1, dtype=np.int64)
        order = np.empty(len(ids), dtype=np.int64)
        sort_by_id(ids.astype(np.int64, copy=False), offsets, order)
        return cls(order, np.unique(offsets))  # an id that nobody has makes no group

    @classmethod
    def single_records(cls, n: int) -> Partition:
        """Every record a group of its own."""
        return cls(np.arange(n, dtype=np.int64), np.arange(n + 1, dtype=np.int64))

    @property
    def groups(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def group_ids(self) -> NDArray[np.int64]:
        """Group number of each record, in record order."""
        ids = np.empty(len(self.order), dtype=np.int64)
        ids[self.order] = np.repeat(np.arange(self.groups), self.sizes)
        return ids


class Domain(NamedTuple):
    """A coarser domain for one attribute: disjoint blocks of neighbouring codes.

    Code c is published as the whole block ``low[c]..high[c]`` it lies in.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @classmethod
    def of_starts(cls, starts: NDArray[np.integer[Any]], size: int) -> Domain:
        """Blocks that begin at the given codes, the first of which is 0."""
        lengths = np.diff(np.append(starts, size))
        ends = np.append(starts[1:], size) - 1
        return cls(
            np.repeat(starts, lengths).astype(np.int32), np.repeat(ends, lengths).astype(np.int32)
        )


@dataclass(frozen=True, eq=False)
class Recoding:
    """How records are published: under which groups, and in which form."""

    partitions: tuple[Partition, ...]
    """What governs each QI attribute: one for all, or several in a butterfly."""
    domains: tuple[Domain | None, ...] = ()
    """Coarser domains, where a method chose some; empty: none."""
    stars: bool = False
    """Whatever is mixed in a group is suppressed, not generalised."""

    @classmethod
    def single(
        cls, partition: Partition, attributes: int, domains: tuple[Domain | None, ...] = ()
    ) -> Recoding:
        return cls((partition,) * attributes, domains)

    def domain(self, attribute: int) -> Domain | None:
        """The coarser domain of an attribute, if it has one."""
        return self.domains[attribute] if self.domains else None

    def seen(self, table: EncodedTable) -> EncodedTable:
        """The table with the losses and forms that this recoding gives it."""
        return table.suppressing() if self.stars else table


def extents(
    column: QIColumn, partition: Partition, domain: Domain | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """First and last code that each group is published under, before any tree or star."""
    low = np.empty(partition.groups, dtype=np.int32)
    high = np.empty(partition.groups, dtype=np.int32)
    group_extents(column.codes, partition.order, partition.offsets, low, high)
    return (low, high) if domain is None else (domain.low[low], domain.high[high])


def places(scaled: Floats, missing: bool) -> Floats:
    """Coordinates of the present values, given on [0, 1], with the missing one apart at 1."""
    return np.append(scaled * PRESENT_SHARE, [1.0]) if missing else scaled


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)


__all__ += ["SET", "SPAN", "TREE", "extents", "places"]
