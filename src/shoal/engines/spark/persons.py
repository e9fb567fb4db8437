"""Persons of a table of a cluster: all records of some persons in one task, and never all persons.

Records move to tasks by whose they are, as numbers. There persons are counted, and given a
home; from there their records go on to the ranges of these homes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.cutting import Borders
from shoal.engines.ranges.persons import PersonCounts, home_of, numbered, parted
from shoal.engines.spark.packets import Row, by_number, dealt, facts, told, unpacked
from shoal.engines.spark.profiling import as_numbers
from shoal.engines.spark.working import OnRows

__all__ = ["ByPerson", "CountPersons", "batches_of", "buckets_of", "persons_of"]


class ByPerson(OnRows):
    """Records, as numbers of their values, to where all others of their person go."""

    def __init__(self, table: Coded, parts: int) -> None:
        self.table, self.parts = table, parts

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            batch = as_numbers(unpacked(row.packet), self.table.stage.values)
            words = self.table.words(batch)
            assert words is not None
            yield from dealt("records", batch, parted(words, self.parts))


class CountPersons(OnRows):
    """How many persons there are, and how many have each sensitive value."""

    def __init__(self, table: Coded) -> None:
        self.table = table

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        counts = PersonCounts([column.size for column in self.table.book.sensitive])
        for batch in batches_of(rows, self.table):
            words = self.table.words(batch)
            assert words is not None
            counts.add(numbered(words), self.table.sensitive_codes(batch))
        if counts.persons:
            yield Row("persons", 0, facts((counts.persons, counts.columns)))


def persons_of(rows: Iterable[Row], table: Coded) -> PersonCounts:
    """The counts of all tasks."""
    counts = PersonCounts([column.size for column in table.book.sensitive])
    for row in rows:
        persons, columns = told(row.packet)
        counts.persons += persons
        for whole, found in zip(counts.columns, columns, strict=True):
            whole += found
    return counts


def batches_of(rows: Iterable[Row], table: Coded) -> Iterator[pa.RecordBatch]:
    """The records of a task as numbers; with persons, all of somebody's in one batch."""
    if table.stage.person is None:
        for row in rows:
            yield as_numbers(unpacked(row.packet), table.stage.values)
        return
    for _, own in by_number(rows):
        whole = pa.concat_tables([unpacked(row.packet) for row in own])
        yield from whole.combine_chunks().to_batches()


def buckets_of(
    table: Coded, borders: Borders, batch: pa.RecordBatch, seed: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.int32] | None]:
    """The bucket in which each record lies, the one of its home, and whose it is."""
    lies, words = borders.of(table.codes(batch)), table.words(batch)
    if words is None:
        return lies, lies, None
    person = numbered(words)
    return lies, home_of(person, words[0], lies, seed), person
