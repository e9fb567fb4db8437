"""A table as a stream of Arrow batches: of files, folders of them, or of a table in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shoal.errors import InputError, twice
from shoal.io.addresses import Address, address_of
from shoal.io.databases import column_names_of, estimated_rows, read_batches
from shoal.io.folders import Partition, files_of, partitions_of, with_partition
from shoal.io.frames import normalised, to_arrow
from shoal.io.header import PACKED, UTF8, known_encoding
from shoal.io.read import csv_batches, delimiter_of, file_format, header_of, read_table

__all__ = ["Batches", "parquet_batches"]

BLOCK = 4 << 20
"""Bytes of a CSV file that are read at once."""
ROWS = 1 << 17
"""Records of a batch, of any other source."""


class Batches:
    """Records that can be read once and again, a batch at a time."""

    def __init__(
        self,
        data: Any,
        missing: tuple[str, ...],
        encoding: str = UTF8,
        delimiter: str | None = None,
    ) -> None:
        self.missing = missing
        self.given = delimiter
        self.encoding = known_encoding(encoding)
        self.sparing = False
        """Whether to read less ahead, where there is little memory."""
        self.kind = "pyarrow"
        self.table: pa.Table | None = None
        self.files: list[Path] = []
        self.partitions: list[Partition] = []
        """What the folders of each file say of its records."""
        self.address: Address | None = address_of(data)
        if self.address is not None:
            self.names = column_names_of(self.address)
        elif isinstance(data, str | Path):
            self.files = files_of(data)
            self.partitions = partitions_of(self.files, data)
            self.names = [*self._names_in_files(), *self.partitions[0]]
            if problem := twice(self.names):
                raise InputError(f"{data}: {problem}")
        else:
            self.table, self.kind = to_arrow(data, missing, encoding, delimiter)
            self.names = self.table.column_names
        one = self.files[0] if self.files else None
        self.delimiter = delimiter_of(one, encoding, delimiter) if one is not None else None

    def _names_in_files(self) -> list[str]:
        """The columns, which must be those of every file."""
        first: list[str] = []
        for file in self.files:
            names = _names(file, self.missing, self.encoding, self.given)
            if problem := twice(names):
                raise InputError(f"{file}: {problem}")
            first = first or names
            if names != first:
                raise InputError(f"{file}: has other columns than {self.files[0]}")
        return first

    def read(self, columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """Batches of some columns, each with the name of what it is read from."""
        if self.table is not None:
            for start in range(0, self.table.num_rows, ROWS):
                yield "", self.table.select(columns).slice(start, ROWS)
            return
        if self.address is not None:
            for batch in read_batches(self.address, columns):
                if batch.num_rows:
                    yield str(self.address), normalised(pa.Table.from_batches([batch]))
            return
        for file, partition in zip(self.files, self.partitions, strict=True):
            # A file is read for its number of records where only its folders are asked for.
            own = [name for name in columns if name not in partition] or self.names[:1]
            for batch in self._read_file(file, own):
                if batch.num_rows:
                    table = normalised(pa.Table.from_batches([batch]).select(own))
                    yield str(file), normalised(with_partition(table, partition, columns))

    def _read_file(self, file: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        known = file_format(file)
        if known == "csv":
            block = BLOCK // 2 if self.sparing else BLOCK
            yield from csv_batches(file, self.missing, self.encoding, columns, block, self.given)
        elif known == "parquet":
            yield from parquet_batches(file, columns)
        else:
            yield from read_table(file, self.missing).select(columns).to_batches(ROWS)

    def estimated_rows(self) -> int:
        """About how many records there are, without reading all of them."""
        if self.table is not None:
            return int(self.table.num_rows)
        if self.address is not None:
            return estimated_rows(self.address) or 0
        return sum(_rows(file) for file in self.files)


def parquet_batches(
    file: Path, columns: Sequence[str], groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a Parquet file, or of some of its row groups; some of its columns."""
    some = {} if groups is None else {"row_groups": list(groups)}
    try:
        with pa.parquet.ParquetFile(file, read_dictionary=_texts(file, columns)) as pages:
            yield from pages.iter_batches(ROWS, columns=list(columns), **some)
    except (pa.ArrowException, OSError) as error:
        kind = type(error).__name__
        raise InputError(f"{file}: not a readable Parquet file ({kind})") from None


def _names(file: Path, missing: tuple[str, ...], encoding: str, delimiter: str | None) -> list[str]:
    if not file.exists():
        raise InputError(f"{file}: no such file")
    known = file_format(file)
    if known == "csv":
        return header_of(file, encoding, delimiter).names
    if known == "parquet":
        try:
            return list(pa.parquet.read_schema(file).names)
        except (pa.ArrowException, OSError) as error:
            kind = type(error).__name__
            raise InputError(f"{file}: not a readable Parquet file ({kind})") from None
    return list(read_table(file, missing).column_names)


def _texts(file: Path, columns: Sequence[str]) -> list[str]:
    """Columns of texts, which are read as numbers of their distinct values."""
    schema = pa.parquet.read_schema(file)
    return [name for name in columns if pa.types.is_string(schema.field(name).type)]


def _rows(file: Path) -> int:
    """Records of a file: of Parquet as it says, of others by the length of its first lines."""
    if file_format(file) == "parquet":
        return int(pa.parquet.read_metadata(file).num_rows)
    with file.open("rb") as content:
        head = content.read(1 << 16)
    packed = 5 if file.suffix.lower() in PACKED else 1  # texts shrink to a fifth, about
    lines = max(1, head.count(b"\n")) if packed == 1 else max(1, len(head) // 20)
    return int(file.stat().st_size * packed * lines / max(1, len(head)))
