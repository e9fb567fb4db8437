"""Groups of records by the plan's method, and their released texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.classes import class_ids
from shoal.encoding.recode import RecodedColumn, recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError, NotFoundError
from shoal.methods.base import Outcome, Run
from shoal.methods.curve import Course
from shoal.methods.merging import merge_along
from shoal.models import Model, check_eligible, union_closed, whole_table_only
from shoal.plan import Plan
from shoal.progress import Report, silent

__all__ = ["partition", "partition_eligible", "partition_leaving_out", "recode_merging_equal_texts"]


def partition(
    table: EncodedTable, plan: Plan, report: Report = silent, limit: Limit = NO_LIMIT
) -> Outcome:
    """Groups of records that satisfy the plan's models, or an error that says why none can.

    The method of a plan with a time works up to the `limit`, if there is one.
    """
    check_eligible(table.codebook, plan.models)
    return partition_eligible(table, plan, report, limit)


def partition_eligible(
    table: EncodedTable,
    plan: Plan,
    report: Report = silent,
    limit: Limit = NO_LIMIT,
    part_of: tuple[int, Course] | None = None,
) -> Outcome:
    """The same for a table that is known to satisfy the models as one class.

    `part_of` are the records of the table that this one is a range of, and its curve.
    """

    def watch(done: float, total: float, loss: float | None = None) -> None:
        report("partition", done, total, loss)

    policy, seconds = plan.policy, plan.policy.seconds
    if seconds is not None and limit.given:
        seconds = limit.left
    run = Run(plan.seed, watch, plan.readers, policy.effort, seconds, *(part_of or (None, None)))
    try:
        outcome = plan.method.run(plan.seen(table), plan.models, plan.options, run)
    except (InfeasibleError, NotFoundError):
        if plan.method.exact or not _mendable(table, plan):
            raise
        outcome = Outcome(Recoding.single(Partition.whole(table.n), len(table.qi)))
    return _published_as_asked(outcome, table, plan)


def _mendable(table: EncodedTable, plan: Plan) -> bool:
    """Whether groups are mended afterwards (`repair`), whatever the method has found.

    Not where records must differ in several sensitive columns at once, which no model says.
    """
    alone = len(table.sensitive) == 1 or not whole_table_only(plan.models)
    return alone and not union_closed(plan.models, table.person is not None)


def partition_leaving_out(
    table: EncodedTable,
    plan: Plan,
    most: int,
    fit: Callable[[NDArray[np.int64]], bool] | None,
    report: Report = silent,
) -> tuple[NDArray[np.int64], Outcome] | None:
    """Records to keep and their groups, by a method that chooses both; None if it does not."""
    run = Run(plan.seed, lambda done, total, loss=None: report("outliers", done, total, loss))
    found = plan.method.leave_out(plan.seen(table), plan.models, plan.options, run, most, fit)
    if found is None:
        return None
    rows, outcome = found
    return rows, _published_as_asked(outcome, table.take(rows), plan)


def _published_as_asked(outcome: Outcome, table: EncodedTable, plan: Plan) -> Outcome:
    """Groups whose mixed values are generalised or published as stars, of values that occur."""
    recoding = replace(outcome.recoding, stars=plan.recoding != "generalise")
    return replace(outcome, recoding=recoding.within(table))


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
