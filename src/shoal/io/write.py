"""Arrow tables into files; `shoal.io.together` sees to it that they are whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet

from shoal.io.csv_text import BATCH_ROWS, Cells, Lines
from shoal.io.read import DELIMITERS, file_format, format_ending
from shoal.io.statistics import write_statistics

__all__ = ["Writer", "csv_header_line", "csv_lines", "decoded", "sha256_of", "write_table"]

GROUP_ROWS = 1 << 17
"""Records of a row group of a Parquet file: what a reader must hold at once."""
Report = Callable[[float, float], None]


class _Hashed(io.RawIOBase):
    """A file that knows the SHA-256 of what was written to it."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self.file.write(data)

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()


def write_table(
    table: pa.Table,
    path: Path,
    *,
    named: Path | None = None,
    progress: Callable[[float, float], None] | None = None,
    delimiter: str | None = None,
) -> str:
    """Write a table to `path` in the format that the name `named` (or its own) says.

    Cells of a CSV file stand between commas, or what `delimiter` says; of ``.tsv`` between tabs.
    Returns the SHA-256 of the file.
    """
    named = named or path
    delimiter = "\t" if format_ending(named) == ".tsv" else delimiter or ","
    writers: dict[str, Callable[[pa.Table, Any, Report], None]] = {
        "csv": partial(_write_csv, delimiter=delimiter),
        "jsonl": _write_jsonl,
        "parquet": _write_parquet,
        "arrow": _write_arrow,
    }
    if file_format(named) == "statistics":
        with tempfile.TemporaryDirectory() as folder:  # where nothing is to be kept
            kept = Path(folder) / "release" if path == Path(os.devnull) else path
            write_statistics(table, kept, format_ending(named))
            return sha256_of(kept)
    write = writers[file_format(named)]
    report = progress or (lambda done, total: None)
    with _Hashed(path) as file:
        if named.suffix.lower() == ".gz":
            # No file name and no time in the header: equal releases are equal files.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                write(table, packed, report)
        else:
            write(table, file, report)
    return file.digest.hexdigest()


class Writer:
    """A table written part by part: the same bytes as `write_table` gives of the whole.

    CSV and Parquet only. `close` gives the SHA-256 of the file.
    """

    def __init__(self, path: Path, named: Path, delimiter: str | None = None) -> None:
        self.file = _Hashed(path)
        self.packed: Any = self.file
        if named.suffix.lower() == ".gz":
            self.packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self.file, mtime=0)
        self.delimiter = "\t" if format_ending(named) == ".tsv" else delimiter or ","
        self.parquet = file_format(named) == "parquet"
        self.pages: Any = None
        self.waiting: list[pa.Table] = []
        """Records that are not yet a row group."""
        self.records = 0
        self.begun = False
        self.longest = 0
        """Bytes that no line of a CSV file is longer than."""

    def write(self, table: pa.Table) -> None:
        """The next records."""
        if self.parquet:
            self.waiting.append(table)
            self.records += table.num_rows
            while self.records >= GROUP_ROWS:
                self._group(GROUP_ROWS)
            return
        if not self.begun:
            header = csv_header_line(table.column_names, self.delimiter)
            self.packed.write(header.encode())
            self.longest = len(header.encode())
            self.begun = True
        columns = _cells(table, self.delimiter)
        widest = sum(column.longest for column in columns)
        self.longest = max(self.longest, widest + len(columns))
        lines = Lines(columns, self.delimiter)
        for start in range(0, table.num_rows, BATCH_ROWS):
            self.packed.write(lines.batch(start))

    def _group(self, rows: int) -> None:
        taken, left = list[pa.Table](), rows
        while self.waiting and left >= 0:
            first = self.waiting.pop(0)
            taken.append(decoded(first.slice(0, left)))
            if first.num_rows > left:
                self.waiting.insert(0, first.slice(left))
                break
            left -= first.num_rows
        group = pa.concat_tables(taken).combine_chunks()
        del taken
        self.records -= group.num_rows
        if self.pages is None:
            out = pa.PythonFile(self.packed, "w")
            self.pages = pa.parquet.ParquetWriter(out, group.schema, compression="zstd")
        self.pages.write_table(group, row_group_size=GROUP_ROWS)

    def close(self) -> str:
        """Write what is left; the SHA-256 of all."""
        if self.waiting and (self.records or self.pages is None):
            self._group(GROUP_ROWS)
        if self.pages is not None:
            self.pages.close()
        if self.packed is not self.file:
            self.packed.close()
        self.file.close()
        return self.file.digest.hexdigest()

    def abandon(self) -> None:
        """Close the file without a word."""
        with contextlib.suppress(Exception):
            self.file.close()


def _write_csv(table: pa.Table, file: Any, report: Report, delimiter: str) -> None:
    """RFC 4180, quotes only where needed, a missing value as an empty cell."""
    lines = Lines(_cells(table, delimiter), delimiter)
    header = csv_header_line(table.column_names, delimiter)
    starts = range(0, table.num_rows, BATCH_ROWS)
    with ThreadPoolExecutor(2) as threads:
        file.write(header.encode())
        # Few batches in flight: a wide table must not lie in memory twice as text.
        for window in (starts[i : i + 4] for i in range(0, len(starts), 4)):
            for start, text in zip(window, threads.map(lines.batch, window), strict=True):
                file.write(text)
                report(min(start + BATCH_ROWS, table.num_rows), table.num_rows)


def csv_header_line(names: Sequence[str], delimiter: str = ",") -> str:
    """The first line of a CSV file."""
    return delimiter.join(map(_header_name, names)) + "\n"


def csv_lines(table: pa.Table) -> Iterator[bytes]:
    """The lines of a table as a CSV file has them, without their breaks."""
    lines = Lines(_cells(table, ","), ",", end="")
    for start in range(0, table.num_rows, BATCH_ROWS):
        yield from lines.texts(start).cast(pa.binary()).to_pylist()


def _cells(table: pa.Table, delimiter: str) -> list[Cells]:
    """The columns of a table as they are written."""
    return [Cells.of(column, partial(_escape, delimiter=delimiter)) for column in table.columns]


def _header_name(name: str) -> str:
    """A column name, quoted also where a reader could take part of it for the delimiter."""
    if any(delimiter in name for delimiter in DELIMITERS):
        return '"' + name.replace('"', '""') + '"'
    return _escape(name)


def _escape(text: str | None, delimiter: str = ",") -> str:
    if text is None:
        return ""
    # Between commas and tabs either is quoted; elsewhere a comma is part of a number.
    telling = ',"\n\r\t' if delimiter in ",\t" else f'{delimiter}"\n\r\t'
    if text == "" or any(character in text for character in telling) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_parquet(table: pa.Table, file: Any, report: Report) -> None:
    out = pa.PythonFile(file, "w")
    pa.parquet.write_table(decoded(table), out, compression="zstd", row_group_size=GROUP_ROWS)


def _write_arrow(table: pa.Table, file: Any, report: Report) -> None:
    pa.feather.write_feather(decoded(table), pa.PythonFile(file, "w"), compression="zstd")


def _write_jsonl(table: pa.Table, file: Any, report: Report) -> None:
    done = 0
    for batch in decoded(table).to_batches(max_chunksize=BATCH_ROWS):
        lines = (json.dumps(row, default=str, ensure_ascii=False) for row in _rows(batch))
        file.write(("\n".join(lines) + "\n").encode())
        done += batch.num_rows
        report(done, table.num_rows)


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a batch, as values that JSON can write."""
    columns = [_for_json(column) for column in batch.columns]
    rows: list[dict[str, Any]]
    rows = pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()
    return rows


def _for_json(column: pa.Array) -> pa.Array:
    """JSON has finite numbers only; and Python no times below the microsecond."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
    if getattr(kind, "unit", None) == "ns" and not pa.types.is_duration(kind):
        return column.cast(pa.string())
    return column


def decoded(table: pa.Table) -> pa.Table:
    """The table with plain columns in place of dictionary-encoded ones."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()
