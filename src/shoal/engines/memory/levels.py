"""The levels to which attributes are coarsened before anything else, where that is left to us.

Paper 000, section 5.6: more coarsening, fewer stars, but coarser values; "we may vary the
amount of generalization in the preprocessing step, examine the output, and choose the
setting that optimizes the utility". The utility is the loss of the release, in which a
coarser value costs what it took. Few choices of levels are all tried; of many, one attribute
after the other is moved to its best level until none moves, from nothing coarsened and from
the middle of all trees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from shoal.clock import Limit
from shoal.encoding.coarsen import coarsened
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.partition import partition
from shoal.errors import NotFoundError
from shoal.metrics.loss import gcp
from shoal.plan import Plan

__all__ = ["at_levels", "best_levels", "least_of"]

FEW = 64
"""So many choices of levels are all tried."""
Levels = tuple[int, ...]


def best_levels(table: EncodedTable, plan: Plan, limit: Limit) -> dict[str, int]:
    """The level of each attribute that the policy leaves open, of the least loss found.

    Parameters
    ----------
    table
        The records, open attributes at level 0.
    plan
        What is done with them: its own method decides; a quick one in the place of an
        exact one, and of one that searches what it finds at once.
    limit
        Once it is up, the best so far is taken.
    """
    names = [column.name for column in table.qi]
    open_ = [names.index(name) for name in plan.policy.coarsen_open if name in names]
    if not open_:
        return {}
    trial = _for_trials(plan)
    trees = [table.qi[a].hierarchy for a in open_]
    heights = [0 if tree is None else tree.height for tree in trees]

    def loss(levels: Levels) -> float:
        if limit.up and any(levels):
            return math.inf
        coarse = at_levels(table, dict(zip(open_, levels, strict=True)))
        try:
            return gcp(coarse, partition(coarse, trial).recoding)
        except NotFoundError:
            return math.inf

    chosen = least_of(heights, loss)
    return {names[a]: level for a, level in zip(open_, chosen, strict=True)}


def least_of(heights: Sequence[int], loss: Callable[[Levels], float]) -> Levels:
    """Levels from 0 to each height of little loss: the least where there are few choices."""
    known = cache(loss)

    def key(levels: Levels) -> tuple[float, int, Levels]:
        return known(levels), sum(levels), levels  # of equal losses the finest values

    if math.prod(height + 1 for height in heights) <= FEW:
        return min(product(*(range(height + 1) for height in heights)), key=key)
    starts = (tuple(0 for _ in heights), tuple(height // 2 for height in heights))
    return min((_descend(heights, start, key) for start in starts), key=key)


def _descend(
    heights: Sequence[int], start: Levels, key: Callable[[Levels], tuple[float, int, Levels]]
) -> Levels:
    """Move one attribute after the other to its best level, until none moves."""
    best, moved = start, True
    while moved:
        moved = False
        for a, height in enumerate(heights):
            there = [(*best[:a], level, *best[a + 1 :]) for level in range(height + 1)]
            better = min(there, key=key)
            if key(better) < key(best):
                best, moved = better, True
    return best


def at_levels(table: EncodedTable, levels: dict[int, int]) -> EncodedTable:
    """The table with some attributes, by number, at a level of their trees."""
    qi, codes = list(table.qi), table.codes.copy()
    for a, level in levels.items():
        qi[a], node_of_code = coarsened(table.qi[a], level)
        codes[a] = node_of_code[table.codes[a]]
    return replace(table, qi=tuple(qi), codes=np.ascontiguousarray(codes))


def _for_trials(plan: Plan) -> Plan:
    if plan.searches:
        return plan.with_settings(effort="instant", time=None)
    if plan.method.exact and plan.method.stand_in:
        quick = {"method": plan.method.stand_in, "recoding": plan.recoding, "option": {}}
        return plan.with_settings(**quick)
    return plan
