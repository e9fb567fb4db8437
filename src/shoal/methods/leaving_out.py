"""Full-domain generalisations that may leave records out: the least loss within a budget.

At a node of the lattice, the records of classes that fail a model are left out, if the
budget allows for them; each counts as 1. No record loses more than 1 where it is kept, so a
node loses at least what it would with everybody kept, and that is a sum over the attributes
alone. Nodes are taken in the order of this sum, and the first that cannot beat the
best so far ends the search: it is exact under every model.

Most nodes are never asked. Records in classes that are too small for any model get fewer on
the way up, so one search of the lattice (`shoal.methods.fulldomain`) finds all nodes at which
they are within the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.methods.fulldomain import PASSES, Search
from shoal.methods.levels import AttributeLevels
from shoal.metrics.loss import group_ncp
from shoal.models import Model, satisfied_classes

__all__ = ["Fit", "LeftOut", "least_within", "proof_within", "recoding_at"]

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Fit = Callable[[Rows], bool]
"""Whether these records may be one class of stars."""
JOINING = 32
"""So many classes, the smallest first, may join records that are no class of stars alone."""


class LeftOut(NamedTuple):
    """A node, and the records that are kept at it."""

    node: tuple[int, ...]
    kept: Rows
    total: float
    """Loss of all records, those left out at 1 each."""
    asked: int
    """Nodes whose classes were looked at."""


class _WithinBudget(Search):
    """Which nodes have few enough records in classes that are too small for the models."""

    most = 0

    def _passes(self, number: int, node: Rows) -> bool:
        united = self._united(node)
        if united.worth_keeping:
            self._rolled(node, united, keep=True)
        small = united.size < self.test.rules.smallest
        return int(united.size[small].sum()) <= self.most


def least_within(
    table: EncodedTable,
    models: Sequence[Model],
    attribute_levels: Sequence[AttributeLevels],
    most: int,
    fit: Fit | None,
    progress: Callable[[float, float], None],
) -> LeftOut:
    """The node and the records to keep at it that lose least together.

    Parameters
    ----------
    table, models, attribute_levels
        The records, what every class must satisfy, and what a node chooses from. All
        records as one class satisfy the models.
    most
        How many records may be left out.
    fit
        Whether records that are left out may be one class; None where they are dropped.
    progress
        Told how far the search of the lattice is.
    """
    search = _WithinBudget(table, models, attribute_levels)
    search.most = most
    search.minimal_nodes(progress)
    costs = [_record_losses(table, a, each) for a, each in enumerate(attribute_levels)]
    sums = _sums(table, search, costs)
    passing = np.flatnonzero(search.marks == PASSES)
    best: LeftOut | None = None
    asked = 0
    for number in passing[np.argsort(sums[passing], kind="stable")]:
        if best is not None and sums[number] >= best.total:
            break
        asked += 1
        node = search.levels_at(int(number))
        kept = _kept(table, models, _classes_at(table, attribute_levels, node), most, fit)
        if kept is None:
            continue
        out = np.ones(table.n, dtype=np.bool_)
        out[kept] = False
        spared = sum(costs[a][at][table.codes[a][out]].sum() for a, at in enumerate(node))
        total = float(sums[number] + np.count_nonzero(out) - spared)
        if best is None or total < best.total:
            best = LeftOut(node, kept, total, asked)
    assert best is not None  # at the top everybody is in one class
    return best._replace(asked=asked)


def recoding_at(
    table: EncodedTable, attribute_levels: Sequence[AttributeLevels], node: Sequence[int]
) -> Recoding:
    """The classes of a node, and the blocks of values they are published as."""
    domains = tuple(each.domain(at) for each, at in zip(attribute_levels, node, strict=True))
    classes = Partition.from_group_ids(_classes_at(table, attribute_levels, node))
    return Recoding.single(classes, len(table.qi), domains)


def proof_within(choice: str, models: Sequence[Model], fit: Fit | None) -> str:
    """What is proven; nothing where those left out had to be a class of stars."""
    if fit is not None:
        return ""
    return (
        f"no {choice} that satisfies {' and '.join(map(str, models))} loses less, values counted "
        "at their levels and each record that max_suppressed leaves out at 1"
    )


def _classes_at(
    table: EncodedTable, attribute_levels: Sequence[AttributeLevels], node: Sequence[int]
) -> Rows:
    """Class of each record at a node."""
    blocks = [each.blocks[at] for each, at in zip(attribute_levels, node, strict=True)]
    columns = [
        (block[codes], int(block[-1]) + 1) for codes, block in zip(table.codes, blocks, strict=True)
    ]
    return class_ids(columns, table.n)[0]


def _record_losses(table: EncodedTable, a: int, each: AttributeLevels) -> list[Floats]:
    """Share of the loss that a record with each code has at each level of one attribute."""
    by_value = Partition.from_group_ids(table.codes[a])
    weights = table.costs.weight
    found = []
    for level in range(len(each.blocks)):
        losses = np.zeros(table.qi[a].size)
        first = by_value.order[by_value.offsets[:-1]]
        losses[table.codes[a][first]] = group_ncp(table, a, by_value, each.domain(level))
        found.append(losses * weights[a] / weights.sum())
    return found


def _sums(table: EncodedTable, search: Search, costs: Sequence[list[Floats]]) -> Floats:
    """Loss of all records at every node of the lattice, if all were kept."""
    by_level = [
        np.array([float(counts @ losses) for losses in costs[a]])
        for a, counts in enumerate(table.counts)
    ]
    fixed = sum(float(by_level[a][0]) for a in range(len(costs)) if a not in search.free)
    free = [by_level[a] for a in search.free]
    return fixed + reduce(lambda grid, more: np.add.outer(grid, more).ravel(), free, np.zeros(1))


def _kept(
    table: EncodedTable, models: Sequence[Model], ids: Rows, most: int, fit: Fit | None
) -> Rows | None:
    """The records of classes that satisfy the models; None if too many others would go."""
    passes = satisfied_classes(table, models, ids)
    for out in _to_leave(ids, passes, most, fit):
        kept = np.flatnonzero(~out)
        if not len(kept):
            return None
        if fit is not None or not out.any() or _still_satisfied(table, models, ids, kept):
            return kept
    return None


def _to_leave(
    ids: Rows, passes: NDArray[np.bool_], most: int, fit: Fit | None
) -> Iterator[NDArray[np.bool_]]:
    """The records of failing classes; with more where they must be a class of stars."""
    out = ~passes[ids]
    leaving = int(np.count_nonzero(out))
    if leaving > most:
        return
    if fit is None or leaving == 0 or fit(np.flatnonzero(out)):
        yield out
        return
    sizes = np.bincount(ids)
    for smallest in np.flatnonzero(passes)[np.argsort(sizes[passes], kind="stable")][:JOINING]:
        leaving += int(sizes[smallest])
        if leaving > most:
            return
        out = out | (ids == smallest)
        if fit(np.flatnonzero(out)):
            yield out
            return


def _still_satisfied(table: EncodedTable, models: Sequence[Model], ids: Rows, kept: Rows) -> bool:
    """Whether classes hold among those that are kept: models may compare with all of them."""
    if not any(model.compares_with_table for model in models):
        return True
    _, numbers = np.unique(ids[kept], return_inverse=True)
    return bool(satisfied_classes(table.take(kept), models, numbers.reshape(-1)).all())
