"""Where the loss sits: counted by hand, and told in words that help."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from columns import encoded_table
from shoal.cli.before_after import outlier_lines
from shoal.encoding.table import Partition, Recoding
from shoal.metrics.loss import gcp
from shoal.metrics.outliers import outliers_of
from tables import qi, random_table


def released(groups, *columns):
    table = encoded_table(len(groups), tuple(columns))
    return table, Recoding.single(Partition.from_group_ids(np.array(groups)), len(columns))


def test_one_dear_group_holds_it_all():
    column = qi([0, 0, 0, 0, 0, 0, 0, 0, 0, 9], 10)
    found = outliers_of(*released([0, 0, 0, 0, 0, 0, 0, 0, 1, 1], column))
    assert found is not None
    assert found.half == pytest.approx(0.1)  # each of the two holds half
    assert found.dearest == pytest.approx(0.5)
    assert found.few == pytest.approx(0.2)  # whole groups
    assert (found.loss, found.without_few) == (pytest.approx(0.2), 0.0)
    assert list(found.columns.values()) == [pytest.approx(1.0)]


def test_nothing_lost():
    assert outliers_of(*released([0, 0, 1, 1], qi([0, 0, 1, 1], 2))) is None


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_shares_add_up(seed, n):
    rng = np.random.default_rng(seed)
    table = random_table(rng, n)
    recoding = Recoding.single(Partition.from_group_ids(rng.integers(0, 3, n)), len(table.qi))
    found = outliers_of(table, recoding)
    if found is None:
        assert gcp(table, recoding) == 0
        return
    assert found.loss == pytest.approx(gcp(table, recoding))
    assert sum(found.columns.values()) <= 1 + 1e-9  # columns of one name stand once
    assert 0 <= found.without_few <= found.loss + 1e-12
    assert 0 < found.half <= 1
    assert 0 < found.dearest <= 1


def test_words():
    made = shoal.anonymize(shoal.datasets.census(600), qi=["age", "education"], rest="drop", k=5)
    assert sum(made.outliers.columns.values()) == pytest.approx(1)
    lines = dict(outlier_lines(made))
    assert "of the records hold half of the loss" in lines["WHY"]
    assert "loss" in lines["ADVICE"] or "lose" in lines["ADVICE"]
    for public in (str(made.manifest), repr(made)):
        assert "hold half" not in public
