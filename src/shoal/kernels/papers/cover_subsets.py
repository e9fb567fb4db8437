"""Cover by all sets of k to 2k-1 records: paper 001, section 4.2.1, for small tables."""

from typing import NamedTuple

import numpy as np

from shoal.kernels.cover.greedy import offer, place, pop, push, take
from shoal.kernels.jit import inner_kernel, kernel


class SmallSets(NamedTuple):
    """Sets of records one after the other."""

    members: np.ndarray  # int32
    starts: np.ndarray  # int64 (sets + 1,)
    diameter: np.ndarray  # int64 (sets,): most attributes in which two members differ


def new_small_sets(codes, k, counts):
    """All sets of k, k+1, ... 2k-1 records; `counts` says how many there are of each size."""
    sizes = np.repeat(np.arange(k, k + len(counts)), counts)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    sets = SmallSets(
        np.empty(starts[-1], dtype=np.int32), starts, np.zeros(len(sizes), dtype=np.int64)
    )
    begin = 0
    for size, count in zip(range(k, k + len(counts)), counts, strict=True):
        end = begin + count
        _combinations(len(codes), size, sets.members[starts[begin] : starts[end]])
        begin = end
    apart = (codes[:, None, :] != codes[None, :, :]).sum(axis=2)
    _diameters(apart.astype(np.int64), sets)
    return sets


@kernel
def _combinations(n, size, members):
    """All sets of `size` of the numbers 0..n-1, in lexicographic order."""
    for j in range(size):
        members[j] = j
    for begin in range(size, len(members), size):
        members[begin : begin + size] = members[begin - size : begin]
        j = size - 1
        while members[begin + j] == n - size + j:
            j -= 1
        members[begin + j] += 1
        for i in range(j + 1, size):
            members[begin + i] = members[begin + i - 1] + 1


@kernel
def _diameters(apart, sets):
    for s in range(len(sets.diameter)):
        for i in range(sets.starts[s], sets.starts[s + 1]):
            for j in range(sets.starts[s], i):
                far = apart[sets.members[i], sets.members[j]]
                sets.diameter[s] = max(sets.diameter[s], far)


@inner_kernel
def _new(points, sets, s):
    """How many members of a set are not covered yet."""
    new = 0
    for i in range(sets.starts[s], sets.starts[s + 1]):
        new += points.left[sets.members[i]]
    return new


@inner_kernel
def _choose(points, groups, sets, choice, s, k):
    choice.counts[:] = 0
    for i in range(sets.starts[s], sets.starts[s + 1]):
        if points.left[sets.members[i]] == 0:
            offer(points, groups, choice, sets.members[i], k)
    for i in range(sets.starts[s], sets.starts[s + 1]):
        take(points, choice, sets.members[i], 1)


@kernel
def cover_by_small_sets(points, groups, sets, queue, choice, k):
    """Greedy cover: the set with the least diameter per new record comes next.

    Here every record is a point of its own. Returns the sum of the diameters.
    """
    weight = 0
    for s in range(len(sets.diameter) - 1, -1, -1):
        push(queue, queue.rank[sets.diameter[s], _new(points, sets, s)], s)
    rank = 0
    while rank < len(queue.top):
        s = pop(queue, rank)
        if s < 0:
            rank += 1
            continue
        new = _new(points, sets, s)
        if new == 0:
            continue
        now = queue.rank[sets.diameter[s], new]
        if now > rank:
            push(queue, now, s)
            continue
        _choose(points, groups, sets, choice, s, k)
        place(points, groups, choice, k)
        weight += sets.diameter[s]
    return weight
