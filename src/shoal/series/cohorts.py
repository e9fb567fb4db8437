"""k over releases, where no column is sensitive: groups persist or only merge.

Whoever lays releases over each other learns that somebody is among those who
were in his class every time. So persons who were in one class stay in one. Of
them, those who are in all releases that a person is in must be k at least: who
was published among others of whom fewer than k are left can never be published
again, however he is grouped, and is withheld.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.canonical import canonical
from shoal.engines.memory.outliers import Kept
from shoal.engines.memory.partition import partition
from shoal.errors import InfeasibleError
from shoal.methods.base import Outcome
from shoal.plan import Plan
from shoal.progress import Report
from shoal.series.chain import Chain

__all__ = ["cohorts", "crowds", "histories", "lonely"]

Rows = NDArray[np.int64]


def histories(chain: Chain) -> NDArray[np.int64]:
    """Class of each person in each release, -1 where he was in none: (persons, releases)."""
    found = np.full((chain.persons, len(chain.links)), -1, dtype=np.int64)
    for number, link in enumerate(chain.links):
        real = link.rows >= 0
        found[link.rows[real], number] = link.classes[real]
    return found


def lonely(history: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Who of those in the last release is among fewer than k whom all his releases have."""
    return (history[:, -1] >= 0) & (crowds(history, last=True) < k)


def crowds(history: NDArray[np.int64], *, last: bool = False) -> NDArray[np.int64]:
    """Of each person, those in all releases that he is in, and in his class each time.

    He is one of them; -1 for who is in none, and with `last` for who is not in the last one.
    """
    there = history >= 0
    found = np.full(len(history), -1, dtype=np.int64)
    patterns, of_person = np.unique(there, axis=0, return_inverse=True)
    of_person = of_person.reshape(-1)
    for number, pattern in enumerate(patterns):
        if not pattern.any() or (last and not pattern[-1]):
            continue
        own = np.flatnonzero(of_person == number)
        others = np.flatnonzero(there[:, pattern].all(axis=1))
        _, cell, count = np.unique(
            history[np.ix_(others, np.flatnonzero(pattern))], axis=0,
            return_inverse=True, return_counts=True,
        )  # fmt: skip
        among = np.zeros(len(history), dtype=np.int64)
        among[others] = count[cell.reshape(-1)]
        found[own] = among[own]
    return found


def cohorts(
    table: EncodedTable, plan: Plan, chain: Chain, numbers: Rows, report: Report
) -> tuple[Kept, Rows]:
    """Groups of a release, and the group of each record of the table (-1: withheld)."""
    k = plan.policy.k
    assert k is not None
    group = np.full(table.n, -1, dtype=np.int64)
    old = np.flatnonzero(numbers >= 0)
    if len(old):
        unit = _units(chain)[numbers[old]]
        stays = _staying(chain, numbers[old], unit, k)
        group[old[stays]] = unit[stays]
    withheld = int((group[old] < 0).sum())
    if withheld > plan.policy.suppressible(table.n):
        raise InfeasibleError(
            f"{withheld:,} of {table.n:,} persons were published among others of whom fewer than "
            f"k = {k} are left: published again they would be among fewer than {k}, however they "
            "are grouped; allow max_suppressed to withhold them, and begin the next series with "
            "a larger k than you will ask for"
        )
    new = np.flatnonzero(numbers < 0)
    if len(new):
        group[new] = _new_groups(table, plan, group, new, k, report)
    rows = np.flatnonzero(group >= 0)
    if not len(rows):
        raise InfeasibleError(f"no release of this table keeps k = {k}: nobody can be published")
    _, dense = np.unique(group[rows], return_inverse=True)
    kept = table if len(rows) == table.n else table.take(rows)
    recoding = Recoding.single(Partition.from_group_ids(dense.astype(np.int64)), len(table.qi))
    outcome = Outcome(recoding, {"withheld": withheld})
    everybody = None if len(rows) == table.n else rows
    return Kept(kept, outcome, everybody, withheld), group


def _units(chain: Chain) -> Rows:
    """For each person of the chain, who stays together: all that were ever in one class."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    base, person, node = 0, [], []
    for link in chain.links:
        real = link.rows >= 0
        person.append(link.rows[real])
        node.append(chain.persons + base + link.classes[real])
        base += int(link.classes.max(initial=-1)) + 1
    edges = np.concatenate(person), np.concatenate(node)
    size = chain.persons + base
    graph = coo_array((np.ones(len(edges[0]), np.int8), edges), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    return np.asarray(labels[: chain.persons], dtype=np.int64)


def _staying(chain: Chain, persons: Rows, unit: Rows, k: int) -> NDArray[np.bool_]:
    """Who of the persons can be published again: all that are not lonely, when others go, too."""
    known = histories(chain)
    now = np.full(len(known), -1, dtype=np.int64)
    now[persons] = unit
    while True:
        alone = lonely(np.column_stack([known, now]), k)
        if not alone.any():
            return np.asarray(now[persons] >= 0)
        now[alone] = -1


def _new_groups(
    table: EncodedTable, plan: Plan, group: Rows, new: Rows, k: int, report: Report
) -> Rows:
    """Groups of new persons: of their own, or those of whom they are near."""
    old = np.flatnonzero(group >= 0)
    if len(new) < k and len(old):
        points = np.stack([a.coordinate[c] for a, c in zip(table.qi, table.codes, strict=True)], 1)
        return np.asarray(group[old[_nearest(points[new], points[old])]])
    ordered = canonical(table.take(new), plan.seed)
    outcome = partition(ordered.table, plan, report)
    found = ordered.back(Kept(ordered.table, outcome)).outcome.recoding.partitions[0]
    return found.group_ids() + int(group.max(initial=-1)) + 1


def _nearest(few: NDArray[np.float64], many: NDArray[np.float64]) -> Rows:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(many).query(few)[1], dtype=np.int64)
