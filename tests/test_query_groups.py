"""GROUP BY generalised columns, lists on ordinals, and the sensitive column of anatomy."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from naive_query import Spec, answer
from shoal.errors import InputError, PolicyError
from shoal.recipient import query

ORDER = ("low", "mid", "high", "top")
TREE = {"x": {"y": ["a", "b"], "z": ["c"]}, "w": ["d"]}
LEAVES = {
    **{leaf: [leaf] for leaf in "abcd"},
    "x": ["a", "b", "c"], "y": ["a", "b"], "z": ["c"], "w": ["d"], "any": list("abcd"),
}  # fmt: skip
KNOWN = {
    "qi": ["n", "o", "t", "s"],
    "kind": {"n": "numeric"},
    "order": {"o": ORDER},
    "hierarchy": {"t": {"tree": TREE, "root": "any"}},
}
SPECS = {
    "n": Spec("number"),
    "o": Spec("ranked", order=ORDER),
    "t": Spec("tree", leaves=LEAVES),
    "s": Spec("set"),
    "p": Spec("exact"),
}
CELLS = {
    "n": ["1", "3", "[1,4]", "[2,3]", "*", None],
    "o": ["low", "top", "[low,mid]", "[mid,top]", "*", None],
    "t": ["a", "d", "y", "x", "any", "*", None],
    "s": ["e", "f", "{e,f}", "{f,g,}", "*", None],
    "p": ["u", "v"],
}
CONDITIONS = [
    ("<", "n", 3), ("=", "n", 2), ("in", "o", ("low", "mid")), (">=", "o", "high"),
    ("=", "t", "b"), ("in", "s", ("e", "g")), ("null", "s"), ("=", "p", "u"),
    ("or", ("<", "n", 2), ("=", "s", "f")), ("and", ("not", ("=", "t", "a")), ("<", "o", "top")),
]  # fmt: skip


@st.composite
def releases(draw: st.DrawFn) -> list[dict[str, str | None]]:
    row = st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()})
    return draw(st.lists(row, min_size=1, max_size=8))


def table_of(rows: list[dict[str, str | None]]) -> pa.Table:
    return pa.table({name: pa.array([r[name] for r in rows], pa.string()) for name in CELLS})


def sql_of(condition: tuple) -> str:
    from naive_query import to_sql

    return to_sql(condition)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(releases(), st.sampled_from(CONDITIONS), st.lists(st.sampled_from("notsp"), min_size=1, max_size=2, unique=True))  # fmt: skip  # noqa: E501
def test_a_group_is_the_question_for_its_value(rows, condition, names):
    """Every group as the slow twin counts it: the condition, and the column equal to the value."""
    table = table_of(rows)
    listed = ", ".join(names)
    got = query(table, f"SELECT {listed}, count(*) FROM r WHERE {sql_of(condition)} GROUP BY ALL",
                **KNOWN)  # fmt: skip
    seen = set()
    for row in got.rows:
        whole = condition
        for name in names:
            value = row[name]
            equal = ("null", name) if value is None else ("=", name, value)
            whole = ("and", whole, equal)
        expected, lower, upper = answer(rows, whole, SPECS)
        assert (row["lower"], row["upper"]) == (lower, upper)
        assert row["expected"] == pytest.approx(expected)
        seen.add(tuple(row[name] for name in names))
    assert len(seen) == len(got.rows)
    _, lower, upper = answer(rows, condition, SPECS)
    assert (got.lower, got.upper) == (lower, upper)


@pytest.mark.parametrize("layout", ["cells", "bounds"])
def test_true_counts_lie_between_the_bounds_of_their_groups(layout):
    people = shoal.datasets.census(1000)
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", k=10, rest="drop", layout=layout
    )
    got = query(release, "SELECT age, gender, count(*) FROM r WHERE age < 50 GROUP BY 1, 2")
    true = Counter((r["age"], r["gender"]) for r in people.to_pylist() if r["age"] < 50)
    found = {(r["age"], r["gender"]): r for r in got.rows}
    assert set(true) <= set(found)
    for key, row in found.items():
        assert row["lower"] <= true[key] <= row["upper"]
    assert sum(r["expected"] for r in got.rows) == pytest.approx(got.expected)
    assert sorted(found, key=lambda key: key[0]) == [(r["age"], r["gender"]) for r in got.rows]


def test_days_are_groups_and_fractions_are_not(tmp_path):
    days = pa.table({"d": ["[2024-02-28,2024-03-01]", "2024-02-28"]})
    got = query(days, "SELECT d, count(*) FROM r GROUP BY d", qi=["d"], kind={"d": "date"})
    assert [str(row["d"]) for row in got.rows] == ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert [(row["lower"], row["upper"]) for row in got.rows] == [(1, 2), (0, 1), (0, 1)]
    for cells, says in ((["[0.5,2]"], "BETWEEN"), (["[0,1000000]"], "100,000 groups")):
        with pytest.raises(PolicyError, match=says):
            query(pa.table({"x": cells}), "SELECT x, count(*) FROM r GROUP BY x", qi=["x"])


def test_labels_without_their_tree_are_no_groups(tmp_path):
    source = pa.table({"t": ["a", "b", "c", "d"]})
    release = shoal.anonymize(
        source, qi=["t"], k=2, hierarchy={"t": {"tree": TREE, "root": "any"}}, rest="drop"
    )
    path = release.write(tmp_path / "r.csv")
    with pytest.raises(PolicyError, match="GROUP BY 't': its hierarchy is not at hand"):
        query(path, "SELECT t, count(*) FROM r GROUP BY t")
    rows = query(release, "SELECT t, count(*) FROM r GROUP BY t").rows
    assert all(row["lower"] <= 1 <= row["upper"] for row in rows)
    assert {row["t"] for row in rows} >= set("abcd")


def test_a_list_on_an_ordinal_is_as_sharp_as_between():
    order = ("low", "mid", "high")
    source = pa.table({"g": ["low", "mid", "low", "mid", "high", "high"]})
    release = shoal.anonymize(
        source, qi=["g"], order={"g": order}, k=4, method="mondrian", rest="drop"
    )
    table = pa.table({"g": ["[low,mid]"] * 4 + ["high"] * 2})
    for data, known in ((table, {"qi": ["g"], "order": {"g": order}}), (release, {})):
        listed = query(data, "SELECT count(*) FROM r WHERE g IN ('low', 'mid')", **known)
        between = query(data, "SELECT count(*) FROM r WHERE g BETWEEN 'low' AND 'mid'", **known)
        assert (listed.lower, listed.upper) == (between.lower, between.upper)
    assert (query(table, "SELECT count(*) FROM r WHERE g IN ('low', 'mid')",
                  qi=["g"], order={"g": order}).lower) == 4  # fmt: skip


# Anatomy


def anatomy(rows: list[tuple[int, str, str]]) -> tuple[pa.Table, pa.Table]:
    """Two tables from records (group, quasi-identifier, value)."""
    counts = Counter((group, value) for group, _, value in rows)
    first = pa.table({"q": [q for _, q, _ in rows], "group": [g for g, _, _ in rows]})
    second = pa.table({
        "group": [g for g, _ in counts], "s": [s for _, s in counts], "count": list(counts.values())
    })  # fmt: skip
    return first, second


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("abc")), min_size=1, max_size=5))
def test_anatomy_against_every_way_to_hand_out_the_values(members):
    """One group: the bounds are the extremes over all assignments, the mean is expected."""
    rows = [(1, q, s) for q, s in members]
    first, second = anatomy(rows)
    values = [s for _, s in members]
    worlds = [
        sum(q == "x" and s in {"a", "b"} for (q, _), s in zip(members, world, strict=True))
        for world in permutations(values)
    ]
    got = query(
        first, "SELECT count(*) FROM r WHERE q = 'x' AND s IN ('a', 'b')", sensitive_table=second
    )
    assert (got.lower, got.upper) == (min(worlds), max(worlds))
    assert got.expected == pytest.approx(sum(worlds) / len(worlds))
    by_value = query(
        first, "SELECT s, count(*) FROM r WHERE q = 'x' GROUP BY s", sensitive_table=second
    )
    found = {row["s"]: row for row in by_value.rows}
    for value in set(values):
        counts = [
            sum(q == "x" and s == value for (q, _), s in zip(members, world, strict=True))
            for world in permutations(values)
        ]
        if max(counts):
            assert (found[value]["lower"], found[value]["upper"]) == (min(counts), max(counts))
            assert found[value]["expected"] == pytest.approx(sum(counts) / len(counts))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_anatomy_from_its_files(tmp_path, ending):
    people = shoal.datasets.census(500)
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", method="anatomy", l=4, rest="drop"
    )
    path = release.write(tmp_path / f"r.{ending}")
    rows = people.to_pylist()
    job = Counter(r["occupation"] for r in rows).most_common(1)[0][0]
    where = f"age < 40 AND occupation = '{job}'"
    true = sum(r["age"] < 40 and r["occupation"] == job for r in rows)
    for data in (path, release):
        got = query(data, f"SELECT count(*) FROM r WHERE {where}")
        assert got.lower <= true <= got.upper
        assert abs(got.expected - true) < 0.5 * true
        groups = query(
            data, "SELECT gender, occupation, count(*) FROM r WHERE age < 40 GROUP BY 1, 2"
        )
        counted = Counter((r["gender"], r["occupation"]) for r in rows if r["age"] < 40)
        found = {(r["gender"], r["occupation"]): r for r in groups.rows}
        assert set(counted) <= set(found)
        assert all(r["lower"] <= counted[key] <= r["upper"] for key, r in found.items())
        whole = query(data, f"SELECT count(*) FROM r WHERE occupation = '{job}'")
        assert whole.lower == whole.upper == sum(r["occupation"] == job for r in rows)
    done = command("query", path, f"SELECT count(*) FROM r WHERE {where}")
    assert (done.code, done.err) == (0, "")


def test_tables_of_anatomy_that_do_not_fit_together():
    first, second = anatomy([(1, "x", "a"), (1, "y", "b")])
    for wrong in (second.slice(1), second.drop_columns(["count"])):
        with pytest.raises(InputError):
            query(first, "SELECT count(*) FROM r WHERE s = 'a'", sensitive_table=wrong)
