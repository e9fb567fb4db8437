"""Reach any model from a partition along a line: merge neighbours that fail alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.group_check import GroupCheck, new_group_check, without_sizes
from shoal.kernels.line.merging import (
    ROUNDING,
    TOO_DEAR,
    all_hold,
    cheapest_runs,
    describe,
    fill_rest,
    new_floor,
    new_run,
    runs_from,
)
from shoal.kernels.rules import Rules
from shoal.models import rules_for
from shoal.models.base import Model

__all__ = ["Merged", "merge_along", "merge_below"]

BUDGET = 64
"""How often a walk may pass over a record, on average, before groups are halved in number."""


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
    found = _merged(np.inf, partition, table, models, prune=False)
    assert found is not None
    return found.partition


class Merged(NamedTuple):
    """Merged groups and their cost: the weighted NCP of all records."""

    partition: Partition
    cost: float


def merge_below(
    limit: float, partition: Partition, table: EncodedTable, models: Sequence[Model]
) -> Merged | None:
    """`merge_along`, or None as soon as it is certain that this would cost more than a limit.

    What is behind the groups looked at so far costs at least what it costs unmerged, so that
    much of the line need not be looked at where another way is better. Walks end, too, where
    nothing cheaper can follow. That saves so much of the budget that groups are joined less
    often beforehand, and where very long runs are asked for the others are, by chance, at
    times the better ones: so `merge_along` walks on.
    """
    return _merged(limit, partition, table, models, prune=True)


def _merged(
    limit: float,
    partition: Partition,
    table: EncodedTable,
    models: Sequence[Model],
    *,
    prune: bool,
) -> Merged | None:
    along = table.take(partition.order)  # walks meet records one after the other
    check = _check(partition.offsets, along, rules_for(table.codebook, models))
    costs, codes, here = along.costs, along.codes, np.arange(table.n)
    limit *= 1 + ROUNDING
    run = new_run(costs)
    offsets = partition.offsets
    while True:
        groups = describe(costs, codes, here, offsets)
        opt, rest = np.empty(len(offsets)), np.empty(len(offsets))
        if limit < np.inf or len(offsets) == 2:
            fill_rest(costs, codes, groups, run, rest)
        if len(offsets) == 2:
            return Merged(Partition(partition.order, offsets), float(rest[0]))
        first = np.zeros(len(offsets), dtype=np.int64)
        floor, budget = new_floor(costs, len(offsets) - 1), BUDGET * table.n
        done = cheapest_runs(
            check, costs, codes, groups, run, budget, limit, rest, floor, prune, opt, first
        )
        if done == TOO_DEAR:
            return None
        if done == len(offsets) - 1 and opt[-1] < np.inf:
            cuts = np.zeros(len(offsets), dtype=np.int64)
            count = runs_from(first, offsets, cuts)
            merged = Partition(partition.order, np.append(0, cuts[:count][::-1]))
            return Merged(merged, float(opt[-1]))
        offsets = np.append(offsets[: -1 : _step(done, len(offsets) - 1)], offsets[-1])


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
