"""`blind`: its margins are what its promise rests on; its cuts against the slow twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_blind as naive
from columns import columns_of, encoded_table
from guarantees import assert_guaranteed, whole_holds
from runs import outcome_of, partition_of
from shoal.encoding.table import EncodedTable
from shoal.kernels.blind.cuts import NO_CUT, Chances, best_cut
from shoal.methods.blind.margins import UNIT, Margins, room
from shoal.methods.blind.method import Walk, spent_after
from shoal.models import (
    AlphaK,
    DistinctL,
    FrequencyL,
    KAnonymity,
    Model,
    RecursiveL,
    TCloseness,
    rules_for,
)
from tables import numbers, random_table, sensitive

MODELS: list[Model] = [
    FrequencyL(2),
    FrequencyL(3),
    AlphaK.of("0.4", 1),
    DistinctL(3),
    RecursiveL.of(2, 2),
    RecursiveL.of("0.5", 3),
    TCloseness.of("0.25"),
]
VALUES = 4


def health(values: list[int], ordered: bool = False) -> EncodedTable:
    column = sensitive(values, VALUES).changed(ordered=ordered)
    return encoded_table(len(values), (numbers(range(len(values))),), (column,))


class TestMargins:
    @given(
        st.lists(st.integers(0, VALUES - 1), min_size=2, max_size=20),
        st.integers(1, 19),
        st.sampled_from(MODELS),
        st.booleans(),
        st.integers(0, 9),
        st.data(),
    )
    @settings(max_examples=500, deadline=None)
    def test_negative_where_the_model_fails_and_an_exchange_changes_it_by_one_at_most(
        self,
        values: list[int],
        size: int,
        model: Model,
        ordered: bool,
        spent: int,
        data: st.DataObject,
    ) -> None:
        assume(size < len(values))
        table = health(values, ordered)
        margins = Margins(rules_for(table.codebook, [model]))
        members = np.arange(size)
        counts = np.bincount(values[:size], minlength=VALUES)
        holds = margins.of(size, [counts], UNIT) >= 0
        assert holds == _group_holds(table, members, model)
        odds = UNIT + spent * UNIT // 10
        inside = data.draw(st.integers(0, size - 1))
        outside = data.draw(st.integers(size, len(values) - 1))
        changed = values[:size]
        changed[inside] = values[outside]
        after = np.bincount(changed, minlength=VALUES)
        one, other = (margins.of(size, [c], odds) for c in (counts, after))
        assert abs(one - other) <= 1
        assert one <= margins.of(size, [counts], UNIT)  # who has learnt something needs more

    @given(st.integers(1, 60), st.integers(2, 9), st.integers(UNIT, 20 * UNIT))
    def test_room_keeps_belief_below_the_share(self, n: int, l: int, spent: int) -> None:  # noqa: E741
        def belief(r: int) -> Fraction:
            odds = Fraction(spent, UNIT) * r
            return odds / (odds + n - r)

        most = room(Fraction(1, l), n, spent)
        assert belief(most) <= Fraction(1, l) < belief(most + 1)
        assert room(Fraction(1, l), n, UNIT) == n // l

    @given(st.integers(UNIT, 50 * UNIT), st.integers(1, 10**6))
    def test_odds_are_rounded_up(self, spent: int, steady: int) -> None:
        after = spent_after(spent, steady)
        assert 0 <= after * steady - spent * (steady + 1) < steady

    def test_sure_is_sure(self) -> None:
        margins = Margins(rules_for(health([0, 1, 2, 3, 0, 1]).codebook, [FrequencyL(2)]))
        counts = [np.array([2, 2, 1, 1])]
        assert not margins.surely([3, 3], counts, UNIT)  # both of value 0 may lie in one part
        assert margins.surely([4, 4], counts, UNIT)


def _group_holds(table: EncodedTable, members: np.ndarray, model: Model) -> bool:
    from shoal.models import table_histograms

    ids = np.ones(table.n, dtype=np.int64)
    ids[members] = 0
    (classes,) = table_histograms(table, ids)
    return bool(model.holds(classes)[0])


class TestCuts:
    @given(st.integers(0, 10**6))
    @settings(max_examples=200, deadline=None)
    def test_same_gain_as_the_twin(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        table = random_table(rng, int(rng.integers(2, 30)), values=VALUES)
        rows = rng.permutation(table.n)[: rng.integers(1, table.n + 1)].astype(np.int64)
        frequent = np.sort(rng.integers(0, len(rows) + 1, (1, 2)))[:, ::-1].astype(float)
        chances = Chances(
            rng.random(1),
            frequent,
            *rng.integers(1, 9, 2).tolist(),
            *(rng.random(2) < 0.3).tolist(),
        )
        least, weights = int(rng.integers(1, 4)), rng.integers(0, 3, len(table.qi)) / 2
        scratch = np.zeros(int(table.costs.size.max()), dtype=np.int64)
        a, code = best_cut(table.costs, table.codes, rows, least, weights, chances, scratch)
        most = naive.best_gain(table, rows, least, weights, chances)
        if a == NO_CUT:
            assert most == pytest.approx(0.0, abs=1e-9)
        else:
            column = columns_of(table)[a]
            made = naive.gain(table, rows, column, code, least, weights[a], chances)
            assert made == pytest.approx(most, abs=1e-9)


class TestRandomMargin:
    @pytest.mark.parametrize(("margin", "steady"), [(0, 3), (2, 3), (5, 4)])
    def test_chance_of_a_refusal(self, margin: int, steady: int) -> None:
        walk = Walk(health([0, 1, 2, 3]), [FrequencyL(2)], 2.0, 7)
        refused = sum(not walk.at_least_random(margin, steady) for _ in range(4000))
        assert refused / 4000 == pytest.approx((steady / (steady + 1)) ** (margin + 1), abs=0.04)

    def test_never_below_0(self) -> None:
        walk = Walk(health([0, 1, 2, 3]), [FrequencyL(2)], 2.0, 7)
        assert not any(walk.at_least_random(-1, 3) for _ in range(100))


class TestMethod:
    @pytest.mark.parametrize("model", MODELS, ids=str)
    def test_guarantee_then_that_something_is_cut(self, model: Model) -> None:
        rng = np.random.default_rng(5)
        ages = tuple(numbers(rng.integers(0, 90, 3000)) for _ in range(3))
        table = encoded_table(3000, ages, (sensitive(rng.integers(0, 9, 3000), 9),))
        assert whole_holds(table, [model])
        partition = partition_of("blind", table, [KAnonymity(5), model], 1)
        assert_guaranteed(table, [KAnonymity(5), model], partition)
        assert partition.groups > 20

    def test_same_seed_same_groups_and_others_differ(self) -> None:
        rng = np.random.default_rng(5)
        table = encoded_table(
            500, (numbers(rng.integers(0, 90, 500)),), (sensitive(rng.integers(0, 4, 500), 4),)
        )
        one, same, other = (
            partition_of("blind", table, [FrequencyL(2)], seed).offsets.tolist()
            for seed in (1, 1, 2)
        )
        assert one == same
        assert one != other

    def test_k_alone_asks_for_no_test(self) -> None:
        rng = np.random.default_rng(5)
        table = encoded_table(200, (numbers(rng.integers(0, 90, 200)),))
        outcome = outcome_of("blind", table, [KAnonymity(5)])
        assert_guaranteed(table, [KAnonymity(5)], outcome.recoding.partitions[0])
        assert outcome.facts["tests"] == 0
        assert outcome.facts["groups"] > 10
