"""What records owe leads the search: on short tables just what the first rung of a bound says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bounds as naive
from columns import encoded_table
from shoal.encoding.table import Partition
from shoal.kernels.best.search import NONE
from shoal.kernels.costs import ROUND
from shoal.methods.best.improver import REACH, Improver
from shoal.models import FrequencyL, KAnonymity
from tables import numbers, random_table

K = 3
SEEDS = st.integers(0, 2**32 - 1)


def begun(table, models, groups=None):
    """A search that knows who is near whom."""
    search = Improver(table, models, 1)
    ids = np.zeros(table.n, dtype=np.int64) if groups is None else groups
    search.begin(Partition.from_group_ids(ids))
    search.prepare()
    return search


def short_table(seed):
    """So few records that along any curve each has all others within reach."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, int(rng.integers(K, REACH + 2)), values=2)
    attributes = tuple(replace(column, floor=None) for column in table.qi)
    return replace(table, qi=attributes)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_a_record_owes_the_distance_of_its_neighbours(seed):
    table = short_table(seed)
    search = begun(table, [KAnonymity(K)])
    expected = np.array([naive.neighbour(table, record, K) for record in range(table.n)])
    assert (search.due <= expected + 1e-9).all()
    if all(column.form != ROUND for column in table.qi):  # there one value alone costs something
        assert search.due == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_a_group_owes_what_its_records_do_and_no_more_than_it_costs(seed):
    search = begun(short_table(seed), [KAnonymity(K)])
    search.improve(40, 2, lambda done, loss: None)
    groups = search.groups
    for g in np.flatnonzero(groups.head != NONE):
        assert groups.dues[g] == pytest.approx(search.due[groups.of == g].sum(), abs=1e-12)
        assert groups.dues[g] <= groups.price[g] + 1e-9


def test_where_values_count_nothing_is_owed():
    table = random_table(np.random.default_rng(3), 12, values=4)
    assert not begun(table, [FrequencyL(2)]).due.any()


def test_groups_that_have_nothing_to_give_are_left_alone():
    """Two pairs of equal distance: no pool of theirs is divided anew."""
    table = encoded_table(4, [numbers([0.0, 0.1, 0.9, 1.0])])
    search = begun(table, [KAnonymity(2)], np.array([0, 0, 1, 1]))
    before = search.groups.of.copy()
    search.improve(200, 2, lambda done, loss: None)
    assert search.total == pytest.approx(4 * 0.1)
    assert np.array_equal(search.groups.of, before)
