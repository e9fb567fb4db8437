"""A release as plain values: inside what the cells cover, by the shares they have."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from random_tables import microdata
from shoal.errors import PolicyError
from shoal.recipient.columns import Released
from shoal.recipient.covering import Continuous, Covered, covered
from shoal.recipient.opening import open_release
from shoal.recipient.script import check_script, view_script
from shoal.released.cells import Anything, Range, Values

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
QI = ["age", "gender", "education", "marital"]


def census_release(**more: Any) -> shoal.Release:
    asked = {"qi": QI, "sensitive": "occupation", "plain": "salary", "k": 10, "method": "hilbert",
             "rest": "drop", "seed": 1, **more}  # fmt: skip
    return shoal.anonymize(shoal.datasets.census(1000), **asked)


def opened(release: shoal.Release) -> Released:
    return open_release(release, None, None, None, {}, asked_by="a test").released


# --- what cells cover


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_form_stays_within_the_cells(data: st.DataObject) -> None:
    table, roles = data.draw(microdata(most=20))
    assume(table.num_rows >= 2)
    release = shoal.anonymize(table, **roles, k=2, method="hilbert", rest="plain", seed=1)
    found = opened(release)
    samples = shoal.expand(release, "samples", samples=2, seed=3)
    middle, mean = shoal.expand(release), shoal.expand(release, "mean")
    assert samples.num_rows == 2 * release.table.num_rows
    for name in roles["qi"]:
        codes, cells, reading = found.cells(name)
        for drawn in (samples, middle, mean):
            repeated = np.tile(codes, drawn.num_rows // len(codes)) if len(codes) else codes
            for code, value in zip(repeated, drawn[name].to_pylist(), strict=True):
                assert fits(cells[code], value, reading.kind), (name, cells[code], value)


def fits(cell: Any, value: Any, kind: str) -> bool:
    """Whether a value may stand for a cell, told from its texts."""
    if isinstance(cell, Anything):
        return True
    if isinstance(cell, Values):
        if value is None:
            return None in cell.texts
        if kind in {"numeric", "date"}:
            return any(t is not None and same(t, value) for t in cell.texts)
        return str(value) in cell.texts
    assert isinstance(cell, Range)
    if kind == "numeric":
        return float(cell.low) <= float(value) <= float(cell.high)
    if kind == "date":
        return cell.low[:10] <= str(value)[:10] <= cell.high[:10]
    return value is not None


def same(text: str, value: Any) -> bool:
    try:
        return float(text) == pytest.approx(float(value))
    except (TypeError, ValueError):
        return text[:10] == str(value)[:10]


def slow_shares(cells: list[list[int]], records: list[int], rounds: int) -> list[list[float]]:
    """Slow twin of weighing: equal shares first, then by what the column has of each value."""
    shares = [[1 / len(cell)] * len(cell) for cell in cells]
    first = shares
    for _ in range(rounds):
        found: dict[int, float] = {}
        for cell, share, count in zip(cells, shares, records, strict=True):
            for value, part in zip(cell, share, strict=True):
                found[value] = found.get(value, 0) + part * count
        raw = [[s * found[v] for v, s in zip(cell, share, strict=True)]
               for cell, share in zip(cells, first, strict=True)]  # fmt: skip
        shares = [[x / sum(row) for x in row] for row in raw]
    return shares


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 5), min_size=1), st.integers(1, 9)), min_size=1, max_size=6
    )
)
def test_shares_agree_with_the_slow_twin(drawn: list[tuple[set[int], int]]) -> None:
    from shoal.recipient.covering import ROUNDS

    cells, records = [sorted(cell) for cell, _ in drawn], [count for _, count in drawn]
    sizes = [len(cell) for cell in cells]
    column = Covered(
        "c", "categorical", np.repeat(np.arange(len(cells), dtype=np.int32), records),
        pa.array([*"abcdef", None]), np.concatenate([[0], np.cumsum(sizes)]),
        np.array([v for cell in cells for v in cell], np.int32),
        np.array([1 / len(cell) for cell in cells for _ in cell]),
    ).weigh()  # fmt: skip
    slow = [part for row in slow_shares(cells, records, ROUNDS) for part in row]
    assert column.share == pytest.approx(slow)
    assert np.bincount(column.cell, column.share) == pytest.approx(1)


def test_draws_follow_the_shares() -> None:
    column = Covered(
        "c", "categorical", np.zeros(40_000, np.int32), pa.array(["a", "b", None]),
        np.array([0, 2]), np.array([0, 1], np.int32), np.array([0.2, 0.8]),
    )  # fmt: skip
    drawn = column.draw(np.random.default_rng(1))
    assert np.mean(drawn == 1) == pytest.approx(0.8, abs=0.01)
    assert set(column.likeliest()) == {1}


def test_fractions_are_drawn_between_their_ends() -> None:
    table = pa.table({"x": [0.5 * i for i in range(20)]})
    release = shoal.anonymize(table, qi="x", k=4, method="hilbert", seed=1)
    column = covered(opened(release), "x")
    assert isinstance(column, Continuous)
    drawn = shoal.expand(release, "samples", samples=3, seed=1)["x"].to_numpy()
    low, high = column.low[column.codes], column.high[column.codes]
    assert ((np.tile(low, 3) <= drawn) & (drawn <= np.tile(high, 3))).all()


# --- forms


def test_bounds_are_the_ends_of_the_cells() -> None:
    release = census_release()
    table = shoal.expand(release, "bounds")
    for text, low, high in zip(
        release.table["age"].to_pylist(), table["age_low"].to_pylist(),
        table["age_high"].to_pylist(), strict=True,
    ):  # fmt: skip
        ends = text.strip("[]").split(",")
        assert (int(ends[0]), int(ends[-1])) == (low, high)
    assert table["occupation"].equals(release.table["occupation"])


def test_shares_of_a_record_add_up_to_one() -> None:
    release = census_release()
    table = shoal.expand(release, "shares")
    named = [name for name in table.column_names if name.startswith("marital=")]
    assert np.sum([table[name].to_numpy() for name in named], axis=0) == pytest.approx(1)
    assert "age" in table.column_names


def test_the_kind_that_was_brought_comes_back_and_intervals_are_pandas_own() -> None:
    release = census_release()
    assert isinstance(shoal.expand(release.to_pandas(), manifest=None, policy=release.policy),
                      pd.DataFrame)  # fmt: skip
    frame = release.to_pandas(as_="interval")
    assert str(frame["age"].dtype) == "interval[int64, both]"
    assert list(frame.columns) == release.table.column_names
    polars = release.to_polars(as_="interval")
    assert polars["age"].struct.field("low").to_list() == [i.left for i in frame["age"]]
    assert release.to_pandas()["age"].tolist() == release.table["age"].to_pylist()


def test_days_and_missing_values_stay_what_they_are() -> None:
    days = pa.array(np.arange("2024-01-31", "2024-03-11", dtype="datetime64[D]"))
    table = pa.table({"day": days, "n": [None if i < 5 else i for i in range(40)]})
    release = shoal.anonymize(table, qi=["day", "n"], k=5, method="mondrian", seed=1)
    bounds = shoal.expand(release, "bounds")
    assert pa.types.is_date(bounds["day_low"].type)
    low, high = (bounds[f"day_{end}"].to_pylist() for end in ("low", "high"))
    assert all(a <= b for a, b in zip(low, high, strict=True))
    middles = shoal.expand(release)["n"].to_pylist()
    shown = dict(zip(release.table["n"].to_pylist(), middles, strict=True))
    assert None not in shown or shown[None] is None


def test_what_cannot_be_told_is_refused(tmp_path: Any) -> None:
    release = census_release()
    with pytest.raises(PolicyError, match="as: expected one of midpoint, mean, bounds"):
        shoal.expand(release, "middle")
    with pytest.raises(PolicyError, match="samples: expected at least 1; got 0"):
        shoal.expand(release, "samples", samples=0)
    with pytest.raises(PolicyError, match="expand: unknown setting 'k'"):
        shoal.expand(release, k=3)
    tree = {"tree": {"x": ["a", "b"], "y": ["c", "d"]}}
    table = pa.table({"c": list("abcd") * 3})
    labels = shoal.anonymize(table, qi="c", k=6, hierarchy={"c": tree}, method="hilbert", seed=1)
    with pytest.raises(PolicyError, match="hierarchy that is not at hand; give --hierarchy c=FILE"):
        shoal.expand(labels.write(tmp_path / "r.csv"))


def test_the_sensitive_column_of_two_tables_comes_back(tmp_path: Any) -> None:
    release = shoal.anonymize(
        shoal.datasets.census(300), qi=["age", "gender"], sensitive="occupation", l=3,
        method="anatomy", rest="drop", seed=1,
    )  # fmt: skip
    path = release.write(tmp_path / "r.csv")
    groups = release.table["group"].to_pylist()
    of_group: dict[Any, list[str]] = {}
    for row in release.sensitive_table.to_pylist():
        of_group.setdefault(row["group"], []).extend([row["occupation"]] * row["count"])
    samples = shoal.expand(path, "samples", samples=2, seed=1)
    assert samples.column_names == ["age", "gender", "occupation", "_sample"]
    for number in (1, 2):
        drawn: dict[Any, list[str]] = {}
        own = samples.filter(pa.array(samples["_sample"].to_numpy() == number))
        for group, value in zip(groups, own["occupation"].to_pylist(), strict=True):
            drawn.setdefault(group, []).append(value)
        assert {g: sorted(v) for g, v in drawn.items()} == {
            g: sorted(v) for g, v in of_group.items()
        }
    shares = shoal.expand(release, "shares")
    named = [name for name in shares.column_names if name.startswith("occupation=")]
    assert np.sum([shares[name].to_numpy() for name in named], axis=0) == pytest.approx(1)
    totals = {name: float(np.sum(shares[name].to_numpy())) for name in named}
    whole = [value for own in of_group.values() for value in own]
    assert totals == pytest.approx({f"occupation={v}": float(whole.count(v)) for v in set(whole)})


# --- pooled estimates


def test_pooling_follows_rubins_rules() -> None:
    samples = pa.table({"x": [1.0, 2.0, 3.0, 2.0, 3.0, 4.0], "_sample": [1, 1, 1, 2, 2, 2]})
    found = shoal.pool(samples, mean="x")
    within, between = 1 / 3, 0.5
    assert found.value == 2.5
    assert found.standard_error == pytest.approx((within + 1.5 * between) ** 0.5)
    assert found.low < 2.5 < found.high
    assert shoal.pool(samples, share=("x", 2.0)).value == pytest.approx(1 / 3)


def test_coefficients_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=200), rng.normal(size=200)
    y = 1 + 2 * x - 3 * z + rng.normal(size=200) * 0.1
    both = {name: np.tile(values, 2) for name, values in {"x": x, "y": y, "z": z}.items()}
    samples = pa.table({**both, "_sample": np.repeat([1, 2], 200)})
    found = shoal.pool(samples, regression=("y", ["x", "z"]))
    expected = np.linalg.lstsq(np.column_stack([np.ones(200), x, z]), y, rcond=None)[0]
    assert [found[name].value for name in ("(intercept)", "x", "z")] == pytest.approx(expected)


def test_the_mean_of_the_cells_widens_an_interval() -> None:
    release = census_release(k=50)
    samples = shoal.expand(release, "samples", seed=1)
    alone = shoal.pool(samples, regression=("salary", ["age"]))["age"]
    wider = shoal.pool(samples, regression=("salary", ["age"]),
                       middle=shoal.expand(release, "mean"))["age"]  # fmt: skip
    assert wider.value == alone.value
    assert wider.high - wider.low > alone.high - alone.low


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "give one of mean, share and regression"),
        ({"mean": "wage"}, "no column 'wage'"),
        ({"mean": "gender"}, "holds no numbers"),
        ({"mean": "age", "level": 2}, "level: expected"),
        ({"regression": ("salary", ["age", "age"])}, "do not determine coefficients"),
    ],
)
def test_questions_that_cannot_be_answered(asked: dict[str, Any], told: str) -> None:
    samples = shoal.expand(census_release(), "samples", seed=1)
    with pytest.raises(PolicyError, match=told):
        shoal.pool(samples, **asked)


# --- SQL


def test_the_script_gives_the_same_numbers_without_shoal(tmp_path: Any) -> None:
    release = census_release()
    path = release.write(tmp_path / "r.csv")
    connection = duckdb.connect()
    connection.execute(view_script(path))
    bounds = shoal.expand(release, "bounds")
    [(low, high)] = connection.sql("SELECT sum(age_low), sum(age_high) FROM release").fetchall()
    assert (low, high) == (sum(bounds["age_low"].to_pylist()), sum(bounds["age_high"].to_pylist()))
    asked = "FROM release WHERE age BETWEEN 30 AND 40 AND gender = 'Female'"
    [(expected,)] = connection.sql(
        "SELECT sum(weight_in(age, 30, 40) * weight_of(gender_values, 'Female')) FROM release"
    ).fetchall()
    assert expected == pytest.approx(shoal.query(path, f"SELECT count(*) {asked}").expected)
    [(occupations,)] = connection.sql("SELECT count(occupation) FROM release").fetchall()
    assert occupations == 1000


@pytest.mark.parametrize("dialect", ["duckdb", "postgresql"])
def test_checks_find_the_classes_that_break_a_promise(dialect: str) -> None:
    connection = duckdb.connect()
    rows = "('a', 'x'), ('a', 'y'), ('b', 'x'), ('b', 'x'), (NULL, 'x'), (NULL, NULL)"
    connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) v(q, s)")
    assert connection.execute(check_script("t", ["q"], k=2, dialect=dialect)).fetchall() == []
    assert len(connection.execute(check_script("t", ["q"], k=3, dialect=dialect)).fetchall()) == 3
    failing = connection.execute(check_script("t", ["q"], distinct_l=2, sensitive=["s"])).fetchall()
    assert [row[0] for row in failing] == ["b"]
    assert "`q`" in check_script("t", ["q"], k=2, dialect="bigquery")
    with pytest.raises(PolicyError, match="l is about sensitive columns"):
        check_script("t", ["q"], distinct_l=2)


# --- the command line


def test_commands(tmp_path: Any) -> None:
    path = census_release().write(tmp_path / "r.csv")
    for form, ending in (("midpoint", "csv"), ("shares", "parquet"), ("samples", "jsonl")):
        out = tmp_path / f"{form}.{ending}"
        done = command("expand", path, "-o", out, "--as", form, "--samples", 2)
        assert done.code == 0, done
        rows = shoal.io.read.read_table(out).num_rows
        assert f"wrote {out}: {rows:,} rows" in done.out
    assert command("expand", path, "-o", path).code == 2
    assert command("sql", path).out.startswith("-- Made by")
    check = command("sql", "patients", "--check", "k=10", "--qi", "age,zip")
    assert "HAVING COUNT(*) < 10" in check.out
    assert command("sql", "patients", "--check", "m=10").code == 2
