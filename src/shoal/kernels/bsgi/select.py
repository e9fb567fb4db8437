"""Groups of l records that differ in every sensitive value, near each other (paper 002).

The records of one sensitive value are a bucket; a group takes one record from
each of l buckets. Which buckets is either planned, the l largest each time
(*Max-l*, section 3 of the paper), or left to nearness as long as the groups
that are still to come can be made.

When can they? Let t groups be to come, N the records that are left and c_v
those of value v. t groups take at most t records of a value, so the records
beyond, ``max(0, c_v - t)`` of each value, are bound to be left over, and no
more than N - t*l may be. What is not yet bound is *spare*. A value with t
records or more is at the *edge*: if the next group takes none of it, one more
record is bound. So a group must take at least ``edge - spare`` values from the
edge, and it can: a value at the edge has t of the records that are not bound,
edge*t <= t*l + spare, hence edge - spare <= l. Max-l is the special case that
takes from the edge always.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.bsgi.index import (
    BITS,
    NOBODY,
    begin_box,
    leaf_begin,
    nearer_child,
    record_loss,
    remove,
    widen,
)
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel
from shoal.kernels.random import below

FREE = -2
"""Group of a record that nobody has asked yet."""
LEFT_OVER = -1
"""Group of a record that is in none."""
MANY = 4096
"""So many values, or records, are not gone through for every one that is wanted."""


class Columns(NamedTuple):
    """Columns in which the members of a group must differ: sensitive ones, and persons.

    Column 0, the hardest to spread, is the one that the trees of a forest know.
    """

    codes: np.ndarray  # int32 (S, n)
    start: np.ndarray  # int64 (S + 1,): where the codes of each column begin in left and met
    left: np.ndarray  # int64 (codes,): records of each code that are in no group
    met: np.ndarray  # int64 (codes,): last group that has the code
    size_start: np.ndarray  # int64 (S + 1,): where each column begins in of_size
    of_size: np.ndarray  # int64: how many codes have 0, 1, 2, ... records left
    largest: np.ndarray  # int64 (S,): records left of the most frequent code
    must: np.ndarray  # int64 (S,): how many more codes of the edge the group must take
    forced: np.ndarray  # bool (S,): whether the next member must be of the edge
    to_come: np.ndarray  # int64 (1,): groups to come, with the one that is being made


def new_columns(codes, sizes):
    """`Columns` of int32 codes (S, n), of which the s-th has the codes 0..sizes[s]-1."""
    left = [np.bincount(c, minlength=m) for c, m in zip(codes, sizes, strict=True)]
    of_size = [np.bincount(counts) for counts in left]
    zeros = np.zeros(len(codes), dtype=np.int64)
    return Columns(
        codes=codes,
        start=_starts(left),
        left=np.concatenate(left).astype(np.int64),
        met=np.full(sum(map(len, left)), NOBODY, dtype=np.int64),
        size_start=_starts(of_size),
        of_size=np.concatenate(of_size).astype(np.int64),
        largest=np.array([len(c) - 1 for c in of_size], dtype=np.int64),
        must=zeros,
        forced=np.zeros(len(codes), dtype=np.bool_),
        to_come=np.zeros(1, dtype=np.int64),
    )


def _starts(parts):
    return np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)


@inner_borrowed
def _draw_among_equals(left, ranked, l, state):
    """Shuffle the buckets that are as large as the l-th.

    A fixed order of them would put the same values together again and again.
    """
    begin = l - 1
    while begin > 0 and left[ranked[begin - 1]] == left[ranked[l - 1]]:
        begin -= 1
    end = l
    while end < len(ranked) and left[ranked[end]] == left[ranked[l - 1]]:
        end += 1
    for i in range(begin, l):
        other = i + below(state, end - i)
        ranked[i], ranked[other] = ranked[other], ranked[i]


@kernel
def max_l(left, l, plan, state):
    """The buckets of every group: the l largest each time, of equals those that are drawn.

    ``left`` are the sizes of the buckets and is used up; ``plan``, int32
    (n // l, l), is filled with one row a group. ``state`` is that of `random_state`; empty:
    of equals the lower value. Returns how many groups there are.
    """
    ranked = np.argsort(-left, kind="mergesort")
    m = len(left)
    count = 0
    while m >= l and left[ranked[l - 1]] > 0:
        if len(state) > 0:
            _draw_among_equals(left, ranked, l, state)
        for i in range(l):
            plan[count, i] = ranked[i]
            left[ranked[i]] -= 1
        for i in range(l - 1, -1, -1):  # who gave one falls behind those that have more now
            v = ranked[i]
            at = i
            while at + 1 < m and (
                left[ranked[at + 1]] > left[v]
                or (left[ranked[at + 1]] == left[v] and ranked[at + 1] < v)
            ):
                ranked[at] = ranked[at + 1]
                at += 1
            ranked[at] = v
        count += 1
    return count


@inner_borrowed
def _fits(columns, row, group):
    """Whether a record differs from all members of the group."""
    for s in range(len(columns.codes)):
        if columns.met[columns.start[s] + columns.codes[s, row]] == group:
            return False
    return True


@inner_borrowed
def _at_edge(columns, s, row):
    return columns.left[columns.start[s] + columns.codes[s, row]] >= columns.to_come[0]


@inner_borrowed
def _serves(columns, row):
    """Whether a record is of the edge in every column where it must be."""
    for s in range(len(columns.codes)):
        if columns.forced[s] and not _at_edge(columns, s, row):
            return False
    return True


@inner_borrowed
def nearest(forest, t, costs, box, columns, group, wanted):
    """The record of tree t that serves, fits, and widens the box least; NOBODY if there is none.

    ``wanted`` has the bits of the values that are worth looking for.
    """
    best = np.inf
    found = NOBODY
    base, leaves = forest.base[t], forest.leaves[t]
    depth = 1 if leaves > 0 else 0
    box.node[0] = 1
    box.bound[0] = 0.0
    while depth > 0:
        depth -= 1
        node, bound = box.node[depth], box.bound[depth]
        while bound < best or (bound == best and forest.first[base + node] < found):
            if node >= leaves:
                begin = leaf_begin(forest, t, node - leaves)
                for s in range(begin, begin + forest.count[base + node]):
                    row = forest.record[s]
                    loss = record_loss(box, costs, forest.point, s)
                    if (
                        (loss < best or (loss == best and row < found))
                        and _fits(columns, row, group)
                        and _serves(columns, row)
                    ):
                        best, found = loss, row
                break
            node, bound = nearer_child(box, costs, forest, base, node, depth, wanted)
            depth += 1
    return found


@inner_borrowed
def _admit(forest, costs, columns, groups, row, group):
    """A record is in the group now."""
    groups[row] = group
    for s in range(len(columns.codes)):
        columns.met[columns.start[s] + columns.codes[s, row]] = group
        if _at_edge(columns, s, row):
            columns.must[s] -= 1
    remove(forest, costs, row)


@inner_borrowed
def _count_down(columns, row):
    """A record more is gone from the buckets."""
    for s in range(len(columns.codes)):
        code = columns.start[s] + columns.codes[s, row]
        sizes = columns.size_start[s]
        columns.of_size[sizes + columns.left[code]] -= 1
        columns.left[code] -= 1
        columns.of_size[sizes + columns.left[code]] += 1
        while columns.largest[s] > 0 and columns.of_size[sizes + columns.largest[s]] == 0:
            columns.largest[s] -= 1


@inner_borrowed
def _look_ahead(columns, remaining, l):
    """What the next group must take, so that the others can be made."""
    to_come = remaining // l
    columns.to_come[0] = to_come
    for s in range(len(columns.codes)):
        edge = 0
        bound = 0
        for size in range(to_come, columns.largest[s] + 1):
            codes = columns.of_size[columns.size_start[s] + size]
            edge += codes
            bound += codes * (size - to_come)
        columns.must[s] = edge - (remaining - to_come * l - bound)


@inner_borrowed
def _force(columns, places):
    """Note in which columns all members still to be found must be of the edge."""
    forced = False
    for s in range(len(columns.codes)):
        columns.forced[s] = columns.must[s] >= places
        forced = forced or columns.forced[s]
    return forced


@inner_borrowed
def _wanted(columns, group):
    """Bits of the values that the group may take next."""
    m = columns.start[1]
    if m > MANY or (m > BITS and not columns.forced[0]):
        return np.int64(-1)
    bits = np.int64(0)
    for v in range(m):
        edge = not columns.forced[0] or columns.left[v] >= columns.to_come[0]
        if edge and columns.left[v] > 0 and columns.met[v] != group:
            bits |= np.int64(1) << (v % BITS)
    return bits


@inner_borrowed
def _first(columns, queue, at, end, groups, forced):
    """The place in the queue of the record whose turn it is to begin a group."""
    if not forced:
        return at
    if len(columns.codes) > 1:  # perhaps nobody serves all columns
        end = min(end, at + MANY)
    for i in range(at, end):
        if groups[queue[i]] == FREE and _serves(columns, queue[i]):
            return i
    return at


@inner_borrowed
def _tidy(queue, at, end, groups, remaining):
    """Where the queue begins and ends; it is closed up when most in it are in groups."""
    while groups[queue[at]] != FREE:
        at += 1
    if 2 * remaining >= end - at:
        return at, end
    filled = 0
    for i in range(at, end):
        if groups[queue[i]] == FREE:
            queue[filled] = queue[i]
            filled += 1
    return 0, filled


@inner_borrowed
def _next(forest, costs, box, columns, group, forced):
    """The nearest record that fits; one of the edge where it must be, if there is one."""
    row = nearest(forest, 0, costs, box, columns, group, _wanted(columns, group))
    if row == NOBODY and forced:  # several columns at once cannot all be served
        columns.forced[:] = False
        row = nearest(forest, 0, costs, box, columns, group, np.int64(-1))
    return row


@kernel(**BORROWED)
def near_groups(forest, costs, box, columns, queue, l, groups, members):
    """Group the records of a forest of one tree, each with the nearest it can be with.

    ``queue``, int32 (n,), is the order in which records are asked to begin a group, and
    is used up.
    ``groups``, int64 (n,), all FREE, is filled with the group of each record, or
    LEFT_OVER; ``members``, int64 (l,), is scratch. Returns the number of groups,
    all of l records.
    """
    count = 0
    at, end = 0, len(queue)
    remaining = end
    while remaining >= l:
        _look_ahead(columns, remaining, l)
        at, end = _tidy(queue, at, end, groups, remaining)
        size = 0
        while size < l:
            forced = _force(columns, l - size)
            if size == 0:
                row = queue[_first(columns, queue, at, end, groups, forced)]
                begin_box(box, costs, forest.point, forest.slot[row])
            else:
                row = _next(forest, costs, box, columns, count, forced)
                if row == NOBODY:
                    break
                widen(box, costs, forest.point, forest.slot[row])
            _admit(forest, costs, columns, groups, row, count)
            members[size] = row
            size += 1
        count += _close(columns, groups, members, size, l)
        remaining -= size
    _leave(groups)
    return count


@inner_borrowed
def _close(columns, groups, members, size, l):
    """Settle a group; one that lacks members is none. Returns how many groups that makes."""
    for i in range(size):
        _count_down(columns, members[i])
        if size < l:
            groups[members[i]] = LEFT_OVER
    return 1 if size == l else 0


@inner_borrowed
def _leave(groups):
    """Whoever has not been asked is left over."""
    for i in range(len(groups)):
        if groups[i] == FREE:
            groups[i] = LEFT_OVER


@kernel(**BORROWED)
def planned_groups(forest, costs, box, columns, queue, front, plan, groups, members):
    """Group the records of a forest of one tree a value, by a plan such as that of `max_l`.

    The first member of a group is the one of its value whose turn it is, the others
    are the nearest of theirs (Figure 2 of the paper). ``plan``, int32 (G, l), has the values
    of each group's members. ``queue`` has the records by value, those of v from
    ``front[v]`` on, in the order of their turns; the rest is as in `near_groups`.
    """
    count = 0
    columns.forced[:] = False
    for g in range(len(plan)):
        size = 0
        while size < plan.shape[1]:
            v = plan[g, size]
            if size == 0:
                while groups[queue[front[v]]] != FREE:
                    front[v] += 1
                row = queue[front[v]]
                begin_box(box, costs, forest.point, forest.slot[row])
            else:
                row = nearest(forest, v, costs, box, columns, count, np.int64(-1))
                if row == NOBODY:
                    break
                widen(box, costs, forest.point, forest.slot[row])
            _admit(forest, costs, columns, groups, row, count)
            members[size] = row
            size += 1
        count += _close(columns, groups, members, size, plan.shape[1])
    _leave(groups)
    return count
