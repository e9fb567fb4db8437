"""The search of `best`: every model after every step, prices as recounted, cuts as the twin's."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_search as naive
from guarantees import groups_of, whole_holds
from shoal.encoding.table import Partition
from shoal.kernels.best.assigning import assign, new_assignment
from shoal.kernels.best.guillotine import cut_tree, new_cut_scratch
from shoal.kernels.group_check import members_hold
from shoal.kernels.pricing import members_price, new_box, price_with, prices_of
from shoal.methods.best import improver
from shoal.methods.best.improver import Improver
from shoal.models import (
    KE,
    AlphaK,
    DistinctL,
    EntropyL,
    FrequencyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
    table_histograms,
)
from tables import random_table

MODELS = [
    [KAnonymity(1)],
    [KAnonymity(3)],
    [FrequencyL(2)],
    [FrequencyL(3)],
    [KAnonymity(5), FrequencyL(2)],
    [DistinctL(3)],
    [EntropyL.of(1.8)],
    [EntropyL.of(2.5)],
    [RecursiveL.of(2, 2)],
    [RecursiveL.of(0.9, 1)],
    [AlphaK.of(0.4, 2)],
    [TCloseness.of(0.3)],
    [KAnonymity(2), TCloseness.of(0.2)],
    [KE.of(2, 3)],
]


@numba.njit  # the kernels asked here have no entry from Python
def box_prices(prices, records, rows, size, box):
    """Price of the first records, then with one more, then with one more up to a limit."""
    inside = members_price(prices, records, rows[:size], box)
    grown = price_with(prices, records[rows[size]], box, np.inf)
    return inside, grown, price_with(prices, records[rows[size]], box, grown / 2)


@numba.njit
def group_holds(check, rows):
    return members_hold(check, rows)


@numba.njit
def assigned(cost, found):
    return assign(cost, len(cost), found)


SEEDS = st.integers(0, 2**32 - 1)


def small_table(seed, most=30, columns=1, persons=False, ordered=False):
    """Some records of any form; what coarsening cost before is none of the search's business."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    table = random_table(rng, n, values=int(rng.integers(2, 7)), columns=columns)
    attributes = tuple(replace(column, floor=None) for column in table.qi)
    about = tuple(
        replace(s, ordered=ordered, numbers=np.arange(s.size, dtype=float)) for s in table.sensitive
    )
    person = rng.integers(0, max(1, n // 2), n).astype(np.int32) if persons else None
    return replace(table, qi=attributes, sensitive=about, person=person)


def searched(table, models, seed, steps=300):
    """All records as one group, improved; pools are wide and hot as they are on real tables."""
    improver = Improver(table, models, seed)
    improver.begin(Partition.whole(table.n))
    improver.improve(steps, 3, lambda done, loss: None)
    return improver


def judged(table, models, partition):
    """Whether `shoal.models` are content with every group, for every sensitive column."""
    columns = table_histograms(table, partition.group_ids())
    return all(model.holds(classes).all() for model in models for classes in columns)


def assert_search_is_sound(table, models, seed):
    improver = searched(table, models, seed)
    found = improver.partition()
    assert sorted(found.order.tolist()) == list(range(table.n))
    assert judged(table, models, found)
    groups = groups_of(found)
    assert naive.all_hold(table, groups, models)
    assert improver.total == pytest.approx(naive.price(table, groups), abs=1e-9)
    assert improver.total <= naive.price(table, [list(range(table.n))]) + 1e-9
    again = searched(table, models, seed).partition()
    assert np.array_equal(found.group_ids(), again.group_ids())


class TestEveryModelAfterTheSearch:
    @pytest.mark.parametrize("models", MODELS, ids=str)
    @settings(max_examples=12, deadline=None)
    @given(seed=SEEDS, ordered=st.booleans())
    def test_one_sensitive_column(self, models, seed, ordered):
        table = small_table(seed, ordered=ordered)
        if whole_holds(table, models):
            assert_search_is_sound(table, models, seed)

    @settings(max_examples=25, deadline=None)
    @given(seed=SEEDS, models=st.sampled_from(MODELS))
    def test_two_sensitive_columns(self, seed, models):
        table = small_table(seed, columns=2)
        if whole_holds(table, models):
            assert_search_is_sound(table, models, seed)

    @settings(max_examples=25, deadline=None)
    @given(seed=SEEDS, models=st.sampled_from(MODELS))
    def test_persons(self, seed, models):
        table = small_table(seed, persons=True)
        if whole_holds(table, models):
            assert_search_is_sound(table, models, seed)

    @settings(max_examples=12, deadline=None)
    @given(seed=SEEDS)
    def test_two_regions(self, seed):
        table = small_table(seed, most=60)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(improver, "FEW", 0)
            if whole_holds(table, [FrequencyL(2)]):
                assert_search_is_sound(table, [FrequencyL(2)], seed)


def test_it_does_improve():
    rng = np.random.default_rng(1)
    table = small_table(1)
    while table.n < 20 or not whole_holds(table, [FrequencyL(2)]):
        table = small_table(int(rng.integers(10**6)))
    improver = searched(table, [FrequencyL(2)], 0, steps=3000)
    assert improver.total < 0.8 * naive.price(table, [list(range(table.n))])


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_prices_are_those_of_the_definition(seed):
    table = small_table(seed, most=12)
    prices, records = prices_of(table.costs), np.ascontiguousarray(table.codes.T)
    rows = np.random.default_rng(seed).permutation(table.n)
    box = new_box(prices)
    for size in range(1, table.n):
        inside, grown, limited = box_prices(prices, records, rows, size, box)
        assert size * inside == pytest.approx(naive.price(table, [rows[:size]]), abs=1e-9)
        expected = naive.price(table, [rows[: size + 1]])
        assert (size + 1) * grown == pytest.approx(expected, abs=1e-9)
        assert limited >= grown / 2


@pytest.mark.parametrize("models", MODELS, ids=str)
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_the_first_cut_is_the_cheapest(models, seed):
    drawn = (small_table(s, most=14) for s in count(seed))
    table = next(table for table in drawn if whole_holds(table, models))
    improver = Improver(table, models, 0)
    members = np.arange(table.n)
    ends = np.empty(table.n + 1, dtype=np.int64)
    cut_scratch = new_cut_scratch(improver.prices, table.n)
    common = (improver.prices, improver.records, improver.check, cut_scratch)
    # parts smaller than the whole are not cut again
    cut_scratch.stack[:, 0] = 0, table.n
    state = np.array([1, 0])
    cut_tree(*common, members, table.n - 1, ends, state, np.inf)
    assert state[0] == 0
    parts = state[1]
    expected = naive.best_cut(table, list(range(table.n)), models)
    assert parts == (1 if expected == np.inf else 2)
    if parts == 2:
        halves = [members[: ends[0]].tolist(), members[ends[0] :].tolist()]
        assert naive.all_hold(table, halves, models)
        assert naive.price(table, halves) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, persons=st.booleans(), models=st.sampled_from(MODELS))
def test_groups_are_judged_as_by_the_twin(seed, persons, models):
    table = small_table(seed, most=12, persons=persons)
    check = Improver(table, models, 0).check
    rows = np.random.default_rng(seed).permutation(table.n)[: 1 + seed % table.n]
    held = group_holds(check, rows)
    if held:  # the kernels may be stricter by a hair, never laxer
        assert naive.all_hold(table, [rows.tolist()], models)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, persons=st.booleans(), columns=st.integers(1, 2))
def test_records_of_a_kind_look_alike_to_every_model(seed, persons, columns):
    table = small_table(seed, columns=columns, persons=persons)
    kind_of = Improver(table, [FrequencyL(2)], 0).kind_of
    kinds = naive.kinds(table)
    for a in range(table.n):
        for b in range(a):
            assert (kind_of[a] == kind_of[b]) == (kinds[a] == kinds[b])


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 6))
def test_assignment_is_the_cheapest(seed, n):
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, 8, (n, n)) / 4 if seed % 2 else rng.random((n, n))
    found = new_assignment(n)
    total = assigned(cost, found)
    assert sorted(found.row[1:].tolist()) == list(range(1, n + 1))
    assert total == pytest.approx(naive.cheapest_assignment(cost.tolist()), abs=1e-12)
