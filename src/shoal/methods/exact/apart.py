"""Groups of a few records that satisfy the models, no two of them under the same released values.

Where persons are counted, groups that are published under the same values are one class,
which can fail though each of them passes. United they have the same values still, so a
release is a choice of groups that satisfy the models, have every record once, and all
differ in what they are published as. Such choices are gone through, the cheapest
groups first, as long as that is quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.recode import recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.exact.subsets import cheapest_partition, subset_losses
from shoal.methods.exact import floors
from shoal.models import Model, TableModels, whole_table_only

__all__ = ["FEW", "Apart", "least_apart"]

FEW = 12
"""Records whose groups are all tried: 4,095 of them."""
STEPS = 20_000
"""Groups that are tried one after another, before the search gives up."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Apart:
    """What came out of the search."""

    ids: Rows | None
    """Group of each record; None: no groups were found."""
    impossible: bool = False
    """Whether there are no groups that satisfy the models, whatever they are published as."""


@dataclass
class _Search:
    """Choices of groups, each a set of records as bits."""

    by_lowest: list[list[int]]
    """Groups by their lowest record, the cheapest first."""
    losses: NDArray[np.float64]
    rest: NDArray[np.float64]
    """The least that any set of records loses, whatever its groups are published as."""
    texts: NDArray[np.int64]
    steps: int = STEPS
    least: float = np.inf
    best: list[int] | None = None
    chosen: list[int] = field(default_factory=list)

    def go(self, left: int, lost: float, taken: frozenset[int]) -> None:
        """Choose groups for the records that are left."""
        if not left:
            self.least, self.best = lost, list(self.chosen)
            return
        for group in self.by_lowest[(left & -left).bit_length() - 1]:
            if group & ~left or self.texts[group] in taken:
                continue
            if lost + self.losses[group] + self.rest[left ^ group] >= self.least:
                continue
            self.steps -= 1
            if self.steps < 0:
                return
            self.chosen.append(group)
            self.go(left ^ group, lost + self.losses[group], taken | {int(self.texts[group])})
            self.chosen.pop()


def least_apart(
    table: EncodedTable, models: Sequence[Model], rows: Rows, *, stars: bool = False
) -> Apart:
    """The cheapest groups of at most `FEW` records, each under values of its own.

    Parameters
    ----------
    table, models
        What the records belong to, and what every group of them must satisfy.
    rows
        The records that are grouped.
    stars
        Whether mixed values are published as stars.
    """
    part = table.take(rows)
    feasible = _feasible(table, models, rows)
    losses = np.full(len(feasible), np.inf)
    subset_losses(part.costs, floors(part), part.codes, feasible, losses)
    rest, choice = np.zeros(len(feasible)), np.zeros(len(feasible), dtype=np.int64)
    cheapest_partition(feasible, losses, 1, len(feasible), rest, choice)
    if not np.isfinite(rest[-1]):
        return Apart(None, True)
    search = _Search(_by_lowest(feasible, losses, part.n), losses, rest, _texts(part, stars))
    search.go(len(feasible) - 1, 0.0, frozenset())
    if search.best is None:
        return Apart(None)
    ids = np.zeros(part.n, dtype=np.int64)
    for number, group in enumerate(search.best):
        ids[[i for i in range(part.n) if group >> i & 1]] = number
    return Apart(ids)


def _members(n: int) -> tuple[Rows, Rows]:
    """All sets of n records: number and record, side by side; the empty one has neither."""
    which, records = np.nonzero(np.arange(1 << n)[:, None] >> np.arange(n) & 1)
    return which - 1, records


def _feasible(table: EncodedTable, models: Sequence[Model], rows: Rows) -> NDArray[np.bool_]:
    """Which sets of the records, given as bits, satisfy what every model asks of one class."""
    which, records = _members(len(rows))
    feasible = np.zeros(1 << len(rows), dtype=np.bool_)
    asked = TableModels(table, models)
    if not whole_table_only(models):
        feasible[1:] = asked.satisfied(rows[records], which)
        return feasible
    ends = np.cumsum(np.bincount(which))
    for number, members in enumerate(np.split(rows[records], ends[:-1])):
        feasible[number + 1] = asked.satisfied_by(members)
    return feasible


def _texts(part: EncodedTable, stars: bool) -> NDArray[np.int64]:
    """What each set of the records would be published as: equal numbers, equal values."""
    which, records = _members(part.n)
    sets = part.take(records)
    groups = Partition.from_group_ids(which)
    recoded = recode(sets, Recoding((groups,) * len(part.qi), stars=stars))
    columns = [(column.text_of_group, len(column.texts)) for column in recoded]
    return np.append(-1, class_ids(columns, groups.groups)[0])


def _by_lowest(feasible: NDArray[np.bool_], losses: NDArray[np.float64], n: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(n)]
    for group in np.flatnonzero(feasible)[np.argsort(losses[feasible], kind="stable")].tolist():
        found[(group & -group).bit_length() - 1].append(group)
    return found
