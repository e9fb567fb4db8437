"""KL divergence of paper 000: hand-made examples, the slow twin, and what must always hold."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_divergence as naive
from random_tables import encoded_tables, partitions
from shoal.encoding.codebook import SET
from shoal.encoding.encode import encode
from shoal.encoding.table import Domain, Partition, Recoding
from shoal.errors import PolicyError
from shoal.metrics import divergence
from shoal.metrics.divergence import kl_divergence
from shoal.policy import Policy


def encoded(columns, **settings):
    return encode(pa.table(columns), Policy.parse(k=1, **settings))


def groups(*ids):
    return Partition.from_group_ids(np.array(ids))


@st.composite
def domains(draw, table):
    """A coarser domain for each attribute, blocks as a method would choose them."""
    found = []
    for column in table.qi:
        starts = {0, *draw(st.sets(st.integers(0, column.size - 1)))}
        if column.form != SET and column.has_missing:  # or whatever it is in becomes a star
            starts |= {column.size - 1}
        found.append(Domain.of_starts(np.array(sorted(starts)), column.size))
    return tuple(found)


@st.composite
def releases(draw, most=40):
    """A table and any recoding: groups, one partition an attribute, stars, or domains."""
    table = draw(encoded_tables(most))

    def partition():
        return draw(partitions(table.n))

    form = draw(st.sampled_from(["groups", "several", "stars", "domains"]))
    if form == "several":
        return table, Recoding(tuple(partition() for _ in table.qi))
    one = (partition(),) * len(table.qi)
    if form == "domains":
        return table, Recoding(one, draw(domains(table)))
    return table, Recoding(one, stars=form == "stars")


def test_stars_by_hand():
    table = encoded(
        {"q": ["a", "b", "c", "c"], "s": ["x", "x", "x", "y"]}, qi=["q"], sensitive=["s"]
    )
    starred = Recoding((groups(0, 0, 1, 1),), stars=True)
    # a and b are stars: each of the three values expects 2/3 of a record with x
    assert kl_divergence(table, starred) == pytest.approx(
        (2 * log(1 / (2 / 3)) + log(1 / (1 + 2 / 3)) + log(1)) / 4
    )
    # without the sensitive column c has two of its own, and 2/3 from the stars
    assert kl_divergence(table, starred, sensitive=None) == pytest.approx(
        (2 * log(1 / (2 / 3)) + 2 * log(2 / (2 + 2 / 3))) / 4
    )


def test_a_coarser_domain_by_hand():
    table = encoded({"age": [1, 2, 3, 3], "s": ["x", "y", "x", "y"]}, qi=["age"], sensitive=["s"])
    halves = Domain.of_starts(np.array([0, 2]), 3)
    release = Recoding((groups(0, 0, 1, 1),), (halves,))
    assert kl_divergence(table, release) == pytest.approx(2 * log(2) / 4)


def test_overlapping_boxes_by_hand():
    table = encoded({"age": [1, 2, 2, 3], "s": ["x"] * 4}, qi=["age"], sensitive=["s"])
    release = Recoding((groups(0, 0, 1, 1),))  # [1,2] and [2,3]: 1, 2 and 1 are expected
    assert kl_divergence(table, release) == 0


@settings(deadline=None, max_examples=200)
@given(release=releases(), sensitive=st.sampled_from([None, 0, 1]))
def test_divergence_is_that_of_the_slow_twin(release, sensitive):
    slow = naive.kl_divergence(*release, sensitive)
    assert kl_divergence(*release, sensitive) == pytest.approx(slow, abs=1e-9)
    assert slow >= -1e-12


@settings(deadline=None, max_examples=100)
@given(release=releases(), sensitive=st.sampled_from([None, 0]), most=st.sampled_from([0, 2, 999]))
def test_every_way_gives_the_same_answer(release, sensitive, most):
    asked = kl_divergence(*release, sensitive)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "MOST_LAYERS", most)
        patch.setattr(divergence, "LOOKUPS", 10**9)
        assert kl_divergence(*release, sensitive) == pytest.approx(asked, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(release=releases(most=8))
def test_what_is_expected_sums_to_one(release):
    table, recoding = release
    boxes, values = naive.boxes_of(table, recoding), naive.values_of(table, 0)
    space = product(*(range(column.size) for column in table.qi))
    assert sum(
        naive.density(boxes, values, point, value) for point in space for value in set(values)
    ) == pytest.approx(1)


@settings(deadline=None, max_examples=60)
@given(release=releases())
def test_nothing_lost_is_no_divergence(release):
    table, recoding = release
    assume(not any("*" in column.labels for column in table.qi))  # which reads as anything
    own = Recoding((Partition.single_records(table.n),) * len(table.qi), stars=recoding.stars)
    assert kl_divergence(table, own) == pytest.approx(0, abs=1e-12)


def test_many_points_and_boxes_agree_with_brute_force():
    rng = np.random.default_rng(5)
    n = 3000
    columns = {f"q{i}": rng.integers(0, size, n) for i, size in enumerate([60, 7, 30])}
    table = encoded({**columns, "s": rng.integers(0, 3, n)}, qi=list(columns), sensitive=["s"])
    near = np.lexsort([table.codes[1], table.codes[0]])
    ids = np.empty(n, dtype=np.int64)
    ids[near] = np.arange(n) // 4
    for recoding in (
        Recoding((Partition.from_group_ids(ids),) * 3),
        Recoding((Partition.from_group_ids(ids),) * 3, stars=True),
    ):
        codes, values = table.codes, table.sensitive_codes[0]
        boxes = naive.boxes_of(table, recoding)
        low, high = (np.array([[end(c) for c in b] for b in boxes]).T for end in (min, max))
        share = 1 / np.prod(high - low + 1, axis=0)
        expected = np.array(
            [
                share[
                    (values == values[r])
                    & ((low <= codes[:, r : r + 1]) & (codes[:, r : r + 1] <= high)).all(axis=0)
                ].sum()
                for r in range(n)
            ]
        )
        _, index, count = np.unique(
            np.vstack([codes, values]), axis=1, return_inverse=True, return_counts=True
        )
        slow = np.log(count[index.reshape(-1)] / expected).mean()
        assert kl_divergence(table, recoding) == pytest.approx(slow, rel=1e-9)


def test_a_sensitive_column_that_is_not_there():
    table = encoded({"q": [1, 2]}, qi=["q"])
    with pytest.raises(PolicyError, match="sensitive"):
        kl_divergence(table, Recoding((groups(0, 0),)))
    assert kl_divergence(table, Recoding((groups(0, 0),)), sensitive=None) == 0
