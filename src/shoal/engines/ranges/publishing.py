"""Ranges into classes, classes into their order, and the columns of the release.

The order is that of `shoal.encoding.publish`: by class, classes by their texts, then by the
other published values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, class_sizes, first_of_each
from shoal.encoding.publish import with_nulls
from shoal.encoding.recode import recode, released_columns
from shoal.encoding.row_order import ranks_of_column, sorted_rows
from shoal.encoding.spreadsheet import disarm, disarmed_names
from shoal.encoding.table import EncodedTable
from shoal.engines.ranges.coded import Coded
from shoal.errors import PolicyError
from shoal.methods.base import Outcome
from shoal.metrics.loss import LossSums, sums_of
from shoal.policy import Policy

__all__ = ["Before", "Classes", "Layout", "PublishedRange", "people_in", "published_range"]


class Before(NamedTuple):
    """How many stood out in the input: records of equal quasi-identifiers are in one range."""

    classes: int
    smallest: int
    unique: int
    few: int

    @classmethod
    def of(cls, table: EncodedTable, k: int) -> Before:
        sizes = class_sizes(table.columns(), table.n)
        few = int(sizes[sizes < k].sum())
        return cls(len(sizes), int(sizes.min()), int((sizes == 1).sum()), few)

    def __add__(self, other: Any) -> Before:
        return Before(
            self.classes + other.classes,
            min(self.smallest, other.smallest),
            self.unique + other.unique,
            self.few + other.few,
        )


class PublishedRange(NamedTuple):
    """The records of a range as they will be released."""

    columns: dict[str, pa.Array]
    """Published quasi-identifiers of each class of the range."""
    sizes: NDArray[np.int64]
    class_of: NDArray[np.int64]
    """Class of each record."""
    rest: pa.Table
    """What else is published of each record."""
    loss: LossSums
    before: Before
    person: NDArray[np.int32] | None = None
    """Whose each record is, where persons are declared: numbers from 0 on."""


def published_range(
    table: EncodedTable,
    outcome: Outcome,
    rest: pa.Table,
    policy: Policy,
    before: Before | None = None,
) -> PublishedRange:
    """Recode one range. Groups of equal texts are one class.

    `before` is who stood out there, where the range has other records than lie in it.
    """
    recoding = outcome.recoding
    recoded = recode(table, recoding)
    groups = recoding.partitions[0].groups
    ids, count = class_ids([(c.text_of_group, len(c.texts)) for c in recoded], groups)
    first = first_of_each(ids, count)
    columns: dict[str, pa.Array] = {}
    for column in recoded:
        columns.update(released_columns([replace(column, groups=first)], policy.layout))
    class_of = ids[recoded[0].groups]
    sizes = np.bincount(class_of, minlength=count).astype(np.int64)
    loss = sums_of(table, recoding, sizes, [column.starred() for column in recoded])
    before = before or Before.of(table, policy.k or 2)
    return PublishedRange(columns, sizes, class_of, rest, loss, before, table.person)


class Classes:
    """The classes of all ranges, which are ranked by what they publish."""

    def __init__(self) -> None:
        self.chunks: dict[str, list[pa.Array]] = {}
        self.parts: list[NDArray[np.int64]] = []

    def add(self, part: PublishedRange) -> int:
        """Take in the classes of a range; gives the number of its first one."""
        return self.take_in(part.columns, part.sizes)

    def take_in(self, columns: dict[str, pa.Array], sizes: NDArray[np.int64]) -> int:
        """The same of what they publish, and how many records each has."""
        first = sum(map(len, self.parts))
        for name, column in columns.items():
            self.chunks.setdefault(name, []).append(column)
        self.parts.append(sizes)
        return first

    def ranked(self) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Table]:
        """Rank of each class; records of each rank; and what each rank publishes."""
        sizes = np.concatenate(self.parts)
        columns = {name: _joined(chunks) for name, chunks in self.chunks.items()}
        keys = [ranks_of_column(pa.chunked_array([column])) for column in columns.values()]
        order = sorted_rows(keys) if keys else np.arange(len(sizes))
        new = np.zeros(len(sizes), dtype=bool)
        new[0] = True
        for ranks, _ in keys:
            along = ranks[order]
            new[1:] |= along[1:] != along[:-1]
        rank = np.empty(len(sizes), dtype=np.int64)
        rank[order] = np.cumsum(new) - 1
        firsts = pa.array(order[new])
        table = pa.table({name: column.take(firsts) for name, column in columns.items()})
        records = np.zeros(table.num_rows, dtype=np.int64)
        np.add.at(records, rank, sizes)
        return rank, records, table


def _joined(chunks: Sequence[pa.Array]) -> pa.Array:
    if pa.types.is_dictionary(chunks[0].type):  # Arrow unifies no dictionaries with a null
        chunks = [
            chunk.dictionary_decode().dictionary_encode() if chunk.dictionary.null_count else chunk
            for chunk in chunks
        ]
    whole = pa.chunked_array(chunks)
    if pa.types.is_dictionary(whole.type):
        whole = whole.unify_dictionaries()
    joined = whole.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def people_in(files: Sequence[Path]) -> NDArray[np.int32]:
    """Whose each record is, of all parts together."""
    found = [pa.parquet.read_table(file).column(0).combine_chunks() for file in files]
    return np.concatenate([np.asarray(people, dtype=np.int32) for people in found])


class Layout:
    """Which columns are released, in which order and form."""

    def __init__(self, coded: Coded, published: pa.Table) -> None:
        self.coded = coded
        self.published = published
        self.policy = policy = coded.policy
        self.forms = {name: _forms(name, published.column_names, policy) for name in policy.qi}
        self.qi = tuple(form for name in policy.qi for form in self.forms[name])
        self.names: list[str] = []
        for name in coded.stage.columns:
            for form in self.forms.get(name, [name]):
                taken = form in self.names or (form != name and form in coded.stage.columns)
                if taken:
                    raise PolicyError(
                        f"layout bounds: column {form!r} exists already; rename it in the input"
                    )
                self.names.append(form)

    def table(self, batches: list[pa.RecordBatch]) -> tuple[pa.Table, pa.Array | None]:
        """Some ranks with all their records, sorted; and whose these are, where that is known."""
        rows = pa.Table.from_batches(batches).combine_chunks()
        rank = np.asarray(rows.column("class").combine_chunks()).astype(np.int64)
        others = dict(self._others(rows))
        keys: list[tuple[NDArray[Any], int]] = [(rank - int(rank.min()), int(np.ptp(rank)) + 1)]
        keys += [ranks_of_column(column) for column in others.values()]
        order = sorted_rows(keys)
        place, at = pa.array(order), pa.array(rank[order])
        columns = {
            name: others[name].take(place)
            if name in others
            else self.published.column(name).take(at)
            for name in self.names
        }
        table = pa.table(columns)
        known = "person" in rows.column_names
        persons = rows.column("person").combine_chunks().take(place) if known else None
        return disarmed_names(disarm(table)) if self.policy.csv_safe else table, persons

    def named(self, table: pa.Table) -> pa.Table:
        """A table as it is written, under the names that the policy knows."""
        return table.rename_columns(self.names)

    def _others(self, rows: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
        """Columns that are not recoded, in the order of the release."""
        for name in self.coded.stage.columns:
            if name in self.forms:
                continue
            column = rows.column(f"={name}")
            if name in self.policy.sensitive:
                numbers = np.asarray(column.combine_chunks())
                column = pa.chunked_array([self.coded.sensitive_column(name, numbers)])
            yield name, with_nulls(name, column, self.policy)


def _forms(name: str, published: Sequence[str], policy: Policy) -> list[str]:
    """What a quasi-identifier is called in the release."""
    bounds = [f"{name}_min", f"{name}_max"]
    return bounds if policy.layout == "bounds" and name not in published else [name]
