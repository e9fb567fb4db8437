"""Whatever the caller has into Arrow, and back into the same kind.

pandas, Polars, PyArrow and DuckDB objects all speak the Arrow PyCapsule
interface; a path is read as a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, twice
from shoal.io.addresses import address_of
from shoal.io.databases import read_database
from shoal.io.folders import read_folder
from shoal.io.header import UTF8
from shoal.io.read import read_table
from shoal.io.several import is_several

__all__ = ["from_arrow", "normalised", "to_arrow"]

UNITS_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970."""


def to_arrow(
    data: Any,
    missing: tuple[str, ...] = ("",),
    encoding: str = UTF8,
    delimiter: str | None = None,
) -> tuple[pa.Table, str]:
    """An Arrow table and the kind of object it came from, for `from_arrow`.

    `encoding` and `delimiter` are those of a CSV file.
    """
    if (address := address_of(data)) is not None:
        return normalised(read_database(address)), "pyarrow"
    if isinstance(data, str | Path) and is_several(data):

        def read(file: Path) -> pa.Table:
            return normalised(read_table(file, missing, encoding, delimiter))

        return normalised(read_folder(data, read)), "pyarrow"
    if isinstance(data, str | Path):
        return normalised(read_table(data, missing, encoding, delimiter)), "pyarrow"
    kind = type(data).__module__.split(".")[0].lstrip("_")
    if kind == "pandas":
        return normalised(_from_pandas(data)), kind
    if kind == "polars" and hasattr(data, "collect"):  # a LazyFrame: what it describes
        data = data.collect()
    if isinstance(data, pa.Table):
        return normalised(data), "pyarrow"
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            "data: expected a pandas, Polars, PyArrow or DuckDB table, a file name or the address "
            f"of a database; got {type(data).__name__}"
        )
    return normalised(pa.table(data)), kind


def _from_pandas(frame: Any) -> pa.Table:
    _reject_duplicates([str(name) for name in frame.columns])
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # Arrow's message quotes a cell: look for the column ourselves.
        name = next((name for name in frame.columns if not _converts(frame[name])), None)
        column = f"column {str(name)!r}" if name is not None else "a column"
        raise InputError(
            f"{column} mixes values of several types, or of one that Arrow has not; "
            "make them one, for example astype(str)"
        ) from None


def _converts(column: Any) -> bool:
    try:
        pa.Array.from_pandas(column)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def normalised(table: pa.Table) -> pa.Table:
    """One chunk a column, and only types that every later step can handle."""
    names = table.column_names
    _reject_duplicates(names)
    columns = [_plain(name, table.column(name)) for name in names]
    table = pa.table(columns, names=names)
    if all(column.num_chunks == 1 for column in columns):  # joining them would copy all
        return table
    return table.unify_dictionaries().combine_chunks()


def _reject_duplicates(names: Sequence[str]) -> None:
    if problem := twice(names):
        raise InputError(problem)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Unusual encodings into usual ones; bytes into text, which must be UTF-8."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = column.cast(kind.storage_type)
    elif pa.types.is_run_end_encoded(kind):
        column = pc.run_end_decode(column)
    kind = column.type
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(values) or pa.types.is_interval(values):
        raise InputError(
            f"column {name!r}: nested cells ({values}); flatten them, or drop the column"
        )
    if pa.types.is_float16(values):
        return column.cast(pa.float32())
    if pa.types.is_decimal(values) and values.bit_width < 128:  # Arrow cannot encode these
        return column.cast(pa.decimal128(values.precision, values.scale))
    if pa.types.is_date(values) or pa.types.is_timestamp(values):
        _reject_strange_years(name, column)
    try:
        return _utf8(column, values)
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r}: its bytes are not UTF-8; make it text, or drop it"
        ) from None


def _reject_strange_years(name: str, column: pa.ChunkedArray) -> None:
    """Years that no ISO date has cannot be read back from what would be written."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    a_day = 1 if pa.types.is_date32(kind) else UNITS_A_DAY[getattr(kind, "unit", "ms")]
    counts = column.cast(kind).cast(pa.int32() if a_day == 1 else pa.int64())
    ends = pc.min_max(counts).as_py()
    if ends["min"] is None:
        return
    if ends["min"] // a_day < FIRST_DAY or ends["max"] // a_day > LAST_DAY:
        raise InputError(
            f"column {name!r}: dates before the year 1 or after 9999; make them missing or text"
        )


def _utf8(column: pa.ChunkedArray, values: pa.DataType) -> pa.ChunkedArray:
    """Bytes and views as ordinary text; `ArrowInvalid` if a text is not UTF-8."""
    if _is_bytes(values) or pa.types.is_string_view(values):
        chunks = [_by_value(chunk, _as_text) for chunk in column.chunks]
        return pa.chunked_array(chunks) if chunks else pa.chunked_array([], pa.large_string())
    if pa.types.is_string(values) or pa.types.is_large_string(values):
        for chunk in column.chunks:  # Arrow trusts whoever made it
            _by_value(chunk, lambda texts: texts.validate(full=True) or texts)
    return column


def _by_value(chunk: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Change the values of an array, each distinct one once if it is dictionary-encoded."""
    if pa.types.is_dictionary(chunk.type):
        return pa.DictionaryArray.from_arrays(chunk.indices, change(chunk.dictionary))
    return change(chunk)


def _as_text(values: pa.Array) -> pa.Array:
    if pa.types.is_fixed_size_binary(values.type):
        values = values.cast(pa.binary())
    return values.cast(pa.large_string())


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


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
