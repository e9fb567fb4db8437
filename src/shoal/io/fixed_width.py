"""Files of fixed width: lines without delimiters, and a layout that says where columns are.

The layout is a CSV file with the columns ``name``, ``start`` (the first place is 1) and ``width``;
it lies beside the file as ``FILE.layout.csv``, or is named: ``people.dat#layout.csv``.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.header import open_text

__all__ = ["FORMATS", "read_fixed_width"]

FORMATS = frozenset((".dat", ".fwf"))


class Field(NamedTuple):
    """Where a column is in a line."""

    name: str
    start: int
    """From 0 on."""
    end: int


def read_fixed_width(
    path: Path, layout: str | None, missing: tuple[str, ...], encoding: str
) -> pa.Table:
    """All lines, cut by a layout; blanks around a cell are none of it."""
    fields = _layout(_layout_path(path, layout))
    last = max(fields, key=lambda field: field.start)
    columns: list[list[str | None]] = [[] for _ in fields]
    absent = {*missing, ""}
    try:
        with open_text(path, encoding) as lines:
            for number, line in enumerate(lines, start=1):
                text = line.rstrip("\r\n")
                if not text.strip():
                    continue
                if len(text) <= last.start:  # blanks at the end may be cut off, a column not
                    raise InputError(
                        f"{path}, line {number}: has {len(text)} characters; the layout has "
                        f"column {last.name!r} from {last.start + 1} on"
                    )
                for cells, field in zip(columns, fields, strict=True):
                    cell = text[field.start : field.end].strip()
                    cells.append(None if cell in absent else cell)
    except UnicodeError:
        raise InputError(f"{path}: not {encoding}; name its encoding with --encoding") from None
    arrays = [pa.array(cells, pa.string()).dictionary_encode() for cells in columns]
    return pa.table(arrays, names=[field.name for field in fields])


def _layout_path(path: Path, layout: str | None) -> Path:
    """The layout that was named, from here or beside the file; else the one beside it."""
    named = path.with_name(f"{path.name}.layout.csv") if layout is None else Path(layout)
    beside = path.with_name(layout) if layout is not None and "/" not in layout else named
    found = named if named.is_file() else beside
    if not found.is_file():
        raise InputError(
            f"{path}: its columns are told by a layout; there is no {named}: write one with "
            "name,start,width, or name it as in people.dat#layout.csv"
        )
    return found


def _layout(path: Path) -> list[Field]:
    fields = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if not {"name", "start", "width"} <= set(rows.fieldnames or ()):
            raise InputError(f"{path}: expected a layout with the columns name, start and width")
        for row in rows:
            try:
                name, start, width = row["name"].strip(), int(row["start"]), int(row["width"])
            except (TypeError, ValueError, AttributeError):
                name, start, width = "", 0, 0
            if not name or start < 1 or width < 1:
                raise InputError(
                    f"{path}, line {rows.line_num}: expected a name, a start from 1 on and a width"
                )
            fields.append(Field(name, start - 1, start - 1 + width))
    if not fields:
        raise InputError(f"{path}: is empty; expected a line for each column")
    return fields
