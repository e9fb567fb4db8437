"""Numbers beyond 2**53, int64 and floats: published, verified, counted and joined exactly."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.encoding.numbers import exact_numbers, exactly
from shoal.encoding.values import sorted_by_text
from shoal.errors import PolicyError
from shoal.recipient import query

TWO53, TWO63 = 2**53, 2**63
KINDS: dict[str, tuple[list[Any], pa.DataType]] = {
    "beyond 2**53": ([TWO53 + i for i in (1, 2, 3, 5)], pa.int64()),
    "near int64's ends": ([-TWO63, -TWO63 + 1, TWO63 - 2, TWO63 - 1], pa.int64()),
    "uint64": ([TWO63 + i for i in (0, 1, 2, 4)], pa.uint64()),
    "int64 and uint64": ([1, TWO63 - 1, TWO63, TWO63 + 1], pa.uint64()),
    "decimal": ([Decimal(10**30 + i) for i in (0, 1, 2, 4)], pa.decimal128(38, 0)),
    "decimal fractions": ([Decimal(f"{TWO53 + i}.5") for i in range(4)], pa.decimal128(38, 1)),
    "long texts": ([str(10**40 + i) for i in (0, 1, 2, 4)], pa.string()),
    "negative texts": ([str(-(10**20) - i) for i in (4, 2, 1, 0)], pa.string()),
    "fractions as text": ([f"{TWO53 + 1}.5", "0.5", f"{TWO53}.5", f"{TWO53}"], pa.string()),
    "long fractions": ([f"0.1234567890123456789{i}" for i in range(4)], pa.string()),
}


@pytest.fixture(params=KINDS, ids=str)
def column(request) -> pa.Array:
    values, kind = KINDS[request.param]
    return pa.array(values, kind)


def released(column: pa.Array, k: int, method: str = "hilbert", **more: Any) -> shoal.Release:
    source = pa.table({"a": column, "s": ["x", "y"] * (len(column) // 2)})
    return shoal.anonymize(
        source, qi=["a"], kind={"a": "numeric"}, sensitive="s", k=k, rest="plain",
        method=method, bound=False, **more,
    )  # fmt: skip


@pytest.mark.parametrize("layout", ["cells", "bounds"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_each_value_is_published_as_itself(tmp_path: Path, column, layout, ending):
    twice = pa.concat_arrays([column, column])
    path = released(twice, 1, layout=layout).write(tmp_path / f"r.{ending}")
    assert shoal.verify(path).ok
    for value in column.cast(pa.string()).to_pylist():
        got = query(path, f"SELECT count(*) FROM r WHERE a = {value}")
        assert (got.lower, got.expected, got.upper) == (2, 2, 2)


@pytest.mark.parametrize("layout", ["cells", "bounds"])
def test_intervals_hold_their_values(tmp_path: Path, column, layout):
    path = released(column, 2, layout=layout).write(tmp_path / "r.csv")
    assert shoal.verify(path).ok
    texts = column.cast(pa.string()).to_pylist()
    for value in texts:
        below = sum(exactly(text) < exactly(value) for text in texts)
        for op, true in (("=", 1), ("<", below), ("<=", below + 1)):
            got = query(path, f"SELECT count(*) FROM r WHERE a {op} {value}")
            assert got.lower <= true <= got.upper
    low, high = (f(texts, key=exactly) for f in (min, max))
    got = query(path, f"SELECT count(*) FROM r WHERE a BETWEEN {low} AND {high}")
    assert (got.lower, got.upper) == (4, 4)


def test_input_of_json_lines_is_exact(tmp_path: Path):
    source = tmp_path / "in.jsonl"
    numbers = [TWO63 + 1, TWO63 + 3, 10**25, 5]
    source.write_text("".join(f'{{"a": {n}, "b": 1.5}}\n' for n in numbers for _ in "12"), "utf-8")
    release = shoal.anonymize(str(source), qi=["a"], k=2, method="mondrian", rest="plain")
    assert set(release.table.column("a").to_pylist()) == {str(n) for n in numbers}


def test_json_lines_of_floats_stay_floats(tmp_path: Path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"a": 1e20}\n{"a": 2.5}\n' * 2, "utf-8")
    release = shoal.anonymize(str(source), qi=["a"], k=2, method="mondrian", rest="plain")
    assert len(set(release.table.column("a").to_pylist())) == 2


@settings(max_examples=200, deadline=None)
@given(st.lists(
    st.integers(-(10**25), 10**25).map(str)
    | st.integers(TWO53 - 3, TWO53 + 3).map(str)
    | st.decimals(-10, 10, places=20).map(lambda d: format(d, "f")),
    min_size=1, max_size=8, unique=True,
))  # fmt: skip
def test_numbers_keep_their_order(texts):
    numbers = exact_numbers(pa.array(texts, pa.string()))
    exact = [exactly(text) for text in texts]
    for i, one in enumerate(exact):
        for j, other in enumerate(exact):
            assert (numbers[i] < numbers[j]) == (one < other)
            assert (numbers[i] == numbers[j]) == (one == other)
    ranked = [exact[i] for i in sorted_by_text(texts)]
    assert ranked == sorted(ranked)


def test_short_numbers_stay_floats_and_ints():
    assert exact_numbers(pa.array(["1", "2"])).dtype == np.int64
    assert exact_numbers(pa.array(["1.5", "1.50", "2e3"])).dtype == np.float64
    assert exact_numbers(pa.array([1.5, 1e300])).dtype == np.float64


def sensitive(values: list[Any], kind: pa.DataType, **models: Any) -> shoal.Release:
    source = pa.table({"a": list(range(len(values))), "s": pa.array(values, kind)})
    return shoal.anonymize(
        source, qi=["a"], sensitive="s", kind={"s": "numeric"}, method="mondrian", rest="plain",
        bound=False, **models,
    )  # fmt: skip


def test_spreads_of_sensitive_numbers_are_exact(tmp_path: Path):
    """As floats 2**53 + 1 is 2**53, and 2**53 + 3 is 2**53 + 4: a spread of 4 where it is 2."""
    values = [TWO53 + 1, TWO53 + 3] * 4
    release = sensitive(values, pa.int64(), k=2, e=2)
    path = release.write(tmp_path / "r.csv")
    assert shoal.verify(path).ok
    assert [c.reached for c in release.verification.checks if c.model == "(k,e)"] == [2.0]
    with pytest.raises(shoal.errors.InfeasibleError, match="spans 2 in the whole table"):
        sensitive(values, pa.int64(), k=2, e=3)


def test_spreads_beyond_floats_are_refused():
    with pytest.raises(PolicyError, match="lie further apart"):
        sensitive([0, TWO53 + 1] * 4, pa.int64(), k=2, e=2)
    assert sensitive([0, TWO53 + 1] * 4, pa.int64(), k=2, t=1).verification.holds


@pytest.mark.parametrize("kind", [pa.uint64(), pa.string()])
def test_closeness_ranks_sensitive_numbers_exactly(tmp_path: Path, kind):
    small = [1, 2, 3, 4] * 4
    large = [TWO63 + 3 * n for n in small]
    large = [str(n) for n in large] if kind == pa.string() else large
    found = [
        sensitive(values, type_, k=4, t=0.5).verification.checks[-1].reached
        for values, type_ in ((small, pa.int64()), (large, kind))
    ]
    assert found[0] == found[1]


def test_joined_releases_tell_neighbours_apart(tmp_path: Path):
    """Twice the same exact numbers join to pairs, and not to fours."""
    values = pa.array([TWO53, TWO53, TWO53 + 1, TWO53 + 1])
    paths = [released(values, 2).write(tmp_path / f"{i}.csv") for i in range(2)]
    found = shoal.join_check(paths, k=3)
    assert not found.ok


def test_long_values_are_no_spelling_twins():
    from shoal.encoding.folding import fold

    assert fold(str(10**40)) != fold(str(10**40 + 1))
    assert fold(f"{10**40}.0") == fold(str(10**40))
