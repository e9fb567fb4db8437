"""Sensitive values by how many of their records are left, for groups of different values.

`shoal.kernels.line.nested` and the paper's own order, `shoal.kernels.papers.frontier`,
both take records of the most frequent values before the rest is no longer eligible.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

NONE = np.int32(-1)


class Ranking(NamedTuple):
    """The values by the number of their unassigned records, kept sorted in constant time."""

    count: np.ndarray  # int32 (m,): unassigned records of each value
    ranked: np.ndarray  # int32 (m,): values by count, the largest first
    rank: np.ndarray  # int32 (m,): where each value is in `ranked`
    at_least: np.ndarray  # int32 (levels + 2,): how many values have c records or more


def new_ranking(value, values):
    """`Ranking` of records with these values, codes 0..values-1."""
    count = np.bincount(value, minlength=values).astype(np.int32)
    levels = int(count.max(initial=0))
    of_level = np.bincount(count, minlength=levels + 2)
    ranked = np.argsort(-count, kind="stable").astype(np.int32)
    rank = np.empty(values, dtype=np.int32)
    rank[ranked] = np.arange(values, dtype=np.int32)
    return Ranking(count, ranked, rank, np.cumsum(of_level[::-1])[::-1].astype(np.int32))


@inner_kernel
def largest_count(ranking):
    """Unassigned records of the most frequent value."""
    return np.int64(ranking.count[ranking.ranked[0]])


@kernel
def count_down(ranking, value):
    """One record less of this value: it changes places with the last of its count."""
    last = ranking.at_least[ranking.count[value]] - 1
    other = ranking.ranked[last]
    here = ranking.rank[value]
    ranking.ranked[here] = other
    ranking.rank[other] = here
    ranking.ranked[last] = value
    ranking.rank[value] = last
    ranking.at_least[ranking.count[value]] -= 1
    ranking.count[value] -= 1


@kernel
def all_different(value, order, offsets, seen):
    """Whether no group has a value twice, and every record is in one; `seen` is -1 per value."""
    there = np.zeros(len(value), dtype=np.bool_)
    for g in range(len(offsets) - 1):
        for i in range(offsets[g], offsets[g + 1]):
            if seen[value[order[i]]] == g or there[order[i]]:
                return False
            seen[value[order[i]]] = g
            there[order[i]] = True
    return offsets[-1] == len(value)
