"""Files into Arrow tables: CSV, Parquet, Arrow/Feather, JSON lines.

CSV cells stay text (dictionary-encoded, which is small and quick), because a
release publishes an unchanged value exactly as it was written. What a text
means, a number or a date, is decided later from the few distinct values.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from shoal.errors import InputError, twice
from shoal.io import fixed_width, sheets, statistics
from shoal.io.header import (
    DELIMITERS,
    PACKED,
    UTF8,
    Header,
    csv_header,
    known_delimiter,
    known_encoding,
    marked_encoding,
    open_binary,
    open_text,
)
from shoal.io.nesting import reject_deep_json
from shoal.io.parts import file_and_part
from shoal.io.texts import joined_texts

__all__ = [
    "DELIMITERS", "FORMATS", "csv_batches", "csv_problem", "delimiter_of", "file_format",
    "format_ending", "header_of", "read_table", "reading",
]  # fmt: skip

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    **dict.fromkeys(sorted(statistics.FORMATS), "statistics"),
    **dict.fromkeys(sorted(sheets.FORMATS), "sheet"),
    **dict.fromkeys(sorted(fixed_width.FORMATS), "fixed"),
}
"""File name endings and the formats they stand for; CSV and JSON lines also packed."""

EXACT_FLOATS = 1 << 53
"""From here on floats skip whole numbers."""
DIGITS = re.compile(r"-?[0-9]+").fullmatch
TEXT = pa.dictionary(pa.int32(), pa.string())
ARROWS_NAME = {UTF8: "utf8"}
"""Under which Arrow reads by itself what is UTF-8 already."""


def file_format(path: Path) -> str:
    """The format a file name stands for: "csv", "parquet", "arrow", "jsonl", ..."""
    path = file_and_part(path)[0]
    compressed = path.suffix.lower() in PACKED
    known = FORMATS.get(format_ending(path))
    if known is None or (compressed and known not in {"csv", "jsonl"}):
        endings = ", ".join([*FORMATS, ".csv.gz", ".csv.zst", ".csv.zip", ".jsonl.gz"])
        raise InputError(f"{path}: cannot tell the format; expected a name ending in {endings}")
    return known


def format_ending(path: Path) -> str:
    """The ending of a file name that tells its format: before ``.gz`` and the like, or the last."""
    suffixes = [suffix.lower() for suffix in file_and_part(path)[0].suffixes]
    if len(suffixes) > 1 and suffixes[-1] in PACKED:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def read_table(
    path: str | Path,
    missing: tuple[str, ...] = ("",),
    encoding: str = UTF8,
    delimiter: str | None = None,
) -> pa.Table:
    """Read a table from a file; `missing` are the texts that mean a missing value.

    `encoding` and `delimiter` are those of CSV files; the other formats are UTF-8 by themselves.

    Raises
    ------
    InputError
        With one line that says which file, row or column, and what was expected.
    """
    path = Path(path)
    try:
        coding = known_encoding(encoding)
    except ValueError as error:
        raise InputError(f"encoding: {error}") from None
    try:
        mark = known_delimiter(delimiter)
    except ValueError as error:
        raise InputError(f"delimiter: {error}") from None
    readers: dict[str, Callable[[Path, tuple[str, ...]], pa.Table]] = {
        "csv": partial(_read_csv, encoding=coding, given=mark),
        "parquet": _read_parquet,
        "arrow": _read_arrow,
        "statistics": lambda path, _: statistics.read_statistics(path),
        "sheet": lambda path, _: sheets.read_sheet(path, part),
        "fixed": lambda path, missing: fixed_width.read_fixed_width(path, part, missing, coding),
    }
    path, part = file_and_part(path)
    with reading(path):
        if path.is_dir():
            raise InputError(f"{path}: is a directory; expected a file")
        if not path.exists():
            raise InputError(f"{path}: no such file")
        reader = readers.get(file_format(path), _read_jsonl)
        table = reader(path, missing)
    _reject_duplicate_names(path, _names(path, table))
    if table.num_columns == 0:
        raise InputError(f"{path}: has no columns")
    return table


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Tell in our words what can be wrong with a file whatever its format: others quote it."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile):
        kind = path.suffix.lower().replace(".gz", "gzip").lstrip(".")
        raise InputError(f"{path}: broken {kind} file; fetch or pack it again") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def header_of(path: Path, encoding: str, delimiter: str | None = None) -> Header:
    """The header of a CSV file; one line of error if it is in another encoding."""
    with reading(path):
        try:
            return csv_header(path, encoding, delimiter)
        except UnicodeError:
            problem = _encoding_problem(path, encoding)
            raise problem or InputError(f"{path}: not {encoding}") from None


def _read_csv(
    path: Path, missing: tuple[str, ...], encoding: str = UTF8, given: str | None = None
) -> pa.Table:
    names, delimiter, bare = header_of(path, encoding, given)
    _reject_duplicate_names(path, names)
    if bare:  # Arrow wants at least a line break
        return pa.table({name: pa.array([], TEXT) for name in names})
    try:
        options = _csv_options(path, names, delimiter, missing, encoding)
        with pa.csv.open_csv(_for_arrow(path), **options) as batches:
            return joined_texts(names, batches)
    except (pa.ArrowInvalid, OSError, UnicodeError):
        # Arrow quotes the offending row in its message: never pass that on.
        raise csv_problem(path, delimiter, len(names), encoding) from None


def _for_arrow(path: Path) -> Any:
    """A file by its name, which Arrow unpacks itself; of an archive the file in it."""
    return open_binary(path) if path.suffix.lower() == ".zip" else path


def _csv_options(
    path: Path, names: Sequence[str], delimiter: str, missing: tuple[str, ...], encoding: str
) -> dict[str, Any]:
    """How Arrow reads a CSV file: every cell as a text."""
    return {
        "read_options": pa.csv.ReadOptions(encoding=ARROWS_NAME.get(encoding, encoding)),
        "parse_options": pa.csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=_has_quotes(path),
            ignore_empty_lines=len(names) > 1,
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, TEXT),
            null_values=list(missing),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }


def csv_batches(
    path: Path,
    missing: tuple[str, ...],
    encoding: str,
    columns: Sequence[str],
    block: int,
    given: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of a CSV file, so many bytes of it at a time; some of its columns."""
    names, delimiter, bare = header_of(path, encoding, given)
    if bare:
        return
    options = _csv_options(path, names, delimiter, missing, encoding)
    options["read_options"].block_size = block
    options["convert_options"].include_columns = list(columns)
    with reading(path):
        try:
            with pa.csv.open_csv(_for_arrow(path), **options) as batches:
                yield from batches
        except (pa.ArrowInvalid, OSError, UnicodeError):
            raise csv_problem(path, delimiter, len(names), encoding) from None


def delimiter_of(path: Path | None, encoding: str = UTF8, given: str | None = None) -> str | None:
    """The delimiter that a release keeps, of a CSV file with several columns; else None.

    One that nobody recognises is not kept: the release could not be read without being told.
    """
    if path is None or file_format(path) != "csv":
        return None
    header = header_of(path, known_encoding(encoding), given)
    # Tabs are what the ending says.
    kept = len(header.names) > 1 and header.delimiter in DELIMITERS.replace("\t", "")
    return header.delimiter if kept else None


def _has_quotes(path: Path) -> bool:
    """Only a file with quotes can have line breaks inside cells, which cost reading speed."""
    if path.suffix.lower() in PACKED or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        return any(b'"' in block for block in iter(lambda: file.read(1 << 20), b""))


def csv_problem(path: Path, delimiter: str, columns: int, encoding: str) -> InputError:
    """Find the exact place of what stopped the fast reader, slowly."""
    return (
        _encoding_problem(path, encoding)
        or _ragged_problem(path, delimiter, columns, encoding)
        or InputError(f"{path}: not a readable CSV file; has it cells of more than a megabyte?")
    )


def _encoding_problem(path: Path, encoding: str) -> InputError | None:
    """Where a file is not in the encoding that it should have; None: it is."""
    if encoding == UTF8:
        return _utf8_problem(path)
    try:
        with open_text(path, encoding) as text:
            while text.read(1 << 20):
                pass
    except UnicodeError:
        return InputError(
            f"{path}: not {encoding}, as --encoding says; name the encoding that it was saved in"
        )
    return None


def _utf8_problem(path: Path, quotes: bool = True) -> InputError | None:
    where = _find_broken_utf8(path, quotes)
    if where is None:
        return None
    told = marked_encoding(path)
    likely = f"it begins as {told} does: " if told else ""
    return InputError(
        f"{path}, row {where[0]}, byte {where[1]}: not UTF-8; {likely}name its encoding, for "
        f"example --encoding {told or 'latin-1 (cp1252 from Windows)'}"
    )


def _find_broken_utf8(path: Path, quotes: bool) -> tuple[int, int] | None:
    """Row (the header is row 1) and byte within the file of the first invalid byte.

    With `quotes`, a line break between quotes is part of a cell and ends no row.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    rows, done, inside = 1, 0, False
    with open_binary(path) as file:
        while True:
            block = file.read(1 << 20)
            pending = len(decoder.getstate()[0])
            broken = None
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                broken = error.start - pending
            good = block if broken is None else block[: max(broken, 0)]
            parts = good.split(b'"') if quotes else [good]
            rows += sum(part.count(b"\n") for part in parts[inside::2])
            inside ^= len(parts) % 2 == 0
            if broken is not None:
                return rows, done + broken + 1
            if not block:
                return None
            done += len(block)


def _ragged_problem(path: Path, delimiter: str, columns: int, encoding: str) -> InputError | None:
    """The first row with too few or too many cells, by the line it begins on."""
    with open_text(path, encoding) as text:
        rows = csv.reader(text, delimiter=delimiter)
        begins = 1
        try:
            for row in rows:
                if row and len(row) != columns:
                    what = f"{path}, line {begins}: expected {columns} cells; got {len(row)}"
                    return InputError(f"{what}{_hint(rows.line_num - begins)}")
                begins = rows.line_num + 1
        except csv.Error:  # a cell beyond the limit of the csv module
            return InputError(f"{path}, line {begins}: a cell has no end{_hint(1)}")
    return None


def _hint(line_breaks: int) -> str:
    return "; is a quote opened and not closed?" if line_breaks else ""


def _read_parquet(path: Path, missing: tuple[str, ...]) -> pa.Table:
    try:
        return pa.parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({type(error).__name__})") from None


def _read_arrow(path: Path, missing: tuple[str, ...]) -> pa.Table:
    try:
        return pa.feather.read_table(path, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Arrow file ({type(error).__name__})") from None


def _read_jsonl(path: Path, missing: tuple[str, ...]) -> pa.Table:
    reject_deep_json(path)
    try:
        table = _parse_jsonl(path)
        times = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        if times:  # Arrow takes texts for times: read them as they were written
            as_text = pa.schema([(name, pa.string()) for name in times])
            table = _parse_jsonl(path, as_text).select(table.column_names)
        table.validate(full=True)  # Arrow does not look at the encoding by itself
    except (pa.ArrowException, UnicodeDecodeError):
        raise _utf8_problem(path, quotes=False) or _jsonl_problem(path) from None
    return _with_long_numbers(path, table)


def _with_long_numbers(path: Path, table: pa.Table) -> pa.Table:
    """Whole numbers beyond int64, of which Arrow leaves the nearest float, as they are written."""
    large = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_floating(column.type)
        and (pc.max(pc.abs(column)).as_py() or 0) >= EXACT_FLOATS
    ]
    if not large:
        return table
    texts: dict[str, list[str | None]] = {name: [] for name in large}
    with open_binary(path) as file:
        for line in filter(bytes.strip, file):
            record = json.loads(line, parse_int=str, parse_float=str)
            for name in large:
                texts[name].append(record.get(name))
    for name, written in texts.items():
        long = any(text is not None and len(text) > 15 and DIGITS(text) for text in written)
        if long and len(written) == table.num_rows:
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(written, pa.string()))
    return table


def _parse_jsonl(path: Path, known: pa.Schema | None = None) -> pa.Table:
    with open_binary(path) as file:
        return pa.json.read_json(file, parse_options=pa.json.ParseOptions(explicit_schema=known))


def _jsonl_problem(path: Path) -> InputError:
    """Which line is not an object like the others, without quoting it."""
    kinds: dict[str, tuple[str, int]] = {}
    with open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                return InputError(f"{path}, line {number}: not JSON; expected one object a line")
            if not isinstance(record, dict):
                return InputError(f"{path}, line {number}: expected a JSON object a line")
            for place, (name, value) in enumerate(record.items(), start=1):
                kind = _json_kind(value)
                before = kinds.setdefault(name, (kind, number)) if kind else None
                if before is not None and before[0] != kind:
                    return InputError(
                        f"{path}, line {number}: value {place} is {kind} here, {before[0]} in "
                        f"line {before[1]}; give a name the same type on every line"
                    )
    if not kinds:
        return InputError(f"{path}: is empty; expected JSON lines")
    return InputError(f"{path}: not readable as JSON lines; has it lines of more than a megabyte?")


def _json_kind(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "text" if isinstance(value, str) else "nested"


def _names(path: Path, table: pa.Table) -> list[str]:
    try:
        return list(table.column_names)
    except UnicodeDecodeError:  # Parquet and Arrow files carry any bytes
        raise InputError(f"{path}: a column name is not UTF-8; is the file damaged?") from None


def _reject_duplicate_names(path: Path, names: list[str]) -> None:
    if problem := twice(names):
        raise InputError(f"{path}: {problem}")
