"""The header of a CSV file: names of columns, the delimiter, the encoding.

It is read without Arrow, which a shell that completes names of columns would wait for.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import IO, NamedTuple, cast

from shoal.errors import InputError

__all__ = [
    "DELIMITERS",
    "PACKED",
    "UTF8",
    "Header",
    "column_names",
    "csv_header",
    "known_delimiter",
    "known_encoding",
    "marked_encoding",
    "open_binary",
    "open_text",
]

DELIMITERS = ",;\t|"
UTF8 = "utf-8"
PACKED = (".gz", ".zst", ".zip")
"""Endings of packed files, behind that of their format."""
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Bytes that a file in another encoding may begin with."""


class Header(NamedTuple):
    """What the first line of a CSV file tells."""

    names: list[str]
    delimiter: str
    """The one that was given, or the most frequent one."""
    bare: bool
    """Whether nothing follows."""


def known_encoding(name: str) -> str:
    """An encoding by the name that Python has for it, or ValueError."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise ValueError(f"expected one such as utf-8, latin-1, cp1252 or utf-16; got {name!r}")
    return found.name


def known_delimiter(text: str | None) -> str | None:
    """A delimiter as the character that it is, or ValueError."""
    if text is None:
        return None
    mark = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n\0':
        raise ValueError(
            f"expected one character that stands between cells, as ';', '|' or tab; got {text!r}"
        )
    return mark


def open_binary(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name says so."""
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))  # which has all that IO[bytes] asks for
    if ending == ".zip":
        return _the_file_in(path)
    if ending == ".zst":
        import pyarrow as pa

        packed = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
        return cast(IO[bytes], io.BufferedReader(cast(io.RawIOBase, packed), 1 << 20))
    return path.open("rb")


def _the_file_in(path: Path) -> IO[bytes]:
    """The one file of an archive."""
    with zipfile.ZipFile(path) as archive:
        names = [
            entry.filename
            for entry in archive.infolist()
            if not entry.is_dir() and not entry.filename.startswith("__MACOSX")
        ]
        if len(names) != 1:
            raise InputError(f"{path}: expected one file in the archive; got {len(names)}")
        return archive.open(names[0])


def open_text(path: Path, encoding: str = UTF8) -> io.TextIOWrapper:
    """The text of a file with the line breaks that it has; a byte order mark is no text."""
    coding = "utf-8-sig" if encoding == UTF8 else encoding
    return io.TextIOWrapper(open_binary(path), encoding=coding, newline="")


def csv_header(path: Path, encoding: str = UTF8, given: str | None = None) -> Header:
    """Column names, the delimiter (the one given, or told by the line), and if nothing follows."""
    with open_text(path, encoding) as reader:
        first = reader.readline()
        while first.count('"') % 2 and (more := reader.readline()):
            first += more  # a quoted name may contain a line break
        if not first.strip():
            raise InputError(f"{path}: is empty; expected a header with column names")
        counts = Counter(re.sub(r'"[^"]*"', "", first))
        told = max(DELIMITERS, key=lambda d: counts[d])
        delimiter = given or told
        if not counts[delimiter] and counts[told]:
            raise InputError(
                f"{path}: no {delimiter!r} in its header, as --delimiter says, but {told!r}; "
                "name that one, or none"
            )
        names = _cells_of(path, first, delimiter)
        bare = not first.endswith(("\n", "\r")) and not reader.readline()
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{path}: column {position} of the header has no name")
    return Header(names, delimiter, bare)


def _cells_of(path: Path, line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))
    except csv.Error:
        limit = f"{csv.field_size_limit():,}"
        raise InputError(
            f"{path}, line 1: a column name has more than {limit} characters; "
            "is a quote opened and not closed?"
        ) from None


def marked_encoding(path: Path) -> str | None:
    """The encoding that the first bytes of a file tell, other than UTF-8; None: none."""
    with open_binary(path) as file:
        return MARKS.get(file.read(2))


def column_names(path: Path, encoding: str = UTF8, delimiter: str | None = None) -> list[str]:
    """Names of the columns of a file; Arrow is loaded only where they need it."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".csv" in suffixes[-2:] or ".tsv" in suffixes[-2:]:
        return csv_header(path, known_encoding(encoding), known_delimiter(delimiter)).names
    from shoal.io.read import read_table

    return list(read_table(path).column_names)
