"""Lower bounds on thousands of tiny tables: never above the optimum, always with a proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_bounds as naive
import naive_optimal
from certificate_checker import problems
from guarantees import whole_holds
from random_tables import encoded_tables
from shoal.bounds import lower_bound
from shoal.effort import EFFORTS
from shoal.models import AlphaK, FrequencyL, KAnonymity
from tables import random_table

MODELS = [
    [KAnonymity(2)],
    [KAnonymity(3)],
    [KAnonymity(4)],
    [FrequencyL(2)],
    [FrequencyL(3)],
    [KAnonymity(3), FrequencyL(2)],
    [AlphaK.of(0.4, 2)],
    [AlphaK.of(0.6, 3)],
]
KINDS = ["as they are", "stars", "persons", "dropped", "stars or dropped"]
TABLES = 30
"""Of each kind, for each choice of models and each prover."""
DRAWN = 200
"""Tables of all kinds of columns, for each prover."""
SELDOM, RARELY = 6, 24
"""Of tables that take long at effort normal and max, one in so many is proven there too."""

pytestmark = pytest.mark.heavy


@pytest.fixture(params=["cells", "boxes"])
def prover(request, monkeypatch):
    """So small a table has few cells: without them, the dual over boxes has to prove it."""
    if request.param == "boxes":
        monkeypatch.setattr("shoal.bounds.cells_of", lambda *_: None)
    return request.param


def efforts(turn, dear):
    """All, but where the highest run for thousands of rounds only now and then."""
    if not dear:
        return list(EFFORTS)
    every = {"instant": 1, "fast": 1, "normal": SELDOM, "max": RARELY}
    return [effort for effort in EFFORTS if turn % every[effort] == 0]


def assert_proven(table, models, optimum, tried, *, suppressible=False, lost=None):
    """At these efforts below the optimum, by weights that no group outweighs."""
    scale = table.n * table.costs.weight.sum()
    for effort in tried:
        bound = lower_bound(
            table, models, effort=effort, suppressible=suppressible, lost=lost, certificate=True
        )
        assert 0 <= bound.loss * scale <= optimum, effort
        if bound.certificate is not None:  # there are records enough for a class
            assert bound.certificate.loss <= bound.loss, effort
            assert problems(table, bound.certificate) == [], effort


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("models", MODELS, ids=lambda m: ", ".join(map(str, m)))
def test_numbers_trees_sets_and_rounded_values(prover, models, kind):
    rng = np.random.default_rng([MODELS.index(models), KINDS.index(kind), prover == "boxes"])
    for turn in range(TABLES):
        tried = efforts(turn, prover == "cells" or "stars" in kind)
        n = int(rng.integers(2, 8))
        table = random_table(rng, n, values=3, stars="stars" in kind)
        if kind == "persons":
            table = replace(table, person=rng.integers(0, n, n).astype(np.int32))
        lost = rng.random(n) * 2 if rng.integers(0, 2) else None
        if "dropped" in kind:
            optimum = naive.optimum_with_drops(table, models)
            assert_proven(table, models, optimum, tried, suppressible=True, lost=lost)
        elif whole_holds(table, models):
            optimum = naive_optimal.optimum(table, models)
            assert_proven(table, models, optimum, tried, lost=lost)


@pytest.mark.parametrize("suppressible", [False, True])
def test_any_kind_of_column(prover, suppressible):
    """Dates, ranks, flat hierarchies, huge numbers, missing values, every record twice."""

    @given(
        encoded_tables(most=7), st.sampled_from(MODELS), st.booleans(), st.integers(0, RARELY - 1)
    )
    @settings(max_examples=DRAWN // 2, deadline=None)
    def check(table, models, stars, turn):
        table = table.take(np.arange(min(7, table.n)))
        table = table.suppressing() if stars else table
        tried = efforts(turn, prover == "cells" or stars)
        if suppressible:
            optimum = naive.optimum_with_drops(table, models)
            assert_proven(table, models, optimum, tried, suppressible=True)
        elif whole_holds(table, models):
            assert_proven(table, models, naive_optimal.optimum(table, models), tried)

    check()
