"""The dual over cells: weights are never too heavy, nearly the best, and can be checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import naive_bounds as naive
import naive_optimal
from certificate_checker import problems
from random_tables import encoded_tables
from shoal.bounds import Certificate, lower_bound
from shoal.bounds.cells import cells_of
from shoal.bounds.families import Family
from shoal.bounds.points import distinct_points
from shoal.bounds.rungs import Clock
from shoal.clock import NO_LIMIT
from shoal.models import AlphaK, FrequencyL, KAnonymity
from tables import census, random_table


def some_family(table, size, capped):
    """A family of groups of this size, whose values are limited by turns."""
    if not capped:
        return Family(size)
    return Family(size, 0, 1 + np.arange(table.sensitive[0].size) % size)


def dual_of(table, family, start=None, rounds=60, ceiling=np.inf):
    """The dual after some rounds, and the weight of each record as a loss."""
    points = distinct_points(table, family)
    dual = cells_of(points, family, Clock(), ceiling)
    assert dual is not None
    begin = np.ones(len(points)) if start is None else start(len(points))
    dual.climb(begin, rounds, NO_LIMIT, Clock())
    return dual, (dual.best / dual.units.scale)[points.of_record]


def best_weights(table, family):
    """The value of the linear programme over every group of the family."""
    groups = list(naive.groups(table, family))
    if not groups:
        return None
    rows = np.zeros((len(groups), table.n))
    for row, group in zip(rows, groups, strict=True):
        row[group] = 1
    prices = [family.size * naive.ncp(table, group) for group in groups]
    most = 10 * family.size * float(table.costs.weight.sum())  # records that no group holds
    solved = linprog(-np.ones(table.n), A_ub=rows, b_ub=prices, bounds=(0, most))
    return -solved.fun if (solved.x < most / 2).all() else None


class TestWeights:
    @given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 4), st.booleans())
    @settings(max_examples=100, deadline=None)
    def test_no_group_weighs_more_than_it_costs(self, seed, n, size, capped):
        rng = np.random.default_rng(seed)
        table = random_table(rng, n, values=3)
        table = table.suppressing() if seed % 4 == 0 else table
        family = some_family(table, min(size, n), capped)
        _, weights = dual_of(table, family, lambda count: rng.random(count) * 3, rounds=8)
        assert (weights >= 0).all()
        assert naive.overweight(table, weights, family) <= 0  # not even by rounding

    @given(st.integers(0, 10**6), st.integers(3, 9), st.integers(2, 4), st.booleans())
    @settings(max_examples=40, deadline=None)
    def test_nearly_the_value_of_the_programme(self, seed, n, size, capped):
        table = random_table(np.random.default_rng(seed), n, values=3)
        family = some_family(table, min(size, n), capped)
        best = best_weights(table, family)
        dual, weights = dual_of(table, family, rounds=120)
        if best is not None and dual.exact:
            assert weights.sum() <= best + 1e-9
            assert weights.sum() >= 0.98 * best - 1e-6

    def test_never_above_what_a_dropped_record_costs(self):
        table = random_table(np.random.default_rng(3), 9, values=3)
        _, weights = dual_of(table, Family(3), ceiling=0.25)
        assert weights.max() <= 0.25

    def test_more_rounds_never_give_less(self):
        table = census(80)
        totals = [dual_of(table, Family(4), rounds=rounds)[0].total for rounds in (1, 2, 5, 20)]
        assert totals == sorted(totals)

    def test_stopped_in_the_middle(self):
        table = census(80)
        points = distinct_points(table, Family(4))
        for most in (0, 3_000, 30_000, 300_000):
            dual = cells_of(points, Family(4), Clock())
            dual.climb(np.ones(len(points)), 50, NO_LIMIT, Clock(most=most))
            weights = dual.best[points.of_record]
            proof = Certificate(weights, dual.units.scale, Family(4), dual.total / 1e6)
            assert problems(table, proof) == []

    def test_too_many_cells_are_refused(self, monkeypatch):
        points = distinct_points(census(80), Family(4))
        for limit in ("MOST_PAIRS", "MOST_CELLS", "MOST_WORK", "SURELY_TOO_MANY"):
            with monkeypatch.context() as patch:
                patch.setattr(f"shoal.bounds.cells.{limit}", 50)
                assert cells_of(points, Family(4), Clock()) is None


class TestBound:
    @given(st.integers(0, 10**6), st.integers(2, 7), st.integers(0, 7))
    @settings(max_examples=60, deadline=None)
    def test_never_above_the_optimum(self, seed, n, choice):
        rng = np.random.default_rng(seed)
        table = random_table(rng, n, values=3)
        models = [
            [KAnonymity(2)], [KAnonymity(3)], [FrequencyL(2)], [FrequencyL(3)],
            [KAnonymity(3), FrequencyL(2)], [KAnonymity(4)], [AlphaK.of(0.5, 3)], [KAnonymity(2)],
        ][choice]  # fmt: skip
        table = table.suppressing() if choice == 7 else table
        optimum = naive_optimal.optimum(table, models)
        scale = table.n * table.costs.weight.sum()
        for lost in (None, rng.random(n) * 2):
            bound = lower_bound(table, models, effort="normal", lost=lost, certificate=True)
            assert bound.loss * scale <= optimum
            if bound.certificate is not None:  # there are records enough for a class
                assert problems(table, bound.certificate) == []

    @given(encoded_tables(most=5), st.integers(2, 4), st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_any_kind_of_column(self, table, k, stars):
        models = [KAnonymity(min(k, table.n))]
        table = table.suppressing() if stars else table
        if table.n > 7:
            table = table.take(np.arange(7))
        bound = lower_bound(table, models, effort="normal", certificate=True)
        scale = table.n * table.costs.weight.sum()
        assert bound.loss * scale <= naive_optimal.optimum(table, models)
        if bound.certificate is not None:
            assert problems(table, bound.certificate) == []

    @given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([2, 3]))
    @settings(max_examples=30, deadline=None)
    def test_records_may_be_dropped(self, seed, n, k):
        table = random_table(np.random.default_rng(seed), n, values=3)
        for models in ([KAnonymity(k)], [FrequencyL(k)]):
            bound = lower_bound(table, models, effort="normal", suppressible=True)
            scale = table.n * table.costs.weight.sum()
            assert bound.loss * scale <= naive.optimum_with_drops(table, models)


class TestCertificate:
    @pytest.fixture(scope="class")
    def proof(self):
        table = census(150)
        bound = lower_bound(table, [KAnonymity(4)], effort="normal", certificate=True)
        return table, bound.certificate

    def test_is_given_where_it_is_asked_for(self, proof):
        table, certificate = proof
        assert lower_bound(table, [KAnonymity(4)], effort="instant").certificate is None
        assert problems(table, certificate) == []
        assert certificate.loss > 0

    @pytest.mark.parametrize("models", [[FrequencyL(3)], [KAnonymity(6), FrequencyL(2)]])
    @pytest.mark.parametrize("effort", ["instant", "fast"])
    def test_with_caps_and_on_every_rung(self, models, effort):
        table = census(120)
        bound = lower_bound(table, models, effort=effort, certificate=True)
        assert problems(table, bound.certificate) == []
        assert bound.certificate.loss <= bound.loss

    def test_heavier_weights_are_refused(self, proof):
        table, certificate = proof
        broken = replace(certificate, weights=certificate.weights * 11 // 10)
        assert "weighs more than it costs" in problems(table, broken)[0]

    def test_one_heavier_point_is_refused(self, proof):
        table, certificate = proof
        weights = certificate.weights.copy()
        weights[np.argmax(weights)] += certificate.scale * 4
        broken = replace(certificate, weights=weights)
        assert "weighs more than it costs" in problems(table, broken)[0]

    def test_a_claim_above_the_sum_is_refused(self, proof):
        table, certificate = proof
        assert problems(table, replace(certificate, loss=certificate.loss * 1.01)) == [
            "more is claimed than the weights add up to"
        ]

    def test_negative_weights_are_refused(self, proof):
        table, certificate = proof
        weights = certificate.weights.copy()
        weights[0] = -1
        found = problems(table, replace(certificate, weights=weights, loss=0.0))
        assert found == ["a weight is negative"]

    def test_on_a_tiny_table_every_group_is_weighed(self):
        table = random_table(np.random.default_rng(8), 8, values=3)
        proof = lower_bound(table, [KAnonymity(3)], effort="normal", certificate=True).certificate
        for record in range(8):  # one unit in a hundred is found wherever it is
            weights = proof.weights.copy()
            weights[record] += proof.scale * 3
            assert problems(table, replace(proof, weights=weights)) != []
