"""Reach any model from a partition along a line: merge neighbours that fail alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.group_check import GroupCheck, new_group_check, without_sizes
from shoal.kernels.line.merging import (
    TOO_DEAR,
    all_hold,
    cheapest_runs,
    describe,
    fill_rest,
    new_run,
    runs_from,
)
from shoal.kernels.rules import Rules
from shoal.models import rules_for
from shoal.models.base import Model

__all__ = ["merge_along", "merge_below"]

BUDGET = 64
"""How often a walk may pass over a record, on average, before groups are halved in number."""
ROUNDING = 1e-9
"""Losses that differ by so little may be equal."""


def merge_along(partition: Partition, table: EncodedTable, models: Sequence[Model]) -> Partition:
    """Merge runs of neighbouring groups so that every group satisfies every model.

    The runs are the cheapest in weighted NCP among those a short search meets.
    Where the models ask for very long runs, neighbours are first joined, two by two
    or more, as often as it takes: the search stays near-linear and always ends, at
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
    merged = merge_below(np.inf, partition, table, models)
    assert merged is not None
    return merged


def merge_below(
    loss: float, partition: Partition, table: EncodedTable, models: Sequence[Model]
) -> Partition | None:
    """`merge_along`, or None as soon as it is certain that this would lose more than `loss`.

    ``loss`` is a GCP. What is behind the groups looked at so far loses at least what it loses
    unmerged, so that much of the line need not be looked at where another way is better.
    """
    along = table.take(partition.order)  # walks meet records one after the other
    check = _check(partition.offsets, along, rules_for(table.codebook, models))
    costs, codes, here = along.costs, along.codes, np.arange(table.n)
    limit = loss * table.n * float(costs.weight.sum()) * (1 + ROUNDING)
    run = new_run(costs)
    offsets = partition.offsets
    while len(offsets) > 2:
        groups = describe(costs, codes, here, offsets)
        opt, rest = np.empty(len(offsets)), np.empty(len(offsets))
        first = np.zeros(len(offsets), dtype=np.int64)
        if limit < np.inf:
            fill_rest(costs, codes, groups, run, rest)
        budget = BUDGET * table.n
        done = cheapest_runs(check, costs, codes, groups, run, budget, limit, rest, opt, first)
        if done == TOO_DEAR:
            return None
        if done == len(offsets) - 1 and opt[-1] < np.inf:
            cuts = np.zeros(len(offsets), dtype=np.int64)
            count = runs_from(first, offsets, cuts)
            return Partition(partition.order, np.append(0, cuts[:count][::-1]))
        offsets = np.append(offsets[: -1 : _step(done, len(offsets) - 1)], offsets[-1])
    return Partition(partition.order, offsets)


def _check(offsets: NDArray[np.int64], along: EncodedTable, rules: Rules) -> GroupCheck:
    """What decides about runs: their size alone, where all groups satisfy whatever else is asked.

    Models are closed under union, as long as nobody is in two groups.
    """
    check: GroupCheck = new_group_check(along, rules)
    if along.person is not None or check.sizes_only:
        return check
    values = check._replace(rules=without_sizes(rules))
    alone = bool(all_hold(values, np.arange(along.n), offsets))
    decided: GroupCheck = check._replace(sizes_only=alone)
    return decided


def _step(done: int, groups: int) -> int:
    """How many neighbours to join: with half the groups all walks together are half as long."""
    step = 2
    while 2 * step * done <= groups:
        step *= 2
    return step
