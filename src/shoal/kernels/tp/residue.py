"""TP's three phases on group histograms (paper 000, sections 5.2 to 5.5).

A pile is a set of tuples seen as its histogram: the sensitive values of one
QI-group, or, as the last pile, of the residue set R. The bars of a pile (one a
value) are kept in order of height, so that its pillars, the highest ones, come
first, and a tuple moves from a group to R in constant time. This is the
inverted list A_i of section 5.5, laid out in flat arrays.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.grouping import sort_by_id
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel


class Piles(NamedTuple):
    """Histograms of s QI-groups and of R, which is pile s.

    The bars of pile g are ``start[g]:start[g+1]``. R has a bar for each value,
    ``start[s] + v``; a group has one for each value that occurs in it.
    """

    start: np.ndarray  # int64 (s+2,)
    value: np.ndarray  # int32 (bars,): sensitive value of a bar
    owner: np.ndarray  # int32 (bars,): pile of a bar
    height: np.ndarray  # int32 (bars,): h(Q, v), tuples of the pile with that value
    size: np.ndarray  # int64 (s+1,): |Q|
    top: np.ndarray  # int64 (s+1,): h(Q), the height of the pillars


class Ranks(NamedTuple):
    """The bars of each pile from the highest to the lowest."""

    bar: np.ndarray  # int32 (bars,): bars of pile g in order at start[g]:start[g+1]
    place: np.ndarray  # int32 (bars,): where `bar` has it
    level: np.ndarray  # int64 (s+1,): where the levels of a pile begin in `above`
    above: np.ndarray  # int32: above[level[g] + j] bars of pile g are higher than j


class Candidates(NamedTuple):
    """Phase two's candidate list C: which groups may still give a value to R.

    All entries (i, v) of one value v share h(R, v), so C is one list a value; the
    values themselves are in order of h(R, v) as the bars of R are ranked.
    """

    bars: np.ndarray  # int64: bars of the groups by value
    head: np.ndarray  # int64 (m,): the first bar of a value not known to be useless
    tail: np.ndarray  # int64 (m,): end of the bars of a value
    dead: np.ndarray  # bool (s,): groups known to be dead
    values: np.ndarray  # int64 (1,): so many values in R's ranks are not known to be dead


class Cover(NamedTuple):
    """Scratch of phase three's set cover; a pillar of R goes by its rank, 0 to l - 2."""

    chosen: np.ndarray  # int64 (m,): groups picked
    missing: np.ndarray  # int64 (s,): |C(Q) & P|, what a group leaves uncovered
    first: np.ndarray  # int64 (m+2,): CSR: groups in conflict with a pillar
    groups: np.ndarray  # int64 (bars,)
    mark: np.ndarray  # int64 (m,): last pick whose C(Q), like all before, has the pillar


def sorted_records(ids, groups, codes, values):
    """Records by group, then by sensitive value: two counting sorts."""
    by_value = np.empty(len(ids), dtype=np.int64)
    sort_by_id(codes, np.empty(values + 1, dtype=np.int64), by_value)
    order = np.empty(len(ids), dtype=np.int64)
    sort_by_id(ids[by_value], np.empty(groups + 1, dtype=np.int64), order)
    return by_value[order]


def piles_of(ids, groups, codes, values, order):
    """`Piles` with an empty R, and where the records of each bar begin in `order`."""
    first = np.empty(len(ids) + 1, dtype=np.int64)
    bars = _bars(ids, codes, order, first)
    owner = np.full(bars + values, groups, dtype=np.int32)
    value = np.empty(bars + values, dtype=np.int32)
    owner[:bars], value[:bars] = ids[order[first[:bars]]], codes[order[first[:bars]]]
    value[bars:] = np.arange(values)
    height = np.zeros(bars + values, dtype=np.int32)
    height[:bars] = np.diff(first[: bars + 1])
    start = np.zeros(groups + 2, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=groups + 1), out=start[1:])
    none = np.zeros(groups + 1, dtype=np.int64)
    return Piles(start, value, owner, height, none, none.copy()), first[: bars + 1]


@kernel(**BORROWED)
def _bars(ids, codes, order, first):
    """Where a run of equal group and value begins in `order`; returns how many there are."""
    count = 0
    for i in range(len(order)):
        row, before = order[i], order[max(i, 1) - 1]
        if i == 0 or ids[row] != ids[before] or codes[row] != codes[before]:
            first[count] = i
            count += 1
    first[count] = len(order)
    return count


@kernel(**BORROWED)
def shave(piles, l, count):
    """Phase one: pillars are cut down until every group is l-eligible; their tops go to R.

    The end does not depend on the order of the cuts: every value is cut to the
    largest height at which the group is eligible. `count` is zeros, one for
    each height a bar can have, and is left so.
    """
    s = len(piles.size) - 1
    base = piles.start[s]
    for g in range(s):
        bars = range(piles.start[g], piles.start[g + 1])
        size = np.int64(0)
        top = np.int64(0)
        for b in bars:
            size += piles.height[b]
            top = max(top, piles.height[b])
        if size < l * top:
            for b in bars:
                count[piles.height[b]] += 1
            cut = np.int64(0)
            while size < l * top:
                cut += count[top]  # so many bars are higher than top - 1
                size -= cut
                top -= 1
            for b in bars:
                count[piles.height[b]] = 0
                over = piles.height[b] - top
                if over > 0:
                    piles.height[b] -= over
                    piles.height[base + piles.value[b]] += over
        piles.size[g] = size
        piles.top[g] = top
    for b in range(base, piles.start[s + 1]):
        piles.size[s] += piles.height[b]
        piles.top[s] = max(piles.top[s], piles.height[b])


def ranks_of(piles, highest):
    """`Ranks` of all piles; no bar of R can become higher than `highest`."""
    levels = piles.top + 1
    levels[-1] = highest + 1
    ends = np.cumsum(levels)
    bar = np.empty(len(piles.value), dtype=np.int32)
    above = np.zeros(ends[-1], dtype=np.int32)
    ranks = Ranks(bar, np.empty_like(bar), ends - levels, above)
    _rank(piles, ranks)
    return ranks


@kernel(**BORROWED)
def _rank(piles, ranks):
    """Counting sort of the bars of every pile by height; of equals the earlier first."""
    for g in range(len(piles.size)):
        level = ranks.level[g]
        begin, end = piles.start[g], piles.start[g + 1]
        for b in range(begin, end):
            ranks.above[level + piles.height[b]] += 1
        for j in range(piles.top[g] - 1, -1, -1):
            ranks.above[level + j] += ranks.above[level + j + 1]
        for b in range(end - 1, begin - 1, -1):
            ranks.above[level + piles.height[b]] -= 1
            place = begin + ranks.above[level + piles.height[b]]
            ranks.bar[place] = b
            ranks.place[b] = place


def candidates_of(piles):
    """`Candidates` before anything is known to be dead."""
    s = len(piles.size) - 1
    values = int(piles.start[s + 1] - piles.start[s])
    bars = np.empty(piles.start[s], dtype=np.int64)
    offsets = np.empty(values + 1, dtype=np.int64)
    sort_by_id(piles.value[: piles.start[s]], offsets, bars)
    left = np.array([values], dtype=np.int64)
    return Candidates(bars, offsets[:-1].copy(), offsets[1:], np.zeros(s, dtype=np.bool_), left)


@inner_borrowed
def _put(ranks, bar, place):
    """Exchange the bar with the one that stands at this place."""
    other, here = ranks.bar[place], ranks.place[bar]
    ranks.bar[place], ranks.bar[here] = bar, other
    ranks.place[bar], ranks.place[other] = place, here


@inner_borrowed
def _move(piles, ranks, bar):
    """Move one tuple of the bar to R."""
    g = piles.owner[bar]
    height, level = piles.height[bar], ranks.level[g]
    ranks.above[level + height - 1] -= 1
    _put(ranks, bar, piles.start[g] + ranks.above[level + height - 1])
    piles.height[bar] -= 1
    piles.size[g] -= 1
    if ranks.above[level + piles.top[g] - 1] == 0:
        piles.top[g] -= 1

    s = len(piles.size) - 1
    bar = piles.start[s] + piles.value[bar]
    height, level = piles.height[bar], ranks.level[s]
    _put(ranks, bar, piles.start[s] + ranks.above[level + height])
    ranks.above[level + height] += 1
    piles.height[bar] += 1
    piles.size[s] += 1
    piles.top[s] = max(piles.top[s], piles.height[bar])


@inner_borrowed
def _eligible(piles, l):
    """Whether R is l-eligible: inequality (1)."""
    s = len(piles.size) - 1
    return piles.size[s] >= l * piles.top[s]


@inner_borrowed
def _pillars(piles, ranks, g):
    """How many pillars a pile that is not empty has: the first of its ranks."""
    return ranks.above[ranks.level[g] + piles.top[g] - 1]


@inner_borrowed
def _tops_residue(piles, bar):
    """Whether the value of the bar is a pillar of R."""
    s = len(piles.size) - 1
    return piles.height[piles.start[s] + piles.value[bar]] == piles.top[s]


@inner_borrowed
def _conflicting(piles, ranks, g):
    """Whether a pillar of the group is a pillar of R."""
    for i in range(piles.start[g], piles.start[g] + _pillars(piles, ranks, g)):
        if _tops_residue(piles, ranks.bar[i]):
            return True
    return False


@inner_borrowed
def _drop_pillars(piles, ranks, g):
    """Move one tuple of each pillar of the group to R."""
    for i in range(piles.start[g] + _pillars(piles, ranks, g) - 1, piles.start[g] - 1, -1):
        _move(piles, ranks, ranks.bar[i])


@inner_borrowed
def _usable(piles, ranks, l, candidates, bar):
    """Whether the bar has a tuple left and its group is alive.

    A value that becomes a pillar of R can kill groups that were not touched: so
    a group is asked when its turn comes. In phase two the dead stay dead.
    """
    g = piles.owner[bar]
    if piles.height[bar] == 0 or candidates.dead[g]:
        return False
    thin = piles.size[g] == l * piles.top[g]
    candidates.dead[g] = thin and _conflicting(piles, ranks, g)
    return not candidates.dead[g]


@inner_borrowed
def _least_frequent(piles, ranks, l, candidates):
    """A bar of an alive group whose value is the least frequent one in R; -1 if none is left."""
    base = piles.start[len(piles.size) - 1]
    while candidates.values[0] > 0:
        value = ranks.bar[base + candidates.values[0] - 1] - base
        while candidates.head[value] < candidates.tail[value]:
            bar = candidates.bars[candidates.head[value]]
            if _usable(piles, ranks, l, candidates, bar):
                return bar
            candidates.head[value] += 1
        candidates.values[0] -= 1  # no alive group has it: it comes to R no more, and stays last
    return -1


@kernel(**BORROWED)
def ease(piles, ranks, l, candidates, iterations):
    """Phase two: at most so many iterations; returns how many were made.

    It stops early when R is l-eligible or nothing is alive.
    """
    for i in range(iterations):
        if _eligible(piles, l):
            return i
        bar = _least_frequent(piles, ranks, l, candidates)
        if bar < 0:
            return i
        g = piles.owner[bar]
        if piles.size[g] > l * piles.top[g]:
            _move(piles, ranks, bar)
        else:
            _drop_pillars(piles, ranks, g)
    return iterations


def new_cover(piles):
    """Scratch for `overhaul`."""
    s = len(piles.size) - 1
    bars, values = int(piles.start[s]), int(piles.start[s + 1] - piles.start[s])
    lengths = (values, s, values + 2, bars, values)
    return Cover(*(np.zeros(length, dtype=np.int64) for length in lengths))


@inner_borrowed
def _conflicts(piles, ranks, cover):
    """Fill the CSR from each pillar of R to the groups in conflict with it."""
    s = len(piles.size) - 1
    base, pillars = piles.start[s], _pillars(piles, ranks, s)
    cover.first[: pillars + 2] = 0
    for fill in range(2):  # count, then place
        for g in range(s):
            if piles.size[g] == 0:
                continue
            cover.missing[g] = 0
            for i in range(piles.start[g], piles.start[g] + _pillars(piles, ranks, g)):
                if not _tops_residue(piles, ranks.bar[i]):
                    continue
                cover.missing[g] += 1
                pillar = ranks.place[base + piles.value[ranks.bar[i]]] - base
                if fill:
                    cover.groups[cover.first[pillar + 1]] = g
                    cover.first[pillar + 1] += 1
                else:
                    cover.first[pillar + 2] += 1
        if not fill:
            for pillar in range(1, pillars + 2):
                cover.first[pillar] += cover.first[pillar - 1]


@kernel(**BORROWED)
def choose_cover(piles, ranks, cover):
    """Phase three, step one: greedily pick groups so that each pillar of R lacks in one.

    Returns how many; `cover.chosen` has them. Empty groups are left out: nothing
    can be taken from them. What a group leaves uncovered only shrinks, so the
    best one is known at every time, and all picks together take O(s * l).
    """
    s = len(piles.size) - 1
    base, pillars = piles.start[s], _pillars(piles, ranks, s)
    _conflicts(piles, ranks, cover)
    best = -1
    for g in range(s):
        if piles.size[g] > 0 and (best < 0 or cover.missing[g] < cover.missing[best]):
            best = g
    cover.mark[:pillars] = -1
    left, picks = pillars, 0
    while left > 0:
        cover.chosen[picks] = best
        for i in range(piles.start[best], piles.start[best] + _pillars(piles, ranks, best)):
            if _tops_residue(piles, ranks.bar[i]):
                pillar = ranks.place[base + piles.value[ranks.bar[i]]] - base
                if cover.mark[pillar] == picks - 1:
                    cover.mark[pillar] = picks
        for pillar in range(pillars):
            if cover.mark[pillar] != picks - 1:
                continue  # in C(Q) as well, or covered before
            left -= 1
            for i in range(cover.first[pillar], cover.first[pillar + 1]):
                other = cover.groups[i]
                cover.missing[other] -= 1
                if cover.missing[other] < cover.missing[best]:
                    best = other
        picks += 1
    return picks


@inner_borrowed
def _quieten(piles, ranks, l, g):
    """Phase three, step two: take tuples from an alive group until it is dead again.

    Meanwhile h(R) stays, so a pillar of R remains one. What stands before `i` in
    the ranks are pillars of R; of the l or more values of a fat group at least
    one is not.
    """
    i = piles.start[g]
    while piles.size[g] > 0 and not _eligible(piles, l):
        if piles.size[g] > l * piles.top[g]:
            while _tops_residue(piles, ranks.bar[i]):
                i += 1
            _move(piles, ranks, ranks.bar[i])
        elif _conflicting(piles, ranks, g):
            return
        else:
            _drop_pillars(piles, ranks, g)


@kernel(**BORROWED)
def overhaul(piles, ranks, l, cover, rounds):
    """Phase three: at most so many rounds; returns how many were begun.

    It ends when R is l-eligible, after h(R) rounds at most (Lemma 9), if the
    table as a whole is l-eligible.
    """
    for done in range(rounds):
        if _eligible(piles, l):
            return done
        for i in range(choose_cover(piles, ranks, cover)):
            if not _eligible(piles, l):
                _drop_pillars(piles, ranks, cover.chosen[i])
        for g in range(len(piles.size) - 1):
            _quieten(piles, ranks, l, g)
    return rounds


@kernel(**BORROWED)
def divide(piles, first, order, kept, offsets, removed):
    """Records of what is left of each group, and of R, after the phases.

    Of the records of a bar the first stay: they differ in nothing a group shows.
    Returns how many groups are left and how many records they have.
    """
    groups = 0
    staying = 0
    leaving = 0
    offsets[0] = 0
    for g in range(len(piles.size) - 1):
        for b in range(piles.start[g], piles.start[g + 1]):
            stay = first[b] + piles.height[b]
            for i in range(first[b], stay):
                kept[staying] = order[i]
                staying += 1
            for i in range(stay, first[b + 1]):
                removed[leaving] = order[i]
                leaving += 1
        if piles.size[g] > 0:
            groups += 1
            offsets[groups] = staying
    return groups, staying
