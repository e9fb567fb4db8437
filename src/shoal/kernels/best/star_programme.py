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


class Programme(NamedTuple):
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
def divide_kinds(programme, begin, end, thread):
    """Let kinds begin..end move to where they pay less; gives the bound by the dues as they are."""
    load = programme.load[thread]
    goal = programme.goal[thread]
    for j in range(len(load)):
        load[j] = 0.0
    bound = 0.0
    for r in range(begin, end):
        least = programme.ceiling
        for p in range(len(goal)):
            pays = programme.price[p] + programme.toll[programme.pair[r, p]]
            least = min(least, pays)
            goal[p] = programme.part[r, p] - programme.pace * pays
        bound += programme.records[r] * least
        _project(goal)
        for p in range(len(goal)):
            ahead = 2.0 * goal[p] - programme.part[r, p]
            programme.part[r, p] = goal[p]
            if ahead != 0.0:
                load[programme.pair[r, p]] += programme.records[r] * ahead
    return bound


@kernel(**BORROWED)
def raise_dues(programme, begin, end):
    """Let cells begin..end raise the dues of values that are too frequent, and lower others."""
    for c in range(begin, end):
        size = 0.0
        for j in range(programme.start[c], programme.start[c + 1]):
            for thread in range(1, len(programme.load)):
                programme.load[0, j] += programme.load[thread, j]
            size += programme.load[0, j]
        paid = 0.0
        for j in range(programme.start[c], programme.start[c + 1]):
            above = programme.share * programme.load[0, j] - size
            programme.due[j] = max(0.0, programme.due[j] + programme.stride[j] * above)
            paid += programme.due[j]
        for j in range(programme.start[c], programme.start[c + 1]):
            programme.toll[j] = programme.share * programme.due[j] - paid


@kernel(**BORROWED)
def round_parts(programme, start, member, patterns):
    """Whole records: ``patterns`` of the records of kind r, ``member[start[r]:start[r + 1]]``.

    Every pattern gets its part rounded down. Each record left goes where most is owed: what
    one kind loses by rounding the next one of the same cell and value makes up for.
    """
    owed = programme.load[0]
    for j in range(len(owed)):
        owed[j] = 0.0
    for r in range(len(programme.records)):
        i = start[r]
        for p in range(len(programme.price)):
            wished = programme.part[r, p] * programme.records[r]
            whole = min(np.int64(wished + 1e-6), start[r + 1] - i)
            owed[programme.pair[r, p]] += wished - whole
            for _ in range(whole):
                patterns[member[i]] = p
                i += 1
        while i < start[r + 1]:
            top = -1
            for p in range(len(programme.price)):
                wanted = programme.part[r, p] > 0.0
                if wanted and (
                    top < 0 or owed[programme.pair[r, p]] > owed[programme.pair[r, top]]
                ):
                    top = p
            owed[programme.pair[r, top]] -= 1.0
            patterns[member[i]] = top
            i += 1
