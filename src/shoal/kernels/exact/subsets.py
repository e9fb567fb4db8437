"""Groups of a small table, all of them: what the exact minimum is searched in.

Two searches share the loss of `shoal.kernels.costs`. `cheapest_partition` is a
dynamic program over all subsets of a few records, whatever the models say of
each. `search` walks depth-first over the groups of distinct records (each may
be taken as often as it has copies) and keeps those whose loss, less the prices
of their records, is below a threshold: with prices from a linear program that
is column generation, and with a threshold equal to the gap it is every group
that an optimal partition can use.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_loss
from shoal.kernels.jit import inner_kernel, kernel

FULL = -1
"""`search` found more groups than there was room for."""
WEARY = -2
"""`search` took more steps than it was allowed."""


@kernel
def subset_losses(costs, floor, codes, feasible, losses):
    """``losses[S]``: records times weighted NCP of each feasible subset S, given as bits.

    ``floor``, laid out as ``costs.position``, is the NCP of a code that is alone.
    """
    d, n = codes.shape
    rows = np.empty(n, dtype=np.int64)
    for subset in range(len(feasible)):
        if not feasible[subset]:
            continue
        size = 0
        for i in range(n):
            if subset >> i & 1:
                rows[size] = i
                size += 1
        total = 0.0
        for a in range(d):
            total += costs.weight[a] * _loss_of_rows(costs, floor, a, codes[a], rows, size)
        losses[subset] = size * total


@kernel
def pair_losses(costs, floor, codes, one, other, losses):
    """``losses[i, j]``: loss of the group of the records one[i] and other[j]."""
    for i in range(len(one)):
        for j in range(len(other)):
            total = 0.0
            for a in range(len(codes)):
                left = codes[a, one[i]]
                right = codes[a, other[j]]
                lo, hi = min(left, right), max(left, right)
                total += costs.weight[a] * _loss_of(costs, floor, a, lo, hi, 2)
            losses[i, j] = 2 * total


@inner_kernel
def _loss_of_rows(costs, floor, attribute, codes, rows, size):
    lo = codes[rows[0]]
    hi = lo
    distinct = 0
    for i in range(size):
        code = codes[rows[i]]
        lo = min(lo, code)
        hi = max(hi, code)
        if costs.form[attribute] == SET:
            new = True
            for j in range(i):
                new = new and codes[rows[j]] != code
            distinct += new
    return _loss_of(costs, floor, attribute, lo, hi, distinct)


@inner_kernel
def _loss_of(costs, floor, attribute, lo, hi, distinct):
    """NCP of a group with these smallest, largest and (SET only) distinct codes."""
    if lo == hi:
        return floor[costs.start[attribute] + lo]
    if costs.form[attribute] == SET:
        return distinct / costs.size[attribute]
    return range_loss(costs, attribute, lo, hi)


@kernel
def cheapest_partition(feasible, losses, begin, end, best, choice):
    """Cheapest partition of each subset begin..end-1 into feasible groups; inf if there is none.

    ``best[S]`` is the loss of subset S, ``choice[S]`` the group of its lowest
    record. Every partition has exactly one group with that record, so trying
    those groups tries everything. ``best[0]`` must be 0.
    """
    for subset in range(begin, end):
        low = subset & -subset
        rest = subset ^ low
        least = np.inf
        chosen = 0
        others = rest
        while True:
            group = low | others
            if feasible[group]:
                loss = losses[group] + best[rest ^ others]
                if loss < least:
                    least = loss
                    chosen = group
            if others == 0:
                break
            others = (others - 1) & rest
        best[subset] = least
        choice[subset] = chosen


class Kinds(NamedTuple):
    """Distinct records, dearest first: prices do not ascend."""

    codes: np.ndarray  # int32 (d, T)
    floor: np.ndarray  # float64 (sum of sizes,): NCP of a code that is alone
    value: np.ndarray  # int64 (T,): sensitive value, or all 0
    copies: np.ndarray  # int64 (T,): records of this kind
    price: np.ndarray  # float64 (T,)


class Sizes(NamedTuple):
    """Which groups count: smallest..largest records, of which a 1/l may share a value."""

    smallest: int
    largest: int
    l: int


class Search(NamedTuple):
    """The path of the walk: row g of each array is about the first g records of the group."""

    group: np.ndarray  # int64 (largest,): kinds in the group, ascending
    lo: np.ndarray  # int32 (largest + 1, d)
    hi: np.ndarray  # int32 (largest + 1, d)
    distinct: np.ndarray  # int64 (largest + 1, d): SET only
    rate: np.ndarray  # float64 (largest + 1,): weighted NCP
    paid: np.ndarray  # float64 (largest + 1,): sum of prices
    choices: np.ndarray  # int64 (largest + 1, T): kinds that may come next
    n_choices: np.ndarray  # int64 (largest + 1,)
    turn: np.ndarray  # int64 (largest + 1,): which of them is next
    used: np.ndarray  # int64 (T,): how often each kind is in the group
    held: np.ndarray  # int64 (values,): how often each sensitive value is


class Found(NamedTuple):
    """Groups that were kept, in the order they were met."""

    members: np.ndarray  # int64 (room, largest): kinds, ascending
    size: np.ndarray  # int64 (room,)
    loss: np.ndarray  # float64 (room,): records times weighted NCP
    count: np.ndarray  # int64 (1,)


def new_search(kinds, sizes):
    """Scratch of `search` for these kinds."""
    d, count = kinds.codes.shape
    rows = sizes.largest + 1
    return Search(
        group=np.zeros(sizes.largest, dtype=np.int64),
        lo=np.zeros((rows, d), dtype=np.int32),
        hi=np.zeros((rows, d), dtype=np.int32),
        distinct=np.zeros((rows, d), dtype=np.int64),
        rate=np.zeros(rows),
        paid=np.zeros(rows),
        choices=np.zeros((rows, count), dtype=np.int64),
        n_choices=np.zeros(rows, dtype=np.int64),
        turn=np.zeros(rows, dtype=np.int64),
        used=np.zeros(count, dtype=np.int64),
        held=np.zeros(int(kinds.value.max(initial=0)) + 1, dtype=np.int64),
    )


def new_found(room, largest):
    """Room for so many groups."""
    return Found(
        members=np.zeros((room, largest), dtype=np.int64),
        size=np.zeros(room, dtype=np.int64),
        loss=np.zeros(room),
        count=np.zeros(1, dtype=np.int64),
    )


@kernel
def search(costs, kinds, sizes, walk, root, threshold, best_only, steps, found):
    """Groups whose first kind is `root` and whose reduced loss is at most `threshold`.

    With `best_only` each group found must be better than the one before, which
    ends at the best of all. Returns the lowest reduced loss met (or the
    threshold) and the steps left of those allowed, FULL or WEARY.
    """
    walk.used[:] = 0
    walk.held[:] = 0
    walk.rate[0] = 0.0
    walk.paid[0] = 0.0
    walk.choices[0, 0] = root
    walk.n_choices[0] = 1
    walk.turn[0] = 0
    least = threshold
    g = 0
    while g >= 0:
        if walk.turn[g] == walk.n_choices[g]:
            g -= 1
            if g >= 0:
                walk.used[walk.group[g]] -= 1
                walk.held[kinds.value[walk.group[g]]] -= 1
            continue
        kind = walk.choices[g, walk.turn[g]]
        walk.turn[g] += 1
        _take(costs, kinds, walk, g, kind)
        g += 1
        reduced = g * walk.rate[g] - walk.paid[g]
        if reduced <= least and g >= sizes.smallest and _diverse(kinds, sizes, walk, g):
            if found.count[0] == len(found.size):
                return least, FULL
            _keep(walk, g, found)
            if best_only:
                least = reduced - 1e-9
        walk.n_choices[g] = 0
        walk.turn[g] = 0
        if g < sizes.largest:
            steps -= _choose(costs, kinds, sizes, walk, g, root, least)
            if steps < 0:
                return least, WEARY
    return least, steps


@inner_kernel
def _take(costs, kinds, walk, g, kind):
    """Put a kind into the group as its record g."""
    walk.rate[g + 1] = _rate_with(costs, kinds, walk, g, kind)
    walk.paid[g + 1] = walk.paid[g] + kinds.price[kind]
    for a in range(len(costs.form)):
        code = kinds.codes[a, kind]
        walk.distinct[g + 1, a] = walk.distinct[g, a] + _is_new(kinds, walk, g, a, code)
        walk.lo[g + 1, a] = min(code, walk.lo[g, a]) if g > 0 else code
        walk.hi[g + 1, a] = max(code, walk.hi[g, a]) if g > 0 else code
    walk.group[g] = kind
    walk.used[kind] += 1
    walk.held[kinds.value[kind]] += 1


@inner_kernel
def _rate_with(costs, kinds, walk, g, kind):
    """Weighted NCP of the first g records and one of this kind."""
    total = 0.0
    for a in range(len(costs.form)):
        code = kinds.codes[a, kind]
        lo = min(code, walk.lo[g, a]) if g > 0 else code
        hi = max(code, walk.hi[g, a]) if g > 0 else code
        distinct = 0
        if costs.form[a] == SET:
            distinct = walk.distinct[g, a] + _is_new(kinds, walk, g, a, code)
        total += costs.weight[a] * _loss_of(costs, kinds.floor, a, lo, hi, distinct)
    return total


@inner_kernel
def _is_new(kinds, walk, g, attribute, code):
    """1 if no record of the group has this code, else 0."""
    for i in range(g):
        if kinds.codes[attribute, walk.group[i]] == code:
            return 0
    return 1


@inner_kernel
def _diverse(kinds, sizes, walk, g):
    """Whether no sensitive value has more than a 1/l of the g records."""
    largest = 0
    for i in range(g):
        largest = max(largest, walk.held[kinds.value[walk.group[i]]])
    return sizes.l * largest <= g


@inner_kernel
def _keep(walk, g, found):
    at = found.count[0]
    found.members[at, :g] = walk.group[:g]
    found.size[at] = g
    found.loss[at] = g * walk.rate[g]
    found.count[0] += 1


@inner_kernel
def _choose(costs, kinds, sizes, walk, g, root, least):
    """List the kinds that can still lead to a group below the threshold; steps it took.

    NCP only grows with the group and no kind to come is dearer than the first
    choice, so a group of h records with this kind has a reduced loss of at
    least ``h * rate - paid - price - (h - g - 1) * dearest``: linear in h,
    smallest at one of the ends.
    """
    begin = walk.turn[g - 1] - 1 if g > 1 else root
    end = walk.n_choices[g - 1] if g > 1 else len(kinds.price)
    first = walk.choices[g - 1, begin] if g > 1 else root
    dearest = kinds.price[first]
    few = max(g + 1, sizes.smallest)
    count = 0
    for i in range(begin, end):
        kind = walk.choices[g - 1, i] if g > 1 else i
        full = walk.used[kind] == kinds.copies[kind]
        if full or sizes.l * (walk.held[kinds.value[kind]] + 1) > sizes.largest:
            continue
        rate = _rate_with(costs, kinds, walk, g, kind)
        fixed = walk.paid[g] + kinds.price[kind]
        small = few * rate - fixed - (few - g - 1) * dearest
        large = sizes.largest * rate - fixed - (sizes.largest - g - 1) * dearest
        if min(small, large) <= least:
            walk.choices[g, count] = kind
            count += 1
    walk.n_choices[g] = count
    return end - begin
