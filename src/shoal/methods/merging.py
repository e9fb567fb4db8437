"""Reach any model from a partition along a line: merge neighbours that fail alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.group_check import new_group_check
from shoal.kernels.line.merging import cheapest_runs, describe, new_run, runs_from
from shoal.models import rules_for
from shoal.models.base import Model

__all__ = ["merge_along"]

BUDGET = 64
"""How often a walk may pass over a record, on average, before groups are halved in number."""


def merge_along(partition: Partition, table: EncodedTable, models: Sequence[Model]) -> Partition:
    """Merge runs of neighbouring groups so that every group satisfies every model.

    The runs are the cheapest in weighted NCP among those a short search meets.
    Where the models ask for very long runs, neighbours are first joined two by
    two, as often as it takes: the search stays near-linear and always ends, at
    worst with one group, which the pipeline knows to satisfy the models.

    Parameters
    ----------
    partition : Partition
        Groups in their order along a line on which neighbours are similar.
    table : EncodedTable
        The records; a table with persons counts persons.
    models : sequence of Model
        What every group must satisfy.
    """
    check = new_group_check(table, rules_for(table.codebook, models))
    costs, codes = table.costs, table.codes
    run = new_run(costs)
    offsets = partition.offsets
    while len(offsets) > 2:
        groups = describe(codes, partition.order, offsets)
        opt = np.empty(len(offsets))
        first = np.zeros(len(offsets), dtype=np.int64)
        if cheapest_runs(check, costs, codes, groups, run, BUDGET * table.n, opt, first):
            cuts = np.zeros(len(offsets), dtype=np.int64)
            count = runs_from(first, offsets, cuts)
            return Partition(partition.order, np.append(0, cuts[:count][::-1]))
        offsets = np.append(offsets[:-1:2], offsets[-1])
    return Partition(partition.order, offsets)
