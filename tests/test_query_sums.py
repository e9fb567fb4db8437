"""Sums, averages and quantiles of a release: bounds hold in every world and are reached."""

from __future__ import annotations

import json
import math
from itertools import chain, repeat
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from naive_query import Spec, aggregate, columns, expected_numbers, to_sql, worlds
from shoal.errors import PolicyError
from shoal.recipient import query, sums
from shoal.recipient.aggregates import Aggregate
from shoal.recipient.measured import Measured

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
CELLS: dict[str, list[Any]] = {
    "n": ["1", "3", "[1,4]", "[-2,3]", "*", None],
    "h": ["0.5", "2", "[0.5,2]", "[-1.5,1]", None],
    "s": ["e", "f", "{e,f}", "{f,g,}", "*"],
    "p": [-1.5, 2.0, 2.5, 7.0, None],
}
SPECS = {"n": Spec("number"), "h": Spec("number"), "s": Spec("set"), "p": Spec("exact")}
KNOWN = {"qi": ["n", "h", "s"], "kind": {"n": "numeric", "h": "numeric"}}
CONDITIONS = [
    ("=", "s", "f"), ("in", "s", ("e", "g")), ("null", "s"), ("not", ("=", "s", "e")),
    ("<", "n", 3), ("between", "n", 0, 2), ("=", "n", 2), ("in", "n", (1, 3, 2.5)),
    ("not", ("=", "n", 3)), (">=", "h", 1), ("or", ("<", "n", 2), ("=", "s", "f")),
    ("and", ("=", "s", "f"), ("<", "h", 1.5)), (">", "p", 2),
    ("or", ("=", "s", "e"), (">", "p", 0)),
]  # fmt: skip
FUNCTIONS = {
    "sum": ("sum({})", 0.5), "avg": ("avg({})", 0.5), "median": ("median({})", 0.5),
    "quantile_cont": ("quantile_cont({}, 0.75)", 0.75),
    "quantile_disc": ("quantile_disc({}, 0.25)", 0.25),
}  # fmt: skip
SLOW = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {name: pa.float64() if name == "p" else pa.string() for name in CELLS}
    return pa.table({name: pa.array([r[name] for r in rows], kinds[name]) for name in CELLS})


def drawn_rows(most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()})
    return st.lists(row, min_size=1, max_size=most)


@SLOW
@given(
    drawn_rows(3), st.sampled_from(CONDITIONS), st.sampled_from("nhp"),
    st.sampled_from(sorted(FUNCTIONS)),
)  # fmt: skip
def test_bounds_hold_in_every_world_and_are_reached(rows, condition, column, function):
    written, share = FUNCTIONS[function]
    got = query(
        table_of(rows), f"SELECT {written.format(column)} FROM r WHERE {to_sql(condition)}", **KNOWN
    )
    found, some = [], False
    for world in worlds(rows, condition, column, SPECS):
        some = some or bool(world)
        if world or function == "sum":
            found.append(aggregate(function, world, share))
    if not some:
        assert (got.expected, got.lower, got.upper) == (None, None, None)
    assume(some)
    slack = 1e-9
    assert got.lower - slack <= min(found)
    assert max(found) <= got.upper + slack
    if column not in columns(condition):  # no open end, so the ends themselves are worlds
        if math.isfinite(got.lower):
            assert got.lower == pytest.approx(min(found))
        if math.isfinite(got.upper):
            assert got.upper == pytest.approx(max(found))


@SLOW
@given(
    drawn_rows(6), st.sampled_from(CONDITIONS), st.sampled_from("nhp"),
    st.sampled_from(["sum", "avg"]),
)  # fmt: skip
def test_what_is_expected_is_the_twins(rows, condition, column, function):
    got = query(
        table_of(rows), f"SELECT {function}({column}) FROM r WHERE {to_sql(condition)}", **KNOWN
    )
    numbers = expected_numbers(rows, condition, column, SPECS)
    assume(got.lower is not None)
    weight = sum(share for _, share in numbers)
    if function == "avg" and weight < 1e-12:
        assert got.expected is None
    assume(function == "sum" or weight >= 1e-12)
    expected = sum(value * share for value, share in numbers)
    expected = expected if function == "sum" else expected / weight
    assert got.expected == pytest.approx(min(max(expected, got.lower), got.upper), abs=1e-9)


@SLOW
@given(drawn_rows(6), st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
def test_an_expected_quantile_is_the_first_number_with_that_much_up_to_it(rows, share):
    got = query(table_of(rows), f"SELECT quantile_disc(n, {share}) FROM r WHERE s <> 'g'", **KNOWN)
    numbers = sorted(expected_numbers(rows, ("not", ("=", "s", "g")), "n", SPECS))
    assume(numbers)
    total = sum(weight for _, weight in numbers)
    reached = 0.0
    first = None
    for value, weight in numbers:
        reached += weight
        if first is None and reached >= share * total - 1e-9:
            first = value
    assert got.expected == pytest.approx(min(max(first, got.lower), got.upper))


@settings(SLOW, max_examples=12)
@given(drawn_rows(3), st.sampled_from(["n", "s", "ns"]), st.sampled_from(sorted(FUNCTIONS)))
def test_a_group_is_the_question_for_its_value(rows, names, function):
    table, asked = table_of(rows), FUNCTIONS[function][0].format("p")
    where = "h < 1.5 OR s = 'f'"
    listed = ", ".join(names)
    got = query(table, f"SELECT {listed}, {asked} FROM r WHERE {where} GROUP BY ALL", **KNOWN)
    for row in got.rows:
        parts = [f"{name} IS NULL" if row[name] is None else f"{name} = '{row[name]}'"
                 for name in names]  # fmt: skip
        alone = query(
            table, f"SELECT {asked} FROM r WHERE ({where}) AND {' AND '.join(parts)}", **KNOWN
        )
        assert (row["lower"], row["upper"]) == pytest.approx((alone.lower, alone.upper))
        if alone.expected is not None:
            assert row["expected"] == pytest.approx(alone.expected)


@given(st.data())
def test_many_groups_of_one_row_at_once_are_each_on_its_own(data):
    """What grouping by a column with a value a record takes."""
    numbers = st.sampled_from([-2.5, -1.0, 0.0, 0.1, 3.0, 7.25])
    low = np.array(data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4)))
    cells = len(low)
    wide = st.lists(st.sampled_from([0.0, 1.0, np.inf]), min_size=2 * cells, max_size=2 * cells)
    high = low + np.array(data.draw(wide)).reshape(cells, 2)
    column = Measured(
        codes=np.zeros(1, np.int32), signatures=[{}, {}], possible=np.ones((cells, 2), bool),
        low=low, high=high, cell=np.repeat(np.arange(cells, dtype=np.int32), 2),
        signature=np.tile(np.arange(2, dtype=np.int32), cells), first=low.ravel(),
        last=low.ravel() + 1, share=np.full(2 * cells, 0.5), whole=False,
    )  # fmt: skip
    made = st.tuples(st.integers(0, cells - 1), st.integers(1, 9), st.sampled_from([1, 2, 3]),
                     st.booleans(), st.sampled_from([0.0, 0.5, 3.0]))  # fmt: skip
    drawn = data.draw(st.lists(made, min_size=1, max_size=6))
    cell, records, ways, certain, weight = map(np.array, zip(*drawn, strict=True))
    allowed = np.column_stack([ways & 1, ways & 2]) > 0
    rows = sums._Rows(cell, records, allowed, certain, allowed * weight[:, None])
    for function in ("sum", "avg"):
        asked = Aggregate(function, "x")
        found = list(sums._amounts_alone(asked, column, rows))
        each = [sums._amount(asked, column, rows.at(slice(i, i + 1))) for i in range(len(drawn))]
        assert found == each


# Against DuckDB on the original


@pytest.mark.parametrize(
    ("method", "layout"),
    [("hilbert", "cells"), ("hilbert", "bounds"), ("mondrian", "cells"), ("anatomy", "cells")],
)
def test_the_true_numbers_lie_between_the_bounds(method, layout):
    people = shoal.datasets.census(1000)
    models = {"l": 3} if method == "anatomy" else {"k": 10}
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", plain="salary", rest="drop",
        method=method, layout=layout, seed=1, **models,
    )  # fmt: skip
    with duckdb.connect() as connection:
        connection.register("r", people)
        for asked in ("sum(salary)", "avg(age)", "median(age)", "quantile_disc(salary, 0.1)"):
            for where in ("age BETWEEN 30 AND 50 AND gender = 'Female'", "salary > 10 OR age < 20"):
                sql = f"SELECT {asked} FROM r WHERE {where}"
                [(true,)] = connection.execute(sql).fetchall()
                got = query(release, sql)
                assert got.lower - 1e-9 <= true <= got.upper + 1e-9, (sql, got)
                assert got.lower <= got.expected <= got.upper
        sql = "SELECT gender, avg(salary) FROM r WHERE age < 40 GROUP BY gender"
        true_of = dict(connection.execute(sql).fetchall())
        for row in query(release, sql).rows:
            assert row["lower"] <= true_of[row["gender"]] <= row["upper"]


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_the_twin_agrees_with_duckdb(function):
    written, share = FUNCTIONS[function]
    with duckdb.connect() as connection:
        for values in ([1.0], [1.0, 2.0], [3.0, -1.0, 2.5, 2.5], [5.0, 1.0, 2.0, 9.0, 4.0]):
            connection.register("r", pa.table({"x": values}))
            [(true,)] = connection.execute(f"SELECT {written.format('x')} FROM r").fetchall()
            assert aggregate(function, values, share) == pytest.approx(true)


# By hand


AGES = pa.table({"age": ["[20,29]", "[25,44]", "30", "*", None], "pay": [10, 20, 30, 40, 50]})
GUESS = {"qi": ["age"], "kind": {"age": "numeric"}}


def ask(sql: str) -> tuple[Any, ...]:
    got = query(AGES, sql, **GUESS)
    return got.expected, got.lower, got.upper


def test_published_numbers_under_conditions_on_generalised_ones():
    # certain: 30; possible: 20 (a quarter of [25,44] is 40 or more), 40 (5 of the 26 values of *)
    expected, lower, upper = ask("SELECT sum(pay) FROM r WHERE age BETWEEN 30 AND 39")
    assert (lower, upper) == (30, 90)
    assert expected == pytest.approx(30 + 20 * 10 / 20 + 40 * 10 / 26)
    assert ask("SELECT avg(pay) FROM r WHERE age BETWEEN 30 AND 39")[1:] == (25, 35)
    assert ask("SELECT avg(pay) FROM r") == (30, 30, 30)
    assert ask("SELECT median(pay) FROM r WHERE age = 30")[1:] == (25, 35)
    assert ask("SELECT sum(pay) FROM r WHERE age < 0") == (0, 0, 40)


def test_stars_have_no_bounds_until_a_condition_gives_some():
    got = query(AGES, "SELECT avg(age) FROM r", **GUESS)
    assert (got.lower, got.upper) == (-math.inf, math.inf)
    assert "without bounds" in repr(got)
    assert "age BETWEEN 0 AND 120 gives some" in got.notes[-1]
    assert got.to_dict()["lower"] is None
    bounded = query(AGES, "SELECT avg(age) FROM r WHERE age BETWEEN 0 AND 120", **GUESS)
    assert (bounded.lower, bounded.upper) == ((20 + 25 + 30 + 0) / 4, (29 + 44 + 30 + 120) / 4)
    assert bounded.lower < bounded.expected < bounded.upper
    at_least = query(AGES, "SELECT avg(age) FROM r WHERE age > 0", **GUESS)
    assert "at least" in repr(at_least)


def test_nothing_to_go_by():
    got = query(AGES, "SELECT avg(pay) FROM r WHERE pay > 1000", **GUESS)
    assert (got.expected, got.lower, got.upper) == (None, None, None)
    assert repr(got) == "nothing to go by in 5 records"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("avg(DISTINCT age)", "avg\\(\\) with FILTER or DISTINCT is not supported"),
        ("avg(age) FILTER (age > 1)", "FILTER or DISTINCT"),
        ("sum(age + 1)", "sum\\(\\) of anything but a column"),
        ("avg(age), count(*)", "exactly one count, sum, average or quantile"),
        ("quantile_cont(age, 2)", "expected a share from 0 to 1"),
        ("quantile_cont(age)", "expected a share from 0 to 1"),
        ("max(age)", "max\\(\\) in SELECT is not supported"),
        ("avg(job)", "column 'job' is categorical; sums, averages and quantiles are of numbers"),
        ("age, avg(age)", "column 'age' is grouped by; ask for another"),
    ],
)
def test_what_is_not_answered_is_said(asked, says):
    table = AGES.append_column("job", pa.array(list("abcde")))
    with pytest.raises(PolicyError, match=says):
        query(table, f"SELECT {asked} FROM r GROUP BY ALL", **GUESS)


def test_as_it_is_written():
    rest = "FROM r WHERE age BETWEEN 0 AND 120"
    plain = ask(f"SELECT quantile_cont(age, 0.25) {rest}")
    assert plain == ask(f"SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY age) {rest}")
    assert ask("SELECT count(pay) FROM r") == (5, 5, 5)
    assert ask("SELECT count(age) FROM r")[1:] == (3, 4)


def test_numbers_of_many_records_as_one_by_one():
    """Equal records are taken together; the answer is that of the records."""
    table = pa.table({"age": list(chain(repeat("[20,29]", 300), repeat("[25,64]", 200), ["30"])),
                      "pay": [float(i % 7) for i in range(501)]})  # fmt: skip
    got = query(table, "SELECT avg(age) FROM r", **GUESS)
    assert got.lower == pytest.approx((300 * 20 + 200 * 25 + 30) / 501)
    assert got.expected == pytest.approx((300 * 24.5 + 200 * 44.5 + 30) / 501)


def test_the_command(tmp_path):
    people = shoal.datasets.census(500)
    release = shoal.anonymize(people, qi=["age", "gender"], plain="salary", rest="drop", k=5,
                              method="hilbert", seed=1)  # fmt: skip
    path = release.write(tmp_path / "r.csv")
    done = command(
        "query", path, "SELECT gender, avg(salary) FROM r WHERE age < 40 GROUP BY gender"
    )
    assert done.code == 0
    assert "Female" in done.out
    assert "of 500 records" in done.out
    assert json.loads(command("query", path, "SELECT avg(age) FROM r", "--json").out)["lower"] > 0
