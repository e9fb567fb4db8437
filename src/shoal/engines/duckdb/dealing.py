"""Staged records dealt out to their ranges: one file a range, as codes.

Where ranges lend each other records (`shoal.engines.ranges.lending`), what was lent is marked,
and its codes are kept for the lender too: how many people stood out in the input is counted
where equal records lie together.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.table import Codes
from shoal.engines.duckdb.spill import Scattered, Spill, smallest_type
from shoal.engines.duckdb.staging import Coded
from shoal.engines.ranges.grouping import Ranges
from shoal.engines.ranges.lending import Lent
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

    @classmethod
    def of(cls, rows: pa.Table, away: pa.Table | None, lends: bool) -> Part:
        """What was dealt out to a range, and the codes of what lies there and was lent."""
        rows = rows.combine_chunks()
        codes = codes_in(rows)
        kept = [name for name in rows.column_names if name.startswith("=")]
        rest = rows.select(kept).rename_columns([name[1:] for name in kept])
        if not kept:
            rest = pa.table({"": pa.nulls(rows.num_rows)})
        if not lends:
            return cls(codes, rest, None)
        home = codes[:, ~np.asarray(rows.column("lent").combine_chunks())]
        if away is not None:
            home = np.concatenate([home, codes_in(away)], axis=1)
        return cls(codes, rest, np.ascontiguousarray(home))


class Dealt:
    """Records by their ranges, each range a file."""

    def __init__(self, spill: Spill, parts: int, room: int, lends: bool) -> None:
        self.records = Scattered(spill, "range", parts, room)
        self.away = Scattered(spill, "away", parts, room) if lends else None

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
    lent = None if ranges is None else ranges.lent
    dealt = Dealt(spill, parts, room, lent is not None)
    file = spill.file("buckets")
    bucket = np.memmap(file, np.uint16, "r") if ranges is not None else None
    elsewhere = _lent_in_part(table, lent, bucket, seed) if lent and bucket is not None else None
    work = DealtForm(table)
    done = 0
    for batch in table.scan(work.batch):
        here = slice(done, done + batch.num_rows)
        if ranges is None or bucket is None:
            part = np.zeros(batch.num_rows, dtype=np.int64)
        else:
            part = ranges.of_bucket[bucket[here]]
        if lent is not None and bucket is not None and elsewhere is not None:
            home, cells = part, lent.cells_of(bucket[here], work.taken_codes(batch))
            part = np.where((cells >= 0) & (lent.whole[cells] >= 0), lent.whole[cells], home)
            first, last = np.searchsorted(elsewhere[0], [here.start, here.stop])
            part[elsewhere[0][first:last] - done] = elsewhere[1][first:last]
            batch = marked(batch, part != home)
            assert dealt.away is not None
            moved = np.flatnonzero(part != home)
            dealt.away.add(work.codes_of(batch).take(pa.array(moved)), home[moved])
        dealt.records.add(batch, part)
        done += batch.num_rows
        report("ranges", table.records + done, 2 * table.records)
    dealt.flush()
    table.stage.pieces.remove()
    Path(file).unlink(missing_ok=True)
    return dealt


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


def marked(batch: pa.RecordBatch, lent: NDArray[np.bool_]) -> pa.RecordBatch:
    arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
    return pa.RecordBatch.from_pydict({**arrays, "lent": pa.array(lent)})


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
