"""The least loss by trying every partition of a handful of records, from the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache

import naive_models
from columns import columns_of, sensitive_of
from naive_mondrian import loss
from shoal.encoding.table import EncodedTable
from shoal.models.base import Model

Rows = list[int]


def partitions(rows: Rows) -> Iterator[list[Rows]]:
    """Every partition of the records into groups."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for g, group in enumerate(groups):
            yield [*groups[:g], [first, *group], *groups[g + 1 :]]


def satisfies(table: EncodedTable, group: Rows, models: Sequence[Model]) -> bool:
    """Whether every model holds in the group for every sensitive column."""
    columns = [(c.codes.tolist(), c.ordered) for c in sensitive_of(table)]
    person = list(range(table.n)) if table.person is None else table.person.tolist()
    for codes, ordered in columns or [([0] * table.n, False)]:
        others = [r for r in range(table.n) if r not in group]
        both = [[(person[r], codes[r]) for r in rows] for rows in (group, others) if rows]
        if not all(naive_models.holds(model, both, ordered)[0] for model in models):
            return False
    return True


def total_loss(table: EncodedTable, groups: list[Rows]) -> float:
    """Sum over groups of records times weighted NCP; a coarsened value costs by itself."""
    return math.fsum(
        len(group) * column.weight * _ncp(column, group)
        for group in groups
        for column in columns_of(table)
    )


def _ncp(column, group: Rows) -> float:
    codes = {int(column.codes[r]) for r in group}
    if len(codes) == 1 and column.floor is not None and not column.suppressed:
        return float(column.floor[codes.pop()])
    return loss(column, group)


def stars(table: EncodedTable, groups: list[Rows]) -> int:
    """Cells that must go for the records of each group to be alike."""
    return sum(
        len(group) * (len({int(column.codes[r]) for r in group}) > 1)
        for group in groups
        for column in columns_of(table)
    )


def optimum(table: EncodedTable, models: Sequence[Model]) -> float:
    """The least loss of all partitions whose groups satisfy the models; inf if there is none."""

    @cache
    def price(group: tuple[int, ...]) -> float:
        rows = list(group)
        return total_loss(table, [rows]) if satisfies(table, rows, models) else math.inf

    every = partitions(list(range(table.n)))
    return min(math.fsum(price(tuple(group)) for group in groups) for groups in every)


def fewest_attributes(rows: list[tuple], k: int) -> int:
    """The fewest columns whose suppression leaves every row with k - 1 like it (001, 3.1)."""
    width = len(rows[0])
    best = width
    for kept in range(1 << width):
        seen: dict[tuple, int] = {}
        for row in rows:
            left = tuple(v for j, v in enumerate(row) if kept >> j & 1)
            seen[left] = seen.get(left, 0) + 1
        if min(seen.values()) >= k:
            best = min(best, width - kept.bit_count())
    return best


__all__ = ["fewest_attributes", "optimum", "partitions", "satisfies", "stars", "total_loss"]
