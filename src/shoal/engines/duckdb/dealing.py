"""Staged records dealt out to their ranges: one file a range, as codes.

Where ranges lend each other records (`shoal.engines.ranges.lending`), and where all records of
a person go to one range, what goes elsewhere is marked, and its codes are kept where it lies on
the curve too: how many people stood out in the input is counted where equal records lie
together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.duckdb.persons import HOMES
from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.dealt import DealtForm, Part, marked
from shoal.engines.ranges.grouping import Ranges
from shoal.engines.ranges.lending import Lent
from shoal.engines.ranges.spill import Scattered, Spill
from shoal.progress import Report

__all__ = ["Dealt", "dealt_out"]


class Dealt:
    """Records by their ranges, each range a file."""

    def __init__(self, spill: Spill, parts: int, room: int, moves: bool) -> None:
        self.records = Scattered(spill, "range", parts, room)
        self.away = Scattered(spill, "away", parts, room) if moves else None

    def take(self, part: int) -> Part:
        """One range; its file is gone afterwards."""
        rows = pa.Table.from_batches(self.records.take(part))
        away = [] if self.away is None else self.away.take(part)
        lent = pa.Table.from_batches(away) if away else None
        return Part.of(rows, lent, self.away is not None)

    def flush(self) -> None:
        self.records.flush()
        if self.away is not None:
            self.away.flush()


def dealt_out(
    table: Coded, ranges: Ranges | None, spill: Spill, room: int, seed: int, report: Report
) -> Dealt:
    """Deal out all staged records, which are gone afterwards; without ranges into one."""
    parts = 1 if ranges is None else len(ranges.sizes)
    work = DealtForm(table)
    places = None if ranges is None else _Places(table, work, ranges, spill, seed)
    moves = places is not None and places.moves
    dealt = Dealt(spill, parts, room, moves)
    done = 0
    for batch in table.scan(work.batch):
        lies = part = np.zeros(batch.num_rows, dtype=np.int64)
        if places is not None:
            lies, part = places.of(batch, done)
        if dealt.away is not None:
            batch = marked(batch, part != lies)
            moved = np.flatnonzero(part != lies)
            dealt.away.add(work.codes_of(batch).take(pa.array(moved)), lies[moved])
        dealt.records.add(batch, part)
        done += batch.num_rows
        report("ranges", table.records + done, 2 * table.records)
    dealt.flush()
    table.stage.pieces.remove()
    for name in ("buckets", HOMES):
        spill.file(name).unlink(missing_ok=True)
    return dealt


class _Places:
    """The range in which each staged record lies on the curve, and the one that it goes to."""

    def __init__(
        self, table: Coded, form: DealtForm, ranges: Ranges, spill: Spill, seed: int
    ) -> None:
        self.form, self.ranges, self.lent = form, ranges, ranges.lent
        self.bucket = np.memmap(spill.file("buckets"), np.uint16, "r")
        persons = table.stage.person is not None
        self.homes = np.memmap(spill.file(HOMES), np.uint16, "r") if persons else None
        self.moves = self.lent is not None or persons
        self.partly: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        if self.lent is not None:
            self.partly = _lent_in_part(table, self.lent, self.bucket, seed)

    def of(self, batch: pa.RecordBatch, before: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both of each record of a batch; so many records came before it."""
        here = slice(before, before + batch.num_rows)
        lies: NDArray[np.int64] = self.ranges.of_bucket[self.bucket[here]]
        if self.homes is not None:
            return lies, self.ranges.of_bucket[self.homes[here]]
        if self.lent is None or self.partly is None:
            return lies, lies
        rows, to = self.partly
        cells = self.lent.cells_of(self.bucket[here], self.form.taken_codes(batch))
        whole = self.lent.whole[cells]
        part = np.where((cells >= 0) & (whole >= 0), whole, lies)
        first, last = np.searchsorted(rows, [here.start, here.stop])
        part[rows[first:last] - before] = to[first:last]
        return lies, part


def _lent_in_part(
    table: Coded, lent: Lent, bucket: NDArray[np.uint16], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records of buckets that are lent in part: which of them go, and to which ranges."""
    found, done = list[pa.Table](), 0
    rows, cells = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for batch in table.stage.pieces.read():
        here = slice(done, done + batch.num_rows)
        cell = lent.cells_of(bucket[here], table.sensitive_codes(batch)[0])
        some = lent.partly(cell)
        if len(some):
            found.append(_wide(batch.take(pa.array(some)), table))
            rows.append(some + done)
            cells.append(cell[some])
        done += batch.num_rows
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    records = pa.concat_tables(found).combine_chunks()
    (own,) = records.to_batches()
    to = lent.borrowers(table.table(table.codes(own), records), np.concatenate(cells), seed)
    gone = np.flatnonzero(to >= 0)
    return np.concatenate(rows)[gone], to[gone]


def _wide(batch: pa.RecordBatch, table: Coded) -> pa.Table:
    """Numbers of values in one type: they are staged in the smallest that was enough so far."""
    arrays = {
        name: column.cast(pa.uint32()) if name in table.stage.values else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.table(arrays)
