"""The minimum under any models, by a dynamic program over all subsets of the records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.recode import recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError, NotFoundError
from shoal.kernels.exact.subsets import cheapest_partition, subset_losses
from shoal.methods.exact import INSTEAD, Deadline, Minimum, floors
from shoal.models import (
    Model,
    TableModels,
    require_columns,
    satisfied_classes,
    union_closed,
)

__all__ = ["MOST_RECORDS", "least_subsets"]

MOST_RECORDS = 20
"""3**20 steps take some ten seconds, and every record more three times as many."""

SLICE = 1 << 14
"""Subsets that are judged at once, so that their histograms fit into the cache."""


def least_subsets(table: EncodedTable, models: Sequence[Model], deadline: Deadline) -> Minimum:
    """The partition with the least loss of all whose groups satisfy the models.

    Every subset is judged by the models themselves, in exact arithmetic; the
    cheapest partition of a set is then the cheapest, over the groups of its
    first record, of that group and the cheapest partition of the rest.

    Raises
    ------
    InfeasibleError
        No partition satisfies the models (possible where persons are counted).
    """
    require_columns(table.sensitive, models)
    feasible = _feasible(table, models, deadline)
    losses = np.full(len(feasible), np.inf)
    subset_losses(table.costs, floors(table), table.codes, feasible, losses)
    best = np.zeros(len(feasible))
    choice = np.zeros(len(feasible), dtype=np.int64)
    step = max(1, len(feasible) // 64)
    for begin in range(1, len(feasible), step):
        deadline.check()
        cheapest_partition(feasible, losses, begin, min(begin + step, len(best)), best, choice)
    if not np.isfinite(best[-1]):
        wanted = ", ".join(map(str, models))
        raise InfeasibleError(f"no release of this table satisfies {wanted}: all were tried")
    partition = Partition.from_group_ids(_ids(choice, table.n))
    _refuse_broken_unions(table, models, partition)
    return Minimum(partition, {"solver": "subsets", "subsets": len(feasible) - 1})


def _feasible(
    table: EncodedTable, models: Sequence[Model], deadline: Deadline
) -> NDArray[np.bool_]:
    """Which subsets of the records, given as bits, satisfy every model."""
    count = 1 << table.n
    feasible = np.zeros(count, dtype=np.bool_)
    asked = TableModels(table, models)
    for begin in range(1, count, SLICE):
        deadline.check()
        subsets = np.arange(begin, min(begin + SLICE, count))
        which, rows = np.nonzero(subsets[:, None] >> np.arange(table.n) & 1)
        feasible[subsets] = asked.satisfied(rows, which)
    return feasible


def _ids(choice: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Group number of each record, from the chosen group of each set's lowest record."""
    ids = np.zeros(n, dtype=np.int64)
    left = len(choice) - 1
    group = 0
    while left:
        chosen = int(choice[left])
        ids[[i for i in range(n) if chosen >> i & 1]] = group
        left ^= chosen
        group += 1
    return ids


def _refuse_broken_unions(
    table: EncodedTable, models: Sequence[Model], partition: Partition
) -> None:
    """Where persons are counted, groups under one text can fail together though each passes.

    Such groups would have to be merged further, and nobody could say that the
    result is optimal. Where it does not happen, the minimum over partitions is
    published as it is, and so is the minimum over releases.
    """
    if union_closed(models, table.person is not None) or not table.qi:
        return
    stars = all(c.suppressed for c in table.qi)
    recoded = recode(table, Recoding((partition,) * len(table.qi), stars=stars))
    ids, _ = class_ids([(c.index, len(c.texts)) for c in recoded], table.n)
    if not satisfied_classes(table, models, ids).all():
        raise NotFoundError(
            "method optimal: no release was found that is proven to be the best: groups of the "
            "optimal partition are published under the same values "
            f"and fail as one, because persons are in several of them; {INSTEAD}"
        )
