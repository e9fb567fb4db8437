"""Bad input: what verify and inspect refuse, and tables in memory that cannot be used.

Every run below starts with last year's release in place of the output, and
with secrets in the sensitive and identifier columns: `assert_refused` holds
that the line shows none of them and that not a byte in the directory changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import shoal as library
from command import (
    SECRET,
    assert_refused,
    written,
)
from shoal.errors import InputError, PolicyError

# --- verify and inspect ---------------------------------------------------------------


def test_verify_of_bad_files(tmp_path: Path, table: Path) -> None:
    assert_refused(tmp_path, "verify", tmp_path / "absent.csv", says=("absent.csv",))
    assert_refused(tmp_path, "verify", tmp_path / "absent.csv", "--qi", "age", "-k", 2)
    assert_refused(tmp_path, "verify", tmp_path, "--qi", "age", "-k", 2, says=("is a release",))
    assert_refused(tmp_path, "verify", table, says=("manifest", "no such file", "--qi"))
    assert_refused(tmp_path, "verify", tmp_path / "out.csv", says=("manifest", "not readable"))
    assert_refused(tmp_path, "verify", table, "--qi", "wage", "-k", 2, says=("'wage'",))
    assert_refused(tmp_path, "verify", table, "--qi", "age", says=("k",))
    assert_refused(tmp_path, "verify", table, "--qi", "age", "-l", 2, says=("sensitive",))


def test_verify_without_quasi_identifiers(tmp_path: Path, table: Path) -> None:
    assert_refused(tmp_path, "verify", table, "-k", 2, says=("qi",))


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 99}', '{"format": 1}', "{", "\xff"])
def test_verify_with_a_broken_manifest(tmp_path: Path, table: Path, text: str) -> None:
    manifest = written(tmp_path / "m.json", text.encode("latin-1"))
    assert_refused(tmp_path, "verify", table, "--manifest", manifest, says=("m.json",))


# --- tables in memory -----------------------------------------------------------------

GOOD = {"age": [1, 2, 3, 4], "ill": [f"{SECRET}{i}" for i in range(4)]}


def test_duplicate_names_in_pandas() -> None:
    frame = pd.DataFrame([[1, 2, 3]] * 4, columns=["age", "zip", "age"])
    with pytest.raises(InputError, match=r"differ.*columns 1 and 3"):
        library.anonymize(frame, qi="zip", k=2, rest="plain")


def test_duplicate_names_in_arrow() -> None:
    table = pa.table([[1, 2], [3, 4]], names=["age", "age"])
    with pytest.raises(InputError, match=r"differ.*columns 1 and 2"):
        library.anonymize(table, qi="age", k=2, rest="plain")


@pytest.mark.parametrize("odd", [3, 3.5, None, b"x", ["x"], object()])
def test_mixed_types_in_pandas(odd: Any) -> None:
    frame = pd.DataFrame({**GOOD, "my ill": [SECRET, odd, 5, SECRET]})
    with pytest.raises(InputError, match="column 'my ill' mixes") as caught:
        library.anonymize(frame, qi="age", k=2, rest="plain")
    assert SECRET not in str(caught.value)


def test_cells_that_arrow_cannot_hold() -> None:
    frame = pd.DataFrame({**GOOD, "z": [1j, 2j, 3j, 4j]})
    with pytest.raises(InputError, match="'z'"):
        library.anonymize(frame, qi="age", k=2, rest="plain")
    frame = pd.DataFrame({**GOOD, "z": [2**70, 1, 2, 3]})
    with pytest.raises(InputError, match="'z'"):
        library.anonymize(frame, qi="age", k=2, rest="plain")


def test_infinite_numbers_in_frames() -> None:
    cells = {"age": [1.0, float("inf"), 3.0, 4.0]}
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        with pytest.raises(InputError, match=r"'age'.*finite"):
            library.anonymize(frame, qi="age", k=2, rest="plain")


@pytest.mark.parametrize("data", [None, 3, [1, 2], {"a": [1]}, np.zeros((2, 2))])
def test_data_of_an_unknown_kind(data: Any) -> None:
    with pytest.raises(InputError, match="expected a pandas, Polars"):
        library.anonymize(data, qi="age", k=2, rest="plain")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_without_rows_or_columns(kind: Any) -> None:
    with pytest.raises(InputError, match="empty"):
        library.anonymize(kind({"age": []}), qi="age", k=2, rest="plain")
    with pytest.raises((InputError, PolicyError)):
        library.anonymize(kind({}), qi="age", k=2, rest="plain")


@pytest.mark.parametrize("nested", [[[1], [2]], [{"x": 1}, {"x": 2}]])
@pytest.mark.parametrize("role", ["qi", "sensitive", "plain"])
def test_nested_columns_in_frames(nested: list[Any], role: str) -> None:
    table = pa.table({"age": [1, 2], "deep": nested})
    roles = {"qi": "age", role: "deep"}
    with pytest.raises(InputError, match=r"'deep'.*nested"):
        library.anonymize(table, **roles, k=2, rest="plain")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": "5"}, "k: expected"),
        ({"k": 2, "wage": 3}, "'wage'"),
        ({"k": 2, "qi": {"age": 1}}, "qi: expected"),
        ({"k": 2, "method": "magic"}, "'magic'"),
        ({"k": 2, "option": {"speed": 1}}, "'speed'"),
        ({"k": 2, "base": 3}, "base"),
    ],
)
def test_bad_settings_in_python(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says) as caught:
        library.anonymize(pa.table(GOOD), **{"qi": "age", **settings}, rest="plain")
    assert "\n" not in str(caught.value)
