"""Real microdata where it is at hand, the generated census where it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

import shoal
from shoal.io.read import read_table

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ADULT_NUMERIC = ["age", "education-num"]
ADULT_ORDINAL = ["workclass", "marital-status", "occupation", "race", "sex", "native-country"]
ACS_ORDINAL = ["Gender", "Education", "Marital", "Race", "WorkClass", "Country"]
CENSUS_QI = ["age", "gender", "education", "marital", "race", "workclass", "country"]


def real(name: str) -> pa.Table | None:
    """A table of the shared data folder (or SHOAL_DATA), or None with a word about it."""
    path = Path(os.environ.get("SHOAL_DATA", SHARED)) / name
    if not path.exists():
        print(f"  ({name} is not at {path.parent}: left out)")
        return None
    return read_table(path)


def adult() -> tuple[pa.Table, dict] | None:
    table = real("adult.csv")
    kinds = dict.fromkeys(ADULT_ORDINAL, "ordinal")
    return table and (table, {"qi": ADULT_NUMERIC + ADULT_ORDINAL, "kind": kinds})


def acs() -> tuple[pa.Table, dict] | None:
    table = real("acs2018_census9.csv.gz")
    kinds = dict.fromkeys(ACS_ORDINAL, "ordinal")
    return table and (table, {"qi": ["Age", *ACS_ORDINAL], "kind": kinds})


def census(n: int) -> tuple[pa.Table, dict]:
    kinds = dict.fromkeys(["gender", "marital", "race", "workclass", "country"], "ordinal")
    return shoal.datasets.census(n), {"qi": CENSUS_QI, "kind": kinds}
