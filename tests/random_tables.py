"""Random microdata and policies for property tests: as nasty as real data, and smaller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st

from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition
from shoal.errors import InputError
from shoal.policy import Policy

WORDS = ["a", "b", "c", "d,e", 'f"g', "{h}", "*", "[1,2]", " i", "ü"]
DATES = ["2024-01-31", "2023-12-01", "1999-07-15", "2024-02-29"]
TREE = {"x": {"y": ["a", "b"], "z": ["c", "d,e"]}, "w": ['f"g', "{h}", "*", "[1,2]", " i", "ü"]}


def _column(n: int, values: Sequence[Any], missing: bool) -> st.SearchStrategy[list[Any]]:
    cells = st.sampled_from(list(values) + ([None] if missing else []))
    return st.lists(cells, min_size=n, max_size=n)


@st.composite
def quasi_identifier(draw: st.DrawFn, n: int) -> tuple[list[Any], dict[str, Any]]:
    """Cells of one attribute, and what the policy says about it."""
    missing = draw(st.booleans())
    form = draw(st.sampled_from(["numeric", "huge", "date", "ordinal", "set", "flat", "tree"]))
    if form == "numeric":
        return draw(_column(n, range(draw(st.integers(1, 12))), missing)), {}
    if form == "huge":
        cells = st.integers(-(10**12), 10**12) | (st.none() if missing else st.nothing())
        return draw(st.lists(cells, min_size=n, max_size=n)), {}
    if form == "date":
        return draw(_column(n, DATES, missing)), {"kind": "date"}
    cells = draw(_column(n, WORDS[: draw(st.integers(1, len(WORDS)))], missing))
    if form == "ordinal":
        return cells, {"kind": "ordinal"}
    if form == "flat":
        return cells, {"hierarchy": "flat"}
    if form == "tree":
        return cells, {"hierarchy": {"tree": TREE, "root": "any"}}
    return cells, {"kind": "categorical"}


@st.composite
def microdata(draw: st.DrawFn, most: int = 40) -> tuple[pa.Table, dict[str, Any]]:
    """A table with one to three quasi-identifiers, two sensitive columns and its settings."""
    n = draw(st.integers(1, most))
    columns: dict[str, list[Any]] = {}
    settings: dict[str, Any] = {"kind": {"income": "numeric"}, "hierarchy": {}, "qi": []}
    for i in range(draw(st.integers(1, 3))):
        name = f"q{i}"
        columns[name], about = draw(quasi_identifier(n))
        settings["qi"].append(name)
        for setting, value in about.items():
            settings[setting][name] = value
    columns["disease"] = draw(
        _column(n, "stuvwxyz"[: draw(st.integers(1, 8))], draw(st.booleans()))
    )
    columns["income"] = draw(_column(n, range(0, 100, 7), False))
    if draw(st.booleans()):  # every row twice: duplicates are welcome
        columns = {name: cells + cells for name, cells in columns.items()}
    text = [name for name, cells in columns.items() if any(isinstance(c, str) for c in cells)]
    return pa.table(
        {
            name: pa.array(cells, pa.string() if name in text else pa.int64())
            for name, cells in columns.items()
        }
    ), settings


@st.composite
def encoded_tables(draw: st.DrawFn, most: int = 40) -> EncodedTable:
    """`microdata`, encoded with both sensitive columns."""
    source, settings = draw(microdata(most=most))
    try:
        return encode(source, Policy.parse(**settings, sensitive=["disease", "income"]))
    except InputError:  # a column of dates without a single one
        reject()


@st.composite
def partitions(draw: st.DrawFn, n: int) -> Partition:
    """Any groups of n records."""
    most = draw(st.integers(0, n - 1))
    ids = draw(st.lists(st.integers(0, most), min_size=n, max_size=n))
    return Partition.from_group_ids(np.array(ids))
