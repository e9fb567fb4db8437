"""SPSS, Stata and SAS files, by pyreadstat: value labels are the categories of a column.

A column with value labels is read as its labels; in SPSS, where it says that the measure is
ordinal, in the order of the codes. Numbers that are all whole are read as whole ones, since these
formats keep floats only. They have no missing text: an empty one is missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, OutputError

__all__ = ["FORMATS", "WRITABLE", "read_statistics", "write_statistics"]

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
FORMATS = frozenset(READERS)
WRITABLE = frozenset((".sav", ".dta"))
LABELS = 1000
"""Distinct texts that are written as labels at most; columns of more are texts."""
LABEL_BYTES = 120
"""SPSS cuts longer labels."""
NOBODYS_DATE = {
    ".sav": (re.compile(rb"^(\$FL[23].{80})(.{17})", re.DOTALL), b"01 Jan 7000:00:00"),
    ".dta": (re.compile(rb"(<timestamp>\x11)(.{17})", re.DOTALL), b"01 Jan 1970 00:00"),
}
"""Where a file says when it was written, and what it says instead: equal releases, equal files."""


def _package(path: Path) -> Any:
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise InputError(
            f"{path}: needs the package pyreadstat; pip install 'shoal[stats]'"
        ) from None
    return pyreadstat


def read_statistics(path: Path) -> pa.Table:
    """The table of a file, with labels in the place of codes."""
    package = _package(path)
    reader = getattr(package, READERS[path.suffix.lower()])
    try:
        columns, about = reader(str(path), output_format="dict")
    except Exception as error:  # whatever it says may quote a cell
        kind = path.suffix.lower()
        raise InputError(f"{path}: not a readable {kind} file ({type(error).__name__})") from None
    measures = about.variable_measure or {}
    return pa.table(
        {
            name: _column(
                path, name, list(values), about.variable_value_labels.get(name),
                measures.get(name) == "ordinal",
            )
            for name, values in columns.items()
        }
    )  # fmt: skip


def _column(
    path: Path, name: str, values: list[Any], labels: Mapping[Any, str] | None, ordinal: bool
) -> pa.Array:
    if labels:
        return _labelled(values, labels, ordinal)
    known = [value for value in values if value is not None]
    if any(isinstance(value, datetime.datetime) for value in known):
        return pa.array(values, pa.timestamp("us"))
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(f"{path}: column {name!r} mixes values of several types") from None
    if pa.types.is_string(array.type):
        return pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
    if pa.types.is_floating(array.type):
        whole = pc.all(pc.equal(array, pc.round(array))).as_py()
        largest = pc.max(pc.abs(array)).as_py()
        if whole and largest is not None and largest < 1 << 53:
            return array.cast(pa.int64())
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


def _labelled(values: list[Any], labels: Mapping[Any, str], ordinal: bool) -> pa.DictionaryArray:
    """Labels by the order of their codes; a code without a label is shown as it is."""
    text = {code: str(label).strip() or _text(code) for code, label in labels.items()}
    for value in values:
        if value is not None and value != "" and value not in text:
            text[value] = _text(value)
    codes = sorted(text, key=lambda code: (isinstance(code, str), code))
    place: dict[str, int] = {}
    for code in codes:  # two codes of one label are one category
        place.setdefault(text[code], len(place))
    indices = [None if value is None or value == "" else place[text[value]] for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32()), pa.array(list(place), pa.string()), ordered=ordinal
    )


def _text(code: Any) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def write_statistics(table: pa.Table, path: Path, ending: str) -> None:
    """Write a released table: texts of few kinds as codes with value labels."""
    package = _package(path)
    columns, labels = {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name], known = _coded(column.combine_chunks())
        if known:
            labels[name] = known
    write = package.write_sav if ending == ".sav" else package.write_dta
    try:
        import polars

        write(polars.from_arrow(pa.table(columns)), str(path), variable_value_labels=labels)
    except ModuleNotFoundError:
        raise OutputError(
            f"{ending}: needs the package polars, too; pip install 'shoal[stats]'"
        ) from None
    except OSError:
        raise
    except Exception as error:
        raise OutputError(
            f"{ending}: the release cannot be written as such ({type(error).__name__}); are names "
            "of columns longer than 32 letters, or of other signs than letters, digits and _?"
        ) from None
    _forget_when(path, ending)


def _coded(column: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Codes from 1 on and their labels; or the column as it is, and none."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_decimal(column.type) or pa.types.is_time(column.type):
        column = column.cast(pa.string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column, {}
    texts = sorted({text for text in pc.unique(column).to_pylist() if text is not None})
    if len(texts) > LABELS or any(len(text.encode()) > LABEL_BYTES or not text for text in texts):
        return column.cast(pa.string()), {}
    codes = pc.index_in(column, pa.array(texts, column.type))
    return pc.add(codes, 1).cast(pa.int32()), dict(enumerate(texts, start=1))


def _forget_when(path: Path, ending: str) -> None:
    """Take out the time of writing."""
    pattern, instead = NOBODYS_DATE[ending]
    with path.open("r+b") as file:
        head = file.read(4096)
        if found := pattern.search(head):
            file.seek(found.start(2))
            file.write(instead)
