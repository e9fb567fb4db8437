"""Slow twins of the search of `best`: prices by definition, every cut, every assignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import naive_optimal
from columns import columns_of, sensitive_of
from shoal.encoding.table import EncodedTable
from shoal.models.base import Model

Rows = list[int]


def price(table: EncodedTable, groups: Sequence[Rows]) -> float:
    """Sum over groups of records times weighted NCP."""
    return naive_optimal.total_loss(table, [list(group) for group in groups])


def all_hold(table: EncodedTable, groups: Sequence[Rows], models: Sequence[Model]) -> bool:
    """Whether every model holds in every group, by the slow twins of the models."""
    return all(naive_optimal.satisfies(table, list(group), models) for group in groups)


def best_cut(table: EncodedTable, rows: Rows, models: Sequence[Model]) -> float:
    """Least price of two groups that one cut of one attribute makes; inf if there is none.

    Records of equal code stand in the order of `rows`, so a cut may fall between them.
    """
    least = math.inf
    for column in columns_of(table):
        line = sorted(rows, key=lambda r: int(column.codes[r]))
        if column.codes[line[0]] == column.codes[line[-1]]:
            continue
        for place in range(1, len(line)):
            halves = [line[:place], line[place:]]
            if all_hold(table, halves, models):
                least = min(least, price(table, halves))
    return least


def cheapest_assignment(cost: Sequence[Sequence[float]]) -> float:
    """Least sum of one entry a row, no two of one column."""
    n = len(cost)
    return min(math.fsum(cost[i][chosen[i]] for i in range(n)) for chosen in permutations(range(n)))


def kinds(table: EncodedTable) -> list[tuple[int, ...]]:
    """What the models can see of each record: its sensitive values, and who it is."""
    person = [()] * table.n if table.person is None else [(int(p),) for p in table.person]
    return [
        person[r] + tuple(int(column.codes[r]) for column in sensitive_of(table))
        for r in range(table.n)
    ]
