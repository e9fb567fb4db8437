"""Classes into their order, records to the parts of the release, and each part into a file.

The order is that of every engine: classes of all ranges are ranked by their texts, in one
task that holds the classes and no record. A part has whole classes, and is sorted and written
by one task, under a name that it gets when it is whole: a task that is done twice, since an
executor was lost or was slow, writes the same bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.folder import first_of_parts, part_name
from shoal.engines.ranges.publishing import Classes, Layout
from shoal.engines.spark.packets import Row, by_number, dealt, facts, packed, told, unpacked
from shoal.engines.spark.working import OnRows
from shoal.errors import OutputError
from shoal.io.write import Writer, sha256_of

__all__ = [
    "JoinParts", "Order", "PlaceRecords", "PutParts", "RankClasses", "WriteParts", "Written",
    "people_name",
]  # fmt: skip


class Order(NamedTuple):
    """Where the parts of a release begin."""

    first_ranks: NDArray[np.int64]
    first_records: NDArray[np.int64]


class RankClasses(OnRows):
    """The rank of every class of all ranges, and which ranks are a part."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        classes, begins = Classes(), list[tuple[int, int]]()
        for number, own in by_number(rows):
            columns, sizes = told(own[0].packet)
            begins.append((number, classes.take_in(columns, sizes)))
        if not begins:
            return
        rank, records, published = classes.ranked()
        start = np.cumsum(records) - records
        firsts = first_of_parts(start)
        order = Order(firsts, start[firsts])
        yield Row("order", 0, facts(order))
        ends = [*(begin for _, begin in begins[1:]), len(rank)]
        for (number, begin), end in zip(begins, ends, strict=True):
            own_ranks = pa.table({"rank": rank[begin:end]})
            yield Row("ranks", number, packed(own_ranks))
        lasts = [*firsts[1:].tolist(), published.num_rows]
        for part, (first, last) in enumerate(zip(firsts.tolist(), lasts, strict=True)):
            yield Row("published", part, packed(published.slice(first, last - first)))


class PlaceRecords(OnRows):
    """Records of ranges to the parts of the release."""

    def __init__(self, order: Order, first_persons: dict[int, int]) -> None:
        self.first_ranks = order.first_ranks
        self.first_persons = first_persons
        """The number of the first person of each range, where persons are declared."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for number, own in by_number(rows):
            (ranks,) = (unpacked(row.packet) for row in own if row.kind == "ranks")
            rank = np.asarray(ranks.column("rank").combine_chunks())
            for row in own:
                if row.kind != "grouped":
                    continue
                table = unpacked(row.packet)
                of_record = rank[np.asarray(table.column("class").combine_chunks())]
                part = np.searchsorted(self.first_ranks, of_record, side="right") - 1
                within = (of_record - self.first_ranks[part]).astype(np.uint32)
                if "person" in table.column_names:
                    person = np.asarray(table.column("person").combine_chunks())
                    first = np.int32(self.first_persons[number])
                    table = table.set_column(1, "person", pa.array(person + first))
                (batch,) = table.set_column(0, "class", pa.array(within)).to_batches()
                yield from dealt("placed", batch, part)


class Written(NamedTuple):
    """A file of the release."""

    number: int
    name: str
    sha256: str
    records: int
    longest: int
    """Bytes of its longest line at most, if it is CSV."""
    schema: pa.Schema
    sample: pa.Table | None
    """Every so many of its records, under the names that the policy knows."""


def people_name(number: int) -> str:
    """The file that says whose each record of a part is; it is never published."""
    return f"people-{number:05d}.parquet"


class WriteParts(OnRows):
    """Sort and write parts."""

    def __init__(
        self,
        table: Coded,
        order: Order,
        folder: Path,
        ending: str,
        delimiter: str | None,
        step: int,
    ) -> None:
        self.table, self.order, self.folder = table, order, folder
        self.ending, self.delimiter, self.step = ending, delimiter, step

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for number, own in by_number(rows):
            (published,) = (unpacked(row.packet) for row in own if row.kind == "published")
            tables = [unpacked(row.packet) for row in own if row.kind == "placed"]
            own.clear()
            records = pa.concat_tables(tables).combine_chunks()
            layout = Layout(self.table, published)
            released, persons = layout.table(records.to_batches())
            if persons is not None:
                beside = pa.table({"person": persons})
                _whole(self.folder, people_name(number), [beside], None)
            name = part_name(number, self.ending)
            digest, longest = _whole(self.folder, name, [released], self.delimiter)
            sample = None
            if self.table.policy.plain:
                skipped = -int(self.order.first_records[number]) % self.step
                taken = np.arange(skipped, released.num_rows, self.step)
                sample = layout.named(released.take(pa.array(taken)))
            found = Written(
                number, name, digest, released.num_rows, longest, released.schema, sample
            )
            yield Row("written", number, facts((found, layout.qi, layout.names)))


def _whole(
    folder: Path, name: str, tables: Iterable[pa.Table], delimiter: str | None
) -> tuple[str, int]:
    """Write a file that gets its name when it is whole; its SHA-256 and longest line."""
    temporary = folder / f".{name}.{token_hex(8)}"
    writer = Writer(temporary, folder / name, delimiter)
    try:
        for table in tables:
            writer.write(table)
        digest = writer.close()
        os.replace(temporary, folder / name)  # noqa: PTH105
    except BaseException:
        writer.abandon()
        temporary.unlink(missing_ok=True)
        raise
    return digest, writer.longest


class JoinParts(OnRows):
    """The parts of a release as one file, by one task, a part at a time."""

    def __init__(self, folder: Path, parts: list[str], name: str, delimiter: str | None) -> None:
        self.folder, self.parts, self.name, self.delimiter = folder, parts, name, delimiter

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for _ in rows:
            digest, _ = _whole(self.folder, self.name, self._tables(), self.delimiter)
            yield Row("joined", 0, facts(digest))

    def _tables(self) -> Iterator[pa.Table]:
        for part in self.parts:
            yield pa.parquet.ParquetFile(self.folder / part).read()


class PutParts(OnRows):
    """Parts under their names in another folder, if they still are what was verified."""

    def __init__(self, source: Path, target: Path, digests: dict[str, str]) -> None:
        self.source, self.target, self.digests = source, target, digests

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            name = told(row.packet)
            temporary = self.target / f".{name}.{token_hex(8)}"
            shutil.copyfile(self.source / name, temporary)
            if sha256_of(temporary) != self.digests[name]:
                temporary.unlink()
                raise OutputError(
                    f"{name}: was changed after it was verified; anonymize the input again"
                )
            os.replace(temporary, self.target / name)  # noqa: PTH105
            yield Row("put", row.number, b"")
