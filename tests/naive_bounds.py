"""Lower bounds on the loss of a handful of records, from the definitions in docs/bounds.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

import naive_optimal
from columns import columns_of
from shoal.bounds.families import Family
from shoal.encoding.table import EncodedTable
from shoal.models.base import Model

Rows = list[int]


def ncp(table: EncodedTable, group: Rows) -> float:
    """Weighted NCP of a group."""
    return naive_optimal.total_loss(table, [group]) / len(group)


def groups(table: EncodedTable, family: Family) -> Iterator[Rows]:
    """Every group of the family."""
    for group in combinations(range(table.n), family.size):
        if family.column is None or family.caps is None:
            yield list(group)
            continue
        values = [int(table.sensitive_codes[family.column][r]) for r in group]
        if all(values.count(v) <= family.caps[v] for v in values):
            yield list(group)


def neighbour(table: EncodedTable, record: int, size: int) -> float:
    """NCP of the record and its (size - 1)-th nearest other record as a pair."""
    pairs = sorted(ncp(table, [record, other]) for other in range(table.n) if other != record)
    return pairs[size - 2] if size > 1 else ncp(table, [record])


def cheapest_box(table: EncodedTable, record: int, family: Family) -> float:
    """Least NCP of a group of the family that holds the record; inf if there is none."""
    around = (group for group in groups(table, family) if record in group)
    return min((ncp(table, group) for group in around), default=math.inf)


def overweight(table: EncodedTable, weights: Sequence[float], family: Family) -> float:
    """By how much a group of the family weighs more than it costs, at most."""
    return max(
        (
            math.fsum(weights[r] for r in group) - len(group) * ncp(table, group)
            for group in groups(table, family)
        ),
        default=0.0,
    )


def optimum_with_drops(table: EncodedTable, models: Sequence[Model]) -> float:
    """Least loss where any record may be dropped at the loss of all its attributes."""
    all_of_it = sum(column.weight for column in columns_of(table))

    @cache
    def price(group: tuple[int, ...]) -> float:
        rows, dropped = list(group), len(group) * all_of_it
        if not naive_optimal.satisfies(table, rows, models):
            return dropped
        return min(dropped, naive_optimal.total_loss(table, [rows]))

    every = naive_optimal.partitions(list(range(table.n)))
    return min(math.fsum(price(tuple(group)) for group in partition) for partition in every)


def heaviest_group(
    table: EncodedTable, weights: Sequence[float], record: int, family: Family
) -> float:
    """By how much a group around the record weighs more than it costs, at most."""
    around = (group for group in groups(table, family) if record in group)
    return max(
        (math.fsum(weights[r] for r in group) - len(group) * ncp(table, group) for group in around),
        default=-math.inf,
    )
