"""Slow twin of `shoal.kernels.outliers.savings`: the definition, one record after another."""

from __future__ import annotations

from itertools import pairwise

import naive_round
from columns import columns_of
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.costs import ROUND, SET, SPAN
from shoal.metrics.loss import group_ncp


def spread(table: EncodedTable, recoding: Recoding) -> dict[str, float]:
    """Where the loss sits, counted record by record, of what each group loses."""
    of_record = [0.0] * table.n
    for a, partition in enumerate(recoding.partitions):
        weight = table.qi[a].weight / sum(column.weight for column in table.qi)
        losses = group_ncp(table, a, partition, None).tolist()
        for loss, (begin, end) in zip(losses, pairwise(partition.offsets.tolist()), strict=True):
            for record in partition.order[begin:end].tolist():
                of_record[record] += weight * loss
    ordered, total = sorted(of_record, reverse=True), sum(of_record)
    half = next(n for n in range(1, table.n + 1) if sum(ordered[:n]) >= total / 2 - 1e-9)
    last = ordered[max(1, round(0.005 * table.n)) - 1]
    others = [loss for loss in of_record if loss < last - 1e-12]
    return {
        "half": half / table.n,
        "dearest": sum(ordered[: max(1, round(0.1 * table.n))]) / total,
        "few": 1 - len(others) / table.n,
        "loss": total / table.n,
        "without_few": sum(others) / len(others) if others else 0.0,
    }


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
