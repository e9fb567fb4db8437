"""Where it is known that nobody leaves: which record of a release can be which of a later one.

Whoever only knows that *somebody* is in both releases cannot rule anything out by matching:
of a largest matching of n pairs two at most are in the way of any other pair, so that each
pair is in a matching of n - 1. If everybody of the one is in the other, it is another thing.
All records but counterfeits are matched then, and a pair that no matching of all of them has
is none. Releases that promise m leave pairs of classes out that have fewer than m values in
common, which leaves out more, until nothing more follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.joining.candidates import STRANGERS
from shoal.series.boxes import Boxes, common_values
from shoal.series.matching import usable

__all__ = ["Following", "following"]

Ints = NDArray[np.int64]


@dataclass(eq=False)
class Following:
    """Classes and values of two releases that can go together, by pair of releases."""

    values: int
    classes: list[int]
    """How many each release has."""
    pairs: dict[tuple[int, int], Ints] = field(default_factory=dict)
    """What `_key` gives, ascending."""
    contradicted: bool = False
    """Whether no matching is left: the m that is promised is broken."""

    def key(self, second: int, mine: Ints, others: Ints, value: Ints) -> Ints:
        """One number for two classes and a value."""
        return (mine * self.classes[second] + others) * self.values + value

    def kept(self, counts: NDArray[np.int32], member: Ints) -> NDArray[np.int32]:
        """Counts of cells, without values whose records cannot go together."""
        counts = counts.copy()
        last = member.shape[1] - 1
        cell, value = np.nonzero(counts)
        for first in range(last):
            known = self.pairs[first, last]
            asked = self.key(last, member[cell, first], member[cell, last], value)
            at = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
            there = known[at] == asked if len(known) else np.zeros(len(asked), dtype=np.bool_)
            counts[cell[~there], value[~there]] = 0
            cell, value = cell[there], value[there]
        return counts


def following(boxes: Sequence[Boxes], invented: Sequence[int], m: int | None) -> Following:
    """Match all records of each release with those of every later one.

    Raises
    ------
    InputError
        They cannot all be there: somebody has left.
    """
    found = Following(boxes[0].counts.shape[1], [len(one.counts) for one in boxes])
    for first in range(len(boxes)):
        for second in range(first + 1, len(boxes)):
            _match(found, boxes, (first, second), invented[first], m)
    return found


def _match(
    found: Following, boxes: Sequence[Boxes], pair: tuple[int, int], away: int, m: int | None
) -> None:
    """Keep what some matching of all records has; `away` of the first need no partner."""
    own, other = (boxes[release].counts.reshape(-1).astype(np.int64) for release in pair)
    edges = np.stack(common_values(boxes[pair[0]], boxes[pair[1]]))
    kept = _in_matchings(own, other, edges, found.values, away)
    if kept is None:
        raise InputError(
            f"not all records of release {pair[0] + 1} can be in release {pair[1] + 1}: somebody "
            f"has left, or {STRANGERS}"
        )
    while True:
        edges = edges[:, kept]
        _, meeting, common = np.unique(edges[:2], axis=1, return_inverse=True, return_counts=True)
        enough = common[meeting.reshape(-1)] >= (m or 1)
        if enough.all():
            break
        edges = edges[:, enough]
        kept = _in_matchings(own, other, edges, found.values, away)
        if kept is None:
            found.contradicted = True
            break
    found.pairs[pair] = np.sort(found.key(pair[1], *edges))


def _in_matchings(
    own: Ints, other: Ints, edges: Ints, values: int, away: int
) -> NDArray[np.bool_] | None:
    """Which edges a matching uses in which all but `away` of the left side have a partner.

    An edge is a class of each side, and a value of theirs.
    """
    left, right = edges[0] * values + edges[2], edges[1] * values + edges[2]
    there, nodes = np.flatnonzero(own), np.flatnonzero(other)
    places = np.append(other[nodes], away)
    nowhere = np.full(len(there), len(nodes))
    ends = np.searchsorted(there, left), np.searchsorted(nodes, right)
    kept = usable(
        own[there], places, np.concatenate([ends[0], np.arange(len(there))]),
        np.concatenate([ends[1], nowhere]),
    )  # fmt: skip
    return None if kept is None else kept[: len(left)]
