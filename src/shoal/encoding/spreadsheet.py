"""Texts that a spreadsheet would run as a formula, disarmed; and as they were.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``, also in
full width, with blanks or quotes before it or not. Where its own delimiter is another
than ours, or quotes are not heeded, a cell begins behind a line break, a tab or
a semicolon too. An apostrophe before the sign makes it a text. Texts that have
apostrophes there already get one more, so that no two texts become one and
`armed` finds every text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

__all__ = ["armed", "armed_column", "armed_names", "disarm", "disarmed", "disarmed_names"]

SPLIT = re.compile("([\n\r\t;\u2028\u2029\x0b\x0c\x85])")
"""Where a spreadsheet may begin a cell inside a text of ours."""
SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u2212"
RUNS = re.compile(f"'*[\\s\"\u200b\ufeff]*[{SIGNS}]")
"""A cell that is run, but for apostrophes before it."""
TRIMMED = re.compile("'*[\n\r\t\x0b\x0c]")
"""Some readers drop these at the start, and see what is behind."""
NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")


def _is_run(cell: str) -> bool:
    return bool(RUNS.match(cell)) and not NUMBER.fullmatch(cell)


def disarmed(text: str) -> str:
    """A text that no spreadsheet runs; most are as they were.

    >>> disarmed("=1+1"), disarmed("a;=1"), disarmed("-5"), disarmed("'=1")
    ("'=1+1", "a;'=1", '-5', "''=1")
    """
    cells = [f"'{cell}" if _is_run(cell) else cell for cell in SPLIT.split(text)]
    whole = "".join(cells)
    return f"'{whole}" if TRIMMED.match(text) else whole


def armed(text: str) -> str:
    """The text behind a disarmed one.

    >>> armed("'=1+1"), armed("a;'=1"), armed("-5"), armed("'tis")
    ('=1+1', 'a;=1', '-5', "'tis")
    """
    if text.startswith("'") and TRIMMED.match(text):
        text = text[1:]
    cells = SPLIT.split(text)
    return "".join(c[1:] if c.startswith("'") and _is_run(c[1:]) else c for c in cells)


def disarm(table: pa.Table) -> pa.Table:
    """A table without texts that a spreadsheet would run."""
    return _mapped(table, disarmed)


def armed_column(column: pa.ChunkedArray | pa.Array) -> Any:
    """The column that was disarmed, of the type that it has."""
    found = _mapped(pa.table({"": column}), armed).column(0).cast(column.type)
    return found.combine_chunks() if isinstance(column, pa.Array) else found


def disarmed_names(table: pa.Table) -> pa.Table:
    """The table with column names that a spreadsheet does not run."""
    return table.rename_columns([disarmed(name) for name in table.column_names])


def armed_names(table: pa.Table) -> pa.Table:
    """The table with its column names as they were."""
    names = [armed(name) for name in table.column_names]
    return table.rename_columns(names) if len(set(names)) == len(names) else table


def _mapped(table: pa.Table, change: Callable[[str], str]) -> pa.Table:
    """Every text of a table changed, each distinct one once."""
    columns: list[Any] = []
    for column in table.columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            columns.append(column)
            continue
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        array = encoded.unify_dictionaries().combine_chunks()
        texts = array.dictionary.to_pylist()
        changed = [None if text is None else change(text) for text in texts]
        columns.append(pa.DictionaryArray.from_arrays(array.indices, pa.array(changed, kind)))
    return pa.table(columns, names=table.column_names)
