"""Lower bounds: never above the optimum, each rung as its slow twin, stronger with effort."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bounds as naive
import naive_optimal
from columns import encoded_table
from guarantees import whole_holds
from random_tables import encoded_tables
from shoal.bounds import Bound, lower_bound
from shoal.bounds.families import Family, families
from shoal.bounds.rungs import Clock, FamilyBounds
from shoal.effort import EFFORTS
from shoal.errors import PolicyError
from shoal.kernels.bounds.points import _sort_by_code
from shoal.kernels.jit import kernel
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.metrics.loss import gcp
from shoal.models import (
    KE,
    AlphaK,
    DistinctL,
    EntropyL,
    FrequencyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
    UniqueDistinctL,
)
from tables import census, qi, random_table

MODELS = [
    [KAnonymity(2)],
    [KAnonymity(3)],
    [FrequencyL(2)],
    [KAnonymity(3), FrequencyL(2)],
    [UniqueDistinctL(2)],
    [DistinctL(3)],
    [KAnonymity(3), DistinctL(2)],
    [EntropyL.of(1.8)],
    [EntropyL.of(2.5)],
    [RecursiveL.of(2, 2)],
    [RecursiveL.of(0.9, 1)],
    [AlphaK.of(0.4, 2)],
    [AlphaK.of(0.6, 3)],
    [TCloseness.of(0.3)],
    [KAnonymity(2), TCloseness.of(0.2)],
    [KE.of(2, 3)],
]


def scale(table):
    return table.n * table.costs.weight.sum()


def climbed(table, family, budget=10**6):
    bounds = FamilyBounds(table, family)
    bounds.search_boxes(budget, Clock())
    return bounds


def some_family(table, size, capped):
    """A family of groups of this size, whose values are limited by turns."""
    if not capped:
        return Family(size)
    values = table.sensitive[0].size
    return Family(size, 0, 1 + np.arange(values) % size)


def assert_below_optimum(table, models, optimum):
    """At every effort, and the more effort, the higher."""
    last = 0.0
    for effort in EFFORTS:
        bound = lower_bound(table, models, effort=effort)
        assert bound.loss * scale(table) <= optimum
        assert 0 <= last <= bound.loss
        last = bound.loss
    return bound


class TestNeverAboveTheOptimum:
    @pytest.mark.parametrize("models", MODELS, ids=lambda m: ", ".join(map(str, m)))
    def test_any_model(self, models):
        rng = np.random.default_rng(3)
        for _ in range(12):
            table = random_table(rng, int(rng.integers(2, 8)), values=4, columns=1)
            numbers = replace(table.sensitive[0], numbers=np.arange(4.0))  # as the twin counts
            table = replace(table, sensitive=(numbers,))
            if whole_holds(table, models):
                optimum = naive_optimal.optimum(table, models)
                bound = assert_below_optimum(table, models, optimum)
                if models[0].local:
                    assert bound.loss * scale(table) == pytest.approx(optimum, abs=1e-6)

    @given(encoded_tables(most=4), st.integers(1, 4), st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_any_table(self, table, k, stars):
        models = [KAnonymity(min(k, table.n))]
        table = table.suppressing() if stars else table
        bound = assert_below_optimum(table, models, naive_optimal.optimum(table, models))
        assert bound.rung == "exact"

    @given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from(MODELS[:4] + MODELS[11:13]))
    @settings(max_examples=40, deadline=None)
    def test_persons(self, seed, n, models):
        rng = np.random.default_rng(seed)
        table = random_table(rng, n, values=3)
        table = replace(table, person=rng.integers(0, n, n).astype(np.int32))
        assert_below_optimum(table, models, naive_optimal.optimum(table, models))

    @given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from(MODELS[:13]))
    @settings(max_examples=40, deadline=None)
    def test_records_may_be_dropped(self, seed, n, models):
        table = random_table(np.random.default_rng(seed), n, values=3)
        optimum = naive.optimum_with_drops(table, models)
        for effort in EFFORTS:
            bound = lower_bound(table, models, effort=effort, suppressible=True)
            assert bound.loss * scale(table) <= optimum

    @pytest.mark.parametrize("models", [[KAnonymity(3)], [FrequencyL(3)], [KAnonymity(40)]])
    def test_a_release(self, models):
        table = census(300)
        method = get_method("hilbert")
        recoding = method.run(table, models, method.options(), Run()).recoding
        losses = [lower_bound(table, models, effort=effort).loss for effort in EFFORTS]
        assert losses == sorted(losses)
        assert losses[0] > 0
        assert losses[-1] <= gcp(table, recoding)


class TestRungs:
    @given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 5))
    @settings(max_examples=60, deadline=None)
    def test_neighbours(self, seed, n, size):
        table = random_table(np.random.default_rng(seed), n)
        bounds = climbed(table, Family(min(size, n)), budget=0)
        distances = [naive.neighbour(table, r, min(size, n)) for r in range(n)]
        best = [naive.cheapest_box(table, r, bounds.family) for r in range(n)]
        assert (bounds.boxes >= np.array(distances) - 1e-9).all()
        assert (bounds.boxes <= np.array(best) + 1e-9).all()

    @given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 5), st.booleans())
    @settings(max_examples=120, deadline=None)
    def test_boxes(self, seed, n, size, capped):
        table = random_table(np.random.default_rng(seed), n, values=3)
        bounds = climbed(table, some_family(table, min(size, n), capped))
        best = [naive.cheapest_box(table, r, bounds.family) for r in range(n)]
        most = table.costs.weight.sum()  # what a box costs that does not exist
        assert bounds.boxes == pytest.approx(np.minimum(best, most), abs=1e-9)
        assert bounds.exact.all()

    @given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 4), st.booleans())
    @settings(max_examples=120, deadline=None)
    def test_dual_weighs_no_group_more_than_it_costs(self, seed, n, size, capped):
        table = random_table(np.random.default_rng(seed), n, values=3)
        bounds = climbed(table, some_family(table, min(size, n), capped))
        start = bounds.boxes
        bounds.start_dual()
        assert bounds.weights == pytest.approx(start)
        for turn in range(4):
            before = bounds.weights.sum()
            bounds.raise_weights(10**6, 0.2 * (turn > 1), turn, Clock())
            assert bounds.weights.sum() >= before - 1e-12
            assert naive.overweight(table, bounds.weights, bounds.family) <= 1e-9

    def test_a_spent_budget_still_bounds(self):
        table = census(200)
        family = Family(6)
        exact = climbed(table, family)
        assert exact.exact.all()
        for budget in (0, 5, 50):
            hasty = climbed(table, family, budget)
            assert (hasty.boxes <= exact.boxes + 1e-12).all()
            assert not hasty.exact.all()

    def test_wide_domains_and_long_lists(self):
        rng = np.random.default_rng(1)
        columns = [qi(rng.integers(0, 5000, 3000), 5000), qi(rng.integers(0, 5000, 3000), 5000)]
        table = encoded_table(3000, tuple(columns))
        bounds = climbed(table, Family(3), budget=0)
        for record in (0, 17, 2999):
            box = bounds.boxes[record]
            distances = sorted(
                sum(
                    abs(int(c.codes[record]) - int(x)) / 4999
                    for c, x in zip(columns, other, strict=True)
                )
                for other in zip(*(c.codes for c in columns), strict=True)
            )
            assert box >= distances[2] - 1e-12


class TestFamilies:
    def test_frequency_asks_for_different_values(self):
        table = census(50)
        (family,) = families(table, [FrequencyL(3)], False)
        assert (family.size, set(family.caps), family.dual) == (3, {1}, True)

    def test_frequency_with_a_larger_k(self):
        (family,) = families(census(50), [KAnonymity(10), FrequencyL(3)], False)
        assert (family.size, set(family.caps)) == (10, {4})

    def test_distinct_is_for_boxes_only(self):
        boxes, dual = families(census(50), [DistinctL(4)], False)
        assert (boxes.size, set(boxes.caps), boxes.dual) == (4, {1}, False)
        assert (dual.size, dual.caps, dual.dual) == (4, None, True)

    def test_persons_count_as_records_at_least(self):
        table = replace(census(50), person=np.arange(50, dtype=np.int32))
        (family,) = families(table, [FrequencyL(3)], False)
        assert (family.size, family.caps) == (3, None)

    def test_closeness_limits_shares_unless_records_can_go(self):
        table = census(90)
        (family,) = families(table, [KAnonymity(10), TCloseness.of(Fraction(1, 10))], False)
        counts = np.bincount(table.sensitive_codes[0], minlength=9)
        assert family.caps.tolist() == [-(-(c + 9) * 10 // 90) for c in counts.tolist()]
        (family,) = families(table, [KAnonymity(10), TCloseness.of(Fraction(1, 10))], True)
        assert family.caps is None


class TestEdges:
    def test_deterministic(self):
        table = census(400)
        once, again = (lower_bound(table, [KAnonymity(4)], effort="normal") for _ in range(2))
        assert once == again

    @pytest.mark.parametrize("effort", EFFORTS)
    def test_an_effort_reads_no_clock(self, effort, monkeypatch):
        # 0.0048 to 0.0090 for one run, by how busy the machine was
        table = random_table(np.random.default_rng(5), 11 if effort == "max" else 60, values=4)
        models = [KAnonymity(3), FrequencyL(2)]
        quiet = lower_bound(table, models, effort=effort)
        hours = iter(range(0, 10**9, 3600))
        monkeypatch.setattr("shoal.clock.time.monotonic", lambda: float(next(hours)))
        assert lower_bound(table, models, effort=effort) == quiet

    def test_stopped_at_once(self):
        assert lower_bound(census(200), [KAnonymity(3)], effort="max", seconds=0).loss == 0

    def test_progress_ends_at_the_total(self):
        seen = []
        told = lower_bound(
            census(200), [KAnonymity(3)], effort="max", progress=lambda *now: seen.append(now)
        )
        assert told.rung in ("dual", "cells")
        assert seen[-1][0] == seen[-1][1]
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def test_nothing_to_lose(self):
        assert lower_bound(encoded_table(3, ()), [KAnonymity(2)]).loss == 0
        assert lower_bound(encoded_table(0, (qi([], 1),)), [KAnonymity(2)]).loss == 0
        assert lower_bound(census(50), [KAnonymity(1)], effort="max").loss == 0

    def test_more_asked_than_there_is(self):
        bound = lower_bound(census(5), [KAnonymity(10**9)], suppressible=True)
        assert bound.loss == pytest.approx(1)

    def test_unknown_effort(self):
        with pytest.raises(PolicyError, match="effort: expected one of instant, fast"):
            lower_bound(census(5), [KAnonymity(2)], effort="utmost")

    def test_manifest_rounds_down(self):
        bound = Bound(0.0123456789999, "dual", 0.99999)
        assert bound.to_dict() == {"loss": 0.012345678, "rung": "dual", "resolved": 0.9999}


@kernel
def sorted_by_code(codes, attribute, order, begin, end, keys, spare):
    """The inner kernel has no way in for Python."""
    _sort_by_code(codes, attribute, order, begin, end, keys, spare)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3), max_size=200), st.integers(0, 5))
def test_points_are_sorted_as_numpy_sorts_them_with_equals_left_in_place(values, begin):
    codes = np.array([[0, value] for value in values], dtype=np.int32).reshape(-1, 2)
    order = np.random.default_rng(len(values)).permutation(len(values))
    begin = min(begin, len(values))
    end = max(begin, len(values) - 1)
    expected = order.copy()
    part = order[begin:end]
    expected[begin:end] = part[np.argsort(codes[part, 1], kind="stable")]
    keys, spare = (np.empty(len(values), dtype=np.int64) for _ in range(2))
    sorted_by_code(codes, 1, order, begin, end, keys, spare)
    assert order.tolist() == expected.tolist()
