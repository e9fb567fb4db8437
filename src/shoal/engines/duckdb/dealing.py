"""Staged records dealt out to their ranges: one file a range, as codes.

Where ranges lend each other records (`shoal.engines.ranges.lending`), and where all records of
a person go to one range, what goes elsewhere is marked, and its codes are kept where it lies on
the curve too: how many people stood out in the input is counted where equal records lie
together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.table import Codes
from shoal.engines.duckdb.persons import HOMES
from shoal.engines.duckdb.spill import Scattered, Spill, smallest_type
from shoal.engines.duckdb.staging import Coded
from shoal.engines.ranges.grouping import Ranges
from shoal.engines.ranges.lending import Lent
from shoal.engines.ranges.persons import words_in
from shoal.progress import Report

__all__ = ["Dealt", "DealtForm", "Part", "codes_in", "dealt_out", "marked"]


class Part(NamedTuple):
    """The records of one range."""

    codes: Codes
    """Of their quasi-identifiers."""
    rest: pa.Table
    """Their other columns: sensitive ones as numbers of their values."""
    at_home: Codes | None
    """Codes of the records that lie there on the curve, where these are not the same."""
    words: NDArray[np.uint64] | None = None
    """Whose they are, where persons are declared."""

    @classmethod
    def of(cls, rows: pa.Table, away: pa.Table | None, moves: bool) -> Part:
        """What was dealt out to a range, and the codes of what lies there and went elsewhere."""
        rows = rows.combine_chunks()
        codes = codes_in(rows)
        kept = [name for name in rows.column_names if name.startswith("=")]
        rest = rows.select(kept).rename_columns([name[1:] for name in kept])
        if not kept:
            rest = pa.table({"": pa.nulls(rows.num_rows)})
        words = words_in(rows.column("person")) if "person" in rows.column_names else None
        if not moves:
            return cls(codes, rest, None, words)
        home = codes[:, ~np.asarray(rows.column("moved").combine_chunks())]
        if away is not None:
            home = np.concatenate([home, codes_in(away)], axis=1)
        return cls(codes, rest, np.ascontiguousarray(home), words)


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


def codes_in(rows: pa.Table) -> Codes:
    names = [name for name in rows.column_names if name.isdigit()]
    codes = np.empty((len(names), rows.num_rows), dtype=np.int32)
    for number, row in enumerate(codes):
        row[:] = np.asarray(rows.column(f"{number}").combine_chunks())
    return codes


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


class DealtForm:
    """Staged batches as they lie in the file of a range."""

    def __init__(self, table: Coded) -> None:
        self.table = table
        self.types = [smallest_type(column.size) for column in table.book.qi]
        self.others = [*table.policy.sensitive, *table.stage.plain]
        self.sensitive = {
            name: smallest_type(len(table.stage.values[name].counts))
            for name in table.policy.sensitive
        }

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        codes = self.table.codes(batch)
        arrays = {
            f"{number}": pa.array(row.astype(kind))
            for number, (row, kind) in enumerate(zip(codes, self.types, strict=True))
        }
        for name in self.others:
            column = batch.column(name)
            if name in self.sensitive:
                column = pa.array(np.asarray(column).astype(self.sensitive[name]))
            arrays[f"={name}"] = column
        if self.table.stage.person is not None:
            arrays["person"] = batch.column(self.table.stage.person)
        return pa.RecordBatch.from_pydict(arrays)

    def taken_codes(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Codes of the one sensitive column of a batch of ours."""
        (name,) = self.sensitive
        codes: NDArray[np.int32] = self.table.code_of_number[name][
            np.asarray(batch.column(f"={name}"))
        ]
        return codes

    def codes_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Its quasi-identifiers alone."""
        return batch.select([f"{number}" for number in range(len(self.types))])


def marked(batch: pa.RecordBatch, moved: NDArray[np.bool_]) -> pa.RecordBatch:
    arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
    return pa.RecordBatch.from_pydict({**arrays, "moved": pa.array(moved)})


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
