"""The table as the methods see it: small integer codes, never strings.

`EncodedTable` holds the codes of all records, one array for the quasi-identifiers,
beside the attributes that say what the codes stand for (`shoal.encoding.codebook`).
`Partition` assigns every record to a group. `Recoding` says which partition
governs which attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.codebook import Attribute, Codebook, SensitiveAttribute, costs_of
from shoal.encoding.sketch import Sketch
from shoal.kernels.costs import Costs
from shoal.kernels.grouping import group_extents, group_sets, sort_by_id

__all__ = [
    "Codes",
    "Domain",
    "EncodedTable",
    "Partition",
    "Recoding",
    "extents",
    "known_distinct",
    "member_codes",
]

Codes = NDArray[np.int32]
COUNTED = ("counts", "sketch")
"""What is known of the codes alone, whatever they stand for."""


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """N records as codes, the attributes that explain them, and persons where declared."""

    qi: tuple[Attribute, ...]
    codes: Codes
    """Of the quasi-identifiers: one C-contiguous array of shape (d, n)."""
    sensitive: tuple[SensitiveAttribute, ...]
    sensitive_codes: Codes
    """Of the sensitive columns: shape (s, n)."""
    person: Codes | None = None
    marks: NDArray[np.uint64] | None = None
    """What else tells records apart (`shoal.encoding.marks`), shape (columns, n), persons first;
    no method looks at it."""
    of_table: tuple[NDArray[np.int64], ...] | None = None
    """Where these are some records of a longer table, and classes are to be compared with that:
    how often it has each sensitive code, column by column."""

    @classmethod
    def of(
        cls,
        qi: Sequence[tuple[Attribute, Codes]],
        sensitive: Sequence[tuple[SensitiveAttribute, Codes]] = (),
        person: Codes | None = None,
        *,
        n: int | None = None,
    ) -> EncodedTable:
        """A table of columns; `n` records where there is no column to count."""
        if n is None:
            n = len(next(codes for _, codes in (*qi, *sensitive)))
        return cls(
            tuple(attribute for attribute, _ in qi),
            stacked((codes for _, codes in qi), len(qi), n),
            tuple(attribute for attribute, _ in sensitive),
            stacked((codes for _, codes in sensitive), len(sensitive), n),
            person,
        )

    @property
    def n(self) -> int:
        return self.codes.shape[1]

    @cached_property
    def costs(self) -> Costs:
        """The loss of all quasi-identifiers in the form that kernels take."""
        return costs_of(self.qi)

    @cached_property
    def counts(self) -> tuple[NDArray[np.int64], ...]:
        """Records of each code of each quasi-identifier."""
        return tuple(_counts(*column) for column in self.columns())

    @cached_property
    def sketch(self) -> Sketch:
        """Some records that stand for all, drawn when they are first asked for."""
        sketch = Sketch(len(self.qi))
        sketch.add(self.codes)
        return sketch

    def with_attributes(self, qi: Sequence[Attribute]) -> EncodedTable:
        """The same codes under other attributes: what was counted of them stays known."""
        found = replace(self, qi=tuple(qi))
        vars(found).update({name: vars(self)[name] for name in COUNTED if name in vars(self)})
        return found

    @cached_property
    def codebook(self) -> Codebook:
        """What is known without the records, counted when it is first asked for."""
        persons = None if self.person is None else len(np.unique(self.person))
        return Codebook(
            self.qi,
            self.sensitive,
            self.counts,
            tuple(self._counted(*column) for column in self.sensitive_columns()),
            self.n,
            persons,
            self.of_table,
        )

    def _counted(self, codes: Codes, size: int) -> NDArray[np.int64]:
        """Records of each sensitive code, or each person once with every code."""
        if self.person is None:
            return _counts(codes, size)
        people = int(self.person.max()) + 1 if self.n else 0
        pairs = np.unique(codes.astype(np.int64) * people + self.person)
        return _counts(pairs // max(1, people), size)

    def columns(self, attributes: Iterable[int] | None = None) -> list[tuple[Codes, int]]:
        """Codes of quasi-identifiers, all or some, each with how many codes there can be."""
        chosen = range(len(self.qi)) if attributes is None else attributes
        return [(self.codes[a], self.qi[a].size) for a in chosen]

    def sensitive_columns(self) -> list[tuple[Codes, int]]:
        """Codes of the sensitive columns, each with how many codes there can be."""
        return [(self.sensitive_codes[s], column.size) for s, column in enumerate(self.sensitive)]

    def class_ids(self) -> tuple[NDArray[np.int64], int]:
        """Number records by their quasi-identifiers, as `shoal.encoding.classes.class_ids`."""
        return class_ids(self.columns(), self.n)

    @cached_property
    def _suppressing(self) -> EncodedTable:
        return replace(self, qi=tuple(attribute.suppressing() for attribute in self.qi))

    def suppressing(self) -> EncodedTable:
        """The same table, of which only exact values and stars are released."""
        return self._suppressing

    def take(self, rows: NDArray[np.int64]) -> EncodedTable:
        """Some of the records; what a range of codes costs is as in the whole table."""
        return EncodedTable(
            self.qi,
            np.take(self.codes, rows, axis=1),
            self.sensitive,
            np.take(self.sensitive_codes, rows, axis=1),
            None if self.person is None else self.person[rows],
            None if self.marks is None else np.take(self.marks, rows, axis=1),
            self.of_table,
        )

    def select(self, attributes: Sequence[int]) -> EncodedTable:
        """The table with some of its quasi-identifiers."""
        chosen = tuple(self.qi[a] for a in attributes)
        return replace(self, qi=chosen, codes=self.codes[list(attributes)])


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

    @cached_property
    def known_extents(self) -> dict[tuple[object, ...], tuple[Codes, Codes, Codes]]:
        """By where a column of codes lies in memory: the column, first and last code of groups.

        Recoding, loss and risks all ask, and each answer costs a walk through all memory. The
        column is kept, so that no other can lie in its place.
        """
        return {}

    @cached_property
    def known_sets(self) -> dict[tuple[object, ...], tuple[Codes, NDArray[np.int64], Codes]]:
        """The same of the different codes of each group: see `member_codes`."""
        return {}

    @property
    def groups(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The first record of each group."""
        firsts: NDArray[np.int64] = self.order[self.offsets[:-1]]
        return firsts

    def part(self, begin: int, end: int) -> Partition:
        """Some of its groups, of which is known what is known of these."""
        first, last = int(self.offsets[begin]), int(self.offsets[end])
        found = Partition(self.order[first:last], self.offsets[begin : end + 1] - first)
        found.known_extents.update(
            (place, (codes, low[begin:end], high[begin:end]))
            for place, (codes, low, high) in self.known_extents.items()
        )
        for place, (codes, starts, members) in self.known_sets.items():
            own = starts[begin : end + 1]
            inside = members[own[0] : own[-1]]
            found.known_sets[place] = (codes, own - own[0], inside)
        return found

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

    def within(self, codes: Codes) -> Domain:
        """The same blocks, from the first to the last of these codes that lie in each.

        A block that ended at a value nobody has (who had it was dropped) would publish it.
        """
        there = np.unique(codes)
        first, last = self.low.copy(), self.high.copy()
        first[there] = there[np.searchsorted(there, self.low[there], side="left")]
        last[there] = there[np.searchsorted(there, self.high[there], side="right") - 1]
        return Domain(first, last)


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

    def within(self, table: EncodedTable) -> Recoding:
        """The same with coarser domains of those values alone that occur in a table."""
        if not any(self.domains):
            return self
        domains = zip(self.domains, table.codes, strict=True)
        return replace(self, domains=tuple(d and d.within(codes) for d, codes in domains))

    def seen(self, table: EncodedTable) -> EncodedTable:
        """The table with the losses and forms that this recoding gives it."""
        return table.suppressing() if self.stars else table


def extents(
    codes: Codes, partition: Partition, domain: Domain | None = None
) -> tuple[Codes, Codes]:
    """First and last code that each group is published under, before any tree or star."""
    place, known = _place(codes), partition.known_extents  # one dict: other threads may make it too
    if place not in known:
        low = np.empty(partition.groups, dtype=np.int32)
        high = np.empty(partition.groups, dtype=np.int32)
        group_extents(codes, partition.order, partition.offsets, low, high)
        known[place] = (codes, low, high)
    _, low, high = known[place]
    return (low, high) if domain is None else (domain.low[low], domain.high[high])


def member_codes(codes: Codes, partition: Partition, size: int) -> tuple[NDArray[np.int64], Codes]:
    """The different codes of each group: those of g are ``members[starts[g]:starts[g + 1]]``."""
    place, known = _place(codes), partition.known_sets
    if place not in known:
        starts = np.empty(partition.groups + 1, dtype=np.int64)
        members = np.empty(len(partition.order), dtype=np.int32)
        group_sets(codes, partition.order, partition.offsets, size, starts, members)
        known[place] = (codes, starts, members[: starts[-1]].copy())
    return known[place][1:]


def known_distinct(codes: Codes, partition: Partition) -> NDArray[np.int64] | None:
    """How many different codes each group has, where that is known already."""
    known = partition.known_sets.get(_place(codes))
    return None if known is None else np.diff(known[1])


def _place(codes: Codes) -> tuple[object, ...]:
    """Where a column lies in memory."""
    return (codes.__array_interface__["data"][0], codes.shape, codes.strides)


def stacked(columns: Iterable[Codes], count: int, n: int) -> Codes:
    """Columns as the rows of one C-contiguous array, which can be made one after the other."""
    codes = np.empty((count, n), dtype=np.int32)
    for row, column in zip(codes, columns, strict=True):
        row[:] = column
    return codes


def _counts(codes: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    return np.bincount(codes, minlength=size).astype(np.int64, copy=False)
