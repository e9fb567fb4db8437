"""Cubes and COUNT queries on a release: hand-made examples, slow twins, limits, workloads."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_queries as naive
import shoal
from random_tables import encoded_tables, partitions
from shoal.encoding.encode import encode
from shoal.encoding.table import Partition, Recoding
from shoal.errors import PolicyError
from shoal.kernels.metrics import cubes
from shoal.metrics import queries as metrics
from shoal.metrics.coverage import covered
from shoal.metrics.queries import (
    anatomy_divergence,
    anatomy_error,
    count_queries,
    cube_divergence,
    draw_queries,
    query_error,
)
from shoal.policy import Policy


def encoded(columns, **settings):
    return encode(pa.table(columns), Policy.parse(k=1, **settings))


def singles(table):
    """Every record a group of its own: nothing is lost."""
    return Recoding.single(Partition.from_group_ids(np.arange(table.n)), len(table.qi))


@st.composite
def releases(draw, several=True):
    """An encoded table and any partition of it; sometimes one partition an attribute."""
    table = draw(encoded_tables())

    def partition():
        return draw(partitions(table.n))

    if several and draw(st.booleans()):
        return table, Recoding(tuple(partition() for _ in table.qi))
    return table, Recoding.single(partition(), len(table.qi))


# What a released value covers


def codes_covered(cover, group):
    row = cover.row[group]
    runs = range(cover.starts[row], cover.starts[row + 1])
    codes = [c for run in runs for c in range(cover.first[run], cover.last[run] + 1)]
    assert len(codes) == cover.width[row]
    return codes


def test_each_form_covers_what_it_says():
    table = encoded(
        {
            "age": [20, 24, 30, 40],
            "gap": [1, None, 3, 4],
            "flat": ["a", "b", "c", "d"],
            "tree": ["a", "c", "d", "b"],
            "set": ["d", "a", "b", "c"],
        },
        qi=["age", "gap", "flat", "tree", "set"],
        hierarchy={
            "flat": "flat",
            "tree": {"tree": {"x": {"y": ["a", "b", "c"]}, "z": ["d"]}, "root": "any"},
        },
    )
    halves = Recoding.single(Partition.from_group_ids(np.array([0, 0, 1, 1])), 5)
    found = [[codes_covered(c, g) for g in (0, 1)] for c in covered(table, halves).covers]
    assert found == [
        [[0, 1], [2, 3]],
        [[0, 1, 2, 3], [1, 2]],  # missing is the last code, and mixing it in covers all
        [[0, 1, 2, 3], [0, 1, 2, 3]],
        [[0, 1, 2], [0, 1, 2, 3]],  # y holds b as well
        [[0, 3], [1, 2]],
    ]


def test_a_star_may_be_a_missing_value():
    table = encoded({"q": ["a", "b", None]}, qi=["q"], hierarchy={"q": "flat"})
    mixed = Recoding.single(Partition.from_group_ids(np.array([0, 0, 1])), 1)
    cover = covered(table, mixed).covers[0]
    assert [codes_covered(cover, g) for g in (0, 1)] == [[0, 1, 2], [2]]


@settings(deadline=None, max_examples=150)
@given(releases())
def test_covers_are_those_of_the_slow_twin(release):
    table, recoding = release
    found = covered(table, recoding)
    cells = naive.meanings(table, recoding)
    for g, members in enumerate(naive.groups_of(found.partition)):
        for a, cover in enumerate(found.covers):
            for record in members:
                assert set(codes_covered(cover, g)) == cells[record][a]


# Cubes


def test_cube_by_hand():
    # One group of two records: values 1 and 2 of a, released as [1,2], illness s and t.
    # Every record's cell has P = 1/2 and Q = 1/4, so KL = ln 2.
    table = encoded({"a": [1, 2], "sick": ["s", "t"]}, qi=["a"], sensitive=["sick"])
    whole = Recoding.single(Partition.whole(2), 1)
    assert cube_divergence(table, whole, level=1) == pytest.approx(math.log(2))
    assert cube_divergence(table, whole, level=1, sensitive=None) == pytest.approx(0)
    assert anatomy_divergence(table, Partition.whole(2), level=1) == pytest.approx(math.log(2))


@settings(deadline=None, max_examples=150)
@given(releases(), st.integers(1, 3), st.sampled_from([None, 0, 1]))
def test_cubes_are_those_of_the_slow_twin(release, level, sensitive):
    table, recoding = release
    level = min(level, len(table.qi))
    expected = naive.cube_divergence(table, recoding, level, sensitive)
    found = cube_divergence(table, recoding, level, sensitive)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found >= 0


@settings(deadline=None, max_examples=50)
@given(releases(), st.integers(1, 3))
def test_all_ways_of_filling_a_cube_agree(release, level):
    """Difference array, sweep and search for points are the same sum."""
    table, recoding = release
    level = min(level, len(table.qi))
    found = covered(table, recoding)
    slices = metrics._slices(table.sensitive_codes[0], found.partition)
    wide = sorted(range(len(table.qi)), key=lambda a: -table.qi[a].size)[:level]
    axes = metrics._axes(table, wide)
    unused = metrics._one_code(found.partition.groups)
    a, b, c = [*(found.covers[i] for i in wide), unused, unused][:3]
    assume(axes.sizes.prod() <= 100_000)
    cells = np.empty(table.n, dtype=np.int64)
    counts = np.empty(table.n, dtype=np.int64)
    cube = np.zeros(axes.sizes, dtype=np.int64)
    for value in range(len(slices.record_starts) - 1):
        points = cubes._count_points(axes, slices, value, cells, counts)
        expected = np.zeros(points)
        cubes._reach(axes, a, b, c, slices, value, cells[:points], expected)
        records = counts[:points].sum()
        if records:
            unit = cubes.TOTAL / records
            cubes._spread(cube, a, b, c, slices, value, unit)
            np.testing.assert_allclose(cube.reshape(-1)[cells[:points]] / unit, expected, rtol=1e-6)
            assert cube.sum() / unit == pytest.approx(records)
            tree = np.zeros(axes.sizes[1:], dtype=np.int64)
            swept = np.zeros(points)
            cubes._sweep(axes, a, b, c, slices, value, unit, cells[:points], tree, swept)
            np.testing.assert_allclose(swept, expected, rtol=1e-6)
            assert not tree.any()


@settings(deadline=None, max_examples=100)
@given(releases(several=False), st.integers(1, 3), st.sampled_from([0, 1]))
def test_anatomy_cubes_are_those_of_the_slow_twin(release, level, sensitive):
    table, recoding = release
    partition = recoding.partitions[0]
    level = min(level, len(table.qi))
    expected = naive.anatomy_divergence(table, partition, level, sensitive)
    found = anatomy_divergence(table, partition, level, sensitive)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(releases())
def test_nothing_lost_is_no_divergence_and_no_error(release):
    table, _ = release
    level = min(2, len(table.qi))
    assume_plain_labels = all(
        column.hierarchy is None or set(column.hierarchy.leaves).isdisjoint("*")
        for column in table.qi
    )
    if assume_plain_labels:  # a leaf called * reads as everything
        assert cube_divergence(table, singles(table), level) == pytest.approx(0, abs=1e-9)
        assert count_queries(table, singles(table), queries=20).p95 == pytest.approx(0, abs=1e-9)
    exact = Partition.from_group_ids(np.arange(table.n))
    assert anatomy_divergence(table, exact, level) == pytest.approx(0, abs=1e-9)


def test_finer_groups_answer_better():
    source = shoal.datasets.census(3000)
    policy = Policy.parse(qi=["age", "gender", "country"], sensitive=["occupation"], k=2)
    table = encode(source, policy)
    by_age = np.argsort(table.codes[0], kind="stable")
    errors, divergences = [], []
    for size in (10, 100, 1000):
        partition = Partition(by_age, np.arange(0, table.n + 1, size))
        recoding = Recoding.single(partition, 3)
        divergences.append(cube_divergence(table, recoding, 2))
        errors.append(count_queries(table, recoding, sensitive=0).median)
    assert divergences == sorted(divergences)
    assert errors == sorted(errors)


def test_wide_columns_need_no_large_cube():
    rng = np.random.default_rng(1)
    wide = {name: rng.permutation(5000) for name in ("a", "b", "c")}
    table = encoded({**wide, "sick": rng.integers(0, 3, 5000)}, qi=["a", "b", "c"],
                    sensitive=["sick"])  # fmt: skip
    by_a = Partition(np.argsort(wide["a"]), np.arange(0, 5001, 10))
    level3 = cube_divergence(table, Recoding.single(by_a, 3), 3)
    level2 = cube_divergence(table, Recoding.single(by_a, 3), 2)
    assert level3 > level2 > 0


@pytest.mark.parametrize("level", [0, 3, -1])
def test_level_must_exist(level):
    table = encoded({"a": [1, 2], "b": [1, 2], "s": ["x", "y"]}, qi=["a", "b"], sensitive=["s"])
    with pytest.raises(PolicyError, match="level: expected a whole number from 1 to 2"):
        cube_divergence(table, singles(table), level)


def test_sensitive_column_must_exist():
    table = encoded({"a": [1, 2]}, qi=["a"])
    with pytest.raises(PolicyError, match="sensitive: expected the number of one of 0"):
        cube_divergence(table, singles(table), 1)
    assert cube_divergence(table, singles(table), 1, sensitive=None) == 0


# COUNT queries


@settings(deadline=None, max_examples=100)
@given(releases(), st.sampled_from([None, 0, 1]), st.sampled_from([0.01, 0.1, 0.5, 1.0]))
def test_answers_are_those_of_the_slow_twin(release, sensitive, selectivity):
    table, recoding = release
    workload = draw_queries(
        table, queries=8, sensitive=sensitive, selectivity=selectivity, predicates=(1, 3)
    )
    asked = list(naive.queries_of(workload))
    truth = [naive.true_count(table, q, sensitive) for q in asked]
    assert workload.truth.tolist() == truth

    def errors(answers):
        floor = max(1.0, 0.001 * table.n)
        return [abs(a - t) / max(t, floor) for a, t in zip(answers, truth, strict=True)]

    expected = errors([naive.expected_count(table, recoding, q, sensitive) for q in asked])
    found = query_error(table, recoding, workload)
    assert found.median == pytest.approx(np.median(expected), abs=1e-9)
    assert found.p95 == pytest.approx(np.percentile(expected, 95), abs=1e-9)
    assert found.mean == pytest.approx(np.mean(expected), abs=1e-9)

    partition = recoding.partitions[0]
    expected = errors([naive.anatomy_count(table, partition, q, sensitive) for q in asked])
    found = anatomy_error(table, partition, workload)
    assert found.mean == pytest.approx(np.mean(expected), abs=1e-9)


def test_workload_keeps_to_its_settings():
    table = encode(
        shoal.datasets.census(20_000),
        Policy.parse(qi=["age", "gender", "education", "marital", "country"], k=2,
                     sensitive=["occupation"]),
    )  # fmt: skip
    workload = draw_queries(table, queries=400, predicates=(2, 3), selectivity=0.05, sensitive=0)
    for query in naive.queries_of(workload):
        columns = [column for column, _ in query]
        assert len(set(columns)) == len(columns)
        assert 2 <= len(set(columns) - {5}) <= 3
        assert 5 in columns
        for column, codes in query:
            assert codes
            if column == 0:  # numeric: a range
                assert max(codes) - min(codes) + 1 == len(codes)
    assert 0.02 < workload.truth.mean() / table.n < 0.15
    again = draw_queries(table, queries=400, predicates=(2, 3), selectivity=0.05, sensitive=0)
    other = draw_queries(table, queries=400, predicates=(2, 3), selectivity=0.05, sensitive=0,
                         seed=1)  # fmt: skip
    assert workload.truth.tolist() == again.truth.tolist() != other.truth.tolist()


def test_ranges_leave_missing_values_out():
    table = encoded({"a": [1, 2, 3, None] * 10, "b": [1, 2] * 20}, qi=["a", "b"])
    workload = draw_queries(table, queries=50, selectivity=1.0)
    for query in naive.queries_of(workload):
        assert 3 not in dict(query)[0]  # the code of a missing value


def test_queries_on_one_column_and_one_record():
    table = encoded({"a": [7]}, qi=["a"])
    error = count_queries(table, singles(table), queries=5)
    assert error.to_dict() == {
        "median": 0.0, "p95": 0.0, "mean": 0.0, "queries": 5, "selectivity": 1.0, "floor": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"queries": 0}, "queries: expected"),
        ({"predicates": (3, 2)}, "predicates: expected"),
        ({"predicates": (0, 2)}, "predicates: expected"),
        ({"selectivity": 0}, "selectivity: expected"),
        ({"selectivity": 1.5}, "selectivity: expected"),
        ({"sensitive": 2}, "sensitive: expected"),
    ],
)
def test_bad_settings_are_named(setting, message):
    table = encoded({"a": [1, 2]}, qi=["a"])
    with pytest.raises(PolicyError, match=message):
        count_queries(table, singles(table), **setting)
