"""Several readers and `best`: every view first, then the loss beside the union's and a bound."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, PolicyError
from shoal.plan import Plan
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

NAMES = ("a", "b", "c")
EFFORTS = st.sampled_from(["instant", "fast"])
SETS = st.sets(st.sampled_from(NAMES), min_size=1).map(sorted)


@st.composite
def shared(draw, most=40):
    """A table of three numbers and a disease, and what two or three readers know and ask."""
    n = draw(st.integers(4, most))
    numbers = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    columns = {name: draw(numbers) for name in NAMES}
    columns["disease"] = draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n))
    readers = {
        f"r{i}": {"qi": draw(SETS), "k": draw(st.integers(1, 4))}
        for i in range(draw(st.integers(2, 3)))
    }
    return pa.table(columns), readers


def smallest(release, names):
    columns = [release.data.column(name).to_pylist() for name in names]
    return min(Counter(zip(*columns, strict=True)).values())


@settings(max_examples=40, deadline=None)
@given(
    case=shared(), effort=EFFORTS, together=st.sampled_from([None, 2]), l=st.sampled_from([None, 2])
)
def test_views_hold_and_best_on_the_union_is_never_cheaper(case, effort, together, l):  # noqa: E741
    table, readers = case
    asked = {
        "reader": readers, "collusion_k": together, "k": 1, "l": l, "sensitive": "disease",
        "effort": effort, "seed": 7, "rest": "drop",
    }  # fmt: skip
    try:
        release = shoal.anonymize(table, **asked)
    except InfeasibleError:
        reject()
    assert release.verification.ok
    for reader in readers.values():
        assert smallest(release, reader["qi"]) >= reader["k"]
    if together:
        assert smallest(release, release.qi) >= together
    union = shoal.anonymize(table, **asked, method="union", option={"inner": "best"})
    assert release.method.name == "butterfly"
    assert release.loss.gcp <= union.loss.gcp
    assert release.bound is not None
    assert release.bound.loss <= release.loss.gcp


def _partitions(n):
    """All ways to number n records' groups, each once."""
    for ids in itertools.product(*(range(i + 1) for i in range(n))):
        if all(ids[i] <= max(ids[:i], default=-1) + 1 for i in range(n)):
            yield ids


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_release_of_a_tiny_table_undercuts_the_bound(data):
    n = data.draw(st.integers(2, 5))
    codes = np.array(
        [data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)) for _ in range(2)]
    )
    table = pa.table({"a": codes[0], "b": codes[1]})
    readers = {
        "first": {"qi": ["a"], "k": data.draw(st.integers(1, 2))},
        "second": {"qi": data.draw(st.sampled_from([["b"], ["a", "b"]])), "k": 2},
    }
    release = shoal.anonymize(table, reader=readers, k=1, effort="max", seed=1)
    every = list(_partitions(n))
    least = min(
        (_width(codes[0], of_a) + _width(codes[1], of_b)) / 2
        for of_a, of_b in itertools.product(every, every)
        if all(
            min(Counter(zip(*({"a": of_a, "b": of_b}[q] for q in r["qi"]), strict=True)).values())
            >= r["k"]
            for r in readers.values()
        )
    )
    assert release.bound.loss <= least + 1e-12
    assert release.loss.gcp >= least - 1e-12


def _width(values, ids):
    """NCP of numbers in these groups, over all records."""
    span = int(values.max() - values.min())
    groups = [[int(v) for v, i in zip(values, ids, strict=True) if i == g] for g in set(ids)]
    return sum(len(g) * (max(g) - min(g)) for g in groups) / (span * len(values)) if span else 0.0


def test_readers_without_a_common_column_add_their_bounds():
    column = {"a": list(range(8)), "b": [0, 7, 1, 6, 2, 5, 3, 4]}
    one = {"first": {"qi": ["a"], "k": 2}, "second": {"qi": ["b"], "k": 2}}
    release = shoal.anonymize(pa.table(column), reader=one, k=2, effort="max", seed=1)
    assert release.verification.ok
    assert release.bound.loss == pytest.approx(1 / 7, abs=1e-6)  # pairs of neighbours, in both


def test_inner_best_takes_an_effort_and_others_do_not():
    asked = {"reader": {"x": ["a"], "y": ["b"]}, "k": 2, "effort": "instant"}
    for method in ("butterfly", "union"):
        assert Plan.of(Policy.parse(**asked, method=method, option={"inner": "best"})).searches
        with pytest.raises(PolicyError, match="takes no effort"):
            Plan.of(Policy.parse(**asked, method=method, option={"inner": "hilbert"}))
