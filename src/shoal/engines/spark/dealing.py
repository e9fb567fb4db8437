"""Packets to ranges: a sketch of the table, exact counts along the curve, and the moves.

What is counted where, and which records are lent, is decided by `shoal.engines.ranges`, from
counts that add up to the same whatever the partitions are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.sketch import Sketch
from shoal.encoding.table import stacked
from shoal.engines.ranges.coded import Coded, Explained
from shoal.engines.ranges.cutting import Borders, BucketCounts
from shoal.engines.ranges.dealt import DealtForm, marked
from shoal.engines.ranges.grouping import Ranges
from shoal.engines.spark.packets import Row, by_number, dealt, facts, packed, told, unpacked
from shoal.engines.spark.persons import batches_of, buckets_of
from shoal.engines.spark.working import OnRows

__all__ = [
    "CountBuckets",
    "DealOut",
    "MergeSketches",
    "SettleLoans",
    "Sketched",
    "counts_of",
    "sketch_of",
]  # fmt: skip

Counts = NDArray[np.int64]


class Sketched(OnRows):
    """A sketch of the records of a task."""

    def __init__(self, names: tuple[str, ...], values: dict[str, Any], found: Explained) -> None:
        self.names = names
        self.values = {name: values[name] for name in names}
        self.codes = {name: found.numbers[name] for name in names}

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        sketch = Sketch(len(self.names))
        for row in rows:
            table = unpacked(row.packet)
            columns = (
                self.codes[name][self.values[name].numbers_of(table.column(name))]
                for name in self.names
            )
            sketch.add(stacked(columns, len(self.names), table.num_rows))
        if len(sketch.hashes):
            yield _sketched(sketch)


class MergeSketches(OnRows):
    """Sketches of many tasks into one."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        sketch = sketch_of(rows)
        if sketch is not None:
            yield _sketched(sketch)


def _sketched(sketch: Sketch) -> Row:
    found = (sketch.hashes, sketch.counts, sketch.codes.astype(np.int32))
    return Row("sketch", 0, facts(found))


def sketch_of(rows: Iterable[Row]) -> Sketch | None:
    """The sketch of all parts."""
    whole: Sketch | None = None
    for row in rows:
        hashes, counts, codes = told(row.packet)
        part = Sketch(len(codes))
        part.hashes, part.counts, part.codes = hashes, counts, codes
        if whole is None:
            whole = Sketch(len(codes))
        whole.merge(part)
    return whole


class CountBuckets(OnRows):
    """How many records, of which sensitive values, lie in each bucket along the curve."""

    def __init__(self, table: Coded, borders: Borders, models: Any, seed: int) -> None:
        self.table, self.borders, self.models, self.seed = table, borders, models, seed

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        counts = BucketCounts(self.borders.buckets, self.table.book, self.models)
        for batch in batches_of(rows, self.table):
            _, home, person = buckets_of(self.table, self.borders, batch, self.seed)
            counts.add(home, self.table.sensitive_codes(batch), person)
        if counts.sizes.any():
            yield Row("counts", 0, facts([_sparse(a) for a in counts.all]))


def _sparse(counts: Counts) -> tuple[Counts, Counts]:
    there = np.flatnonzero(counts)
    return there, counts.reshape(-1)[there]


class MergeCounts(OnRows):
    """Counts of many tasks into one."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        whole: list[tuple[Counts, Counts]] = []
        for row in rows:
            found = told(row.packet)
            whole = [_added(*both) for both in zip(whole, found, strict=True)] if whole else found
        if whole:
            yield Row("counts", 0, facts(whole))


def _added(one: tuple[Counts, Counts], other: tuple[Counts, Counts]) -> tuple[Counts, Counts]:
    there, place = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    total = np.zeros(len(there), dtype=np.int64)
    np.add.at(total, place, np.concatenate([one[1], other[1]]))
    return there, total


def counts_of(rows: Iterable[Row], borders: Borders, table: Coded, models: Any) -> BucketCounts:
    """The counts of all tasks."""
    counts = BucketCounts(borders.buckets, table.book, models)
    for row in rows:
        for whole, (there, found) in zip(counts.all, told(row.packet), strict=True):
            whole.reshape(-1)[there] += found
    return counts


class DealOut(OnRows):
    """Records to their ranges, as codes; those that somebody must choose among, to their cell."""

    def __init__(self, table: Coded, ranges: Ranges | None, seed: int) -> None:
        self.table, self.ranges, self.seed = table, ranges, seed

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        form = DealtForm(self.table)
        for batch in batches_of(rows, self.table):
            if self.ranges is None:
                yield Row("records", 0, packed(form.batch(batch)))
                continue
            bucket, home, person = buckets_of(self.table, self.ranges.borders, batch, self.seed)
            lies = self.ranges.of_bucket[bucket]
            if person is not None:
                yield from _moved(form, batch, lies, self.ranges.of_bucket[home])
            elif self.ranges.lent is None:
                yield from dealt("records", form.batch(batch), lies)
            else:
                yield from self._lending(batch, bucket, lies, form)

    def _lending(
        self, batch: pa.RecordBatch, bucket: NDArray[np.uint16], home: Counts, form: DealtForm
    ) -> Iterator[Row]:
        assert self.ranges is not None
        assert self.ranges.lent is not None
        lent = self.ranges.lent
        cells = lent.cells_of(bucket, self.table.sensitive_codes(batch)[0])
        some = lent.partly(cells)
        part = np.where((cells >= 0) & (lent.whole[cells] >= 0), lent.whole[cells], home)
        alone = np.ones(batch.num_rows, dtype=bool)
        alone[some] = False
        here = pa.array(np.flatnonzero(alone))
        yield from _moved(form, batch.take(here), home[alone], part[alone])
        waiting = batch.take(pa.array(some))
        asked = waiting.append_column("\0home", pa.array(home[some]))
        yield from dealt("cell", asked, cells[some])


def _moved(form: DealtForm, batch: pa.RecordBatch, home: Counts, part: Counts) -> Iterator[Row]:
    """Records to their ranges, and the codes of those that were lent to where they lie."""
    whole = marked(form.batch(batch), part != home)
    yield from dealt("records", whole, part)
    gone = np.flatnonzero(part != home)
    yield from dealt("away", form.codes_of(whole).take(pa.array(gone)), home[gone])


class SettleLoans(OnRows):
    """Of a cell that is lent in part: which of its records go where."""

    def __init__(self, table: Coded, ranges: Ranges, seed: int) -> None:
        self.table, self.ranges, self.seed = table, ranges, seed

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        form = DealtForm(self.table)
        assert self.ranges.lent is not None
        for number, own in by_number(rows):
            tables = [unpacked(row.packet) for row in own]
            records = pa.concat_tables(tables).combine_chunks()
            home = np.asarray(records.column("\0home").combine_chunks()).astype(np.int64)
            (batch,) = records.drop_columns(["\0home"]).to_batches()
            encoded = self.table.table(self.table.codes(batch), pa.Table.from_batches([batch]))
            cell = np.full(batch.num_rows, number, dtype=np.int64)
            to = self.ranges.lent.borrowers(encoded, cell, self.seed)
            yield from _moved(form, batch, home, np.where(to < 0, home, to))
