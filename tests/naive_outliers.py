"""Slow twin of `shoal.kernels.outliers.savings`: the definition, one record after another."""

from __future__ import annotations

import naive_round
from columns import columns_of
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.costs import ROUND, SET, SPAN


def ncp(table: EncodedTable, records: list[int]) -> float:
    """Weighted mean loss of a group, straight from DESIGN section 2."""
    total = sum(column.weight for column in columns_of(table))
    return (
        sum(c.weight * _loss(c, {int(c.codes[r]) for r in records}) for c in columns_of(table))
        / total
    )


def _loss(column, values: set[int]) -> float:
    if column.form == ROUND:
        return naive_round.loss(column, values)
    if len(values) < 2:
        return 0.0
    low, high = min(values), max(values)
    if column.form == SET:
        return len(values) / column.size
    if column.form == SPAN:
        return min(1.0, float(column.position[high] - column.position[low]))
    return max(float(climb) for climb in column.climb[low:high])


def savings(table: EncodedTable, partition: Partition) -> list[float]:
    """What the group of each record would save without it."""
    found = [0.0] * table.n
    for begin, end in zip(partition.offsets[:-1], partition.offsets[1:], strict=True):
        group = [int(r) for r in partition.order[begin:end]]
        for record in group:
            others = [r for r in group if r != record]
            without = len(others) * ncp(table, others) if others else 0.0
            found[record] = len(group) * ncp(table, group) - without
    return found
