"""What a released value may mean: the codes it covers.

A reader of a release spreads a released value evenly over the domain values it
covers, the distinct values of the table (DESIGN section 2). An interval covers
the codes between its ends, be they tight or round, a hierarchy node the leaves
below it, a value set its members, and ``*`` every code, a missing value among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.codebook import SET, Attribute
from shoal.encoding.recode import STAR, distinct_ranges
from shoal.encoding.table import (
    Codes,
    Domain,
    EncodedTable,
    Partition,
    Recoding,
    extents,
    member_codes,
)
from shoal.kernels.metrics.cubes import Cover, count_runs, fill_runs
from shoal.kernels.threads import on_threads

__all__ = ["Cover", "Covered", "cover_of", "covered"]


class Covered(NamedTuple):
    """A release as a reader sees it: groups of records and the codes each may have."""

    partition: Partition
    covers: tuple[Cover, ...]
    """One a quasi-identifier, with a row a group of `partition`."""


def covered(table: EncodedTable, recoding: Recoding) -> Covered:
    """What the groups of a recoding cover, attribute by attribute.

    Where several partitions govern the attributes, the groups are those of
    their common refinement: records that are together under every one.
    """
    partitions = tuple(dict.fromkeys(recoding.partitions))
    domains = recoding.domains or (None,) * len(table.qi)
    qi = recoding.seen(table).qi
    covers = on_threads(cover_of, qi, list(table.codes), recoding.partitions, domains)
    if len(partitions) == 1:
        return Covered(partitions[0], covers)
    ids = {partition: partition.group_ids() for partition in partitions}
    fine, _ = class_ids([(ids[p], p.groups) for p in partitions], table.n)
    refined = Partition.from_group_ids(fine)
    firsts = refined.firsts
    chosen = (
        cover._replace(row=cover.row[ids[partition][firsts]])
        for cover, partition in zip(covers, recoding.partitions, strict=True)
    )
    return Covered(refined, tuple(chosen))


def cover_of(
    column: Attribute, codes: Codes, partition: Partition, domain: Domain | None = None
) -> Cover:
    """The codes that each group's released value of one attribute covers."""
    if column.form == SET and domain is None:
        return _set_cover(column.size, codes, partition)
    low, high = extents(codes, partition, domain)
    first, last = (low, high) if column.form == SET else _ranges(column, low, high)
    rows = np.arange(partition.groups + 1, dtype=np.int64)
    return Cover(rows[:-1], rows, first, last, 1 + last.astype(np.int64) - first)


def _set_cover(size: int, codes: Codes, partition: Partition) -> Cover:
    starts, members = member_codes(codes, partition, size)
    runs = np.empty(partition.groups + 1, dtype=np.int64)
    count = count_runs(starts, members, runs)
    first, last = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    fill_runs(starts, members, first, last)
    return Cover(np.arange(partition.groups, dtype=np.int64), runs, first, last, np.diff(starts))


def _ranges(
    column: Attribute, low: NDArray[np.int32], high: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """First and last code that a range of codes is published as."""
    first, last, index = distinct_ranges(low, high, column.size)
    everything = (first != last) & ((last >= column.present) | column.suppressed)
    if column.hierarchy is not None and not column.suppressed:
        _widen(column, first, last, everything)
    if column.ends is not None:
        known = last < column.present
        first[known], last[known] = column.ends.first[first[known]], column.ends.last[last[known]]
    first[everything], last[everything] = 0, column.size - 1
    return first[index].astype(np.int32), last[index].astype(np.int32)


def _widen(
    column: Attribute,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    everything: NDArray[np.bool_],
) -> None:
    """Ranges of leaves to all leaves below the published label, in place.

    A label stands for its widest node, and ``*`` may also be a missing value:
    a reader cannot tell more.
    """
    assert column.hierarchy is not None
    present = column.present
    known = np.flatnonzero(last < present)
    labels, index = column.hierarchy.lca_labels(first[known], last[known])
    spans = np.array([column.hierarchy.spans[label] for label in labels]).reshape(-1, 2)
    first[known], last[known] = spans[index, 0], spans[index, 1]
    everything[known] = np.array([label == STAR for label in labels], dtype=bool)[index]
