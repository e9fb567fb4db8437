"""Merge neighbouring groups of a line until every group satisfies the rules.

A second dynamic programme, over groups instead of records: the cheapest way to
merge them into runs that all pass. From each group it walks back until the run
passes and a little further; what a walk costs is bounded by a budget.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, group_extent, group_loss
from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add_range, reset
from shoal.kernels.jit import inner_kernel, kernel

CHOICES = 16
"""Beginnings tried for the run that ends with a group: 3 lose up to 10 percent more."""

PATIENCE = 32
"""A failing run is asked again after it has grown by one part in this many."""


class Groups(NamedTuple):
    """A partition along a line and the range of every attribute's codes in each group."""

    order: np.ndarray  # int64 (n,)
    offsets: np.ndarray  # int64 (G+1,)
    low: np.ndarray  # int32 (d, G)
    high: np.ndarray  # int32 (d, G)


class Run(NamedTuple):
    """The run of groups a walk has come across so far."""

    low: np.ndarray  # int32 (d,)
    high: np.ndarray  # int32 (d,)
    distinct: np.ndarray  # int64 (d,): SET only
    seen: np.ndarray  # int64 (sum of sizes,): walk that last met the value
    walk: np.ndarray  # int64 (1,)


def describe(matrix, order, offsets):
    """`Groups` of a partition."""
    low = np.zeros((len(matrix), len(offsets) - 1), dtype=np.int32)
    high = np.zeros_like(low)
    _extents(matrix, order, offsets, low, high)
    return Groups(order, offsets, low, high)


def new_run(costs):
    """A run that no group belongs to yet."""
    d = len(costs.size)
    return Run(
        low=np.zeros(d, dtype=np.int32),
        high=np.zeros(d, dtype=np.int32),
        distinct=np.zeros(d, dtype=np.int64),
        seen=np.zeros(int(costs.size.sum()), dtype=np.int64),
        walk=np.zeros(1, dtype=np.int64),
    )


@kernel
def _extents(matrix, order, offsets, low, high):
    for a in range(len(matrix)):
        codes = matrix[a]
        for g in range(len(offsets) - 1):
            low[a, g], high[a, g] = group_extent(codes, order, offsets[g], offsets[g + 1])


@inner_kernel
def _begin_walk(run, groups, g):
    run.walk[0] += 1
    for a in range(len(run.low)):
        run.low[a] = groups.low[a, g]
        run.high[a] = groups.high[a, g]
        run.distinct[a] = 0


@inner_kernel
def _step_back(check, costs, matrix, groups, run, g):
    """Take group g, the one before the run, into it."""
    begin, end = groups.offsets[g], groups.offsets[g + 1]
    add_range(check.tally, check.records, groups.order, begin, end)
    for a in range(len(run.low)):
        run.low[a] = min(run.low[a], groups.low[a, g])
        run.high[a] = max(run.high[a], groups.high[a, g])
        if costs.form[a] != SET:
            continue
        for i in range(begin, end):
            value = costs.start[a] + matrix[a, groups.order[i]]
            if run.seen[value] != run.walk[0]:
                run.seen[value] = run.walk[0]
                run.distinct[a] += 1


@kernel
def cheapest_runs(check, costs, matrix, groups, run, budget, opt, first):
    """Cheapest merge of the first 0..G groups, and where the last run of each begins.

    A prefix that cannot be merged into passing runs is infinitely dear. Returns
    False if the budget, in records walked over, ran out before the end.
    """
    opt[0] = 0.0
    for g in range(len(groups.offsets) - 1):
        opt[g + 1] = np.inf
        reset(check.tally)
        _begin_walk(run, groups, g)
        tried = 0
        wait = 0  # a long run that fails is not asked again at every step
        j = g
        while j >= 0 and tried < CHOICES:
            _step_back(check, costs, matrix, groups, run, j)
            wait -= 1
            if opt[j] == np.inf or (wait > 0 and j > 0):
                pass
            elif not tally_holds(check):
                wait = (g - j) // PATIENCE
            else:
                tried += 1
                size = groups.offsets[g + 1] - groups.offsets[j]
                total = opt[j] + size * group_loss(costs, run)
                if total < opt[g + 1]:
                    opt[g + 1] = total
                    first[g + 1] = j
            budget -= groups.offsets[j + 1] - groups.offsets[j]
            j -= 1
        if budget < 0:
            return False
    return opt[len(groups.offsets) - 1] < np.inf


@kernel
def runs_from(first, offsets, cuts):
    """Offsets of the chosen runs from the back; returns how many."""
    count = 0
    g = len(offsets) - 1
    while g > 0:
        cuts[count] = offsets[g]
        count += 1
        g = first[g]
    return count
