"""The dual over boxes: the search as its slow twin, weights that no group outweighs, ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bounds as naive
import naive_optimal
from columns import encoded_table
from random_tables import encoded_tables
from shoal.bounds import box_dual, lower_bound
from shoal.bounds.box_dual import STAGES, BoxDual, Stage
from shoal.bounds.families import Family
from shoal.bounds.rungs import Clock, FamilyBounds
from shoal.kernels.bounds.box_dual import FOUND, OPEN, PROVEN
from shoal.models import KAnonymity
from tables import census, qi, random_table

HASTY = Stage(1e-6, 3, 3, 0.5, 0.3, 3)
LONG = Stage(3.0, 10**4, 10**4, 0.9, 0.2, 20)
PATIENT = Stage(0.02, 10**5, 10**5, 0.9, 0.2, 20)


def some_family(table, size, capped):
    """A family of groups of this size, whose values are limited by turns."""
    if not capped:
        return Family(size)
    return Family(size, 0, 1 + np.arange(table.sensitive[0].size) % size)


def begun(table, family, clock=None, **more):
    """The dual of a table, with the neighbours as its floor."""
    clock = clock or Clock()
    bounds = FamilyBounds(table, family)
    bounds.search_boxes(0, clock)
    return BoxDual(bounds.points, family.size, bounds.box, clock, **more)


def weights(dual):
    return dual.best[dual.points.of_record]


def without_sets(table):
    """The table, its value sets released as stars where they are mixed."""
    return table.suppressing() if (table.costs.form == 2).any() else table


class TestSearch:
    @given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 4), st.booleans())
    @settings(max_examples=80, deadline=None)
    def test_finds_the_heaviest_group(self, seed, n, size, capped):
        rng = np.random.default_rng(seed)
        table = without_sets(random_table(rng, n, values=3))
        family = some_family(table, min(size, n), capped)
        dual = begun(table, family)
        y = np.round(rng.random(len(dual.best)) * rng.choice([0.2, 1, 3]), 2)
        record = int(rng.integers(n))
        anchor = dual.points.of_record[[record]]
        order = box_dual._by_weight(y)
        since = np.zeros(1, np.int64)

        def search(eager):
            return dual._search(y, order, since, anchor, 10**6, eager=eager)

        heaviest = naive.heaviest_group(table, y[dual.points.of_record], record, family)
        state, groups = search(eager=False)
        assert state == search(eager=True)[0] == [FOUND if heaviest > 1e-9 else PROVEN]
        if heaviest > 1e-9:
            assert len(groups[0]) == family.size
            assert anchor[0] in groups[0]
            _, _, price = dual.pool.boxes_of(groups)
            weighs = y[groups[0]].sum() - family.size * price[0]
            assert weighs == pytest.approx(heaviest, abs=1e-9)

    def test_no_steps_prove_nothing(self):
        table = census(200)
        dual = begun(table, Family(5))
        y = np.full(len(dual.best), 3.0)
        all_points = np.arange(len(y))
        order = box_dual._by_weight(y)
        for budget in (0, 10):
            state, _ = dual._search(y, order, 0 * all_points, all_points, budget, eager=False)
            assert set(state.tolist()) <= {OPEN, FOUND}


class TestWeights:
    @given(
        st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 4), st.booleans(),
        st.sampled_from([HASTY, PATIENT]),
    )  # fmt: skip
    @settings(max_examples=80, deadline=None)
    def test_no_group_weighs_more_than_it_costs(self, seed, n, size, capped, stage):
        table = without_sets(random_table(np.random.default_rng(seed), n, values=3))
        family = some_family(table, min(size, n), capped)
        dual = begun(table, family)
        for _ in range(2):
            before = dual.total
            dual.climb(stage)
            assert dual.total >= before
            assert (dual.best >= dual.floor).all()
            assert naive.overweight(table, weights(dual), family) <= 1e-9

    @given(encoded_tables(most=6), st.integers(2, 3), st.sampled_from([HASTY, PATIENT]))
    @settings(max_examples=60, deadline=None)
    def test_any_kind_of_attribute(self, table, size, stage):
        table, family = without_sets(table), Family(min(size, table.n))
        dual = begun(table, family)
        dual.climb(stage)
        assert naive.overweight(table, weights(dual), family) <= 1e-9
        if table.n <= 7:
            optimum = naive_optimal.optimum(table, [KAnonymity(family.size)])
            assert dual.total <= optimum + 1e-9

    @given(st.integers(0, 10**6), st.integers(3, 9), st.integers(2, 3))
    @settings(max_examples=50, deadline=None)
    def test_hasty_batches_of_one(self, seed, n, size):
        table = without_sets(random_table(np.random.default_rng(seed), n, values=3))
        family = Family(min(size, n))
        dual = begun(table, family)
        dual._batch = lambda: 1
        dual.climb(PATIENT)
        assert naive.overweight(table, weights(dual), family) <= 1e-9

    def test_wide_attributes_are_priced_by_formula(self):
        rng = np.random.default_rng(1)
        columns = [qi(rng.integers(0, 600, 9), 600), qi(rng.integers(0, 700, 9), 700)]
        table = encoded_table(9, tuple(columns))
        family = Family(3)
        dual = begun(table, family)
        assert not dual.prices.listed.any()
        dual.climb(replace(PATIENT, seconds=1.0))
        assert dual.total > 1.001 * dual.floor @ dual.count
        assert naive.overweight(table, weights(dual), family) <= 1e-9

    def test_no_room_for_candidates_or_lists(self, monkeypatch):
        table = census(300)
        monkeypatch.setattr(box_dual, "PLACES", 64)
        narrow = begun(table, Family(4))
        narrow.climb(LONG)
        monkeypatch.setattr(box_dual, "PLACES", 1 << 20)
        wide = begun(table, Family(4))
        wide.climb(LONG)
        assert narrow.total == pytest.approx(wide.total, rel=0.2)
        monkeypatch.setattr(box_dual, "ROOM", 4)
        crowded = begun(table, Family(4))
        crowded.climb(LONG)
        assert crowded.total >= (1 - 1e-9) * crowded.floor @ crowded.count

    def test_dropped_records_limit_the_weights(self):
        table = census(120)
        dual = begun(table, Family(5), ceiling=0.4)
        dual.climb(LONG)
        assert dual.total <= 0.4 * table.n + 1e-9

    def test_beginning_with_a_release(self):
        table = census(200)
        dual = begun(table, Family(4))
        codes = dual.points.space.codes
        dual.begin(dual.floor * 2, codes[:20], codes[:20])
        assert len(dual.pool) == len(np.unique(codes[:20], axis=0))
        dual.climb(LONG)
        assert dual.total > 1.001 * dual.floor @ dual.count


class TestBound:
    @pytest.mark.parametrize(
        "k",
        [pytest.param(3, marks=pytest.mark.heavy), 10, pytest.param(40, marks=pytest.mark.heavy)],
    )
    def test_efforts_are_stages(self, k):
        table = census(400)
        losses = [lower_bound(table, [KAnonymity(k)], effort=effort).loss for effort in STAGES]
        assert losses == sorted(losses)
        assert losses[2] > 1.2 * losses[0]

    def test_a_stopped_stage_still_bounds(self):
        table = random_table(np.random.default_rng(7), 9, values=3)
        table = replace(without_sets(table), person=None)
        family = Family(3)
        for most in (0, 10, 1_000, 100_000):
            dual = begun(table, family, Clock(most=most))
            dual.climb(PATIENT)
            assert naive.overweight(table, weights(dual), family) <= 1e-9
