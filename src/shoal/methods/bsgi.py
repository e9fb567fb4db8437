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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.encoding.classes import class_ids
from shoal.encoding.recode import recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError
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
from shoal.kernels.bsgi.index import new_box
from shoal.kernels.bsgi.unite import crowded, persons_of, unite
from shoal.kernels.grouping import dense_ids
from shoal.kernels.threads import on_threads
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.hilbert import curve_of
from shoal.methods.merging import merge_along
from shoal.metrics.loss import gcp
from shoal.models import Model, satisfied_classes, whole_table_only

__all__ = ["BSGI", "BSGIOptions", "First", "Search", "Select"]

Search = Literal["exact", "window"]
Select = Literal["near", "largest"]
First = Literal["outermost", "curve", "random"]
Ids = NDArray[np.int64]

LARGE = 50_000
"""Longer tables are searched window by window, unless told otherwise."""
ROUNDS = 8
"""How often groups of crowded classes are united with others."""
WINDOW = 16_384
"""Records of a window along the curve, or more where it would not be eligible."""


class BSGIOptions(Options):
    """Options of `bsgi`."""

    search: Search | None = None
    """Near records are looked for in the whole table (exact) or in a window along the Hilbert
    curve (window): faster, a few percent more loss. Default: window from 50,000 records on."""
    select: Select = "near"
    """A group is of the nearest records with different values (near), or of one record of each
    of the l most frequent values (largest: the paper's Max-l). Near loses far less."""
    first: First | None = None
    """Who begins a group: the record farthest from the middle (outermost), the next along the
    curve, or a random one. Default: outermost; random, as in the paper, for select = largest."""
    swaps: int = Field(default=1, ge=0)
    """Rounds in which members of different groups change places where that lowers the loss."""


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
    summary = "Groups the nearest records of l different sensitive values; the lowest loss for l."
    promise = (
        "Every group has l records, or a few more, that differ in every sensitive column and are "
        "of different persons: unique distinct l-diversity, which implies the other readings. "
        "Other models are reached by merging groups; then, or where several sensitive columns "
        "leave no other way, a value may repeat, within the models."
    )
    options = BSGIOptions
    unique_groups = True
    default = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: BSGIOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        if not table.qi:  # nothing tells records apart
            return Outcome(Recoding.single(Partition.whole(table.n), 0))
        order = curve_of(table).order
        search = options.search or ("window" if table.n > LARGE else "exact")
        tasks = _tasks(table, models, order)
        found = [_grouped(task, search, options, run) for task in tasks]
        _refuse_what_is_left(tasks[0], found[0], models)
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
    different = _task(table, order, True, asked)
    if asked > 1 and (whole_table_only(models) or _implied(models, different)):
        return [different]
    nearest = _task(table, order, False, least)
    return [nearest] if asked == 1 or different.l == 1 else [different, nearest]


def _task(table: EncodedTable, order: Ids, different: bool, l: int) -> _Task:
    """Groups of l persons, and of l different values in every sensitive column if so asked.

    A column with a value too frequent for that lowers l: merging does the rest, as the
    value may repeat then.
    """
    columns = []
    if different:
        named = zip(table.sensitive, table.sensitive_codes, strict=True)
        columns = [(attribute.name, codes) for attribute, codes in named]
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
    """Select, group, incorporate; once more, with others first, if many records were left."""
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
    return _incorporated(task, best)


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
        found = group_block(block.take(slice(begin, end)), l, options, (run.seed, begin))
        done += end - begin
        run.progress(done, block.n)
        return found

    parts = on_threads(group, cuts[:-1], cuts[1:])
    groups = np.full(block.n, -1, dtype=np.int64)
    count = 0
    for begin, (part, more) in zip(cuts[:-1], parts, strict=True):
        groups[begin : begin + len(part)] = np.where(part < 0, -1, part + count)
        count += more
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


def window_cuts(block: Block, l: int, size: int = WINDOW) -> list[int]:
    """Where the windows along the curve begin and end: eligible ones of about `size` records.

    All but the last have a multiple of l records, so that nobody is left over in them.
    """
    cuts = [0]
    step = max(l, size // l * l)
    for end in range(step, block.n - step // 2, step):
        if _eligible(block.codes[:, cuts[-1] : end], l):
            cuts.append(end)
    while len(cuts) > 1 and not _eligible(block.codes[:, cuts[-1] :], l):
        cuts.pop()
    return [*cuts, block.n]


def _eligible(columns: NDArray[np.int32], l: int) -> bool:
    """Whether no value is more frequent than 1/l in any column, (S, n)."""
    return all(l * int(np.bincount(codes).max()) <= len(codes) for codes in columns)


def group_block(
    block: Block, l: int, options: BSGIOptions, seed: tuple[int, int]
) -> tuple[Ids, int]:
    """Group of each record of a block, -1 where it has none, and the number of groups."""
    queue = turns(block, options.first or "outermost", seed)
    if options.select == "near":
        groups, count = group_near(block, l, queue)
    else:
        groups, count = group_planned(block, queue, max_l_plan(block.codes[0], block.sizes[0], l))
    improve(block, groups, count, l, options.swaps)
    return groups, count


def turns(block: Block, first: First, seed: tuple[int, int]) -> NDArray[np.int32]:
    """Records in the order in which they are asked to begin a group."""
    if first == "outermost":
        order: NDArray[np.int32] = outermost_first(block)
        return order
    if first == "random":
        return np.random.default_rng(seed).permutation(block.n).astype(np.int32)
    return np.arange(block.n, dtype=np.int32)


def _refuse_what_is_left(task: _Task, found: _Found, models: Sequence[Model]) -> None:
    """Unique distinct l-diversity allows for fewer than l residual records, and no repeats."""
    for model in whole_table_only(models):
        asked = model.values_enough or 1
        enough = task.l >= asked
        residual = task.block.n - found.count * task.l
        if enough and residual < task.l and (found.groups >= 0).all():
            continue
        among = task.block.codes[:, found.left] if enough else task.block.codes
        most = [int(np.bincount(codes).max()) for codes in among]
        blocking = task.names[int(np.argmax(most))]
        raise InfeasibleError(
            f"method bsgi: expected groups of {asked} records that differ in "
            f"{' and '.join(task.names)} at once; got {residual} records that no such "
            f"group was found for, blocked by {blocking}: ask for a smaller l, or for "
            "l_reading = frequency, which lets values repeat"
        )


def _merged_as_asked(
    table: EncodedTable, models: Sequence[Model], task: _Task, found: _Found, partition: Partition
) -> Partition:
    """The groups, merged where models ask for more than they have."""
    if not _implied(models, task) or (found.groups < 0).any():
        return merge_along(partition, table, models)
    return partition if table.person is None else _without_crowds(table, partition, models)


def _partition(found: _Found, order: Ids) -> Partition:
    """Groups in their order along the curve; who fits nowhere is alone."""
    ids = found.groups.copy()
    stuck = np.flatnonzero(ids < 0)
    ids[stuck] = found.count + np.arange(len(stuck))
    numbers = np.empty(len(ids), dtype=np.int64)
    dense_ids(ids, numbers)
    along = Partition.from_group_ids(numbers)
    return Partition(order[along.order], along.offsets)


def _without_crowds(
    table: EncodedTable, partition: Partition, models: Sequence[Model]
) -> Partition:
    """Unite groups whose released text is that of others, where a person is in several.

    Groups of one text are one class, in which a person counts once: what held in each group
    can fail there. Such a group is united with a near one of another class. What a few
    rounds do not settle is left to the pipeline, which merges whole classes.
    """
    persons = persons_of(table.person)
    points = points_of(table, np.arange(table.n))
    for _ in range(ROUNDS):
        classes = _classes(table, partition)
        by_class = _groups_that_fail(table, partition, classes, models)
        crowds = np.zeros(partition.groups, dtype=np.bool_)
        seen = np.full(len(persons.start), -1, dtype=np.int64)
        parts = (partition.order, partition.offsets)
        crowded(*parts, by_class, classes, persons.of, seen, crowds)
        partner = np.empty(partition.groups, dtype=np.int64)
        of = classes[partition.group_ids()]
        box = new_box(table.costs)
        if not unite(table.costs, points, box, *parts, classes, of, persons, crowds, partner):
            break
        ids = np.empty(table.n, dtype=np.int64)
        ids[partition.order] = np.repeat(partner, partition.sizes)
        partition = Partition.from_group_ids(ids)
    return partition


def _classes(table: EncodedTable, partition: Partition) -> Ids:
    """Class of each group: those with the same released text are one."""
    recoded = recode(table, Recoding.single(partition, len(table.qi)))
    texts = [(column.text_of_group, len(column.texts)) for column in recoded]
    return class_ids(texts, partition.groups)[0]


def _groups_that_fail(
    table: EncodedTable, partition: Partition, classes: Ids, models: Sequence[Model]
) -> Ids:
    """Groups of the classes in which a model fails, class by class."""
    ids = classes[partition.group_ids()]
    holds = satisfied_classes(table, models, ids)
    by_class: Ids = np.argsort(classes, kind="stable")
    fail: Ids = by_class[~holds[classes[by_class]]]
    return fail
