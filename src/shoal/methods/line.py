"""Groups from records in their order along a line, whatever mapped them there.

Paper 004 (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007): once the records are
in one dimension, k-anonymity has an optimal cut (section 3) and l-diversity a
linear heuristic (section 4.2). Every other requirement is reached by merging
neighbours along the line.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.exempt import told_apart
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.dp import best_offsets
from shoal.kernels.line.nested import nested_groups
from shoal.kernels.line.ranking import all_different
from shoal.kernels.threads import ALONE, stopping
from shoal.methods.base import Options
from shoal.methods.merging import merge_along, merge_below
from shoal.models import largest_l, needs_sensitive
from shoal.models.base import Model

__all__ = ["LineOptions", "group_line", "partition_line"]

Diverse = Callable[[NDArray[np.int32], int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""From values along a line, their number and l: places and offsets of groups of l or more
different values."""
Cut = Callable[[int], NDArray[np.int64]]
"""From k to the offsets of groups of k or more neighbours along a line."""

A = TypeVar("A")
B = TypeVar("B")

PARTS = 8
"""A merged group is put together from about this many."""


class LineOptions(Options):
    """Options of every method that sorts records along a line and groups near ones."""

    fast: bool = False
    """Cut by how far records lie apart on the line, not by the loss: quicker, more loss."""
    frontier: bool = False
    """l-diverse groups of the next records along the line, not nested ones: more loss."""
    enhance: bool = False
    """With frontier: a group may take in one more record; hardly helps."""
    narrow: bool = False
    """The widest group as narrow on the line as can be, whatever the loss; for l-diversity on
    small tables only."""


class Line(Protocol):
    """Records in an order in which similar ones are near each other."""

    @property
    def order(self) -> NDArray[np.int64]:
        """Records along the line."""

    def spots(self) -> NDArray[np.float64]:
        """Ascending place of each record of `order` on the line."""


def group_line(
    line: Line, table: EncodedTable, models: Sequence[Model], options: LineOptions
) -> Partition:
    """`partition_line` as a method's options ask for it."""
    spots = line.spots() if options.fast or options.narrow else None
    if options.narrow:
        from shoal.methods.papers.narrow import narrow_along, narrow_offsets

        assert spots is not None
        cut = partial(narrow_offsets, spots)
        return partition_line(line.order, table, models, cut=cut, diverse=narrow_along(spots))
    if not (options.frontier or options.enhance):
        return partition_line(line.order, table, models, spots=spots)
    from shoal.methods.papers.frontier import frontier_along

    diverse = frontier_along(line.spots() if options.enhance else None)
    return partition_line(line.order, table, models, spots=spots, diverse=diverse)


def partition_line(
    order: NDArray[np.int64],
    table: EncodedTable,
    models: Sequence[Model],
    *,
    spots: NDArray[np.float64] | None = None,
    cut: Cut | None = None,
    diverse: Diverse = nested_groups,
) -> Partition:
    """Groups of near records on the line that satisfy every model.

    k-anonymity alone gets the cheapest cut of the line. Frequency l-diversity
    (also as alpha) gets groups of l different values, which need not be
    neighbours. Where more is asked (a larger k, another model, a second
    sensitive column, persons) both are tried, groups that fall short are
    merged with their neighbours, and the cheaper of the two is the answer.

    Parameters
    ----------
    order : int64 array
        Records along the line; similar records are near each other.
    table : EncodedTable
        The records; a table with persons counts persons.
    models : sequence of Model
        What every group must satisfy; the whole table does.
    spots : float64 array, optional
        Ascending place of each record of `order` on the line, to cut by the extent there
        and not by the loss (paper 004's HilbFast, iDistFast).
    cut : callable, optional
        What cuts the line for k-anonymity, instead of the least loss.
    diverse : callable
        What makes groups of different values: nested ones, or those of a paper.
    """
    column, l = _diversity(table, models)
    cut = cut or partial(best_offsets, table.costs, table.codes, order, spot=spots)
    if column is None:
        return _cut(order, table, models, cut)
    groups = _different_values(order, column, l, diverse)
    if _only_l_asked(table, models, l):
        return groups

    # The cut and the groups do not need each other: two cores take the time of one.
    pieces, merged = _both(
        lambda: _cut_for_sizes(order, models, cut),
        lambda: merge_below(np.inf, _coarser(groups, table, models), table, models),
        at_once=table.n >= ALONE,
    )
    assert merged is not None
    consecutive = merge_below(merged.cost, pieces, table, models)
    better = merged if consecutive is None or consecutive.cost > merged.cost else consecutive
    return better.partition


def _both(first: Callable[[], A], second: Callable[[], B], *, at_once: bool) -> tuple[A, B]:
    """The results of two functions, at once if that pays."""
    if not at_once:
        return first(), second()
    with stopping(ThreadPoolExecutor(1)) as pool:
        other = pool.submit(second)
        return first(), other.result()


def _cut(
    order: NDArray[np.int64],
    table: EncodedTable,
    models: Sequence[Model],
    cut: Cut,
) -> Partition:
    """The cheapest cut into groups large enough, merged where a model asks for more."""
    partition = _cut_for_sizes(order, models, cut)
    if table.person is not None or needs_sensitive(models):
        partition = merge_along(partition, table, models)
    return partition


def _cut_for_sizes(order: NDArray[np.int64], models: Sequence[Model], cut: Cut) -> Partition:
    """The cheapest cut into groups large enough."""
    k = max([1, *(m.smallest_class for m in models)])
    partition = Partition(order, cut(k))
    _check_sizes(partition, k)
    return partition


def _diversity(
    table: EncodedTable, models: Sequence[Model]
) -> tuple[tuple[NDArray[np.int32], int] | None, int]:
    """The sensitive column that is hardest to spread over groups, and how many values to each.

    None if no model asks for different values, or the records (as opposed to
    persons) do not have them: then neighbours are merged. So they are for readings
    of l-diversity without a cap, which let a value repeat more often: a cut serves
    them better (distinct l = 5 on Adult: a third of the loss).
    """
    l = max([1, *(m.values_by_cap for m in models)])
    if l == 1 or not table.sensitive:
        return None, 1
    columns = told_apart(table)
    best = [largest_l(np.bincount(codes)) for codes, _ in columns]
    tightest = int(np.argmin(best))
    return (columns[tightest], l) if l <= best[tightest] else (None, 1)


def _only_l_asked(table: EncodedTable, models: Sequence[Model], l: int) -> bool:
    """Whether l or more different values to a group are all that is asked."""
    return (
        table.person is None
        and len(table.sensitive) == 1
        and all(m.size_and_cap for m in models)
        and max(m.smallest_class for m in models) <= l
    )


def _coarser(partition: Partition, table: EncodedTable, models: Sequence[Model]) -> Partition:
    """Groups that are tiny for what is asked joined with their neighbours, to save time.

    A merge walks over all the groups it joins; from about `PARTS` to each the
    walks, and hardly the loss, grow with their number.
    """
    least = min(table.n, max(m.smallest_class for m in models))
    step = max(1, least * partition.groups // (PARTS * table.n))
    return Partition(partition.order, np.append(partition.offsets[:-1:step], partition.offsets[-1]))


def _different_values(
    order: NDArray[np.int64],
    column: tuple[NDArray[np.int32], int],
    l: int,
    diverse: Diverse,
) -> Partition:
    """Groups of at least l records, no two of a group with the same value."""
    codes, size = column
    value = codes[order]
    places, offsets = diverse(value, size, l)
    assert np.diff(offsets).min() >= l
    assert all_different(value, places, offsets, np.full(size, -1))
    return Partition(order[places], offsets)


def _check_sizes(partition: Partition, k: int) -> None:
    """The guarantee, in integers: every record once, k..2k-1 to a group where that can be."""
    sizes = partition.sizes
    n = len(partition.order)
    assert sizes.sum() == n
    assert sizes.min() >= min(k, n)
    assert sizes.max() < max(2 * k, 2)
