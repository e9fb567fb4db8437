"""Rows of two releases that can be the same record, and how many others could be it.

A cell is a range of ranks, or a set of bits: two cells can hide one value if
they meet. A column that a release does not publish is a cell that holds all.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel


class Cells(NamedTuple):
    """Cells by row and column: ranges in `low` and `high`, sets as rows of a table of bits."""

    low: np.ndarray
    high: np.ndarray
    sets: np.ndarray


class Side(NamedTuple):
    """One side of a join: its classes, their rows, and what can stand beside them."""

    cells: Cells
    offsets: np.ndarray
    """Rows of class c are ``offsets[c]:offsets[c+1]``."""
    rest: np.ndarray
    """What each row publishes besides the quasi-identifiers, as a number."""
    records: np.ndarray
    """The rows of the releases that a row stands for: one number a release."""
    near: np.ndarray
    near_offsets: np.ndarray
    """Classes that may contain what class c and one of the other side have in common."""
    match: np.ndarray
    match_offsets: np.ndarray
    """Rests of the other side that can go with rest r of this one."""


class Plan(NamedTuple):
    """Which classes of the right side to compare each class of the left one with.

    Class c has the entries ``offsets[c]:offsets[c+1]``, and entry e the classes
    ``classes[begin[e]:end[e]]``.
    """

    offsets: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    classes: np.ndarray


class Found(NamedTuple):
    """What is known so far."""

    exposed: np.ndarray
    """Rows of the releases that can be in a joined class of fewer than k records."""
    hidden: np.ndarray
    """Rows that can be in one of k and more."""
    narrowed: np.ndarray
    """Columns that say more in an exposed joined class than in one of its two classes."""
    smallest: np.ndarray
    """Records in the smallest joined class (one number)."""


class Marks(NamedTuple):
    """Notes that are void as soon as their stamp is an old one."""

    left: np.ndarray
    right: np.ndarray
    seen: np.ndarray
    totals: np.ndarray
    """Records counted in each release, those of the left side first."""


@inner_kernel
def _meet(a, i, b, j, bits):
    for s in range(a.low.shape[1]):
        if a.low[i, s] > b.high[j, s] or b.low[j, s] > a.high[i, s]:
            return False
    for s in range(a.sets.shape[1]):
        common = np.uint64(0)
        for w in range(bits.shape[1]):
            common |= bits[a.sets[i, s], w] & bits[b.sets[j, s], w]
        if common == 0:
            return False
    return True


@inner_kernel
def _covers(d, x, a, i, columns, bits):
    """Whether row x of `d` contains row i of `a` in the columns that are marked."""
    spans = a.low.shape[1]
    for s in range(spans):
        if columns[s] and (d.low[x, s] > a.low[i, s] or d.high[x, s] < a.high[i, s]):
            return False
    for s in range(a.sets.shape[1]):
        if columns[spans + s]:
            for w in range(bits.shape[1]):
                if bits[a.sets[i, s], w] & ~bits[d.sets[x, s], w]:
                    return False
    return True


@inner_kernel
def _covers_both(d, x, a, i, b, j, bits):
    """Whether row x of `d` contains what rows i of `a` and j of `b` have in common."""
    for s in range(a.low.shape[1]):
        if max(a.low[i, s], b.low[j, s]) < d.low[x, s]:
            return False
        if min(a.high[i, s], b.high[j, s]) > d.high[x, s]:
            return False
    for s in range(a.sets.shape[1]):
        for w in range(bits.shape[1]):
            if bits[a.sets[i, s], w] & bits[b.sets[j, s], w] & ~bits[d.sets[x, s], w]:
                return False
    return True


@kernel
def join(left, right, bits, begin, end, order, within, found_left, found_right):
    """Pairs of rows that can be one record; returns how many there are.

    Row i of `left` is compared with ``order[begin[i]:end[i]]`` of `right`,
    which must also contain it in the columns marked in `within`. Pairs that
    do not fit into the arrays are counted only.
    """
    room = len(found_left)
    count = 0
    for i in range(len(begin)):
        for place in range(begin[i], end[i]):
            j = order[place]
            if _meet(left, i, right, j, bits) and _covers(right, j, left, i, within, bits):
                if count < room:
                    found_left[count] = i
                    found_right[count] = j
                count += 1
    return count


@inner_kernel
def _reach(side, c, mark, stamp):
    """Mark the rests of the other side that can go with a row of class c."""
    for row in range(side.offsets[c], side.offsets[c + 1]):
        rest = side.rest[row]
        for place in range(side.match_offsets[rest], side.match_offsets[rest + 1]):
            other = side.match[place]
            mark[other] = max(mark[other], stamp)


@inner_kernel
def _count(side, c, mark, stamp, marks, first, size):
    """Add the records of the rows of class c that were reached, each once."""
    for row in range(side.offsets[c], side.offsets[c + 1]):
        if mark[side.rest[row]] >= stamp:
            for r in range(side.records.shape[1]):
                record = side.records[row, r]
                if marks.seen[record] < stamp:
                    marks.seen[record] = stamp
                    marks.totals[first + r] += size[record]


@inner_kernel
def _all_known(side, c, mark, stamp, found):
    """Whether it is known of all rows reached that they can be exposed, and can be hidden."""
    for row in range(side.offsets[c], side.offsets[c + 1]):
        if mark[side.rest[row]] == stamp:
            for record in side.records[row]:
                if not (found.exposed[record] and found.hidden[record]):
                    return False
    return True


@inner_kernel
def _flag(side, c, mark, stamp, flags):
    for row in range(side.offsets[c], side.offsets[c + 1]):
        if mark[side.rest[row]] == stamp:
            for record in side.records[row]:
                flags[record] = True


@inner_kernel
def _widen(left, i, right, j, bits, marks, stamp, size):
    """Count the records of all classes that contain what class i and class j have in common.

    What they reach gets the next stamp, so that the rows of the pair itself stay known.
    """
    a, b = left.cells, right.cells
    for place in range(left.near_offsets[i], left.near_offsets[i + 1]):
        x = left.near[place]
        if _covers_both(a, x, a, i, b, j, bits):
            _reach_anew(left, x, marks.right, stamp)
    for place in range(right.near_offsets[j], right.near_offsets[j + 1]):
        x = right.near[place]
        if _covers_both(b, x, a, i, b, j, bits):
            _reach_anew(right, x, marks.left, stamp)
    for place in range(left.near_offsets[i], left.near_offsets[i + 1]):
        x = left.near[place]
        if _covers_both(a, x, a, i, b, j, bits):
            _count(left, x, marks.left, stamp, marks, 0, size)
    for place in range(right.near_offsets[j], right.near_offsets[j + 1]):
        x = right.near[place]
        if _covers_both(b, x, a, i, b, j, bits):
            _count(right, x, marks.right, stamp, marks, left.records.shape[1], size)


@inner_kernel
def _reach_anew(side, c, mark, stamp):
    """As `_reach`, but what was reached before keeps its stamp."""
    for row in range(side.offsets[c], side.offsets[c + 1]):
        rest = side.rest[row]
        for place in range(side.match_offsets[rest], side.match_offsets[rest + 1]):
            other = side.match[place]
            if mark[other] < stamp:
                mark[other] = stamp + 1


@inner_kernel
def _judge(left, i, right, j, bits, k, size, marks, stamp, found):
    """Count the records of one joined class and note what follows for its rows."""
    marks.totals[:] = 0
    _reach(right, j, marks.left, stamp)
    _reach(left, i, marks.right, stamp)
    _count(left, i, marks.left, stamp, marks, 0, size)
    if marks.totals[0] == 0:
        return  # no row of the one class can go with one of the other
    _count(right, j, marks.right, stamp, marks, left.records.shape[1], size)
    least = marks.totals.min()
    if least >= found.smallest[0]:
        both = _all_known(left, i, marks.left, stamp, found) and _all_known(
            right, j, marks.right, stamp, found
        )
        if both and least < k:
            return  # whatever it is, nothing new would follow
    if least < k or least < found.smallest[0]:
        _widen(left, i, right, j, bits, marks, stamp, size)
        least = marks.totals.min()
    found.smallest[0] = min(found.smallest[0], least)
    if least < k:
        _flag(left, i, marks.left, stamp, found.exposed)
        _flag(right, j, marks.right, stamp, found.exposed)
        _note_columns(left.cells, i, right.cells, j, bits, found.narrowed)
    else:
        _flag(left, i, marks.left, stamp, found.hidden)
        _flag(right, j, marks.right, stamp, found.hidden)


@inner_kernel
def _note_columns(a, i, b, j, bits, narrowed):
    """Mark the columns in which the two cells are not one and the same."""
    spans = a.low.shape[1]
    for s in range(spans):
        if a.low[i, s] != b.low[j, s] or a.high[i, s] != b.high[j, s]:
            narrowed[s] = True
    for s in range(a.sets.shape[1]):
        for w in range(bits.shape[1]):
            if bits[a.sets[i, s], w] != bits[b.sets[j, s], w]:
                narrowed[spans + s] = True


@kernel
def expose(left, right, bits, plan, k, size, marks, found, tried):
    """Judge every pair of classes that can have a record in common, each pair once."""
    stamp = 1
    for i in range(len(plan.offsets) - 1):
        for entry in range(plan.offsets[i], plan.offsets[i + 1]):
            for place in range(plan.begin[entry], plan.end[entry]):
                j = plan.classes[place]
                if tried[j] != i:
                    tried[j] = i
                    if _meet(left.cells, i, right.cells, j, bits):
                        _judge(left, i, right, j, bits, k, size, marks, stamp, found)
                        stamp += 2
