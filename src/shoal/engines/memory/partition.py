"""Groups of records by the plan's method, and their released texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.recode import RecodedColumn, recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.bound import BOUND_SHARE
from shoal.methods.base import Outcome, Run
from shoal.methods.merging import merge_along
from shoal.models import Model, check_eligible, union_closed
from shoal.plan import Plan
from shoal.progress import Report, silent

__all__ = ["partition", "partition_eligible", "recode_merging_equal_texts"]


def partition(table: EncodedTable, plan: Plan, report: Report = silent) -> Outcome:
    """Groups of records that satisfy the plan's models, or an error that says why none can."""
    check_eligible(table.codebook, plan.models)
    return partition_eligible(table, plan, report)


def partition_eligible(table: EncodedTable, plan: Plan, report: Report = silent) -> Outcome:
    """The same for a table that is known to satisfy the models as one class."""

    def watch(done: float, total: float, loss: float | None = None) -> None:
        report("partition", done, total, loss)

    policy, seconds = plan.policy, plan.policy.seconds
    if seconds is not None and plan.proves:
        seconds *= 1 - BOUND_SHARE
    run = Run(plan.seed, watch, plan.readers, policy.effort, seconds)
    outcome = plan.method.run(plan.seen(table), plan.models, plan.options, run)
    if plan.recoding == "generalise":
        return outcome
    return replace(outcome, recoding=replace(outcome.recoding, stars=True))


def recode_merging_equal_texts(
    table: EncodedTable, models: Sequence[Model], recoding: Recoding
) -> tuple[Recoding, tuple[RecodedColumn, ...]]:
    """Released texts, with groups merged where equal texts would break a model.

    Two groups can be published under the same text and then are one class.
    That harms no model that is closed under union, but persons who are in both
    can break others.
    """
    recoded = recode(table, recoding)
    if union_closed(models, table.person is not None) or len(set(recoding.partitions)) > 1:
        return recoding, recoded
    while True:
        ids, count = class_ids([(c.index, len(c.texts)) for c in recoded], table.n)
        if count == recoding.partitions[0].groups:
            return recoding, recoded
        classes = _in_order(ids, count, recoding.partitions[0])
        merged = merge_along(classes, recoding.seen(table), models)
        recoding = replace(recoding, partitions=(merged,) * len(table.qi))
        recoded = recode(table, recoding)


def _in_order(ids: NDArray[np.int64], count: int, partition: Partition) -> Partition:
    """Classes in the order in which the partition's groups first meet them: near ones together."""
    numbers = np.empty_like(ids)
    numbers[partition.order], _ = class_ids([(ids[partition.order], count)], len(ids))
    return Partition.from_group_ids(numbers)
