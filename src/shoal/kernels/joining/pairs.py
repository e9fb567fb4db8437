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
    """Which rows (or classes) of the right side to compare each one of the left with.

    Row i has the entries ``offsets[i]:offsets[i+1]``, and entry e the rows
    ``rows[begin[e]:end[e]]``. Together they have every row that meets it, some twice.
    """

    offsets: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    rows: np.ndarray


class Found(NamedTuple):
    """What is known so far; first as to k, then as to l."""

    exposed: np.ndarray
    """Rows of the releases that can be in a joined class that is too small, or not diverse."""
    hidden: np.ndarray
    """Rows that can be in one that is large enough, or diverse."""
    narrowed: np.ndarray
    """Columns that say more in an exposed joined class than in one of its two classes."""
    smallest: np.ndarray
    """Records in the smallest joined class (one number)."""
    diverse: np.ndarray
    """The smallest l of a joined class, and 1 as long as it holds for every person's values."""


class Progress(NamedTuple):
    """How far the classes were judged; first as to k, then as to l."""

    left: np.ndarray
    right: np.ndarray
    """By class: whether all its rows can be exposed and can be hidden, so that no more follows."""
    judged: np.ndarray
    """Classes of the left side, from the first on, all pairs of which were judged."""
    budget: np.ndarray
    """Rows that may still be visited; below 0 no more is judged."""


class Sensitive(NamedTuple):
    """Sensitive values of the rows of the releases, and what a joined class has of them."""

    l: int  # noqa: E741
    """What is asked for; 0 if nothing is."""
    distinct: bool
    """Different values are counted, not the share of the most frequent."""
    values: np.ndarray
    """By row and column; -1 where a release does not publish the column."""
    whole: np.ndarray
    """Records of the same class and value, by row and column."""
    counts: np.ndarray
    stamps: np.ndarray
    """By release, column and value: records counted, void as soon as the stamp is an old one."""
    largest: np.ndarray
    different: np.ndarray
    """By release and column: the most frequent value's records, and how many values there are."""


class Marks(NamedTuple):
    """Notes that are void as soon as their stamp is an old one."""

    left: np.ndarray
    right: np.ndarray
    seen: np.ndarray
    totals: np.ndarray
    """Records counted in each release, those of the left side first."""
    around: np.ndarray
    """Scratch: classes of the left side (row 0), of the right (row 1), that contain a pair."""


@inner_kernel
def meet(a, i, b, j, bits):
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
def join(left, right, bits, plan, within, tried, found_left, found_right):
    """Pairs of rows that can be one record; returns how many there are.

    Rows of `right` must also contain their row of `left` in the columns marked
    in `within`. Pairs that do not fit into the arrays are counted only.
    """
    room = len(found_left)
    count = 0
    for i in range(len(plan.offsets) - 1):
        for entry in range(plan.offsets[i], plan.offsets[i + 1]):
            for place in range(plan.begin[entry], plan.end[entry]):
                j = plan.rows[place]
                if not meet(left, i, right, j, bits) or tried[j] == i:
                    continue
                tried[j] = i
                if _covers(right, j, left, i, within, bits):
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
def _count(side, c, mark, stamp, marks, first, size, secret, follow):
    """Add the records of the rows of class c that were reached, each once; with their values."""
    for row in range(side.offsets[c], side.offsets[c + 1]):
        if mark[side.rest[row]] >= stamp:
            for r in range(side.records.shape[1]):
                record = side.records[row, r]
                if marks.seen[record] < stamp:
                    marks.seen[record] = stamp
                    marks.totals[first + r] += size[record]
                    if follow:
                        _count_values(secret, record, first + r, stamp, size[record])


@inner_kernel
def _count_values(secret, record, release, stamp, size):
    for c in range(secret.values.shape[1]):
        value = secret.values[record, c]
        if value >= 0:
            if secret.stamps[release, c, value] != stamp:
                secret.stamps[release, c, value] = stamp
                secret.counts[release, c, value] = 0
                secret.different[release, c] += 1
            secret.counts[release, c, value] += size
            count = secret.counts[release, c, value]
            secret.largest[release, c] = max(secret.largest[release, c], count)


@inner_kernel
def _reached_l(secret, totals):
    """The l of what was counted: of the release and column that has the least."""
    reached = totals.max()
    for r in range(len(totals)):
        for c in range(secret.values.shape[1]):
            if secret.largest[r, c] > 0:
                least = secret.different[r, c]
                if not secret.distinct:
                    least = totals[r] // secret.largest[r, c]
                reached = min(reached, least)
    return reached


@inner_kernel
def _l_by_itself(side, c, mark, stamp, size, secret):
    """The l of the rows reached, were all rows of their class and value among them.

    The least of it over all joined classes holds wherever some of them overlap: a value that
    is reached has no more records than in the class, and no fewer records are reached.
    """
    least = secret.l + len(size)
    for column in range(secret.values.shape[1]):
        total, largest = 0, 0
        for row in range(side.offsets[c], side.offsets[c + 1]):
            if mark[side.rest[row]] >= stamp:
                record = side.records[row, 0]
                total += size[record]
                if secret.values[record, column] >= 0:
                    largest = max(largest, secret.whole[record, column])
        if largest > 0:
            least = min(least, total // largest)
    return least


@inner_kernel
def _all_known(side, c, mark, stamp, exposed, hidden):
    """Whether it is known of all rows reached that they can be exposed, and can be hidden."""
    for row in range(side.offsets[c], side.offsets[c + 1]):
        if mark[side.rest[row]] == stamp:
            for record in side.records[row]:
                if not (exposed[record] and hidden[record]):
                    return False
    return True


@inner_kernel
def _flag(side, c, mark, stamp, flags):
    for row in range(side.offsets[c], side.offsets[c + 1]):
        if mark[side.rest[row]] == stamp:
            for record in side.records[row]:
                flags[record] = True


@inner_kernel
def _widen(left, i, right, j, bits, marks, stamp, size, secret, follow):
    """Count the records of all classes that contain what class i and class j have in common.

    What they reach gets the next stamp, so that the rows of the pair itself stay known.
    Returns how many rows were visited.
    """
    lefts = _contain(left, i, left.cells, i, right.cells, j, bits, marks.around[0])
    rights = _contain(right, j, left.cells, i, right.cells, j, bits, marks.around[1])
    visited = left.near_offsets[i + 1] - left.near_offsets[i]
    visited += right.near_offsets[j + 1] - right.near_offsets[j]
    for x in marks.around[0, :lefts]:
        visited += left.offsets[x + 1] - left.offsets[x]
        _reach_anew(left, x, marks.right, stamp)
    for x in marks.around[1, :rights]:
        visited += right.offsets[x + 1] - right.offsets[x]
        _reach_anew(right, x, marks.left, stamp)
    for x in marks.around[0, :lefts]:
        _count(left, x, marks.left, stamp, marks, 0, size, secret, follow)
    for x in marks.around[1, :rights]:
        first = left.records.shape[1]
        _count(right, x, marks.right, stamp, marks, first, size, secret, follow)
    return visited


@inner_kernel
def _contain(side, c, a, i, b, j, bits, found):
    """Fill in the classes near class c that contain what two have in common; how many."""
    count = 0
    for place in range(side.near_offsets[c], side.near_offsets[c + 1]):
        x = side.near[place]
        if _covers_both(side.cells, x, a, i, b, j, bits):
            found[count] = x
            count += 1
    return count


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
def _judge(left, i, right, j, bits, k, size, marks, stamp, secret, found, budget):
    """Count the records of one joined class and note what follows for its rows."""
    follow = secret.l > 0 and budget[1] >= 0
    marks.totals[:] = 0
    secret.largest[:] = 0
    secret.different[:] = 0
    _reach(right, j, marks.left, stamp)
    _reach(left, i, marks.right, stamp)
    _count(left, i, marks.left, stamp, marks, 0, size, secret, follow)
    budget[0] -= left.offsets[i + 1] - left.offsets[i] + right.offsets[j + 1] - right.offsets[j]
    if marks.totals[0] == 0:
        return  # no row of the one class can go with one of the other
    first = left.records.shape[1]
    _count(right, j, marks.right, stamp, marks, first, size, secret, follow)
    least = marks.totals.min()
    # Whether whatever this joined class is, nothing new would follow.
    old = found.smallest[0] <= least < k and _known(left, i, right, j, marks, stamp, found, 0)
    wanted = not old and (least < k or least < found.smallest[0])
    # Where this is enough it is taken, whether or not k asks to look further: what is found must
    # not depend on the order in which pairs are judged.
    reached = _sure_l(left, i, right, j, marks, stamp, size, secret) if follow else 0
    sure = reached >= secret.l
    settled = follow and found.diverse[0] <= 1 and _known(left, i, right, j, marks, stamp, found, 1)
    wider = wanted or not (sure or settled)
    if wider:
        visited = _widen(left, i, right, j, bits, marks, stamp, size, secret, follow)
        budget[0 if wanted else 1] -= visited
        least = marks.totals.min()
    if wider or not old:
        found.smallest[0] = min(found.smallest[0], least)
        _note(left, i, right, j, marks, stamp, least < k, found.exposed[0], found.hidden[0])
        if least < k:
            _note_columns(left.cells, i, right.cells, j, bits, found.narrowed)
    if follow and (wider or not settled):
        if not sure:
            reached = _reached_l(secret, marks.totals)
            if _sure_l(left, i, right, j, marks, stamp, size, secret) < secret.l:
                found.diverse[1] = 0
        found.diverse[0] = min(found.diverse[0], reached)
        bare = reached < secret.l
        _note(left, i, right, j, marks, stamp, bare, found.exposed[1], found.hidden[1])


@inner_kernel
def _known(left, i, right, j, marks, stamp, found, what):
    """Whether it is known of all rows of the pair that they can be exposed, and can be hidden."""
    exposed, hidden = found.exposed[what], found.hidden[what]
    return _all_known(left, i, marks.left, stamp, exposed, hidden) and _all_known(
        right, j, marks.right, stamp, exposed, hidden
    )


@inner_kernel
def _sure_l(left, i, right, j, marks, stamp, size, secret):
    """An l that this joined class has and leaves to all that overlap it; 0 if we cannot tell."""
    if left.records.shape[1] > 1:
        return np.int64(0)  # rows of three releases and more stand for a record several times
    if secret.distinct:  # what is added to a class has its values, too
        return np.int64(_reached_l(secret, marks.totals))
    one = _l_by_itself(left, i, marks.left, stamp, size, secret)
    return np.int64(min(one, _l_by_itself(right, j, marks.right, stamp, size, secret)))


@inner_kernel
def _note(left, i, right, j, marks, stamp, broken, exposed, hidden):
    flags = exposed if broken else hidden
    _flag(left, i, marks.left, stamp, flags)
    _flag(right, j, marks.right, stamp, flags)


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


@inner_kernel
def _settle(side, c, settled, found, what):
    """Note of a class if all its rows can be exposed, and can be hidden."""
    if not settled[what, c]:
        for row in range(side.offsets[c], side.offsets[c + 1]):
            for record in side.records[row]:
                if not (found.exposed[what, record] and found.hidden[what, record]):
                    return
        settled[what, c] = True


@inner_kernel
def _nothing_new(progress, i, j, found, follow):
    """Whether nothing can follow from two classes: all rows are known, and none can be worse."""
    left, right = progress.left, progress.right
    if found.smallest[0] > 1 or not (left[0, i] and right[0, j]):
        return False
    return not follow or (found.diverse[0] <= 1 and left[1, i] and right[1, j])


@kernel
def expose(left, right, bits, plan, k, size, marks, secret, found, progress, tried):
    """Judge every pair of classes that can have a record in common, each pair once.

    Ends early where the budget for k is used up; l is judged as long as its own lasts.
    """
    stamp = 1
    budget = progress.budget
    for i in range(len(plan.offsets) - 1):
        for entry in range(plan.offsets[i], plan.offsets[i + 1]):
            budget[0] -= plan.end[entry] - plan.begin[entry]
            for place in range(plan.begin[entry], plan.end[entry]):
                j = plan.rows[place]
                follow = secret.l > 0 and budget[1] >= 0
                if tried[j] == i or _nothing_new(progress, i, j, found, follow):
                    continue
                tried[j] = i
                if meet(left.cells, i, right.cells, j, bits):
                    _judge(left, i, right, j, bits, k, size, marks, stamp, secret, found, budget)
                    stamp += 2
                    for what in range(2 if follow else 1):
                        _settle(left, i, progress.left, found, what)
                        _settle(right, j, progress.right, found, what)
            if budget[0] < 0:
                return
        progress.judged[0] = i + 1
        if budget[1] >= 0:
            progress.judged[1] = i + 1
