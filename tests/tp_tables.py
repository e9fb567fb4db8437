"""Tables as TP sees them (paper 000): how often each group has each sensitive value."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import numpy as np

import naive_tp as naive

PHASE_TWO = [(3, 1, 1, 2, 3), (0, 2, 2, 4, 4), (4, 4, 0, 0, 0)]
PHASE_THREE = [(3, 1, 2, 3, 3), (1, 3, 2, 3, 3), (4, 4, 4, 0, 0)]


def records(groups):
    """Group and value of each record."""
    cells = [(i, v) for i, q in enumerate(groups) for v, c in enumerate(q) for _ in range(c)]
    rng = np.random.default_rng(len(cells))
    ids, codes = rng.permutation(np.array(cells, dtype=np.int64).reshape(-1, 2)).T
    return ids, codes.astype(np.int32)


def eligible_tables(groups, l):
    return naive.eligible([sum(c) for c in zip(*groups, strict=True)], l)


def random_groups(rng):
    """A few small groups, often thin and in conflict with what phase one removes."""
    l, m = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    m = max(l, m)
    groups = rng.integers(0, rng.integers(2, 5), (rng.integers(1, 5), m))
    if rng.random() < 0.6:  # l values once or twice, and one group of few values, all removed
        for q in groups:
            q[:] = 0
            q[rng.choice(m, l, replace=False)] = rng.integers(1, 3)
        groups[0] = 0
        groups[0, : l - 1] = rng.integers(1, 5)
    if rng.random() < 0.3:
        g, v = rng.integers(len(groups)), rng.integers(m)
        groups[g, v] += 1
    return groups.tolist(), l


def instances(count, seed, volume=3_000):
    """Random tables that are l-eligible and small enough to try all there is to remove."""
    rng = np.random.default_rng(seed)
    while count:
        groups, l = random_groups(rng)
        totals = np.sum(groups, axis=0)
        if totals.sum() and eligible_tables(groups, l) and np.prod(totals + 1.0) <= volume:
            count -= 1
            yield groups, l
