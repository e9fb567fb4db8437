"""Who can be whom, once everybody must have a place: what no valid matching has hides nobody.

Somebody's candidates are the values that all his classes have. Some of them may be needed
for others: where two persons are left with the values a and b, a third one of their class
has neither. So all persons of a class are matched with its records, and a pair that occurs
in no matching of all of them is none. A pair does occur if and only if one matching has it,
or it lies in a strongly connected component of what one matching leaves over (Regin 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError

__all__ = ["Placed", "candidates", "usable"]

Ints = NDArray[np.int64]


class Placed(NamedTuple):
    """One release: the class of each person in it, and the records of each class and value."""

    person: Ints
    class_: Ints
    """Of each of these persons."""
    record_class: Ints
    value: Ints
    """Of each record, counterfeits among them: its class, and its value as a number."""


def usable(own: Ints, other: Ints, left: Ints, right: Ints) -> NDArray[np.bool_] | None:
    """Which edges some matching uses that gives everybody of the left side a place.

    Parameters
    ----------
    own, other
        How many persons each node of the left side stands for, and how many places each of
        the right side has.
    left, right
        The ends of each edge; no two edges have both in common.

    Returns
    -------
    None if no matching gives everybody a place.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components, maximum_flow

    source, first, sink = 0, 1 + len(own), 1 + len(own) + len(other)
    begin = np.concatenate([np.zeros(len(own), np.int64), 1 + left, first + np.arange(len(other))])
    end = np.concatenate([1 + np.arange(len(own)), first + right, np.full(len(other), sink)])
    room = np.concatenate([own, np.minimum(own[left], other[right]), other]).astype(np.int32)
    shape = (sink + 1, sink + 1)
    network = csr_array(coo_array((room, (begin, end)), shape=shape))
    found = maximum_flow(network, source, sink)
    if found.flow_value < own.sum():
        return None
    over = network - found.flow  # what can still flow, forwards or back
    over.data[over.data < 0] = 0
    over.eliminate_zeros()
    # who has all his persons placed by one edge may place others along it all the same
    open_ = coo_array((np.ones(len(left), np.int8), (1 + left, first + right)), shape=shape)
    residual = csr_array(over > 0).astype(np.int8) + csr_array(open_)
    parts = connected_components(residual, directed=True, connection="strong")[1]
    flows = np.asarray(found.flow[1 + left, first + right]).reshape(-1) > 0
    return np.asarray(flows | (parts[1 + left] == parts[first + right]))


def candidates(releases: Sequence[Placed], persons: int) -> list[frozenset[int]]:
    """Values that are left of each person by all releases; none for who is in none of them.

    Class by class everybody is matched with records, until nothing more follows.

    Raises
    ------
    InputError
        Somebody is left without a value: records and releases are not of one table.
    """
    sets = _Sets()
    own = np.full(persons, -1, dtype=np.int64)
    for release in releases:
        own[release.person] = sets.common(own[release.person], _of_classes(release, sets))
    changed = True
    while changed:
        changed = False
        for release in releases:
            found = _matched(release, own[release.person], sets)
            changed |= bool((found != own[release.person]).any())
            own[release.person] = found
    return [frozenset() if one < 0 else sets.all[one] for one in own.tolist()]


class _Sets:
    """Sets of values, each once: persons have its number."""

    def __init__(self) -> None:
        self.all: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}

    def add(self, values: frozenset[int]) -> int:
        if values not in self._number:
            self._number[values] = len(self.all)
            self.all.append(values)
        return self._number[values]

    def common(self, mine: Ints, others: Ints) -> Ints:
        """What sets have in common, pair by pair; -1 is the set of all values."""
        pairs, which = np.unique(np.stack([mine, others]), axis=1, return_inverse=True)
        found = [b if a < 0 else self.add(self.all[a] & self.all[b]) for a, b in pairs.T.tolist()]
        return np.asarray(np.array(found, dtype=np.int64)[which.reshape(-1)])


def _of_classes(release: Placed, sets: _Sets) -> Ints:
    """The set of values of each person's class."""
    values: list[set[int]] = [set() for _ in range(int(release.record_class.max()) + 1)]
    for class_, value in zip(release.record_class.tolist(), release.value.tolist(), strict=True):
        values[class_].add(value)
    number = np.array([sets.add(frozenset(one)) for one in values], dtype=np.int64)
    return np.asarray(number[release.class_])


def _matched(release: Placed, own: Ints, sets: _Sets) -> Ints:
    """The set that each person is left with, when all persons of a class have a record."""
    pairs, which, count = np.unique(
        np.stack([release.class_, own]), axis=1, return_inverse=True, return_counts=True
    )
    which = which.reshape(-1)
    width = int(release.value.max()) + 1
    places, room = np.unique(release.record_class * width + release.value, return_counts=True)
    left, wanted = [], []
    for node, (class_, number) in enumerate(pairs.T.tolist()):
        for value in sets.all[number]:
            left.append(node)
            wanted.append(class_ * width + value)
    ends = np.array(left, dtype=np.int64), np.array(wanted, dtype=np.int64)
    right = np.searchsorted(places, ends[1])
    kept = usable(count.astype(np.int64), room.astype(np.int64), ends[0], right)
    if kept is None:
        raise InputError(
            "the records and the releases contradict each other: no values are left of somebody "
            "that all of his classes have"
        )
    values: list[set[int]] = [set() for _ in range(pairs.shape[1])]
    for node, place in zip(ends[0][kept].tolist(), ends[1][kept].tolist(), strict=True):
        values[node].add(place % width)
    return np.array([sets.add(frozenset(one)) for one in values], dtype=np.int64)[which]
