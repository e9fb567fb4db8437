"""Whatever the caller has into Arrow, and back into the same kind.

pandas, Polars, PyArrow and DuckDB objects all speak the Arrow PyCapsule
interface; a path is read as a file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.read import read_table

__all__ = ["from_arrow", "to_arrow"]


def to_arrow(data: Any, missing: tuple[str, ...] = ("",)) -> tuple[pa.Table, str]:
    """An Arrow table and the kind of object it came from, for `from_arrow`."""
    if isinstance(data, str | Path):
        return read_table(data, missing), "pyarrow"
    kind = type(data).__module__.split(".")[0].lstrip("_")
    if kind == "pandas":
        return _normalised(_from_pandas(data)), kind
    if isinstance(data, pa.Table):
        return _normalised(data), "pyarrow"
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            "data: expected a pandas, Polars, PyArrow or DuckDB table or a file name; "
            f"got {type(data).__name__}"
        )
    return _normalised(pa.table(data)), kind


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        # Arrow's message quotes a cell; its last part names the column.
        found = re.search(r"column (\S+)", str(error.args[-1]))
        column = f"column {found[1]!r}" if found else "a column"
        raise InputError(
            f"{column} mixes values of several types; make them one, for example astype(str)"
        ) from None
    except ValueError:
        raise InputError("column names must differ; some occur more than once") from None


def _normalised(table: pa.Table) -> pa.Table:
    """One chunk a column, and text as ordinary strings rather than views."""
    names = table.column_names
    if len(set(names)) < len(names):
        raise InputError("column names must differ; some occur more than once")
    columns = []
    for column in table.columns:
        values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_string_view(values):
            column = column.cast(
                pa.dictionary(pa.int32(), pa.large_string())
                if pa.types.is_dictionary(column.type)
                else pa.large_string()
            )
        columns.append(column)
    return pa.table(columns, names=names).unify_dictionaries().combine_chunks()


def from_arrow(table: pa.Table, kind: str) -> Any:
    """The table as the kind of object that `to_arrow` named."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    return table
