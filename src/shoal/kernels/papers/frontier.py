"""Groups of different sensitive values along a line: Figure 8 of paper 004.

A group takes the first unassigned record of some of the values (the *frontier*),
so that no value occurs twice and a group of at least l records is l-diverse.
What is left must stay eligible, ``l * largest count <= remaining``, or the line
could not be finished. With ``slack = remaining - l * largest`` before a group of
size g, what is left after it is eligible iff

* ``g <= slack``, or
* ``g <= slack + l`` and every value of the largest count is in the group.

As g >= l, this bounds the greedy step to 2l - 1 records and answers each check
from a count of the values of largest count, without a look at the histogram.
A group costs O(g log m) for m values, however they lie along the line.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.line.ranking import NONE, count_down, largest_count, new_ranking


class Buckets(NamedTuple):
    """The unassigned records by value, kept up to date as records are taken.

    Records are positions along the line. The *level* of a record is the number
    of records of its value from itself to the end of the line: those of level c
    are what values of c unassigned records have, or will have, at the frontier.
    """

    value: np.ndarray  # int32 (n,): value of each record
    after: np.ndarray  # int32 (n,): next record of the same value, or NONE
    front: np.ndarray  # int32 (m,): first unassigned record of each value, or NONE
    peer: np.ndarray  # int32 (n,): next unassigned record of the same level, or NONE
    peer_before: np.ndarray  # int32 (n,): the one before, or NONE
    first_peer: np.ndarray  # int32 (levels + 2,): first unassigned record of each level


class Frontier(NamedTuple):
    """The frontier as a heap by position; records that were taken linger until they surface."""

    heap: np.ndarray  # int32 (n,)
    size: np.ndarray  # int64 (1,)
    held: np.ndarray  # int32 (n,): records popped for the group that is being tried


def new_buckets(value, ranking):
    """`Buckets` and `Frontier` of the values along a line."""
    n, values = len(value), len(ranking.count)
    buckets = Buckets(
        value=value,
        after=np.full(n, NONE),
        front=np.full(values, NONE),
        peer=np.full(n, NONE),
        peer_before=np.full(n, NONE),
        first_peer=np.full(len(ranking.at_least), NONE),
    )
    _link(buckets, np.zeros(values, dtype=np.int32))
    heap = np.empty(n, dtype=np.int32)
    frontier = Frontier(heap, np.zeros(1, dtype=np.int64), np.empty(n, dtype=np.int32))
    for record in buckets.front[buckets.front != NONE]:
        push(frontier, record)
    return buckets, frontier


@kernel
def _link(buckets, seen):
    """Chain the records of each value and of each level, from the end of the line."""
    for record in range(len(buckets.value) - 1, -1, -1):
        value = buckets.value[record]
        buckets.after[record] = buckets.front[value]
        buckets.front[value] = record
        seen[value] += 1
        level = seen[value]
        follower = buckets.first_peer[level]
        buckets.peer[record] = follower
        if follower != NONE:
            buckets.peer_before[follower] = record
        buckets.first_peer[level] = record


@kernel
def push(frontier, record):
    """Put a record on the heap."""
    heap = frontier.heap
    at = frontier.size[0]
    frontier.size[0] += 1
    while at > 0 and heap[(at - 1) >> 1] > record:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = record


@kernel
def pop(frontier):
    """Take the lowest record off the heap."""
    heap = frontier.heap
    lowest = heap[0]
    frontier.size[0] -= 1
    size = frontier.size[0]
    record = heap[size]
    at = 0
    child = 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= record:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = record
    return lowest


@inner_kernel
def pop_front(buckets, frontier):
    """Take the lowest record of the frontier off the heap, or NONE if there is none."""
    while frontier.size[0] > 0:
        record = pop(frontier)
        if buckets.front[buckets.value[record]] == record:
            return record
    return NONE


@inner_kernel
def assign(ranking, buckets, frontier, record):
    """Take a frontier record out of its bucket; the next of its value moves up."""
    value = buckets.value[record]
    before, follower = buckets.peer_before[record], buckets.peer[record]
    if before == NONE:
        buckets.first_peer[ranking.count[value]] = follower
    else:
        buckets.peer[before] = follower
    if follower != NONE:
        buckets.peer_before[follower] = before
    count_down(ranking, value)
    buckets.front[value] = buckets.after[record]
    if buckets.front[value] != NONE:
        push(frontier, buckets.front[value])


@inner_kernel
def try_greedy(ranking, buckets, frontier, remaining, l):
    """Hold the fewest lowest frontier records, l or more, that leave the rest eligible.

    Returns how many are held; 0 if none will do, and the heap is as it was.
    """
    largest = largest_count(ranking)
    slack = remaining - l * largest
    outside = ranking.at_least[largest]  # values of the largest count, not held yet
    size = 0
    while size < slack + l:
        record = pop_front(buckets, frontier)
        if record == NONE:
            break
        frontier.held[size] = record
        size += 1
        if ranking.count[buckets.value[record]] == largest:
            outside -= 1
        if size >= l and (size <= slack or outside == 0):
            return size
    for i in range(size):
        push(frontier, frontier.held[i])
    return 0


@inner_kernel
def fall_back(ranking, buckets, frontier, remaining, l):
    """Hold the frontier records of the most frequent values; returns how many.

    All values at the eligibility edge must go, and with l or more of the most
    frequent values gone the rest is eligible (paper 004, section 4.2). Among
    equally frequent values the lowest record goes first. They are found in the
    chain of their level, past at most the few values of larger count.
    """
    edge = remaining // l
    at_edge = ranking.at_least[edge] if edge < len(ranking.at_least) else 0
    wanted = max(l, at_edge)
    lowest = ranking.count[ranking.ranked[wanted - 1]]
    size = ranking.at_least[lowest + 1]
    for i in range(size):
        frontier.held[i] = buckets.front[ranking.ranked[i]]
    record = buckets.first_peer[lowest]
    while size < wanted:
        if ranking.count[buckets.value[record]] == lowest:
            frontier.held[size] = record
            size += 1
        record = buckets.peer[record]
    return size


@inner_kernel
def one_more(ranking, buckets, frontier, spot, remaining, l, order, begin, end):
    """Figure 9: the next frontier record if it is nearer to the group than to its own, or NONE.

    ``order[begin:end]`` is the group so far. r_A, the lowest of the frontier,
    would else be in a group that reaches at least to r_B, the l-th lowest.
    """
    size = 0
    while size < l:
        record = pop_front(buckets, frontier)
        if record == NONE:
            break
        frontier.held[size] = record
        size += 1
    for i in range(size):
        push(frontier, frontier.held[i])
    if size < l:
        return NONE
    first, last = frontier.held[0], frontier.held[l - 1]
    leftmost = order[begin]
    value = buckets.value[first]
    for i in range(begin, end):
        leftmost = min(leftmost, order[i])
        if buckets.value[order[i]] == value:
            return NONE
    if abs(spot[first] - spot[leftmost]) >= spot[last] - spot[first]:
        return NONE
    largest = largest_count(ranking)
    alone = ranking.count[value] == largest and ranking.at_least[largest] == 1
    return first if l * (largest - (1 if alone else 0)) <= remaining - 1 else NONE


@kernel
def fill_groups(ranking, buckets, frontier, l, spot, order, offsets):
    """Fill ``order`` and ``offsets`` with the groups; returns how many.

    The records as a whole must be eligible. ``offsets`` is int64 (n // l + 1,),
    ``order`` int64 (n,). ``spot``, the ascending place of each record, asks for
    the enhancement of Figure 9; empty: without.
    """
    n = len(order)
    done = 0
    groups = 0
    offsets[0] = 0
    while done < n:
        size = try_greedy(ranking, buckets, frontier, n - done, l)
        if size == 0:
            size = fall_back(ranking, buckets, frontier, n - done, l)
        begin = done
        for i in range(size):
            order[done] = frontier.held[i]
            done += 1
        for i in range(begin, done):
            assign(ranking, buckets, frontier, order[i])
        if len(spot) > 0 and done < n:
            record = one_more(ranking, buckets, frontier, spot, n - done, l, order, begin, done)
            if record != NONE:
                order[done] = record
                done += 1
                assign(ranking, buckets, frontier, record)
        groups += 1
        offsets[groups] = done
    return groups


def frontier_groups(value, values, l, spot=None):
    """Positions along the line and offsets of the groups of Figure 8.

    Parameters
    ----------
    value, values : int32 array (n,), int
        Sensitive value of each record along the line, codes 0..values-1; the
        records as a whole are eligible.
    l : int
        Smallest group.
    spot : float64 array (n,), optional
        Ascending place of each record; asks for the enhancement of Figure 9.
    """
    ranking = new_ranking(value, values)
    buckets, frontier = new_buckets(value, ranking)
    order = np.empty(len(value), dtype=np.int64)
    offsets = np.empty(len(value) // l + 1, dtype=np.int64)
    spot = np.zeros(0) if spot is None else spot
    groups = fill_groups(ranking, buckets, frontier, l, spot, order, offsets)
    return order, offsets[: groups + 1].copy()
