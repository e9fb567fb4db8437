"""Outliers: records whose suppression saves more loss than the 1 that it costs.

A record far from all others stretches the group it is put into, and all of its
members pay. `max_suppressed` allows a share of the records to be left out: the
table is partitioned, in every group the record is found without which the
group would lose least, the best of these are left out, and the rest is
partitioned anew. What lowers the total loss (each suppressed record counts as
1) is kept; what does not is tried again with half as many. Outliers of the
policy's own method are looked for, and those of a quick one. Its own method has
the last word: if it loses less on all records, none is suppressed. A method that
chooses groups and outliers at once (`Method.leave_out`) is asked for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.recode import STAR, RecodedColumn
from shoal.encoding.released_span import by_all
from shoal.encoding.table import EncodedTable, Recoding
from shoal.engines.memory.partition import partition, partition_leaving_out
from shoal.errors import ShoalError
from shoal.kernels.outliers.savings import removal_savings
from shoal.methods import get_method
from shoal.methods.base import Outcome
from shoal.metrics.loss import gcp, with_suppressed
from shoal.models import Model, satisfied_classes
from shoal.plan import Plan
from shoal.progress import Report, silent

__all__ = ["Kept", "for_rest", "partition_kept", "with_stars"]

Rows = NDArray[np.int64]
Partitioner = Callable[[EncodedTable], Outcome]
Fit = Callable[[Rows], bool]
"""Whether these records may be one class of stars."""

MANY = 100_000
"""Of more records an any-time method, which even at once takes its time, is asked only for
the last word."""
STARTS = (1, 4, 16)
"""The first batch is the whole budget, then a fourth of it, ...: none is always better, and
so a larger budget tries what a smaller one would."""
ROUNDS = 8
"""Partitions that are tried from each start."""
GROWTH = 1.5
TRIALS_SHARE, TRIAL_SHARE = 0.5, 0.15
"""Of the time that there is, what finding outliers may take; of that, what one trial may."""


class Kept(NamedTuple):
    """The records that are kept, with their partition: all, unless outliers are suppressed."""

    table: EncodedTable
    outcome: Outcome
    rows: Rows | None = None
    """Rows of the table that these are, ascending; None: all."""
    suppressed: int = 0
    among_all: EncodedTable | None = None
    """The same records in the codes and scales of all, where the table has its own."""

    @property
    def loss(self) -> float:
        """GCP of all records, those suppressed at 1 each."""
        kept = gcp(*self.priced(self.outcome.recoding))
        return with_suppressed(kept, self.table.n, self.suppressed)

    @property
    def loss_alone(self) -> float:
        """The same on the scales of the kept records: it tells nothing of where others lie."""
        return with_suppressed(
            gcp(self.table, self.outcome.recoding), self.table.n, self.suppressed
        )

    def priced(self, recoding: Recoding) -> tuple[EncodedTable, Recoding]:
        """The records and how they are published, on the scales of all records."""
        if self.among_all is None:
            return self.table, recoding
        return self.among_all, by_all(self.among_all, self.table, recoding)


class Attempt(NamedTuple):
    """A partition of those records that are kept."""

    kept: Rows
    """Which records of the table these are, ascending."""
    table: EncodedTable
    """They alone; what a range of codes costs is as in the whole table."""
    outcome: Outcome
    total: float
    """Loss of all records of the whole table, those suppressed at 1 each."""


def partition_kept(
    table: EncodedTable,
    plan: Plan,
    report: Report = silent,
    limit: Limit = NO_LIMIT,
    *,
    regrouped: bool = False,
) -> Kept:
    """The records to keep within the policy's budget, and their partition by its method.

    An any-time method decides at its least effort whether records are
    suppressed, and then works as long as it is asked to.

    Parameters
    ----------
    table, plan
        All records, and what is to be done with them.
    report
        Told how far the search is.
    limit
        Until when a plan with a time works: half of it may go into finding outliers.
    regrouped
        Whether those that are kept are grouped once more, alone, where some are suppressed:
        then an any-time method need not do its best here.
    """
    most = plan.policy.suppressible(table.n)
    if not most:
        return Kept(table, partition(table, plan, report, limit))

    trials = limit.share(TRIALS_SHARE)

    fit = _fit_for_stars(table, plan) if plan.policy.suppress_by == "star" else None
    together: Kept | None = None
    if (chosen := partition_leaving_out(table, plan, most, fit, report)) is not None:
        rows, outcome = chosen
        everybody = len(rows) == table.n
        together = Kept(table.take(rows), outcome, None if everybody else rows, table.n - len(rows))
        if plan.method.leaves_out(plan.options):
            return together

    def by(plan: Plan) -> Partitioner:
        return lambda rest: partition(
            rest, for_rest(plan, rest.n, table.n), limit=trials.share(TRIAL_SHARE)
        )

    anytime = plan.searches
    at_once = anytime and not limit.given
    own = by(plan.with_settings(effort="instant", time=None) if at_once else plan)
    quick = _quick(plan)
    finders = [] if quick is None else [by(quick)]
    if table.n <= MANY or not (finders and anytime):
        finders.append(own)
    found = _without_outliers(
        table,
        most,
        finders,
        own,
        fit=fit,
        progress=lambda done, total: report("outliers", done, total),
        limit=trials,
    )
    outcome = found.outcome
    if anytime and not (regrouped and found.table.n < table.n):
        outcome = partition(found.table, for_rest(plan, found.table.n, table.n), report, limit)
    suppressed = table.n - found.table.n
    if suppressed and outcome.proof:
        outcome = replace(outcome, proof=f"of the records that are kept: {outcome.proof}")
    around = Kept(found.table, outcome, found.kept if suppressed else None, suppressed)
    # automatic levels follow from who is kept: around its own groups a method may find more
    return around if together is None or around.loss < together.loss else together


def _quick(plan: Plan) -> Plan | None:
    """The plan with the quick method in place of its own, if that is another and can do it."""
    quick = plan.method.stand_in
    if quick is None or get_method(quick).refusal(plan.models):
        return None
    of_its_method_alone: dict[str, Any] = {"option": {}, "effort": None, "time": None}
    return plan.with_settings(method=quick, recoding=plan.recoding, **of_its_method_alone)


def for_rest(plan: Plan, rest: int, everybody: int) -> Plan:
    """The plan for the records that are kept where the others are released as stars.

    t-closeness compares with the whole release: leaving out a share of the
    records moves the distribution by no more than that share.
    """
    policy = plan.policy
    if policy.t is None or policy.suppress_by == "drop" or rest == everybody:
        return plan
    tighter = float(policy.t) - (everybody - rest) / everybody - 1e-9
    return plan.with_settings(t=max(0.0, tighter))


def _fit_for_stars(table: EncodedTable, plan: Plan) -> Fit:
    """Whether records, as one class, satisfy the models of every reader."""
    return lambda rows: all(_are_a_class(table, view.models, rows) for view in plan.views)


def _without_outliers(
    table: EncodedTable,
    most: int,
    finders: Sequence[Partitioner],
    own: Partitioner,
    fit: Fit | None,
    progress: Callable[[float, float], None],
    limit: Limit = NO_LIMIT,
) -> Attempt:
    """The records to keep, at most `most` fewer than all, with their own method's partition.

    Finders look for outliers. Nothing is suppressed unless the own method then loses
    less. Suppressed records that are released as stars must be `fit` to be a class.
    """
    everybody = np.arange(table.n, dtype=np.int64)
    best = whole = _attempt(table, everybody, own)
    for number, finder in enumerate(finders if whole.total > 0 else ()):
        if limit.up:
            break
        progress(number, len(finders))
        first = whole if finder is own else _tried(table, everybody, finder)
        if first is None:
            continue
        found = _search(table, most, finder, first, limit)
        final: Attempt | None = found
        if finder is not own or fit is not None:
            kept = found.kept if fit is None else _with_a_class_of_stars(table, found, most, fit)
            final = _tried(table, kept, own) if len(kept) < table.n else None
        if final is not None and final.total < best.total:
            best = final
    return best


def _attempt(table: EncodedTable, kept: Rows, method: Partitioner) -> Attempt:
    rest = table.take(kept)
    outcome = method(rest)
    suppressed = table.n - rest.n
    return Attempt(kept, rest, outcome, gcp(rest, outcome.recoding) * rest.n + suppressed)


def _tried(table: EncodedTable, kept: Rows, method: Partitioner) -> Attempt | None:
    """An attempt, or None where the models or the method do not allow it on these records."""
    try:
        return _attempt(table, kept, method)
    except ShoalError:
        return None


def _search(
    table: EncodedTable,
    most: int,
    finder: Partitioner,
    first: Attempt,
    limit: Limit,
) -> Attempt:
    """The attempt of least total loss that was met."""
    best = first
    for parts in STARTS:
        here, batch = first, -(-most // parts)
        for _ in range(ROUNDS):
            left = most - (table.n - len(here.kept))
            chosen = _worst(here)[: min(batch, left)]
            if not len(chosen) or limit.up:
                break
            trial = _tried(table, np.delete(here.kept, chosen), finder)
            if trial is not None and trial.total < here.total:
                here = trial
            else:
                batch = len(chosen) // 2
        best = min(best, here, key=lambda attempt: attempt.total)
    return best


def _savings(attempt: Attempt) -> NDArray[np.float64]:
    """What the group of each kept record would save without it."""
    partition = attempt.outcome.recoding.partitions[0]
    seen = attempt.outcome.recoding.seen(attempt.table)
    savings = np.empty(seen.n, dtype=np.float64)
    removal_savings(seen.costs, seen.codes, partition.order, partition.offsets, savings)
    return savings


def _worst(attempt: Attempt) -> Rows:
    """In each group the one record whose removal saves most, if more than 1; most first.

    One alone, because without it the others of its group look different.
    """
    savings = _savings(attempt)
    by_saving = np.argsort(-savings, kind="stable")
    groups = attempt.outcome.recoding.partitions[0].group_ids()[by_saving]
    _, first_of_group = np.unique(groups, return_index=True)
    worst: Rows = by_saving[np.sort(first_of_group)]
    return worst[savings[worst] > 1]


def _with_a_class_of_stars(table: EncodedTable, found: Attempt, most: int, fit: Fit) -> Rows:
    """Records to keep so that the others can be a class; if there is no way, all of them.

    Where the outliers are too few or too alike for a class of their own, those
    next in line join them, within the budget.
    """
    out = np.setdiff1d(np.arange(table.n), found.kept)
    if not len(out):
        return found.kept
    next_in_line = found.kept[np.argsort(-_savings(found), kind="stable")]
    for size in _sizes(len(out), most):
        together = np.concatenate([out, next_in_line[: size - len(out)]])
        if size < table.n and fit(together):
            return np.setdiff1d(np.arange(table.n), together)
    return np.arange(table.n, dtype=np.int64)


def _sizes(fewest: int, most: int) -> Iterator[int]:
    size = fewest
    while size < most:
        yield size
        size = max(size + 1, int(size * GROWTH))
    yield most


def _are_a_class(table: EncodedTable, models: Sequence[Model], rows: Rows) -> bool:
    """Whether these records, as one class of the table, satisfy every model."""
    ids = np.zeros(table.n, dtype=np.int64)
    ids[rows] = 1
    return bool(satisfied_classes(table, models, ids)[1])


def with_stars(
    columns: Sequence[RecodedColumn], kept: Rows, records: int
) -> tuple[RecodedColumn, ...]:
    """Released columns of all records: those not kept carry a star in each."""
    groups: dict[int, NDArray[np.integer[Any]]] = {}
    return tuple(_starred(column, kept, records, groups) for column in columns)


def _starred(
    column: RecodedColumn, kept: Rows, records: int, groups: dict[int, NDArray[np.integer[Any]]]
) -> RecodedColumn:
    if id(column.groups) not in groups:  # columns under one partition share the array
        everybody = np.full(records, len(column.text_of_group), dtype=np.int32)
        everybody[kept] = column.groups
        groups[id(column.groups)] = everybody
    texts = column.texts if STAR in column.texts else [*column.texts, STAR]
    return RecodedColumn(
        source=column.source,
        texts=texts,
        text_of_group=np.append(column.text_of_group, np.int32(texts.index(STAR))),
        low=np.append(column.low, np.int32(0)),
        high=np.append(column.high, np.int32(column.source.size)),  # beyond every value: no bound
        groups=groups[id(column.groups)],
    )
