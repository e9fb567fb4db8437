"""BSGI: bucketise, select, group, incorporate (paper 002).

Ye, Deng, Wang, Lv, Liu, Feng, "BSGI: An Effective Algorithm towards Stronger
l-Diversity": records are put into buckets by their sensitive value; groups of l
records take one record from each of l buckets, near each other; the few
records that are left over are incorporated into groups without their value.
Every group then has l (or a few more) records, all with different values.

A residual record always finds such a group. Let the table be eligible, n records of
which no value has more than floor(n/l), and let the selection make as many groups as
there can be, floor(n/l) (`shoal.kernels.bsgi.select` sees to it; Max-l does by the paper's
Theorem 1). Fewer than l records are left over then. A value v with c_v <=
floor(n/l) records, one of them left over, is in at most floor(n/l) - 1 groups: one is
without v. It stays so after other records have joined it, and a group of
different values satisfies ``l * r_1 <= n_e`` whatever its size. The paper's last
resort, a group that has the value already, is never needed.

The same holds for two columns in which members must differ (two sensitive ones, or one
and persons): see `shoal.kernels.bsgi.chains`. With more, a search can fail; then groups
are merged, or the release is refused where the model wants values not to repeat.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.encoding.exempt import as_one, told_apart
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError, NotFoundError, PolicyError, ShoalError
from shoal.kernels.bsgi.block import (
    Block,
    group_near,
    group_planned,
    improve,
    max_l_plan,
    outermost_first,
    place,
    place_all,
    points_of,
)
from shoal.kernels.grouping import dense_ids
from shoal.kernels.random import random_state
from shoal.kernels.threads import on_threads
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.crowds import without_crowds
from shoal.methods.curve import DRAWS, cut_into, drawn_curve
from shoal.methods.differing import settle
from shoal.methods.merging import merge_along
from shoal.methods.windows import WINDOW, exchanging, window_cuts
from shoal.metrics.loss import gcp
from shoal.models import Model, whole_table_only

__all__ = ["BSGI", "BSGIOptions", "First", "Residual", "Search", "Select", "different_groups"]

Search = Literal["exact", "window"]
Select = Literal["near", "largest"]
First = Literal["outermost", "curve", "random"]
Residual = Literal["incorporate", "suppress"]
Ids = NDArray[np.int64]

LUCK = 0.05
"""Farther from the middle by so much at most, in losses of an attribute, by lot: who begins a
group would otherwise follow from the records alone."""
LARGE = 50_000
"""Longer tables are searched window by window, unless told otherwise."""
STRETCH = 64
"""Records that a good curve keeps together for windows: by 8 of them one in four loses 15% more."""
LONGEST = 2 * WINDOW
"""Of a longer window members change places part by part, so that all cores can share the work.
(ACS, 100,000 records, l = 8: 0.1564 instead of 0.1583, for 7.0 instead of 6.1 CPU seconds.)"""


class BSGIOptions(Options):
    """Options of `bsgi`."""

    search: Search | None = None
    """Near records are looked for in the whole table (exact) or in a window along the Hilbert
    curve (window): faster, a few percent more loss. Default: window from 50,000 records on."""
    select: Select = "near"
    """A group is of the nearest records with different values (near), or of one record of each
    of the l most frequent values (largest). Near loses far less."""
    first: First | None = None
    """Who begins a group: the record farthest from the middle (outermost), the next along the
    curve, or a random one. Default: outermost; random for select = largest."""
    swaps: int = Field(default=1, ge=0)
    """Rounds in which members of different groups change places where that lowers the loss."""
    residual: Residual = "incorporate"
    """Records that no group of l has room for join one without their value (incorporate), or are
    not released (suppress; `max_suppressed` must allow them)."""


@dataclass(frozen=True, eq=False)
class _Task:
    """Groups to be made of records along the curve."""

    block: Block
    names: tuple[str, ...]
    """What the members of a group must differ in, the hardest to spread first."""
    l: int
    """Members of a group."""
    different: bool
    """Whether they differ in every sensitive column."""


@dataclass(frozen=True, eq=False)
class _Found:
    """Groups of records along the curve."""

    groups: Ids
    """Group of each record, -1 for those that fit nowhere."""
    count: int
    left: Ids
    """Records that were in no group of l, before they were incorporated into others."""


class BSGI(Method[BSGIOptions]):
    """Groups of l records that differ in every sensitive column, and in their persons.

    Models that this does not imply (a larger k, t-closeness, (k, e)) are reached by
    merging groups that are neighbours along the Hilbert curve: groups of l different
    records or groups of the k nearest, whichever loses less. Where no model asks for
    different values, groups are of the k nearest records.
    """

    name = "bsgi"
    summary = "Groups the nearest records of l different sensitive values; much less loss for l."
    promise = (
        "Every group has l records, or a few more, that differ in every sensitive column and are "
        "of different persons: unique distinct l-diversity, which implies the other readings. "
        "Other models are reached by merging groups; then, or where several sensitive columns "
        "leave no other way, a value may repeat, within the models."
    )
    options = BSGIOptions
    unique_groups = True
    default = True
    by_range = 100_000

    def leaves_out(self, options: BSGIOptions) -> bool:
        """Where residual records are suppressed."""
        return options.residual == "suppress"

    def leave_out(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        options: BSGIOptions,
        run: Run,
        most: int,
        fit: Callable[[Ids], bool] | None,
    ) -> tuple[Ids, Outcome] | None:
        """See `Method.leave_out`: the records that are in no group of l, and groups of the rest."""
        if not self.leaves_out(options) or not table.qi:
            return None
        search, order = self._along(table, options, run)
        task = _tasks(table, models, order)[0]
        left = _selected_best(task, search, options, run).left
        if len(left) > most:
            raise PolicyError(
                f"method bsgi: residual = suppress: up to l - 1 = {task.l - 1} records (more with "
                f"several sensitive columns) may be left over; max_suppressed allows {most:,} here"
            )
        if len(left) and fit is not None and not fit(np.sort(order[left])):
            raise PolicyError(
                "method bsgi: residual = suppress: the few records that are left over are no "
                "class of stars; choose suppress_by = drop"
            )
        rows = np.sort(np.delete(order, left))
        return rows, self.run(table.take(rows), models, options, run)

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: BSGIOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        if not table.qi:  # nothing tells records apart
            return Outcome(Recoding.single(Partition.whole(table.n), 0))
        search, order = self._along(table, options, run)
        tasks = _tasks(table, models, order)
        found = [_grouped(task, search, options, run) for task in tasks]
        if whole_table_only(models):
            found[0] = _settled(tasks[0], found[0], models, run.seed)
        partitions = [_partition(f, order) for f in found]
        merged = [
            _merged_as_asked(table, models, task, f, p)
            for task, f, p in zip(tasks, found, partitions, strict=True)
        ]
        best = int(np.argmin([gcp(table, Recoding.single(p, len(table.qi))) for p in merged]))
        facts: dict[str, Any] = {
            "l": tasks[best].l,
            "residual_records": table.n - found[best].count * tasks[best].l,
            "search": search,
            "merged_groups": partitions[best].groups - merged[best].groups,
        }
        return Outcome(Recoding.single(merged[best], len(table.qi)), facts)

    def _along(self, table: EncodedTable, options: BSGIOptions, run: Run) -> tuple[Search, Ids]:
        """How near records are looked for, and the records along the curve."""
        search = options.search or ("window" if table.n > LARGE else "exact")
        # where the whole table is searched the curve decides no more than ties
        draws = DRAWS if search == "window" else 1
        return search, drawn_curve(table, run.seed, cut_into(STRETCH), draws).order


def different_groups(
    table: EncodedTable, codes: NDArray[np.int32], l: int, options: BSGIOptions, run: Run
) -> Ids:
    """Group of each record: l of different codes, near each other, or a few more.

    No code may have more than ``floor(n / l)`` records; then everybody is in a group.
    """
    search = options.search or ("window" if table.n > LARGE else "exact")
    draws = DRAWS if search == "window" else 1
    order = drawn_curve(table, run.seed, cut_into(STRETCH), draws).order
    own = codes[order][None, :]
    block = Block(table.costs, points_of(table, order), own, (int(codes.max()) + 1,))
    found = _grouped(_Task(block, ("their values",), l, True), search, options, run)
    ids = np.empty(table.n, dtype=np.int64)
    ids[order] = found.groups
    return ids


def _implied(models: Sequence[Model], task: _Task) -> bool:
    """Whether all groups of the task satisfy all models."""
    return all(
        m.values_enough is not None
        and max(m.values_enough, m.smallest_class) <= task.l
        and (task.different or not m.about_sensitive)
        for m in models
    )


def _tasks(table: EncodedTable, models: Sequence[Model], order: Ids) -> list[_Task]:
    """Groups of different values, or of nearest records, or both to choose from."""
    asked = max([1, *(m.values_enough or 1 for m in models)])
    least = max([1, *(m.smallest_class for m in models)])
    different = _task(table, order, True, asked, all(m.size_and_cap for m in models))
    if asked > 1 and (whole_table_only(models) or _implied(models, different)):
        return [different]
    nearest = _task(table, order, False, least)
    return [nearest] if asked == 1 or different.l == 1 else [different, nearest]


def _task(table: EncodedTable, order: Ids, different: bool, l: int, apart: bool = True) -> _Task:
    """Groups of l persons, and of l different values in every sensitive column if so asked.

    Exempt values are no value in common, if they may be told `apart`; else they are one.

    A column with a value too frequent for that lowers l: merging does the rest, as the
    value may repeat then.
    """
    columns = []
    if different:
        dealt_out = told_apart(table) if apart else as_one(table)
        named = zip(table.sensitive, dealt_out, strict=True)
        columns = [(attribute.name, codes) for attribute, (codes, _) in named]
    if table.person is not None:
        _, person = np.unique(table.person, return_inverse=True)
        columns.append(("their persons", person.astype(np.int32)))
    if not columns:  # nothing to differ in: every record is different
        columns.append(("everything", np.arange(table.n, dtype=np.int32)))
    most = [int(np.bincount(codes).max()) for _, codes in columns]
    hardest = np.argsort(most, kind="stable")[::-1]
    codes = np.stack([columns[i][1][order] for i in hardest])
    sizes = tuple(int(row.max()) + 1 for row in codes)
    block = Block(table.costs, points_of(table, order), codes, sizes)
    names = tuple(columns[i][0] for i in hardest)
    return _Task(block, names, max(1, min(l, table.n // max(most))), different)


def _grouped(task: _Task, search: Search, options: BSGIOptions, run: Run) -> _Found:
    """Select, group, incorporate."""
    return _incorporated(task, _selected_best(task, search, options, run))


def _selected_best(task: _Task, search: Search, options: BSGIOptions, run: Run) -> _Found:
    """Select and group; once more, with others first, if many records were left."""
    wanted = options.first or ("outermost" if options.select == "near" else "random")
    others: tuple[First, ...] = ("random", "curve", "outermost")
    best: _Found | None = None
    for first in (wanted, *(f for f in others if f != wanted)):
        found = _selected(task, search, options.model_copy(update={"first": first}), run)
        if best is None or len(found.left) < len(best.left):
            best = found
        if len(best.left) == task.block.n % task.l:  # as few as there can be
            break
    assert best is not None
    return best


def _incorporated(task: _Task, found: _Found) -> _Found:
    """Everybody in a group: always with one or two columns to differ in, else as far as it goes."""
    most = task.block.n // task.l
    if found.count == most or len(task.names) > 2:
        place(task.block, found.groups, found.count)
    if len(task.names) == 2 and (found.groups < 0).any():
        place_all(task.block, found.groups, most)
        return replace(found, count=most)
    assert len(task.names) > 1 or (found.count == most and (found.groups >= 0).all())
    return found


def _selected(task: _Task, search: Search, options: BSGIOptions, run: Run) -> _Found:
    """Groups of l records each, and those that are left over."""
    block, l = task.block, task.l
    cuts = window_cuts(block, l) if search == "window" else [0, block.n]
    done = 0

    def group(begin: int, end: int) -> tuple[Ids, int]:
        nonlocal done
        found = _drafted(block.take(slice(begin, end)), l, options, (run.seed, begin))
        done += end - begin
        run.progress(done, 3 * block.n)
        return found

    def exchange(rows: Ids) -> None:
        nonlocal done
        own = groups[rows]
        numbers, own[own >= 0] = np.unique(own[own >= 0], return_inverse=True)
        improve(block.take(rows), own, len(numbers), l, options.swaps)
        inside = own >= 0
        groups[rows[inside]] = numbers[own[inside]]  # nobody else has these groups
        done += len(rows)
        run.progress(done, 3 * block.n)

    parts = on_threads(group, cuts[:-1], cuts[1:])
    groups = np.full(block.n, -1, dtype=np.int64)
    count = 0
    for begin, (part, more) in zip(cuts[:-1], parts, strict=True):
        groups[begin : begin + len(part)] = np.where(part < 0, -1, part + count)
        count += more
    most = LONGEST if search == "window" else block.n
    for member in (l // 2, 0):
        on_threads(exchange, exchanging(groups, cuts, l, most, member))
    count = _second_chance(block, l, options, run.seed, groups, count)
    return _Found(groups, count, np.flatnonzero(groups < 0))


def _second_chance(
    block: Block, l: int, options: BSGIOptions, seed: int, groups: Ids, count: int
) -> int:
    """Groups of those that were left over, as long as there are any; returns how many in all."""
    while len(rows := np.flatnonzero(groups < 0)) >= l:
        part, more = group_block(block.take(rows), l, options, (seed, block.n))
        if more == 0:
            break
        groups[rows] = np.where(part < 0, -1, part + count)
        count += more
    return count


def group_block(
    block: Block, l: int, options: BSGIOptions, seed: tuple[int, int]
) -> tuple[Ids, int]:
    """Group of each record of a block, -1 where it has none, and the number of groups."""
    groups, count = _drafted(block, l, options, seed)
    improve(block, groups, count, l, options.swaps)
    return groups, count


def _drafted(block: Block, l: int, options: BSGIOptions, seed: tuple[int, int]) -> tuple[Ids, int]:
    """The same, before members change places."""
    queue = turns(block, options.first or "outermost", seed)
    if options.select == "near":
        drafted: tuple[Ids, int] = group_near(block, l, queue)
    else:
        drafted = group_planned(block, queue, _plan(block, l, seed))
    return drafted


def _plan(block: Block, l: int, seed: tuple[int, int]) -> NDArray[np.int32]:
    """Values of each group by Max-l; of equally frequent ones those that the seed draws."""
    plan: NDArray[np.int32] = max_l_plan(block.codes[0], block.sizes[0], l, random_state(*seed))
    return plan


def turns(block: Block, first: First, seed: tuple[int, int]) -> NDArray[np.int32]:
    """Records in the order in which they are asked to begin a group."""
    if first == "outermost":
        luck = np.random.default_rng(seed).random(block.n)
        order: NDArray[np.int32] = outermost_first(block, LUCK * luck)
        return order
    if first == "random":
        return np.random.default_rng(seed).permutation(block.n).astype(np.int32)
    return np.arange(block.n, dtype=np.int32)


def _settled(task: _Task, found: _Found, models: Sequence[Model], seed: int) -> _Found:
    """Groups that unique distinct l-diversity allows: fewer than l residual records, no repeats.

    Raises
    ------
    InfeasibleError, NotFoundError
        There are none, or none were found.
    """
    asked = max(m.values_enough or 1 for m in whole_table_only(models))
    count = task.block.n // task.l
    proven = task.l < asked  # a value is too frequent
    if not proven:
        if found.count == count and (found.groups >= 0).all():
            return found
        settled = settle(task.block.codes, found.groups, found.count, task.l, seed)
        if settled.groups is not None:
            return replace(found, groups=settled.groups, count=count)
        proven = settled.proven
    raise _nobody_differs(task, found, asked, proven)


def _nobody_differs(task: _Task, found: _Found, asked: int, proven: bool) -> ShoalError:
    """That there are no groups, or none were found, and which column is in the way."""
    among = task.block.codes if task.l < asked else task.block.codes[:, found.left]
    most = [int(np.bincount(codes).max()) for codes in among]
    wanted = f"groups of {asked} records that differ in {' and '.join(task.names)} at once"
    go_on = (
        f"blocked by {task.names[int(np.argmax(most))]}: ask for a smaller l, or for "
        "l_reading = frequency, which lets values repeat"
    )
    if proven:
        return InfeasibleError(f"method bsgi: expected {wanted}; there are none, {go_on}")
    residual = task.block.n - found.count * task.l
    return NotFoundError(
        f"method bsgi: expected {wanted}; {residual} records are in none that was found, though "
        f"there may be some, {go_on}; or try another seed"
    )


def _merged_as_asked(
    table: EncodedTable, models: Sequence[Model], task: _Task, found: _Found, partition: Partition
) -> Partition:
    """The groups, merged where models ask for more than they have."""
    if not _implied(models, task) or (found.groups < 0).any():
        return merge_along(partition, table, models)
    return partition if table.person is None else without_crowds(table, partition, models)


def _partition(found: _Found, order: Ids) -> Partition:
    """Groups in their order along the curve; who fits nowhere is alone."""
    ids = found.groups.copy()
    stuck = np.flatnonzero(ids < 0)
    ids[stuck] = found.count + np.arange(len(stuck))
    numbers = np.empty(len(ids), dtype=np.int64)
    dense_ids(ids, numbers)
    along = Partition.from_group_ids(numbers)
    return Partition(order[along.order], along.offsets)
