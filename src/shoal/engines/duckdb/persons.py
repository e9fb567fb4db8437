"""Persons of a staged table: counted, and given a home, some of them at a time.

Records are dealt out to files by whose they are, so that all records of a person are in
memory at once, and never all persons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.table import Codes
from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.cutting import BucketCounts
from shoal.engines.ranges.persons import (
    PART,
    PersonCounts,
    home_of,
    numbered,
    parted,
    staged_words,
    words_in,
)
from shoal.engines.ranges.spill import Scattered, Spill, private

__all__ = ["HOMES", "homes_counted", "persons_counted"]

HOMES = "homes"
"""The file that has the home bucket of each staged record."""


def persons_counted(table: Coded, spill: Spill, room: int) -> Coded:
    """The table with a codebook that counts persons."""
    counts = PersonCounts([column.size for column in table.book.sensitive])
    for rows in _by_person(table, spill, room, lambda batch, _: _codes_of(table, batch)):
        counts.add(numbered(words_in(rows.column("person"))), _codes_in(rows))
    return table.counting_persons(counts)


def homes_counted(
    table: Coded,
    bucket: NDArray[np.uint16],
    counts: BucketCounts,
    spill: Spill,
    room: int,
    seed: int,
) -> None:
    """Count everybody in at home, and put down where the home of each record is."""

    def placed(batch: pa.RecordBatch, before: int) -> dict[str, pa.Array]:
        here = slice(before, before + batch.num_rows)
        row = np.arange(here.start, here.stop, dtype=np.int64)
        return {
            **_codes_of(table, batch), "bucket": pa.array(bucket[here]), "row": pa.array(row),
        }  # fmt: skip

    with open(spill.file(HOMES), "wb", opener=private) as file:
        file.truncate(2 * table.records)
    homes = np.memmap(spill.file(HOMES), np.uint16, "r+")
    for rows in _by_person(table, spill, room, placed):
        words = words_in(rows.column("person"))
        person = numbered(words)
        lies = np.asarray(rows.column("bucket").combine_chunks())
        home = home_of(person, words[0], lies, seed)
        homes[np.asarray(rows.column("row").combine_chunks())] = home
        counts.add(home, _codes_in(rows), person)
    homes.flush()


def _by_person(
    table: Coded,
    spill: Spill,
    room: int,
    columns: Callable[[pa.RecordBatch, int], dict[str, pa.Array]],
) -> Iterator[pa.Table]:
    """Records with all others of the same person, some persons after the other."""
    parts = table.records // PART + 1
    scattered = Scattered(spill, "persons", parts, room)
    done = 0
    for batch in table.stage.pieces.read():
        words = table.words(batch)
        assert words is not None
        own = {"person": staged_words(words), **columns(batch, done)}
        scattered.add(pa.RecordBatch.from_pydict(own), parted(words, parts))
        done += batch.num_rows
    scattered.flush()
    for part in range(parts):
        if batches := scattered.take(part):
            yield pa.Table.from_batches(batches)


def _codes_of(table: Coded, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    codes = table.sensitive_codes(batch)
    return {f"{number}": pa.array(row) for number, row in enumerate(codes)}


def _codes_in(rows: pa.Table) -> Codes:
    names = [name for name in rows.column_names if name.isdigit()]
    codes = np.empty((len(names), rows.num_rows), dtype=np.int32)
    for name, row in zip(names, codes, strict=True):
        row[:] = np.asarray(rows.column(name).combine_chunks())
    return codes
