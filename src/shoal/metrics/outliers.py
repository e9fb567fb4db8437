"""Where the loss of a release sits: a few records often hold half of it.

Worked out of the groups before they are published, so it is for the custodian: no public file
has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Recoding
from shoal.metrics.loss import group_ncp

__all__ = ["Outliers", "outliers_of"]

HALF, DEAREST, FEW = 0.5, 0.1, 0.005
"""Of the loss, whose records are counted; of the records, whose loss is; and those to drop."""


@dataclass(frozen=True)
class Outliers:
    """How unevenly a release's loss is spread over its records. Shares are from 0 to 1."""

    half: float
    """The fewest records that hold half of the loss."""
    dearest: float
    """Part of the loss that the dearest tenth of the records holds."""
    columns: dict[str, float]
    """What of that each attribute takes, largest first."""
    few: float
    """Records of the dearest groups, whole groups, half a percent of all at least."""
    loss: float
    """Loss of the release, of the records in it."""
    without_few: float
    """The same without those few, all others published as they are."""


def outliers_of(table: EncodedTable, recoding: Recoding) -> Outliers | None:
    """Where the loss of the records sits; None where nothing is lost."""
    seen = recoding.seen(table)
    weight = table.costs.weight / max(float(table.costs.weight.sum()), 1e-300)
    each = np.zeros((len(weight), table.n))
    group = np.zeros(table.n, dtype=np.int64)
    for a, partition in enumerate(recoding.partitions):
        group = ids = partition.group_ids()
        each[a] = weight[a] * group_ncp(seen, a, partition, recoding.domain(a))[ids]
    loss: NDArray[np.float64] = each.sum(axis=0)
    if not table.n or not loss.sum() > 0:
        return None
    dearest = np.lexsort((group, -loss))
    held = np.cumsum(loss[dearest]) / loss.sum()
    tenth = dearest[: max(1, round(DEAREST * table.n))]
    last = loss[dearest[max(1, round(FEW * table.n)) - 1]]
    few = int((loss >= last).sum())  # whole groups: all of one price
    left = loss[loss < last]
    names = [column.name for column in table.qi]
    own = dict(zip(names, (each[:, tenth].sum(axis=1) / loss[tenth].sum()).tolist(), strict=True))
    return Outliers(
        half=float(np.searchsorted(held, HALF) + 1) / table.n,
        dearest=float(held[len(tenth) - 1]),
        columns=dict(sorted(own.items(), key=lambda item: -item[1])),
        few=few / table.n,
        loss=float(loss.mean()),
        without_few=float(left.mean()) if len(left) else 0.0,
    )
