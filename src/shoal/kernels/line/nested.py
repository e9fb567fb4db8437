"""Groups of different sensitive values along a line, each value's last record first.

Figure 8 of paper 004 (`shoal.kernels.papers.frontier`) empties the bucket of a value
from its front. Where a value is frequent its front falls behind, and from then
on every group reaches back to it. For the longest group that is best, and the
paper proves it; but the loss is a sum over groups, and far along a curve is
hardly worse than very far. Then a few long groups around many short ones cost
less than all of medium length: groups that are nested, not staggered.

So the records pass by in their order, and wait on a stack of their value. As
soon as l values wait, the tops of their stacks are a group. What a stretch of
the line has too much of stays at the bottom, for whoever comes later.

The rest must stay eligible, ``slack = remaining - l * largest count >= 0``. A
group of l takes l from the slack, or nothing if it takes all values of the
largest count: these are the *pillars* once the slack is below l. Then a group
is all pillars and, up to l, the values whose tops came last. It waits for
pillars that have not come by.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.line.ranking import NONE, count_down, largest_count, new_ranking


class Waiting(NamedTuple):
    """The records that came by and are in no group: a stack for each value.

    The values that wait are a heap by their tops, the latest first.
    """

    top: np.ndarray  # int32 (m,): last record of each value, or NONE
    below: np.ndarray  # int32 (n,): record of the same value under each record, or NONE
    heap: np.ndarray  # int32 (m,): values that wait
    where: np.ndarray  # int32 (m,): place of each value in the heap, or NONE
    size: np.ndarray  # int64 (1,)


def new_waiting(n, values):
    """Nobody has come by yet."""
    return Waiting(
        top=np.full(values, NONE),
        below=np.full(n, NONE),
        heap=np.empty(values, dtype=np.int32),
        where=np.full(values, NONE),
        size=np.zeros(1, dtype=np.int64),
    )


@inner_kernel
def _rise(waiting, value, at):
    """Put a value into the heap at this hole or above it."""
    heap, top = waiting.heap, waiting.top
    while at > 0 and top[heap[(at - 1) >> 1]] < top[value]:
        parent = (at - 1) >> 1
        heap[at] = heap[parent]
        waiting.where[heap[at]] = at
        at = parent
    heap[at] = value
    waiting.where[value] = at


@inner_kernel
def _sink(waiting, value, at):
    """Put a value into the heap at this hole or below it."""
    heap, top = waiting.heap, waiting.top
    size = waiting.size[0]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and top[heap[child + 1]] > top[heap[child]]:
            child += 1
        if top[heap[child]] <= top[value]:
            break
        heap[at] = heap[child]
        waiting.where[heap[at]] = at
        at = child
        child = 2 * at + 1
    heap[at] = value
    waiting.where[value] = at


@inner_kernel
def _enter(waiting, value):
    """Put a value that waits into the heap."""
    at = waiting.size[0]
    waiting.size[0] += 1
    _rise(waiting, value, at)


@inner_kernel
def _drop(waiting, value):
    """Take a value out of the heap."""
    at = waiting.where[value]
    waiting.where[value] = NONE
    waiting.size[0] -= 1
    last = waiting.heap[waiting.size[0]]
    if last == value:
        return
    if at > 0 and waiting.top[waiting.heap[(at - 1) >> 1]] < waiting.top[last]:
        _rise(waiting, last, at)
    else:
        _sink(waiting, last, at)


@inner_kernel
def arrive(waiting, record, value):
    """A record comes by: it is the top of its value, and the latest of all."""
    waiting.below[record] = waiting.top[value]
    waiting.top[value] = record
    if waiting.where[value] == NONE:
        _enter(waiting, value)
    else:
        _rise(waiting, value, waiting.where[value])


@inner_kernel
def choose(ranking, waiting, pillars, wanted, chosen):
    """Take the values of the next group out of the heap: the pillars, then the latest."""
    if wanted == waiting.size[0]:
        for i in range(wanted):
            chosen[i] = waiting.heap[i]
            waiting.where[chosen[i]] = NONE
        waiting.size[0] = 0
        return
    for i in range(wanted):
        chosen[i] = ranking.ranked[i] if i < pillars else waiting.heap[0]
        _drop(waiting, chosen[i])


@kernel
def release(ranking, waiting, chosen, size, order, done):
    """Move the tops of the chosen values to order[done:]; the next of them wait in their place."""
    for i in range(size):
        value = chosen[i]
        record = waiting.top[value]
        order[done + i] = record
        waiting.top[value] = waiting.below[record]
        if waiting.top[value] != NONE:
            _enter(waiting, value)
        count_down(ranking, value)


@inner_kernel
def _absent(ranking, waiting, pillars):
    """How many pillars have no record waiting."""
    absent = 0
    for i in range(pillars):
        if waiting.top[ranking.ranked[i]] == NONE:
            absent += 1
    return absent


@kernel
def fill_nested(value, ranking, waiting, l, chosen, order, offsets):
    """Fill ``order`` and ``offsets`` with groups of different values; returns how many.

    Parameters
    ----------
    value : int32 array (n,)
        Value of each record along the line; as a whole eligible.
    ranking, waiting
        Of these records, none taken yet.
    l : int
        Smallest group.
    chosen : int32 array (m,)
        Scratch.
    order, offsets : int64 arrays (n,), (n // l + 1,)
        The groups as positions along the line.
    """
    n = len(value)
    done = 0
    groups = 0
    offsets[0] = 0
    pillars = 0
    absent = 0
    tight = False
    for record in range(n):
        arrived = value[record]
        if tight and waiting.top[arrived] == NONE and ranking.rank[arrived] < pillars:
            absent -= 1
        arrive(waiting, record, arrived)
        while done < n and waiting.size[0] >= l:
            largest = largest_count(ranking)
            if not tight and n - done - l * largest < l:
                tight = True  # and so it stays: no group adds to the slack
                pillars = ranking.at_least[largest]
                absent = _absent(ranking, waiting, pillars)
            wanted = max(l, pillars)
            if absent > 0 or waiting.size[0] < wanted:
                break
            choose(ranking, waiting, pillars, wanted, chosen)
            release(ranking, waiting, chosen, wanted, order, done)
            done += wanted
            groups += 1
            offsets[groups] = done
            if tight and done < n:
                pillars = ranking.at_least[largest_count(ranking)]
                absent = _absent(ranking, waiting, pillars)
    return groups


def nested_groups(value, values, l):
    """Positions along the line and offsets of nested groups; see `frontier_groups`."""
    n = len(value)
    order = np.empty(n, dtype=np.int64)
    offsets = np.empty(n // l + 1, dtype=np.int64)
    chosen = np.empty(values, dtype=np.int32)
    ranking, waiting = new_ranking(value, values), new_waiting(n, values)
    groups = fill_nested(value, ranking, waiting, l, chosen, order, offsets)
    return order, offsets[: groups + 1].copy()
