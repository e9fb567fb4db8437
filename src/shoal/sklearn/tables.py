"""Between scikit-learn's arrays and frames, and Arrow tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import _check_feature_names, validate_data

from shoal.io.frames import from_arrow, to_arrow

__all__ = ["given_table", "table_like"]


def given_table(
    estimator: Any, rows: Any, *, fitting: bool, least: int = 1
) -> tuple[pa.Table, str]:
    """Rows as a table, checked as scikit-learn does; and of which kind they came.

    Frames keep their names and types. An array's columns are x0, x1, ...
    """
    if hasattr(rows, "columns") and hasattr(rows, "__arrow_c_stream__"):
        _check_feature_names(estimator, rows, reset=fitting)
        validate_data(estimator, rows, reset=fitting, skip_check_array=True)
        table, kind = to_arrow(rows)
        if table.num_rows < least:
            raise ValueError(
                f"Found array with {table.num_rows} sample(s) while a minimum of {least} is "
                "required."
            )
        return table, kind
    array = validate_data(
        estimator, rows, reset=fitting, dtype=None, ensure_all_finite="allow-nan",
        ensure_min_samples=least,
    )  # fmt: skip
    columns = [_column(array[:, i]) for i in range(array.shape[1])]
    return pa.table(columns, names=[f"x{i}" for i in range(array.shape[1])]), "array"


def _column(values: Any) -> pa.Array:
    if values.dtype.kind in "fiub":
        return pa.array(values, from_pandas=True)  # NaN is missing
    if values.dtype.kind == "O":
        if all(value is None or isinstance(value, str) for value in values):
            return pa.array(values.tolist(), pa.string())
        try:
            return pa.array(values.astype(float), from_pandas=True)
        except (TypeError, ValueError):
            pass
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def table_like(table: pa.Table, kind: str) -> Any:
    """A table as what came; an array of numbers if all columns are, else of objects."""
    if kind != "array":
        return from_arrow(table, kind)
    columns = [np.asarray(column.to_numpy()) for column in table.columns]
    numbers = all(column.dtype.kind in "fiub" for column in columns)
    kept = [column.astype(float if numbers else object) for column in columns]
    if not kept:
        return np.empty((table.num_rows, 0))
    return np.column_stack(kept)
