"""Groups of the same released text are one class: take some of them elsewhere.

A person with several similar records can be in several groups of one class, and
then counts once where the groups counted on each of them. A group is taken out of
its class by uniting it with a near group of another one.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.bsgi.index import NOBODY, begin_box, box_loss, widen
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

REACH = 512
"""So many groups on either side along the curve are asked to unite."""


class Persons(NamedTuple):
    """Whose records there are."""

    of: np.ndarray  # int64 (n,): person of each record
    start: np.ndarray  # int64 (persons + 1,): those of person p begin here ...
    record: np.ndarray  # int64 (n,): ... in this list


def persons_of(codes):
    """`Persons` from any code of the person of each record."""
    _, of, counts = np.unique(codes, return_inverse=True, return_counts=True)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Persons(of.astype(np.int64), start, np.argsort(of, kind="stable"))


@kernel(**BORROWED)
def crowded(order, offsets, by_class, classes, person, seen, crowds):
    """Mark the groups that share a person with an earlier group of their class.

    ``by_class`` are groups, those of a class one after the other, ``classes`` the class
    of every group; ``seen``, int64 (persons,), is below 0. Fills ``crowds``, bool (G,).
    """
    for g in by_class:
        known = False
        for i in range(offsets[g], offsets[g + 1]):
            known = known or seen[person[order[i]]] == classes[g]
        crowds[g] = known
        for i in range(offsets[g], offsets[g + 1]):
            if not known:
                seen[person[order[i]]] = classes[g]


@inner_borrowed
def _strange(order, offsets, persons, class_of, a, c):
    """Whether no person of group a has a record in class c."""
    for i in range(offsets[a], offsets[a + 1]):
        person = persons.of[order[i]]
        for j in range(persons.start[person], persons.start[person + 1]):
            if class_of[persons.record[j]] == c:
                return False
    return True


@inner_borrowed
def _loss(costs, points, box, order, offsets, a, b):
    """Weighted NCP of two groups as one; of one if both are the same."""
    begin_box(box, costs, points, order[offsets[a]])
    for i in range(offsets[a], offsets[a + 1]):
        widen(box, costs, points, order[i])
    for i in range(offsets[b], offsets[b + 1]):
        widen(box, costs, points, order[i])
    return box_loss(box, costs)


@inner_borrowed
def _best_partner(costs, points, box, order, offsets, classes, class_of, persons, crowds, g):
    """The near group with which a group leaves its class at the least loss; NOBODY if none."""
    best, found = np.inf, NOBODY
    size = offsets[g + 1] - offsets[g]
    own = _loss(costs, points, box, order, offsets, g, g)
    for other in range(max(0, g - REACH), min(len(classes), g + REACH + 1)):
        if classes[other] == classes[g] or crowds[other]:
            continue
        more = offsets[other + 1] - offsets[other]
        both = _loss(costs, points, box, order, offsets, g, other)
        added = (size + more) * both - more * _loss(
            costs, points, box, order, offsets, other, other
        )
        if (
            both > own  # else its text is still that of its class
            and added < best
            and _strange(order, offsets, persons, class_of, g, classes[other])
        ):
            best, found = added, other
    return found


@kernel(**BORROWED)
def unite(costs, points, box, order, offsets, classes, class_of, persons, crowds, partner):
    """Find a near group of another class for each group that is one too many in its own.

    ``order`` numbers the records as ``points`` does; groups are in their order along a
    curve. ``partner``, int64 (G,), is the group itself where it stays alone, and
    else the lower one of the two that unite. ``crowds`` is used up. Returns how many did.
    """
    count = 0
    for g in range(len(partner)):
        partner[g] = g
    for g in range(len(partner)):
        if not crowds[g] or partner[g] != g:
            continue
        found = _best_partner(
            costs, points, box, order, offsets, classes, class_of, persons, crowds, g
        )
        if found != NOBODY:
            partner[g] = partner[found] = min(g, found)
            crowds[found] = True  # taken: nobody else unites with it
            count += 1
    return count
