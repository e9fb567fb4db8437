"""Stars by a linear programme: the fast steps against the slow ones, a solver and the models."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive_optimal
import naive_stars as naive
from shoal.bounds import lower_bound
from shoal.datasets import census
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition
from shoal.engines.memory.partition import partition
from shoal.kernels.best.star_search import Asked, satisfy_cells, search_patterns
from shoal.kernels.random import random_state
from shoal.methods.best.star_programme import PACE, StarProgramme
from shoal.methods.best.stars import StarImprover
from shoal.models import FrequencyL
from shoal.plan import Plan
from shoal.policy import Policy
from tables import random_table

SEEDS = st.integers(0, 10**6)


def table_of(seed: int, most: int, values: int = 4, weights: bool = True) -> EncodedTable:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    return random_table(rng, n, values=values, stars=True, weights=weights)


def improver(table: EncodedTable, l: int) -> StarImprover:  # noqa: E741
    together = Partition.from_group_ids(np.zeros(table.n, dtype=np.int64))
    return StarImprover(table, Asked(1, 1, l), 0, together)


def cells_now(table: EncodedTable, patterns: NDArray[np.int64]) -> dict[naive.Cell, Counter[int]]:
    """How often each sensitive value occurs in each cell."""
    found: dict[naive.Cell, Counter[int]] = {}
    for record in range(table.n):
        codes, value = naive.kind_of(table, record)
        where = naive.cell(table, codes, int(patterns[record]))
        found.setdefault(where, Counter())[value] += 1
    return found


def holds(cell: Counter[int], l: int, k: int) -> bool:  # noqa: E741
    return max(cell.values()) * l <= sum(cell.values()) >= k


@given(SEEDS, st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_steps_are_those_of_the_slow_twin(seed: int, l: int) -> None:  # noqa: E741
    table = table_of(seed, 12)
    fast, slow = StarProgramme(table, Fraction(1, l)), naive.Walk(table, l, PACE)
    bound = 0.0
    for _ in range(12):
        bound = max(bound, slow.step())
        fast.solve(1)
        assert fast.bound == pytest.approx(bound, rel=1e-4, abs=1e-5)
    for number, first in enumerate(fast.kinds.order[fast.kinds.offsets[:-1]]):
        expected = slow.part[naive.kind_of(table, int(first))]
        assert fast.programme.part[number] == pytest.approx(expected, abs=1e-4)


@given(SEEDS, st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_the_bound_comes_near_to_the_solution_and_never_above(seed: int, l: int) -> None:  # noqa: E741
    table = table_of(seed, 14)
    least = naive.least(table, l)
    programme = StarProgramme(table, Fraction(1, l))
    programme.solve(4000)
    if least < np.inf:  # else no release is l-diverse, and the bound may rise forever
        assert programme.bound <= least * (1 + 1e-9) + 1e-9
        assert programme.bound >= 0.97 * least - 1e-6


@given(SEEDS, st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_the_programme_bounds_every_release(seed: int, l: int) -> None:  # noqa: E741
    table = table_of(seed, 8, values=3)
    optimum = naive_optimal.optimum(table, [FrequencyL(l)])
    scale = table.n * float(table.costs.weight.sum())
    bound = lower_bound(table, [FrequencyL(l)], effort="normal")
    assert bound.loss * scale <= optimum


@given(SEEDS, st.integers(1, 300))
@settings(max_examples=60, deadline=None)
def test_whole_records_follow_the_parts(seed: int, steps: int) -> None:
    table = table_of(seed, 60)
    programme = StarProgramme(table, Fraction(1, 2))
    programme.solve(steps)
    patterns = programme.patterns()
    for number, (begin, end) in enumerate(
        zip(programme.kinds.offsets, programme.kinds.offsets[1:], strict=False)
    ):
        counted = Counter(patterns[programme.kinds.order[begin:end]].tolist())
        for pattern, part in enumerate(programme.programme.part[number]):
            assert counted[pattern] >= int(part * (end - begin))
            assert part > 0 or not counted[pattern]


@given(SEEDS, st.integers(2, 4), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_satisfying_leaves_no_cell_that_fails(seed: int, l: int, k: int) -> None:  # noqa: E741
    rng = np.random.default_rng(seed)
    table = table_of(seed, 60, values=6)
    search = improver(table, l)
    asked = Asked(k, 1, l)
    search._begin(rng.integers(0, 2 ** len(table.qi), table.n))
    satisfied = satisfy_cells(
        search.cells, asked, random_state(seed), search.trail, search.by_price, search.pattern,
        rng.permutation(table.n),
    )  # fmt: skip
    now = search.cells.now
    assert satisfied == all(holds(cell, l, k) for cell in cells_now(table, now).values())
    for c in range(len(search.cells.size)):
        members = [r for r in range(table.n) if search.cells.cell[now[r], r] == c]
        assert search.cells.size[c] == len(members)


@given(SEEDS, st.integers(1, 3), st.integers(1, 4), st.floats(0.0, 1.0))
@settings(max_examples=60, deadline=None)
def test_a_search_counts_right_and_breaks_no_cell(
    seed: int,
    l: int,  # noqa: E741
    k: int,
    heat: float,
) -> None:
    table = table_of(seed, 60, values=6)
    asked = Asked(k, 1, l)
    most = max(Counter(table.sensitive_codes[0].tolist()).values())
    assume(table.n >= k and most * l <= table.n)  # else not even all records together hold
    search = improver(table, l)
    before = search.total
    gained = search_patterns(
        search.cells, asked, search.trail, random_state(seed), np.arange(table.n), 400, heat
    )
    now = search.cells.now
    found = cells_now(table, now)
    assert all(holds(cell, l, k) for cell in found.values())
    price = sum(naive.price(table, int(pattern)) for pattern in now)
    assert before - gained == pytest.approx(price, abs=1e-6)


def test_best_is_near_the_bound_and_below_tp_plus() -> None:
    policy = Policy.parse(
        qi=["age", "gender", "education", "marital"], sensitive="occupation", l=4,
        kind=dict.fromkeys(["gender", "marital"], "ordinal"), recoding="suppress",
    )  # fmt: skip
    table = encode(census(5000), policy).suppressing()
    plus = partition(table, Plan.of(policy.override(method="tp+"))).recoding.partitions[0]
    search = StarImprover(table, Asked(1, 1, 4), 0, plus)
    begun = search.total
    search.improve(20_000, 4, lambda done, loss: None)
    assert search.programme is not None
    assert search.programme.bound <= search.total < 0.8 * begun
    assert search.total < 1.2 * search.programme.bound
