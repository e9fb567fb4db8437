"""Who may stand in for whom: division and balancing of m-invariance (section 5 of the paper).

Persons who stay are in the bucket of their signature. A bucket can be cut into
groups that have every value of the signature once if it has all of them
equally often. Where people have left, it has not: new persons with the values
that are missing are put in, nearest first, and counterfeits where there are none.

No release of the table can do with fewer counterfeits. A bucket whose most
frequent value u has g records needs g groups at least, so that ``g - c_v``
records of each other value v are missing. H_v of them are missing in all
buckets, and N_v new persons have v: at least ``sum_v max(0, H_v - N_v)`` are
invented. The new persons that are left make groups of m different values of
their own, ``max_v r_v`` of them at least, and lack
``max(0, m * max_v r_v - sum_v r_v)`` records for it. To keep a new person of v
out of a bucket costs one counterfeit there and saves at most one here; to open
a further group in a bucket is as good as one of new persons. So filling all
that can be filled is best, and both numbers are the least there can be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dealt", "Filling", "Invented", "People", "deal", "filling", "lacking", "matched"]

Rows = NDArray[np.int64]
NEIGHBOURS = 4
EXACT = 16_000_000
"""Pairs up to which the best of all ways is looked for."""
ROUNDS = 40
"""How often those who did not get the nearest ask again, before they take what is left."""


@dataclass(frozen=True, eq=False)
class People:
    """Records, one a person: what decides who can be grouped with whom."""

    value: Rows
    """Sensitive value of each, as a number."""
    signature: Rows
    """Signature that each has by the chain, -1 for new persons."""
    points: NDArray[np.float64]
    """Where each stands, for nearness: (n, d)."""
    place: Rows
    """Where each stands along the curve."""

    @property
    def n(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class Invented:
    """A counterfeit: its value, its bucket, and the record whose place it takes."""

    value: int
    signature: int
    """-1: it is among the new persons, who have none yet."""
    near: int


@dataclass(frozen=True, eq=False)
class Dealt:
    """The bucket of everybody, balanced."""

    bucket: Rows
    """Signature that each record is grouped under, -1 for the new persons that are left."""
    invented: list[Invented] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Filling:
    """Which new persons fill which holes of the buckets."""

    people: People
    open: list[Invented]
    """Counterfeits where no new person has the value that is missing."""
    filled: list[tuple[float, int, Invented]]
    """How far a new person is from his hole, who he is, and the counterfeit in his stead;
    the nearest first."""

    def dealt(self, spare: int = 0) -> Dealt:
        """The bucket of everybody; the farthest so many holes get counterfeits instead."""
        bucket = self.people.signature.copy()
        kept = len(self.filled) - spare
        for _, record, instead in self.filled[:kept]:
            bucket[record] = instead.signature
        return Dealt(bucket, [*self.open, *(instead for _, _, instead in self.filled[kept:])])

    @property
    def far(self) -> int:
        """Holes that a new person fills who is not just where the others are."""
        return sum(away > 0 for away, _, _ in self.filled)


def deal(people: People, signatures: Sequence[tuple[int, ...]]) -> Dealt:
    """Put new persons into the holes of the buckets, and counterfeits where there are none.

    The value of everybody who stays is in his signature.
    """
    return filling(people, signatures).dealt()


def filling(people: People, signatures: Sequence[tuple[int, ...]]) -> Filling:
    """The nearest way to fill the holes of the buckets with new persons, as many as can be."""
    invented: list[Invented] = []
    filled: list[tuple[float, int, Invented]] = []
    new = people.signature < 0
    for value, wanted in sorted(_holes(people, signatures).items()):
        holes = [Invented(value, signature, record) for signature, record in wanted]
        near = np.array([record for _, record in wanted], dtype=np.int64)
        rows = np.flatnonzero(new & (people.value == value))
        at = np.arange(len(holes))
        if len(rows) > len(holes):
            rows = rows[matched(people.points[near], people.points[rows])]
        else:
            at = matched(people.points[rows], people.points[near]) if len(rows) else at[:0]
        away = np.abs(people.points[near[at]] - people.points[rows]).sum(axis=1)
        filled += zip(away.tolist(), rows.tolist(), [holes[i] for i in at.tolist()], strict=True)
        unfilled = np.delete(np.arange(len(holes)), at)
        invented += [holes[i] for i in unfilled.tolist()]
    return Filling(people, invented, sorted(filled, key=lambda one: one[:2]))


def _holes(
    people: People, signatures: Sequence[tuple[int, ...]]
) -> dict[int, list[tuple[int, int]]]:
    """By value: the buckets that lack it, each with a record near which it is missing."""
    staying = np.flatnonzero(people.signature >= 0)
    along = staying[np.lexsort((people.place[staying], people.value[staying],
                                people.signature[staying]))]  # fmt: skip
    borders = np.flatnonzero(np.diff(people.signature[along], prepend=-1))
    holes: dict[int, list[tuple[int, int]]] = {}
    for members in np.split(along, borders[1:]) if len(along) else ():
        number = int(people.signature[members[0]])
        values = people.value[members]
        rows = {v: members[values == v] for v in signatures[number]}
        seeds = max(rows.values(), key=len)
        for value, own in rows.items():
            if len(own) < len(seeds):
                apart = _unmatched(people.place[seeds].tolist(), people.place[own].tolist())
                holes.setdefault(value, []).extend((number, int(seeds[i])) for i in apart)
    return holes


def _unmatched(seeds: list[int], members: list[int]) -> list[int]:
    """Which of the seeds have no member near them: each member, in order, takes the nearest left.

    Both are sorted; there are at least as many seeds as members.
    """
    free: list[int] = []
    begin = 0
    for taken, member in enumerate(members):
        last = len(seeds) - (len(members) - taken)  # so many must be left for the others
        at = min(max(bisect_left(seeds, member, begin), begin), last)
        if at > begin and member - seeds[at - 1] <= abs(seeds[at] - member):
            at -= 1
        free += range(begin, at)
        begin = at + 1
    return [*free, *range(begin, len(seeds))]


def lacking(counts: NDArray[np.int64], m: int, common: NDArray[np.int64]) -> list[int]:
    """Values of the fewest counterfeits with which records of these counts make groups of m.

    Of values with room, the most common in the table first: nobody can tell them by that.
    Fewer values than m in all have no answer: None is missing then, and groups cannot be.
    """
    groups = int(counts.max(initial=0))
    missing = m * groups - int(counts.sum())
    values: list[int] = []
    for value in np.argsort(-common, kind="stable").tolist():
        if missing <= len(values):
            break
        values += [value] * min(groups - int(counts[value]), missing - len(values))
    return values


def matched(few: NDArray[np.float64], many: NDArray[np.float64]) -> Rows:
    """For each of the few another of the many, near it: the least distance in all, or nearly.

    Where there are too many for that, who is nearest of all chooses first.
    """
    if len(few) * len(many) <= EXACT:
        from scipy.optimize import linear_sum_assignment
        from scipy.spatial.distance import cdist

        chosen: Rows = linear_sum_assignment(cdist(few, many, "cityblock"))[1].astype(np.int64)
        return chosen
    from scipy.spatial import cKDTree

    found = np.full(len(few), -1, dtype=np.int64)
    free = np.arange(len(many))
    for _ in range(ROUNDS):
        asking = np.flatnonzero(found < 0)
        if not len(asking):
            return found
        wanted = min(NEIGHBOURS, len(free))
        away, nearest = cKDTree(many[free]).query(few[asking], k=wanted)
        who = np.repeat(asking, wanted)
        choice = free[np.asarray(nearest).reshape(-1)]
        taken = np.zeros(len(many), dtype=np.bool_)
        for pair in np.argsort(np.asarray(away).reshape(-1), kind="stable").tolist():
            if found[who[pair]] < 0 and not taken[choice[pair]]:
                found[who[pair]] = choice[pair]
                taken[choice[pair]] = True
        free = free[~taken[free]]
    asking = np.flatnonzero(found < 0)
    found[asking] = free[: len(asking)]
    return found
