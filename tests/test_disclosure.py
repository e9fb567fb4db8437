"""Attribute disclosure by paper 002's Theorem 3: against its definition, and in the manifest."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_divergence as naive
import shoal
from random_tables import encoded_tables, partitions
from shoal.encoding.encode import encode
from shoal.encoding.table import Partition, Recoding
from shoal.metrics import disclosure
from shoal.metrics.disclosure import attribute_disclosure
from shoal.policy import Policy


def risks_by_definition(table, recoding, sensitive=0):
    """Of each record that is nobody's exempt: the share of its value where it can be."""
    boxes, values = naive.boxes_of(table, recoding), table.sensitive_codes[sensitive].tolist()
    exempt = table.sensitive[sensitive].exempt
    found = []
    for row, value in enumerate(values):
        if exempt is not None and exempt[value]:
            continue
        point = table.codes[:, row].tolist()
        near = [v for box, v in zip(boxes, values, strict=True) if _inside(point, box)]
        found.append(near.count(value) / len(near))
    return found


def _inside(point, box):
    return all(code in cell for code, cell in zip(point, box, strict=True))


@st.composite
def releases(draw):
    table = draw(encoded_tables(30))
    form = draw(st.sampled_from(["groups", "several", "stars"]))
    if form == "several":
        return table, Recoding(tuple(draw(partitions(table.n)) for _ in table.qi))
    return table, Recoding((draw(partitions(table.n)),) * len(table.qi), stars=form == "stars")


@settings(max_examples=120, deadline=None)
@given(releases(), st.sampled_from([0, 20_000_000]), st.sampled_from([1, 2, 1 << 17]))
def test_fast_and_slow_agree(release, listed, block):
    """Whether the groups of each code are listed, or would be too many; whatever the blocks."""
    table, recoding = release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disclosure, "LISTED", listed)
        patch.setattr(disclosure, "BLOCK", block)
        found = attribute_disclosure(table, recoding)
    slow = risks_by_definition(table, recoding)
    assert found.average == pytest.approx(np.mean(slow))
    assert found.highest == pytest.approx(max(slow))
    assert found.records == table.n


def test_overlap_hides_and_exempt_values_are_not_looked_at():
    columns = {"q": [1, 3, 2, 4], "s": ["x", "y", "x", "none"]}
    policy = {"qi": ["q"], "sensitive": "s", "l": 2}
    groups = Partition.from_group_ids(np.array([0, 0, 1, 1]))  # [1,3] and [2,4]: 2 and 3 in both
    table = encode(pa.table(columns), Policy.parse(**policy))
    found = attribute_disclosure(table, Recoding((groups,)))
    # 1 is in [1,3] alone: x is 1 of 2; 3 in both: y is 1 of 4; 2 in both: x is 2 of 4
    assert found.average == pytest.approx((1 / 2 + 1 / 4 + 2 / 4 + 1 / 2) / 4)
    table = encode(pa.table(columns), Policy.parse(**policy, exempt={"s": ["none"]}))
    found = attribute_disclosure(table, Recoding((groups,)))
    assert (found.average, found.records) == (pytest.approx((1 / 2 + 1 / 4 + 2 / 4) / 3), 3)


@pytest.mark.parametrize("method", ["hilbert", "bsgi", "mondrian"])
def test_never_above_one_over_l(method):
    l = 4
    release = shoal.anonymize(
        shoal.datasets.census(3000), qi=["age", "education", "country"], sensitive="occupation",
        l=l, method=method, rest="drop", seed=1,
    )  # fmt: skip
    told = release.manifest["disclosure"]["occupation"]
    assert 0 < told["average"] <= told["highest"] <= 1 / l
    for number in told.values():
        assert number == float(f"{number:.2e}")  # three significant digits
    exact = release.record["disclosure"]["occupation"]
    assert exact["records"] == 1000
    assert told["average"] == pytest.approx(exact["average"], rel=0.005)


def test_not_where_persons_are_counted_or_values_lie_apart():
    table = pa.table({"q": [1, 2, 3, 4], "s": ["x", "y", "x", "y"], "who": ["a", "b", "c", "d"]})
    for settings_ in ({"person": "who", "k": 2}, {"l": 2, "method": "anatomy", "rest": "drop"}):
        release = shoal.anonymize(table, qi=["q"], sensitive="s", **settings_)
        assert "disclosure" not in release.manifest


def test_the_order_of_the_rows_leaves_no_trace_in_the_manifest() -> None:
    """More records than are looked at: those drawn are the same whatever their order was."""
    people = shoal.datasets.census(3000).select(["age", "gender", "education", "occupation"])
    shuffled = people.take(np.random.default_rng(1).permutation(people.num_rows))
    asked = {"qi": ["age", "gender", "education"], "sensitive": "occupation", "k": 5, "l": 2}
    first, second = (
        shoal.anonymize(table, **asked, method="hilbert", seed=5) for table in (people, shuffled)
    )
    assert first.manifest["disclosure"] == second.manifest["disclosure"]
