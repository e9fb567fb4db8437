"""Records as they are dealt out to ranges: codes, other columns, and what went elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.table import Codes
from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.persons import words_in
from shoal.engines.ranges.spill import smallest_type

__all__ = ["DealtForm", "Part", "codes_in", "marked"]


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


def codes_in(rows: pa.Table) -> Codes:
    names = [name for name in rows.column_names if name.isdigit()]
    codes = np.empty((len(names), rows.num_rows), dtype=np.int32)
    for number, row in enumerate(codes):
        row[:] = np.asarray(rows.column(f"{number}").combine_chunks())
    return codes


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
