"""What is written verifies: every Arrow type, in every format, under every model."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError, PolicyError, ShoalWarning

NAN, INF = float("nan"), float("inf")
DAY = 86_400
FORMATS = ("csv", "parquet", "feather", "jsonl")
MODELS: list[dict[str, Any]] = [
    {"k": 3}, {"l": 1}, {"l": 1, "l_reading": "entropy"}, {"t": 1}, {"alpha": 1, "k": 2},
    {"e": 0, "k": 2},
]  # fmt: skip


def dates(*values: str | None) -> list[datetime.date | None]:
    return [None if value is None else datetime.date.fromisoformat(value) for value in values]


def decimals(*values: str | None) -> list[Decimal | None]:
    return [None if value is None else Decimal(value) for value in values]


ENDS = dates("2020-01-01", "0001-01-01", "9999-12-31", None)
COLUMNS: dict[str, pa.Array] = {
    "int8": pa.array([1, 2, 3, 4], pa.int8()),
    "uint32": pa.array([1, 2, None, 2**32 - 1], pa.uint32()),
    "int64": pa.array([-(2**50), 2, 3, 2**50]),
    "float16": pa.array([1.5, 2, 3, NAN], pa.float16()),
    "float32": pa.array([1.1, 2, None, 4], pa.float32()),
    "float64": pa.array([1.1, NAN, 3, 1e300]),
    "mostly nan": pa.array([NAN, NAN, 1, None]),
    "tiny": pa.array([1e-300, 1e-10, 0.1, 1 / 3]),
    "encoded nan": pa.array([1.0, NAN, None, 2.0]).dictionary_encode(),
    "infinite": pa.array([1.0, INF, None, -INF]),
    **{
        str(kind): pa.array(decimals("1.50", "2.25", None, "-3.10"), kind)
        for kind in (
            *([pa.decimal32(7, 2), pa.decimal64(12, 2)] if hasattr(pa, "decimal32") else []),
            pa.decimal128(20, 2),
            pa.decimal256(40, 2),
        )
    },
    "bool": pa.array([True, False, None, True]),
    "text": pa.array(["a", "b", None, "d"]),
    "large text": pa.array(["a", "b", "", "d"], pa.large_string()),
    "view": pa.array(["a", "b", "c", "d"], pa.string_view()),
    "bytes": pa.array([b"a", b"b", b"c", None]),
    "fixed bytes": pa.array([b"ab", b"bb", b"cc", None], pa.binary(2)),
    "encoded text": pa.array(["a", "b", None, "d"]).dictionary_encode(),
    "nothing": pa.nulls(4),
    "date32": pa.array(ENDS),
    "date64": pa.array(ENDS, pa.date64()),
    "seconds": pa.array([0, DAY, -DAY * 40_000, 10], pa.timestamp("s")),
    "days": pa.array([0, DAY, -DAY * 40_000, None], pa.timestamp("s")),
    "microseconds": pa.array([0, 1, 2, None], pa.timestamp("us")),
    "nanoseconds": pa.array([-(2**62), 1, 2**62, 0], pa.timestamp("ns")),
    "zoned": pa.array([0, DAY * 10**6, 2, None], pa.timestamp("us", "Europe/Berlin")),
    "time32": pa.array([1, 2, 3, None], pa.time32("s")),
    "time64": pa.array([1, 2, 3, None], pa.time64("ns")),
    "duration": pa.array([1, 2, 3, None], pa.duration("s")),
    "words": pa.array(["NA", "nan", "null", "x"]),
    "numbers as text": pa.array(["1", "01", "1.0", "2"]),
    "odd numbers": pa.array(["inf", "1", "2", "nan"]),
    "blanks": pa.array([" a", "a ", "a,b", 'q"x']),
    "breaks": pa.array(["a\nb", "a\rb", "\t", "b"]),
    "dates as text": pa.array(["2020-01-01", "2020-01-02", "2020-02-01", None]),
    "like JSON": pa.array(["1e5", "0x1", "True", "False"]),
}


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("role", ["sensitive", "qi", "bounds", "plain"])
@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_written_verifies(tmp_path: Path, name: str, role: str) -> None:
    cells = pa.concat_arrays([COLUMNS[name]] * 3)
    table = pa.table({"age": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4], "c": cells})
    roles: dict[str, Any] = {"qi": ["age"], role: "c"}
    if role in {"qi", "bounds"}:
        roles = {"qi": ["age", "c"], "layout": "bounds" if role == "bounds" else "cells"}
    for models in MODELS if role == "sensitive" else MODELS[:1]:
        try:
            release = shoal.anonymize(table, **roles, **models, method="hilbert", rest="plain")
        except (InputError, PolicyError) as refused:
            assert name in {"infinite", "odd numbers"} or "e" in models, refused
            continue
        for ending in FORMATS:
            found = shoal.verify(release.write(tmp_path / f"r.{ending}"))
            assert found.ok, (ending, models, found)


def test_years_that_no_iso_date_has_are_refused() -> None:
    far = pa.array([0, 2_932_897, 5], pa.int32()).cast(pa.date32())
    times = pa.array([-(2**45), 0, 2**45], pa.timestamp("s"))
    for column in (far, far.cast(pa.date64()), times, far.dictionary_encode()):
        with pytest.raises(InputError, match="'c': dates before the year 1 or after 9999"):
            shoal.anonymize(
                pa.table({"age": [1, 1, 1], "c": column}), qi="age", plain="c", k=2, rest="plain"
            )


@pytest.mark.parametrize("ending", FORMATS)
def test_a_missing_sensitive_value_is_a_null_whatever_it_was(tmp_path: Path, ending: str) -> None:
    for cells in ([1.0, NAN, 2.0, None] * 3, ["1", "gone", "2", None] * 3):
        table = pa.table({"age": [1] * 6 + [2] * 6, "s": cells})
        release = shoal.anonymize(
            table, qi="age", sensitive="s", missing=["", "gone"], kind={"s": "numeric"}, t=0.5,
            method="hilbert", rest="plain",
        )  # fmt: skip
        assert release.table.column("s").null_count == 6
        assert shoal.verify(release.write(tmp_path / f"r.{ending}")).ok


def test_nothing_is_warned_of_without_twins() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShoalWarning)
        shoal.anonymize(
            pa.table({"age": [1, 1], "s": ["a", None]}), qi="age", sensitive="s", k=2, seed=0,
            method="hilbert", rest="plain",
        )  # fmt: skip
