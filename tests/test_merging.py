"""Merging along a line: the cheapest runs, by the slow way; given up only where that is sure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guarantees import assert_guaranteed, whole_holds
from naive_curve import group_cost
from random_tables import encoded_tables
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.line.merging import CHOICES
from shoal.methods.merging import merge_along, merge_below
from shoal.models import AlphaK, EntropyL, FrequencyL, KAnonymity, Model, table_histograms
from shoal.policy import Policy

MODELS = [[FrequencyL(2), KAnonymity(3)], [AlphaK(0.7, 2)], [EntropyL(2)], [KAnonymity(4)]]


def cheapest_runs(table: EncodedTable, partition: Partition, models: list[Model]) -> float:
    """Cost of the best merge of neighbours so that every run satisfies all models."""
    order, offsets = partition.order, partition.offsets
    best = [0.0]
    for end in offsets[1:]:
        ways = [np.inf]
        for g, begin in enumerate(offsets[: len(best)]):
            run = order[begin:end]
            if best[g] < np.inf and satisfied(table.take(run), models):
                ways.append(best[g] + group_cost(table, run.tolist()))
        best.append(min(ways))
    return best[-1]


def satisfied(some: EncodedTable, models: list[Model]) -> bool:
    histograms = table_histograms(some, np.zeros(some.n, dtype=np.int64))
    return all(m.holds(h).all() for m in models for h in histograms)


@st.composite
def lines(draw: st.DrawFn) -> tuple[EncodedTable, Partition, list[Model]]:
    """Records along a line in at most so many groups that all beginnings of a run are tried."""
    table = draw(encoded_tables(most=24))
    models = draw(st.sampled_from(MODELS))
    assume(table.person is None and len(table.sensitive) > 0 and whole_holds(table, models))
    order = np.array(draw(st.permutations(range(table.n))), dtype=np.int64)
    ends = draw(st.sets(st.integers(1, table.n), max_size=CHOICES - 1))
    return table, Partition(order, np.array(sorted({0, table.n, *ends}))), models


@settings(deadline=None, max_examples=150)
@given(lines())
def test_runs_are_the_cheapest_whether_or_not_walks_are_cut_short(line):
    table, partition, models = line
    least = cheapest_runs(table, partition, models)
    for found in (merge_along(partition, table, models), pruned(partition, table, models)):
        assert_guaranteed(table, models, found)
        groups = np.split(found.order, found.offsets[1:-1])
        cost = sum(group_cost(table, group.tolist()) for group in groups)
        assert cost == pytest.approx(least, abs=1e-6)


def pruned(partition: Partition, table: EncodedTable, models: list[Model]) -> Partition:
    found = merge_below(np.inf, partition, table, models)
    assert found is not None
    return found.partition


@settings(deadline=None, max_examples=150)
@given(lines(), st.floats(0.0, 2.0))
def test_a_way_is_given_up_only_where_it_would_cost_more(line, share):
    table, partition, models = line
    least = cheapest_runs(table, partition, models)
    found = merge_below(share * least, partition, table, models)
    if found is None:
        assert share < 1
    else:
        assert found.cost == pytest.approx(least, abs=1e-6)


def test_what_is_far_too_dear_is_given_up_early():
    """Neighbours of one value must be merged with others far away: that cannot win."""
    n = 4000
    ill = ["ab"[i // 50 % 2] for i in range(n)]
    source = pa.table({"x": range(n), "ill": ill})
    table = encode(source, Policy.parse(qi=["x"], sensitive=["ill"]))
    pairs = Partition(np.arange(n), np.arange(0, n + 1, 2))
    assert merge_below(1.0, pairs, table, [FrequencyL(2)]) is None
