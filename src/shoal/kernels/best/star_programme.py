"""How many records of each kind keep which attributes: a linear programme, solved step by step.

Records that are equal in all attributes and the sensitive value are one kind. A kind
divides its records among the patterns, the attributes to keep; a pattern and the values
that it keeps make a cell. In every cell no value may be more than its share: that is
linear in the numbers. So is the price. Prices and dues are moved against each other (the
primal-dual hybrid gradient of Chambolle and Pock, with their diagonal steps): a cell
raises the due of a value that is too frequent, and pays its other values for coming.
Whatever the dues are, what each kind pays at its cheapest pattern adds up to a lower
bound on the price of any release.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import BORROWED, inner_borrowed, kernel


class Flow(NamedTuple):
    """A programme and where its solution is at; a pair is a cell and a value that occurs in it."""

    pair: np.ndarray  # int32 (kinds, patterns)
    records: np.ndarray  # float64 (kinds,)
    price: np.ndarray  # float64 (patterns,)
    start: np.ndarray  # int64 (cells + 1,): pairs of each cell
    ceiling: float  # what a record pays at most: where it can be dropped, for the bound only
    share: float  # whole over part: of so many records at most one may have a value
    pace: float  # how far shares move for a difference in price
    stride: np.ndarray  # float64 (pairs,): how far a due moves for a record too many
    part: np.ndarray  # float32 (kinds, patterns): how each kind is divided
    due: np.ndarray  # float64 (pairs,): at least 0
    toll: np.ndarray  # float64 (pairs,): what a record pays there, besides the price
    load: np.ndarray  # float64 (threads, pairs): records at each pair, extrapolated
    goal: np.ndarray  # float64 (threads, patterns): scratch


@inner_borrowed
def _project(goal):
    """The nearest point at which nothing is negative and all adds up to 1, in place."""
    top = 0
    second = -np.inf
    for p in range(1, len(goal)):
        if goal[p] > goal[top]:
            second = max(second, goal[top])
            top = p
        else:
            second = max(second, goal[p])
    if goal[top] - second >= 1.0:  # most kinds keep all attributes, and go on doing so
        for p in range(len(goal)):
            goal[p] = 0.0
        goal[top] = 1.0
        return
    level = -np.inf
    counted = len(goal) + 1
    for _ in range(len(goal)):
        total = 0.0
        above = 0
        for p in range(len(goal)):
            if goal[p] > level:
                total += goal[p]
                above += 1
        if above >= counted:
            break
        level = (total - 1.0) / above
        counted = above
    for p in range(len(goal)):
        goal[p] = max(0.0, goal[p] - level)


@kernel(**BORROWED)
def divide_kinds(flow, begin, end, thread):
    """Let kinds begin..end move to where they pay less; gives the bound by the dues as they are."""
    load = flow.load[thread]
    goal = flow.goal[thread]
    for j in range(len(load)):
        load[j] = 0.0
    bound = 0.0
    for r in range(begin, end):
        least = flow.ceiling
        for p in range(len(goal)):
            pays = flow.price[p] + flow.toll[flow.pair[r, p]]
            least = min(least, pays)
            goal[p] = flow.part[r, p] - flow.pace * pays
        bound += flow.records[r] * least
        _project(goal)
        for p in range(len(goal)):
            ahead = 2.0 * goal[p] - flow.part[r, p]
            flow.part[r, p] = goal[p]
            if ahead != 0.0:
                load[flow.pair[r, p]] += flow.records[r] * ahead
    return bound


@kernel(**BORROWED)
def raise_dues(flow, begin, end):
    """Let cells begin..end raise the dues of values that are too frequent, and lower others."""
    for c in range(begin, end):
        size = 0.0
        for j in range(flow.start[c], flow.start[c + 1]):
            for thread in range(1, len(flow.load)):
                flow.load[0, j] += flow.load[thread, j]
            size += flow.load[0, j]
        paid = 0.0
        for j in range(flow.start[c], flow.start[c + 1]):
            above = flow.share * flow.load[0, j] - size
            flow.due[j] = max(0.0, flow.due[j] + flow.stride[j] * above)
            paid += flow.due[j]
        for j in range(flow.start[c], flow.start[c + 1]):
            flow.toll[j] = flow.share * flow.due[j] - paid


@kernel(**BORROWED)
def round_parts(flow, start, member, patterns):
    """Whole records: ``patterns`` of the records of kind r, ``member[start[r]:start[r + 1]]``.

    Every pattern gets its part rounded down. Each record left goes where most is owed: what
    one kind loses by rounding the next one of the same cell and value makes up for.
    """
    owed = flow.load[0]
    for j in range(len(owed)):
        owed[j] = 0.0
    for r in range(len(flow.records)):
        i = start[r]
        for p in range(len(flow.price)):
            wished = flow.part[r, p] * flow.records[r]
            whole = min(np.int64(wished + 1e-6), start[r + 1] - i)
            owed[flow.pair[r, p]] += wished - whole
            for _ in range(whole):
                patterns[member[i]] = p
                i += 1
        while i < start[r + 1]:
            top = -1
            for p in range(len(flow.price)):
                wanted = flow.part[r, p] > 0.0
                if wanted and (top < 0 or owed[flow.pair[r, p]] > owed[flow.pair[r, top]]):
                    top = p
            owed[flow.pair[r, top]] -= 1.0
            patterns[member[i]] = top
            i += 1
