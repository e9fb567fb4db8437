"""Cover: the guarantee, then its proven factor against the true optimum, then edges."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_cover as naive
import shoal
from columns import columns_of, encoded_table
from guarantees import groups_of
from shoal.encoding.table import EncodedTable
from shoal.errors import InfeasibleError, PolicyError
from shoal.kernels.papers.cover_balls import nearest, new_balls
from shoal.kernels.papers.cover_subsets import new_small_sets
from shoal.methods import cover
from shoal.methods.cover import FAMILIES, cover_table, stars_of
from shoal.methods.papers import cover_families
from tables import qi

NAMES = sorted(FAMILIES)


def table_of(rows) -> EncodedTable:
    matrix = np.array(rows, dtype=np.int32)
    return encoded_table(len(matrix), tuple(qi(column) for column in matrix.T))


@st.composite
def tables(draw, most=30):
    d, n = draw(st.integers(1, 4)), draw(st.integers(1, most))
    value = st.integers(0, draw(st.integers(0, 4)))
    return draw(st.lists(st.tuples(*[value] * d), min_size=n, max_size=n))


def assert_k_anonymous(table, partition, k):
    assert sorted(partition.order.tolist()) == list(range(table.n))
    assert partition.sizes.min() >= k
    mixed = [len({tuple(table.codes[:, i]) for i in g}) > 1 for g in groups_of(partition)]
    assert partition.sizes[mixed].max(initial=0) <= 2 * k - 1


def random_instances(seed, count):
    """Tiny tables from nearly all alike to nearly all distinct."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k = int(rng.integers(2, 4))
        n, d = int(rng.integers(k, 8)), int(rng.integers(1, 5))
        yield rng.integers(0, rng.integers(1, 5), size=(n, d)).tolist(), k


class TestGuarantee:
    @pytest.mark.parametrize("family", NAMES)
    @settings(deadline=None, max_examples=80)
    @given(rows=tables(), k=st.integers(1, 7))
    def test_groups(self, family, rows, k):
        rows = rows[:14] if family == "subsets" else rows
        table, k = table_of(rows), min(k, len(rows))
        covered = cover_table(table, k, family)
        assert_k_anonymous(table, covered.partition, k)
        stars = naive.stars(rows, groups_of(covered.partition))
        assert stars == stars_of(table, covered.partition)
        assert covered.lower <= stars <= covered.factor * covered.lower + 1e-9 or stars == 0

    @pytest.mark.parametrize("family", NAMES)
    def test_stars_are_within_the_proven_factor_of_the_optimum(self, family):
        for rows, k in random_instances(seed=len(family), count=1200):
            table = table_of(rows)
            covered = cover_table(table, k, family)
            assert_k_anonymous(table, covered.partition, k)
            optimum = naive.fewest_stars(rows, k)
            stars = stars_of(table, covered.partition)
            assert covered.lower <= optimum <= stars, (rows, k)
            if stars:
                assert stars <= stars / covered.lower * optimum
                assert stars / covered.lower <= covered.factor

    def test_the_lemma_of_the_paper_needs_more_than_it_says(self):
        """Lemma 4.1: at most |S| (|S| - 1) / 2 * d(S) stars; two records refute it."""
        rows = [(0,), (1,)]
        assert naive.stars(rows, [[0, 1]]) == 2 > naive.diameter(rows, [0, 1])
        for rows, _ in random_instances(seed=7, count=500):
            m, whole = len(rows), range(len(rows))
            assert 2 * naive.stars(rows, [whole]) <= m * m * naive.diameter(rows, whole)


class TestTwins:
    @pytest.mark.parametrize("family", NAMES)
    def test_every_choice_is_the_cheapest(self, family):
        for rows, k in random_instances(seed=11, count=150):
            covered = cover_table(table_of(rows), k, family)
            assert covered.weight in naive.greedy_weights(rows, k, family), (rows, k)

    @settings(deadline=None, max_examples=60)
    @given(rows=tables(most=9), k=st.integers(2, 4))
    def test_what_records_lose_one_by_one(self, rows, k):
        assume(len(rows) >= k)
        alone = naive.stars_one_by_one(rows, k)
        assert cover_table(table_of(rows), k, "patterns").lower >= alone
        points, counts = np.unique(np.array(rows, np.int32), axis=0, return_counts=True)
        least = np.empty(len(points), dtype=np.int64)
        nearest(new_balls(np.ascontiguousarray(points), counts, counts), k, least)
        assert least @ counts == naive.kth_nearest(rows, k) <= alone

    def test_all_small_sets(self):
        rows = np.random.default_rng(0).integers(0, 3, size=(7, 3)).astype(np.int32)
        sets = new_small_sets(rows, 3, np.array([math.comb(7, s) for s in (3, 4, 5)]))
        expected = naive.small_sets(7, 3)
        cuts = np.split(sets.members, sets.starts[1:-1])
        assert [tuple(s) for s in cuts] == expected
        assert sets.diameter.tolist() == [naive.diameter(rows.tolist(), s) for s in expected]


def release_of(table, **settings):
    settings = {"method": "cover", "recoding": "suppress", **settings}
    return shoal.anonymize(table, **settings, rest="plain")


class TestPipeline:
    def test_the_x_ray_table(self):
        release = release_of(shoal.datasets.xray(), qi=["first", "last", "age", "race"], k=2)
        assert release.verify().ok
        found = release.record["method"]
        assert found["stars"] == release.loss.stars == 10
        assert found["stars_at_least"] == 10
        assert found["factor"] == 1
        assert found["proof"] == "no 2-anonymous release has fewer stars (10)"

    def test_what_is_claimed_is_rounded_up(self):
        rng = np.random.default_rng(5)
        table = pa.table({name: rng.integers(0, 4, 80) for name in "abc"})
        found = release_of(table, qi=["a", "b", "c"], k=3).record["method"]
        assert found["stars"] <= found["factor"] * found["stars_at_least"]
        assert found["factor"] <= found["factor_beforehand"]
        assert f"at most {found['factor']} times the fewest" in found["proof"]

    @pytest.mark.parametrize("family", NAMES)
    def test_an_l_diverse_release_is_compared_with_what_k_alone_costs(self, family):
        rng = np.random.default_rng(1)
        table = pa.table(
            {"a": rng.integers(0, 3, 20), "b": rng.integers(0, 3, 20), "s": list("uvwx") * 5}
        )
        release = release_of(table, qi=["a", "b"], sensitive="s", l=2, option={"family": family})
        assert release.verify().ok
        found = release.record["method"]
        assert found["stars"] == release.loss.stars >= found["stars_at_least"]
        assert "factor_beforehand" not in found

    def test_where_values_are_generalised_nothing_is_claimed(self):
        release = release_of(pa.table({"a": [1, 2, 3, 4]}), qi=["a"], k=2, recoding="generalise")
        assert release.verify().ok
        assert "factor" not in release.record["method"]

    def test_a_table_of_equal_rows_loses_nothing(self):
        release = release_of(pa.table({"a": [1] * 5, "b": [2] * 5}), qi=["a", "b"], k=3)
        assert release.loss.stars == 0
        assert release.record["method"]["factor"] == 1


class TestEdges:
    def test_k_larger_than_the_table(self):
        table = pa.table({"a": list(range(10))})
        with pytest.raises(InfeasibleError, match="the table has 10 records"):
            release_of(table, qi=["a"], k=100)

    def test_too_many_subsets(self):
        table = table_of(np.arange(1000)[:, None])
        with pytest.raises(PolicyError, match=r"family subsets .* balls"):
            cover_table(table, 5, "subsets")
        with pytest.raises(PolicyError, match=r"10\*\*\d+"):
            cover_table(table, 400, "subsets")

    def test_too_many_rows(self, monkeypatch):
        monkeypatch.setattr(cover, "MOST_PATTERNS", 99)
        monkeypatch.setattr(cover_families, "MOST_COMPARED", 99)
        table = table_of(np.arange(1000)[:, None])
        for family in ("patterns", "balls", None):
            with pytest.raises(PolicyError, match=r"1,000 different rows.*hilbert"):
                cover_table(table, 5, family)

    def test_the_first_family_that_fits(self, monkeypatch):
        table = table_of(np.random.default_rng(0).integers(0, 9, size=(60, 2)))
        assert cover_table(table, 5).family == "patterns"
        monkeypatch.setattr(cover, "MOST_PATTERNS", 99)
        assert cover_table(table, 2).family == "subsets"
        assert cover_table(table, 5).family == "balls"

    def test_many_attributes(self):
        table = table_of(np.random.default_rng(0).integers(0, 2, size=(9, 70)))
        with pytest.raises(PolicyError, match="at most 62 quasi-identifiers; got 70"):
            cover_table(table, 2)
        rows = table.codes.T[:, :62]
        covered = cover_table(table_of(rows), 2)
        assert covered.family == "subsets"
        assert_k_anonymous(table_of(rows), covered.partition, 2)

    def test_no_attribute_at_all(self):
        covered = cover_table(encoded_table(5, ()), 2)
        assert covered.partition.groups == 1
        assert covered.lower == 0

    def test_weights_are_said_to_be_ignored(self):

        columns = columns_of(table_of([(0, 1), (1, 0)]))
        method = cover.Cover()
        assert method.cautions(encoded_table(2, columns), [], method.options()) == []
        heavy = encoded_table(2, (columns[0].changed(weight=3.0), columns[1]))
        assert "weights" in method.cautions(heavy, [], method.options())[0]
