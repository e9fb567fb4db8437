"""What is possible is released; what is refused is proven, or said not to have been found."""

# ruff: noqa: E741

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import shoal
from shoal.encoding.encode import encode
from shoal.errors import InfeasibleError, NotFoundError, PolicyError, ShoalWarning
from shoal.methods.differing import settle
from shoal.methods.exact.apart import least_apart
from shoal.models import FrequencyL, models_of, satisfied_classes
from shoal.policy import Policy

ISSUE_PERSONS = pa.table(
    {
        "age": [35, 45, 46, 31, 43],
        "c": list("cadab"),
        "who": ["p4", "p1", "p3", "p4", "p1"],
        "s": ["s0", "s0", "s1", "s0", "s1"],
    }
)
ISSUE_COLUMNS = pa.table(
    {
        "age": [30, 31, 32, 33, 34, 35],
        "s0": ["v2", "v1", "v0", "v2", "v0", "v1"],
        "s1": ["v0", "v2", "v2", "v0", "v1", "v1"],
        "s2": ["v0", "v1", "v1", "v2", "v0", "v2"],
    }
)
METHODS = ["bsgi", "hilbert", "mondrian", "best", "cover"]
ASKED = [
    {"l": 2},
    {"l": 3},
    {"l": 2, "l_reading": "entropy"},
    {"l": 2, "l_reading": "recursive", "c": 1.5},
    {"alpha": 0.5, "k": 2},
    {"t": 0.3},
]


def released(table, method, seed=0, **asked):
    effort = {"effort": "instant"} if method == "best" else {"recoding": "generalise"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        return shoal.anonymize(
            table, qi=["age", "c"], person="who", sensitive="s", method=method, seed=seed,
            **asked, **effort,
        )  # fmt: skip


def planted(rng, columns, l, groups):
    """Records of groups in which all differ in every column, shuffled."""
    values = l + int(rng.integers(0, 2))
    rows = np.concatenate(
        [np.stack([rng.permutation(values)[:l] for _ in range(columns)], 1) for _ in range(groups)]
    )
    return rng.permutation(rows).T


def with_persons(rng, n):
    return pa.table(
        {
            "age": rng.integers(30, 50, n),
            "c": rng.choice(list("abcd"), n),
            "who": [f"p{i}" for i in rng.integers(0, max(2, n - 2), n)],
            "s": [f"s{i}" for i in rng.integers(0, 3, n)],
        }
    )


def partitions(items):
    """All ways to divide a few things into groups."""
    if not items:
        yield []
    else:
        yield from _with_first(items)


def _with_first(items):
    first, *rest = items
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [x for x in rest if x not in others]
            for more in partitions(left):
                yield [[first, *others], *more]


def texts(table, group):
    """What a group is published as: an interval of ages, a set of letters."""
    ages, letters = table.column("age").to_pylist(), table.column("c").to_pylist()
    inside = [ages[i] for i in group]
    return min(inside), max(inside), frozenset(letters[i] for i in group)


def possible(table, asked, apart=True):
    """By brute force: some groups, all published apart if so asked, satisfy the models."""
    policy = Policy.parse(qi=["age", "c"], sensitive="s", person="who", **asked)
    encoded, models = encode(table, policy), models_of(policy)
    for groups in partitions(list(range(table.num_rows))):
        if apart and len({texts(table, group) for group in groups}) < len(groups):
            continue
        ids = np.empty(table.num_rows, dtype=np.int64)
        for number, group in enumerate(groups):
            ids[group] = number
        if satisfied_classes(encoded, models, ids).all():
            return True
    return False


class TestPersons:
    @pytest.mark.parametrize("method", METHODS)
    def test_the_table_of_the_issue(self, method):
        release = released(ISSUE_PERSONS, method, l=2)
        assert release.verification.ok
        assert release.data.num_rows == 5

    @pytest.mark.parametrize("method", METHODS)
    def test_one_person_alone_is_infeasible(self, method):
        table = ISSUE_PERSONS.take([0, 3])
        with pytest.raises(InfeasibleError, match="needs 2 persons; the table has 1"):
            released(table, method, l=2)

    @given(st.integers(0, 10**6), st.sampled_from(ASKED), st.sampled_from(METHODS))
    @settings(max_examples=120, deadline=None)
    def test_released_if_and_only_if_brute_force_finds_a_way(self, seed, asked, method):
        rng = np.random.default_rng(seed)
        table = with_persons(rng, int(rng.integers(2, 7)))
        try:
            release = released(table, method, seed, **asked)
        except NotFoundError:
            assert not possible(table, asked)
            reject()
        except InfeasibleError:
            assert not possible(table, asked, apart=False)
            reject()
        assert release.verification.ok
        assert possible(table, asked)

    @given(st.integers(0, 10**6), st.sampled_from(ASKED))
    @settings(max_examples=40, deadline=None)
    def test_longer_tables_are_released_or_said_not_to_be_found(self, seed, asked):
        rng = np.random.default_rng(seed)
        table = with_persons(rng, int(rng.integers(13, 40)))
        for method in METHODS:
            try:
                assert released(table, method, seed, **asked).verification.ok
            except NotFoundError as error:
                assert "there may be one: try" in str(error)
                policy = Policy.parse(qi=["age", "c"], sensitive="s", person="who", **asked)
                whole = np.zeros(table.num_rows, dtype=np.int64)
                assert not satisfied_classes(encode(table, policy), models_of(policy), whole).all()
            except InfeasibleError as error:
                assert "all were tried" not in str(error)  # by counting alone

    def test_groups_under_the_same_values_are_never_chosen(self):
        table = pa.table({"age": [1, 1, 1, 1], "c": list("aaaa"), "who": list("pqpq"),
                          "s": list("xyyx")})  # fmt: skip
        policy = Policy.parse(qi=["age", "c"], sensitive="s", person="who", l=2)
        result = least_apart(encode(table, policy), [FrequencyL(2)], np.arange(4))
        assert result.ids is None  # two pairs would hold, but are one class
        assert not result.impossible


class TestSeveralColumns:
    def test_the_table_of_the_issue(self):
        release = shoal.anonymize(
            ISSUE_COLUMNS, qi="age", sensitive=["s0", "s1", "s2"], l=3, l_reading="unique"
        )
        assert release.verification.ok
        assert sorted(release.verification.class_sizes.tolist()) == [3, 3]

    @given(st.integers(0, 10**6), st.integers(3, 4), st.integers(2, 4), st.integers(2, 6))
    @settings(max_examples=100, deadline=None)
    def test_planted_groups_are_found(self, seed, columns, l, groups):
        codes = planted(np.random.default_rng(seed), columns, l, groups)
        names = [f"s{i}" for i in range(columns)]
        table = pa.table(
            {"age": 30 + np.arange(codes.shape[1]), **dict(zip(names, codes, strict=True))}
        )
        release = shoal.anonymize(
            table, qi="age", sensitive=names, l=l, l_reading="unique", method="bsgi", seed=seed,
            kind=dict.fromkeys(names, "categorical"),
        )  # fmt: skip
        assert release.verification.ok
        rows = release.data.to_pylist()
        by_age = sorted({row["age"] for row in rows})
        for age in by_age:
            found = [row for row in rows if row["age"] == age]
            assert len(found) >= l
            assert all(len({row[name] for row in found}) >= l for name in names)

    @given(st.integers(0, 10**6))
    @settings(max_examples=60, deadline=None)
    def test_what_is_settled_differs_and_what_is_proven_is_so(self, seed):
        rng = np.random.default_rng(seed)
        l, n = 2, int(rng.integers(2, 4)) * 2
        codes = rng.integers(0, 3, (3, n)).astype(np.int32)
        differ = [
            all(
                (codes[:, a] != codes[:, b]).all()
                for group in groups
                for a, b in itertools.combinations(group, 2)
            )
            for groups in partitions(list(range(n)))
            if len(groups) == n // l and min(map(len, groups)) >= l
        ]
        settled = settle(codes, np.full(n, -1), 0, l, seed)
        assert (settled.groups is not None) == any(differ)
        assert settled.proven == (not any(differ))
        if settled.groups is not None:
            for a, b in itertools.combinations(range(n), 2):
                if settled.groups[a] == settled.groups[b]:
                    assert (codes[:, a] != codes[:, b]).all()


def test_exit_codes_tell_what_is_proven_from_what_was_not_found():
    assert (InfeasibleError.exit_code, NotFoundError.exit_code) == (3, 4)
    assert not issubclass(NotFoundError, InfeasibleError | PolicyError)


def test_the_command_line_releases_the_table_of_the_issue(tmp_path):
    from pyarrow import csv

    from shoal.cli import cli

    csv.write_csv(ISSUE_PERSONS, tmp_path / "in.csv")
    roles = ["--qi", "age,c", "--sensitive", "s", "--person", "who"]
    files = [str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv")]
    arguments = ["anonymize", *files, *roles, "-l", "2", "--method", "bsgi"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
