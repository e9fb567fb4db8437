"""Sheets of Excel and OpenDocument files, by python-calamine: the first, or one by its name."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, did_you_mean

__all__ = ["FORMATS", "read_sheet"]

FORMATS = frozenset((".xlsx", ".xlsm", ".xls", ".ods"))


def read_sheet(path: Path, sheet: str | None) -> pa.Table:
    """A sheet whose first row has the names of the columns.

    Numbers that are all whole are read as whole ones; a column of several types as texts.
    """
    names, rows = _cells(path, sheet)
    for row in rows:
        row.extend([None] * (len(names) - len(row)))
    columns = [_column([row[place] for row in rows]) for place in range(len(names))]
    return pa.table(columns, names=names)


def _cells(path: Path, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    """Names, and the rows that hold anything."""
    try:
        from python_calamine import CalamineWorkbook
    except ModuleNotFoundError:
        raise InputError(
            f"{path}: needs the package python-calamine; pip install 'shoal[stats]'"
        ) from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        known = list(book.sheet_names)
    except Exception as error:
        raise InputError(f"{path}: not a readable workbook ({type(error).__name__})") from None
    if sheet is not None and sheet not in known:
        hint = did_you_mean(sheet, known)
        raise InputError(f"{path}: has no sheet {sheet!r}; it has {', '.join(known)}{hint}")
    try:
        cells = book.get_sheet_by_name(sheet or known[0]).to_python(skip_empty_area=True)
    except Exception as error:
        raise InputError(f"{path}: not a readable sheet ({type(error).__name__})") from None
    rows = [[None if cell == "" else cell for cell in row] for row in cells]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise InputError(f"{path}: is empty; expected a row with column names")
    names = ["" if cell is None else _text(cell) for cell in rows[0]]
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{path}: column {position} of the first row has no name")
    return names, rows[1:]


def _column(cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and kinds:
        if all(cell is None or float(cell).is_integer() for cell in cells):
            return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds == {datetime.date}:
        return pa.array(cells, pa.date32())
    if kinds == {datetime.datetime}:
        return pa.array(cells, pa.timestamp("us"))
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    """A cell as one would write it."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
