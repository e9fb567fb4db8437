"""TopDown: the guarantee, then the same groups as its slow twin, then edges."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import naive_topdown as naive
from columns import encoded_table
from guarantees import assert_guaranteed, groups_of
from runs import partition_of
from shoal.encoding.codebook import SET, TREE
from shoal.encoding.table import Recoding
from shoal.methods import get_method
from shoal.methods.papers import topdown
from shoal.methods.papers.topdown import TopDownOptions, divide_table
from shoal.metrics.loss import gcp
from shoal.models import EntropyL, FrequencyL, KAnonymity, TCloseness, UniqueDistinctL
from tables import census, qi, tables, tables_about_health

JOINS = ["seed", "group"]
run_topdown = partial(partition_of, "topdown")


class TestGuarantee:
    @given(tables(), st.integers(1, 7), st.sampled_from(JOINS), st.integers(0, 9))
    @settings(deadline=None, max_examples=200)
    def test_k_anonymity(self, table, k, join, seed):
        k = min(k, table.n)
        partition = run_topdown(table, [KAnonymity(k)], seed, join=join)
        assert_guaranteed(table, [KAnonymity(k)], partition)

    @given(tables_about_health(), st.integers(1, 4))
    @settings(deadline=None, max_examples=100)
    def test_persons(self, table, k):
        persons = table.n if table.person is None else len(np.unique(table.person))
        models = [KAnonymity(min(k, persons))]
        assert_guaranteed(table, models, run_topdown(table, models))

    @pytest.mark.parametrize(
        "model", [FrequencyL(4), EntropyL.of(3), TCloseness.of(0.2)], ids=lambda m: m.name
    )
    def test_other_models(self, model):
        table = census(3000)
        models = [KAnonymity(5), model]
        partition = run_topdown(table, models)
        assert_guaranteed(table, models, partition)
        assert partition.groups > 5

    def test_refuses_what_looks_at_all_groups(self):
        assert str(UniqueDistinctL(2)) in (
            get_method("topdown").refusal([UniqueDistinctL(2)]) or ""
        )


class TestAgainstTwin:
    @given(
        tables(), st.integers(1, 7), st.sampled_from(JOINS), st.sampled_from([2, 5, 256]),
        st.integers(0, 9), st.sampled_from([1, 3, 32]),
    )  # fmt: skip
    @settings(deadline=None, max_examples=300)
    def test_same_groups(self, table, k, join, sample, seed, reach):
        k = min(k, table.n)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(topdown, "REACH", reach)
            found = divide_table(table, k, sample, join, seed)
        assert groups_of(found) == naive.topdown(table, k, sample, join, seed, reach)

    @given(tables(), st.integers(1, 7))
    @settings(deadline=None, max_examples=100)
    def test_groups_of_different_records_are_below_2k(self, table, k):
        k = min(k, table.n)
        for group in groups_of(divide_table(table, k)):
            alike = all(naive.apart(table, group[0], row) == 0 for row in group)
            assert len(group) < 2 * k or alike


class TestEdges:
    @pytest.mark.parametrize("join", JOINS)
    def test_small_and_uniform_tables(self, join):
        one = encoded_table(1, (qi([0], 1),))
        assert groups_of(run_topdown(one, [KAnonymity(1)], join=join)) == [[0]]
        exact = encoded_table(4, (qi([0, 1, 2, 1], 3),))
        assert run_topdown(exact, [KAnonymity(4)], join=join).groups == 1
        alike = encoded_table(1000, (qi([2] * 1000, 3), qi([0] * 1000, 1)))
        assert run_topdown(alike, [KAnonymity(5)], join=join).groups == 1

    def test_one_outlier_among_a_thousand_alike_is_found_beyond_the_sample(self):
        table = encoded_table(1000, (qi([0] * 999 + [1], 2),))
        partition = run_topdown(table, [KAnonymity(5)], sample=2)
        assert_guaranteed(table, [KAnonymity(5)], partition)
        assert sorted(partition.sizes) == [5, 995]  # it borrows four

    @pytest.mark.parametrize("form", [SET, TREE])
    def test_huge_domains(self, form):
        rng = np.random.default_rng(4)
        n = 3000
        climb = rng.integers(1, 9, n - 1) / 8 if form == TREE else None
        table = encoded_table(n, (qi(rng.permutation(n), n, form, climb=climb),))
        assert_guaranteed(table, [KAnonymity(7)], run_topdown(table, [KAnonymity(7)]))

    def test_same_seed_same_groups(self):
        table = census(2000)
        first, again = (run_topdown(table, [KAnonymity(5)], 3) for _ in range(2))
        other = run_topdown(table, [KAnonymity(5)], 4)
        np.testing.assert_array_equal(first.order, again.order)
        assert (first.order != other.order).any()

    @pytest.mark.parametrize("option", [{"sample": 1}, {"join": "x"}])
    def test_options_out_of_range(self, option):
        with pytest.raises(ValidationError):
            TopDownOptions(**option)


def test_joining_the_nearer_seed_loses_less():
    table = census(4000)
    losses = [
        gcp(table, Recoding.single(run_topdown(table, [KAnonymity(5)], join=j), len(table.qi)))
        for j in JOINS
    ]
    assert losses[0] < losses[1]
