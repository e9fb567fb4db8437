"""Merge neighbouring groups of a line until every group satisfies the rules.

A second dynamic programme, over groups instead of records: the cheapest way to
merge them into runs that all pass. From each group it walks back until the run
passes and a little further; what a walk costs is bounded by a budget.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, group_extent, group_loss
from shoal.kernels.group_check import members_hold, tally_holds
from shoal.kernels.histogram import add_range, reset
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

CHOICES = 16
"""Beginnings tried for the run that ends with a group: 3 lose up to 10 percent more."""

PATIENCE = 32
"""A failing run is asked again after it has grown by one part in this many."""


SLOPES = 10
"""Losses of a run for which the cheapest beginning is known: each half of the one before."""
ROUNDING = 1e-9
"""Losses that differ by so little may be equal."""
TOO_DEAR = -1


WORD = 64
"""Of an attribute with so many codes or fewer, those of a group are the bits of a number."""


class Groups(NamedTuple):
    """A partition along a line and the codes of every attribute in each group."""

    order: np.ndarray  # int64 (n,)
    offsets: np.ndarray  # int64 (G+1,)
    low: np.ndarray  # int32 (d, G)
    high: np.ndarray  # int32 (d, G)
    bits: np.ndarray  # int64 (d, G): codes that occur; SET of a WORD only


class Run(NamedTuple):
    """The run of groups a walk has come across so far."""

    low: np.ndarray  # int32 (d,)
    high: np.ndarray  # int32 (d,)
    distinct: np.ndarray  # int64 (d,): SET only
    bits: np.ndarray  # int64 (d,): codes that occur; SET of a WORD only
    seen: np.ndarray  # int64 (sum of sizes,): walk that last met the value
    walk: np.ndarray  # int64 (1,)


class Floor(NamedTuple):
    """How cheaply a run can begin: ``least[g, s] <= opt[j] - offsets[j] * slope[s]``, j < g.

    With it the cost of all longer runs has a bound: a run from j to a record at `end` that
    loses `slope` or more a record costs no less than ``opt[j] + (end - offsets[j]) * slope``.
    """

    slope: np.ndarray  # float64 (SLOPES,), falling, the last is 0
    least: np.ndarray  # float64 (G+2, SLOPES)


def describe(costs, matrix, order, offsets):
    """`Groups` of a partition."""
    low = np.zeros((len(matrix), len(offsets) - 1), dtype=np.int32)
    high = np.zeros_like(low)
    bits = np.zeros(low.shape, dtype=np.int64)
    _extents(costs, matrix, order, offsets, low, high, bits)
    return Groups(order, offsets, low, high, bits)


def new_run(costs):
    """A run that no group belongs to yet."""
    d = len(costs.size)
    return Run(
        low=np.zeros(d, dtype=np.int32),
        high=np.zeros(d, dtype=np.int32),
        distinct=np.zeros(d, dtype=np.int64),
        bits=np.zeros(d, dtype=np.int64),
        seen=np.zeros(int(costs.size.sum()), dtype=np.int64),
        walk=np.zeros(1, dtype=np.int64),
    )


@inner_borrowed
def _in_a_word(costs, a):
    return costs.form[a] == SET and costs.size[a] <= WORD


@kernel
def _extents(costs, matrix, order, offsets, low, high, bits):
    for a in range(len(matrix)):
        codes = matrix[a]
        for g in range(len(offsets) - 1):
            low[a, g], high[a, g] = group_extent(codes, order, offsets[g], offsets[g + 1])
            if _in_a_word(costs, a):
                for i in range(offsets[g], offsets[g + 1]):
                    bits[a, g] |= np.int64(1) << np.int64(codes[order[i]])


@inner_borrowed
def _begin_walk(run, groups, g):
    run.walk[0] += 1
    for a in range(len(run.low)):
        run.low[a] = groups.low[a, g]
        run.high[a] = groups.high[a, g]
        run.distinct[a] = 0
        run.bits[a] = 0


@inner_borrowed
def _step_back(check, costs, matrix, groups, run, g):
    """Take group g, the one before the run, into it, with the values of its records."""
    if not check.sizes_only:
        begin, end = groups.offsets[g], groups.offsets[g + 1]
        add_range(check.tally, check.records, groups.order, begin, end)
    _widen(costs, matrix, groups, run, g)


@inner_borrowed
def _widen(costs, matrix, groups, run, g):
    """The run covers group g, too."""
    begin, end = groups.offsets[g], groups.offsets[g + 1]
    for a in range(len(run.low)):
        run.low[a] = min(run.low[a], groups.low[a, g])
        run.high[a] = max(run.high[a], groups.high[a, g])
        if costs.form[a] != SET:
            continue
        if costs.size[a] <= WORD:
            new = groups.bits[a, g] & ~run.bits[a]
            run.bits[a] |= new
            while new != 0:
                new &= new - 1
                run.distinct[a] += 1
            continue
        for i in range(begin, end):
            value = costs.start[a] + matrix[a, groups.order[i]]
            if run.seen[value] != run.walk[0]:
                run.seen[value] = run.walk[0]
                run.distinct[a] += 1


@inner_borrowed
def _run_holds(check, size):
    """Whether the run satisfies the rules."""
    return size >= check.rules.smallest if check.sizes_only else tally_holds(check)


@kernel(**BORROWED)
def all_hold(check, order, offsets):
    """Whether every group satisfies the rules."""
    for g in range(len(offsets) - 1):
        if not members_hold(check, order[offsets[g] : offsets[g + 1]]):
            return False
    return True


@kernel(**BORROWED)
def fill_rest(costs, matrix, groups, run, rest):
    """``rest[g]``: what the groups from g on cost as they are; no merge of them costs less."""
    rest[-1] = 0.0
    for g in range(len(groups.offsets) - 2, -1, -1):
        _begin_walk(run, groups, g)
        _widen(costs, matrix, groups, run, g)
        size = groups.offsets[g + 1] - groups.offsets[g]
        rest[g] = rest[g + 1] + size * group_loss(costs, run)


def new_floor(costs, groups):
    """Of so many groups; nothing is known yet."""
    slope = float(costs.weight.sum()) * 0.5 ** np.arange(1, SLOPES + 1)
    slope[-1] = 0.0
    least = np.empty((groups + 2, SLOPES))
    least[0] = np.inf
    return Floor(slope, least)


@inner_borrowed
def _note_beginning(floor, offset, opt, g):
    """A run may begin with group g."""
    for s in range(SLOPES):
        floor.least[g + 1, s] = min(floor.least[g, s], opt - offset * floor.slope[s])


@inner_borrowed
def _least_from_before(floor, groups, g, end, loss):
    """No run costs less, with what is before it, that begins before group g and covers all
    from there to `end`, if it loses at least `loss` a record.
    """
    s = 0
    while floor.slope[s] > loss:
        s += 1
    at = groups.offsets[g]
    return floor.least[g, s] + at * floor.slope[s] + (groups.offsets[end] - at) * loss


@inner_borrowed
def _least_of_all(costs, groups, run, floor, opt, rest, begin, end):
    """No merge of all groups costs less, as far as is known after the first `end` groups.

    The last walk covered groups ``begin..end-1``. A merge has a run that covers the last of
    them, or ends with it: what is before that run costs its `opt`, what is behind at least
    `rest`, and a run that is longer than the walk loses no less a record than the walk.
    """
    least = _least_from_before(floor, groups, begin, end, group_loss(costs, run)) + rest[end]
    for g in range(begin, end + 1):
        least = min(least, opt[g] + rest[g])
    return least


@kernel(**BORROWED)
def cheapest_runs(check, costs, matrix, groups, run, budget, limit, rest, floor, prune, opt, first):
    """Cheapest merge of the first 0..G groups, and where the last run of each begins.

    A prefix that cannot be merged into passing runs is infinitely dear. A run that splits
    into two that pass is no cheaper than they are, as loss only grows with the run: a walk
    ends where the run before its shortest passing one begins, or, if asked to `prune`, where
    all longer runs cost more than the best one. Returns after how many groups the budget, in
    records walked over, ran out: all of them if it did not. TOO_DEAR, if all together would
    cost more than a finite `limit` (then `rest` is filled, and `prune` is set).
    """
    count = len(groups.offsets) - 1
    opt[0] = 0.0
    for g in range(count):
        if prune:
            _note_beginning(floor, groups.offsets[g], opt[g], g)
        opt[g + 1] = np.inf
        if not check.sizes_only:
            reset(check.tally)
        _begin_walk(run, groups, g)
        tried = 0
        wait = 0  # a long run that fails is not asked again at every step
        last = 0
        j = g
        while j >= last and tried < CHOICES:
            _step_back(check, costs, matrix, groups, run, j)
            size = groups.offsets[g + 1] - groups.offsets[j]
            budget -= groups.offsets[j + 1] - groups.offsets[j]
            wait -= 1
            j -= 1
            if opt[j + 1] == np.inf or (wait > 0 and j >= 0):
                continue
            if not _run_holds(check, size):
                wait = (g - j - 1) // PATIENCE
                continue
            if tried == 0:
                last = first[j + 1] if check.sizes_only else 0
            tried += 1
            loss = group_loss(costs, run)
            total = opt[j + 1] + size * loss
            if total < opt[g + 1]:
                opt[g + 1] = total
                first[g + 1] = j + 1
            if prune:
                dearer = _least_from_before(floor, groups, j + 1, g + 1, loss)
                if dearer > opt[g + 1] * (1 + ROUNDING):
                    break
        if budget < 0:
            return g + 1
        if limit < np.inf:
            least = _least_of_all(costs, groups, run, floor, opt, rest, j + 1, g + 1)
            if least > limit:
                return TOO_DEAR
    return count


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
