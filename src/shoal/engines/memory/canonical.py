"""One order of the records, whatever order they came in, and nobody's to foretell.

Records are sorted by a fingerprint of their content under the secret seed
(`shoal.kernels.fingerprint`). A method that breaks ties by the number of the record then
breaks them by the seed, and the release depends on the set of records, the policy and the
seed only. Records that are equal in all that is published are interchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition
from shoal.engines.memory.outliers import Kept
from shoal.kernels.fingerprint import fingerprints, order_by_fingerprint
from shoal.kernels.grouping import dense_ids
from shoal.kernels.random import seed_words
from shoal.methods.base import Outcome

__all__ = ["Canonical", "canonical"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Canonical:
    """A table in canonical order, and the way back."""

    source: EncodedTable
    order: Rows
    """Row of the source of each record."""

    @cached_property
    def table(self) -> EncodedTable:
        """The records in their order; persons are numbered as they appear in it."""
        table = self.source.take(self.order)
        if table.person is None:
            return replace(table, marks=None)
        person = np.empty(table.n, dtype=np.int64)
        dense_ids(table.person.astype(np.int64), person)
        return replace(table, person=person.astype(np.int32), marks=None)

    def back(self, kept: Kept) -> Kept:
        """What was found for the ordered records, in terms of the source's."""
        if kept.rows is None:
            return Kept(self.source, _renumbered(kept.outcome, self.order))
        rows = self.order[kept.rows]
        ascending = np.sort(rows)
        place = np.searchsorted(ascending, rows)
        outcome = _renumbered(kept.outcome, place)
        return Kept(self.source.take(ascending), outcome, ascending, kept.suppressed)


def canonical(table: EncodedTable, seed: int) -> Canonical:
    """The table in the order that its records and the seed give it."""
    marks = np.zeros((0, table.n), dtype=np.uint64) if table.marks is None else table.marks
    person, others = np.split(marks, [0 if table.person is None else 1])
    key = seed_words(seed, "order")
    keys = fingerprints(table.codes, table.sensitive_codes, person, key)
    if not len(others):
        return Canonical(table, order_by_fingerprint(keys))
    # What no method looks at decides among equals only: a plain column changes no group.
    nothing = np.zeros((0, table.n), dtype=np.int32)
    return Canonical(table, order_by_fingerprint(keys, fingerprints(nothing, nothing, others, key)))


def _renumbered(outcome: Outcome, number: Rows) -> Outcome:
    """The outcome with ``number[i]`` for record i."""
    known: dict[int, Partition] = {}

    def of(partition: Partition) -> Partition:
        # Attributes under one partition go on sharing it: others compare by identity.
        if id(partition) not in known:
            known[id(partition)] = Partition(number[partition.order], partition.offsets)
        return known[id(partition)]

    recoding = replace(
        outcome.recoding, partitions=tuple(of(p) for p in outcome.recoding.partitions)
    )
    separated = None if outcome.separated is None else of(outcome.separated)
    return replace(outcome, recoding=recoding, separated=separated)
