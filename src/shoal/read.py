"""Files into Arrow tables: CSV, Parquet, Arrow/Feather, JSON lines.

CSV cells stay text (dictionary-encoded, which is small and quick), because a
release publishes an unchanged value exactly as it was written. What a text
means, a number or a date, is decided later from the few distinct values.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import mmap
from collections import Counter
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from shoal.errors import InputError

__all__ = ["FORMATS", "file_format", "read_table"]

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
}
"""File name endings and the formats they stand for; CSV and JSON lines also as ``.gz``."""

DELIMITERS = ",;\t|"
TEXT = pa.dictionary(pa.int32(), pa.string())


def file_format(path: Path) -> str:
    """The format a file name stands for: "csv", "parquet", "arrow" or "jsonl"."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = bool(suffixes) and suffixes[-1] == ".gz"
    ending = suffixes[-2] if compressed and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    known = FORMATS.get(ending)
    if known is None or (compressed and known not in {"csv", "jsonl"}):
        endings = ", ".join([*FORMATS, ".csv.gz", ".jsonl.gz"])
        raise InputError(f"{path}: cannot tell the format; expected a name ending in {endings}")
    return known


def read_table(path: str | Path, missing: tuple[str, ...] = ("",)) -> pa.Table:
    """Read a table from a file; `missing` are the texts that mean a missing value.

    Raises
    ------
    InputError
        With one line that says which file, row or column, and what was expected.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; expected a file")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    readers = {"csv": _read_csv, "parquet": _read_parquet, "arrow": _read_arrow}
    try:
        reader = readers.get(file_format(path), _read_jsonl)
        table = reader(path, missing)
    except PermissionError:
        raise InputError(f"{path}: may not be read: permission denied") from None
    except (EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: broken gzip file: {error}") from None
    _reject_duplicate_names(path, table.column_names)
    if table.num_columns == 0:
        raise InputError(f"{path}: has no columns")
    return table


def _read_csv(path: Path, missing: tuple[str, ...]) -> pa.Table:
    names, delimiter = _csv_header(path)
    _reject_duplicate_names(path, names)
    ragged: list[pa.csv.InvalidRow] = []

    def stop_at_ragged_row(row: pa.csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    try:
        table = pa.csv.read_csv(
            path,
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=_has_quotes(path),
                invalid_row_handler=stop_at_ragged_row,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, TEXT),
                null_values=list(missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except (pa.ArrowInvalid, OSError) as error:
        # Arrow quotes the offending row in its message: never pass that on.
        raise _csv_problem(path, delimiter, len(names), bool(ragged), error) from None
    return table.unify_dictionaries().combine_chunks()


def _open_binary(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _csv_header(path: Path) -> tuple[list[str], str]:
    """Column names and the delimiter, which is the most frequent one in the header."""
    with _open_binary(path) as binary:
        reader = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="replace", newline="")
        first = reader.readline()
        if not first.strip():
            raise InputError(f"{path}: is empty; expected a header with column names")
        counts = Counter(character for character in first if character in DELIMITERS)
        delimiter = max(DELIMITERS, key=lambda d: counts[d])
        # A quoted name may contain a line break: let the csv module read on.
        lines = iter(reader.readline, "")
        names = next(csv.reader(_chain(first, lines), delimiter=delimiter))
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{path}: column {position} of the header has no name")
    return names, delimiter


def _chain(first: str, rest: Any) -> Any:
    yield first
    yield from rest


def _has_quotes(path: Path) -> bool:
    """Only a file with quotes can have line breaks inside cells, which cost reading speed."""
    if path.suffix.lower() == ".gz" or path.stat().st_size == 0:
        return True
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(b'"') >= 0


def _csv_problem(
    path: Path, delimiter: str, columns: int, ragged: bool, error: Exception
) -> InputError:
    """Find the exact place of what stopped the fast reader, slowly."""
    where = _find_broken_utf8(path)
    if where is not None:
        return InputError(
            f"{path}, row {where[0]}, byte {where[1]}: not UTF-8; "
            "convert the file, for example with iconv -f LATIN1 -t UTF-8"
        )
    if ragged:
        line, cells = _find_ragged_row(path, delimiter, columns)
        return InputError(f"{path}, line {line}: expected {columns} cells; got {cells}")
    kind = type(error).__name__
    return InputError(f"{path}: not a readable CSV file ({kind})")


def _find_broken_utf8(path: Path) -> tuple[int, int] | None:
    """Row (the header is row 1) and byte within the file of the first invalid byte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    rows, done = 1, 0
    with _open_binary(path) as file:
        while True:
            block = file.read(1 << 20)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                start = error.start - pending
                return rows + block[: max(start, 0)].count(b"\n"), done + start + 1
            if not block:
                return None
            rows += block.count(b"\n")
            done += len(block)


def _find_ragged_row(path: Path, delimiter: str, columns: int) -> tuple[int, int]:
    with _open_binary(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        rows = csv.reader(text, delimiter=delimiter)
        for row in rows:
            if row and len(row) != columns:
                return rows.line_num, len(row)
    return 0, 0  # unreachable when Arrow saw a ragged row


def _read_parquet(path: Path, missing: tuple[str, ...]) -> pa.Table:
    try:
        return pa.parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({_brief(error)})") from None


def _read_arrow(path: Path, missing: tuple[str, ...]) -> pa.Table:
    try:
        return pa.feather.read_table(path, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Arrow file ({_brief(error)})") from None


def _read_jsonl(path: Path, missing: tuple[str, ...]) -> pa.Table:
    with _open_binary(path) as file:
        try:
            table = pa.json.read_json(file)
        except (pa.ArrowException, OSError):
            raise InputError(_jsonl_problem(path)) from None
    return table


def _jsonl_problem(path: Path) -> str:
    """Which line is not an object, without quoting it."""
    import json

    with _open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                if line.strip() and not isinstance(json.loads(line), dict):
                    return f"{path}, line {number}: expected a JSON object a line"
            except UnicodeDecodeError as error:
                return f"{path}, row {number}, byte {error.start + 1}: not UTF-8"
            except ValueError:
                return f"{path}, line {number}: not JSON; expected one object a line"
    return f"{path}: is empty, or its objects do not have the same types; expected JSON lines"


def _brief(error: Exception) -> str:
    return type(error).__name__


def _reject_duplicate_names(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        listed = ", ".join(repr(name) for name in twice[:5])
        raise InputError(f"{path}: column names must differ; {listed} occurs more than once")
