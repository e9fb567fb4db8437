"""After groups are made: members change places, and who is left over joins a group (paper 002).

Two members change places if both groups still hold different values and lose
less together. The first records to be grouped take what is near, and the last
ones what is left: changing places makes up for it.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.bsgi.index import (
    NOBODY,
    begin_box,
    box_loss,
    leaf_begin,
    nearer_child,
    record_loss,
    widen,
)
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

CANDIDATES = 16
"""So many records are tried in the place of another: 4 gain half as much."""
LEAVES = 128
"""So many leaves of a tree are searched for them: all would take five times as long."""
GAIN = 1e-9
"""Less is not worth a change of places, and might be rounding."""


class Groups(NamedTuple):
    """Groups of l records each."""

    member: np.ndarray  # int64 (G, l)
    of: np.ndarray  # int64 (n,): group of each record, below 0 if it has none
    loss: np.ndarray  # float64 (G,): weighted NCP


class Offers(NamedTuple):
    """The best records for a place, best first."""

    row: np.ndarray  # int64 (CANDIDATES,)
    loss: np.ndarray  # float64 (CANDIDATES,): of the group that takes it in


def new_groups(of, count, l):
    """`Groups` from the group of each record; their losses are yet unknown."""
    order = np.argsort(of, kind="stable")
    member = order[np.count_nonzero(of < 0) :].reshape(count, l)
    return Groups(member, of, np.zeros(count))


def new_offers():
    """No offers yet."""
    return Offers(np.zeros(CANDIDATES, dtype=np.int64), np.zeros(CANDIDATES))


@inner_borrowed
def _cover(box, costs, forest, members, without, instead):
    """The box of a group in which one place is empty (NOBODY) or filled by another record."""
    begun = False
    for i in range(len(members)):
        row = instead if i == without else members[i]
        if row == NOBODY:
            continue
        if begun:
            widen(box, costs, forest.point, forest.slot[row])
        else:
            begin_box(box, costs, forest.point, forest.slot[row])
            begun = True


@inner_borrowed
def _alike(codes, a, b):
    """Whether two records have the same value in some column."""
    s = 0
    while s < len(codes) and codes[s, a] != codes[s, b]:
        s += 1
    return s < len(codes)


@inner_borrowed
def _may_replace(codes, members, place, row):
    """Whether a record differs from all members but the one whose place it takes."""
    i = 0
    while i < len(members) and (i == place or not _alike(codes, members[i], row)):
        i += 1
    return i == len(members)


@inner_borrowed
def _place_of(members, row):
    place = 0
    while members[place] != row:
        place += 1
    return place


@inner_borrowed
def _possible(codes, groups, g, place, row):
    """Whether a member of g and another group's member may change places."""
    other = groups.of[row]
    if other < 0 or other == g:
        return False
    members = groups.member[other]
    return _may_replace(codes, groups.member[g], place, row) and _may_replace(
        codes, members, _place_of(members, row), groups.member[g, place]
    )


@inner_borrowed
def _offer(offers, count, row, loss):
    """Put a record in its place among the offers; returns how many there are."""
    at = min(count, CANDIDATES - 1)
    while at > 0 and (
        offers.loss[at - 1] > loss or (offers.loss[at - 1] == loss and offers.row[at - 1] > row)
    ):
        offers.loss[at], offers.row[at] = offers.loss[at - 1], offers.row[at - 1]
        at -= 1
    offers.loss[at], offers.row[at] = loss, row
    return min(count + 1, CANDIDATES)


@inner_borrowed
def _promises(offers, count, limit, loss, first):
    """Whether a record from `first` on that leads to such a loss would be among the offers."""
    if count < CANDIDATES:
        return loss < limit
    last = offers.loss[CANDIDATES - 1]
    return loss < last or (loss == last and first < offers.row[CANDIDATES - 1])


@inner_borrowed
def _find_offers(forest, costs, codes, box, groups, g, place, offers):
    """The records that would lower the loss of g most in the place of a member; how many.

    `box` is that of the other members; `forest` has one tree, of all records.
    """
    count = 0
    depth = 1
    searched = 0
    leaves = forest.leaves[0]
    box.node[0], box.bound[0] = 1, 0.0
    while depth > 0 and searched < LEAVES:
        depth -= 1
        node, bound = box.node[depth], box.bound[depth]
        while _promises(offers, count, groups.loss[g], bound, forest.first[node]):
            if node >= leaves:
                searched += 1
                begin = leaf_begin(forest, 0, node - leaves)
                for s in range(begin, begin + forest.count[node]):
                    row = forest.record[s]
                    loss = record_loss(box, costs, forest.point, s)
                    if _promises(offers, count, groups.loss[g], loss, row) and _possible(
                        codes, groups, g, place, row
                    ):
                        count = _offer(offers, count, row, loss)
                break
            node, bound = nearer_child(box, costs, forest, 0, node, depth, np.int64(-1))
            depth += 1
    return count


@inner_borrowed
def _best_change(forest, costs, codes, box, groups, g, offers):
    """The change of places that gains most for a member of g: place, record, both losses."""
    best = GAIN
    place, found = NOBODY, NOBODY
    own, others = 0.0, 0.0
    for i in range(groups.member.shape[1]):
        row = groups.member[g, i]
        _cover(box, costs, forest, groups.member[g], i, NOBODY)
        if box_loss(box, costs) >= groups.loss[g]:
            continue
        count = _find_offers(forest, costs, codes, box, groups, g, i, offers)
        for j in range(count):
            other = groups.of[offers.row[j]]
            members = groups.member[other]
            _cover(box, costs, forest, members, _place_of(members, offers.row[j]), row)
            loss = box_loss(box, costs)
            gain = groups.loss[g] - offers.loss[j] + (groups.loss[other] - loss)
            if gain > best:
                best, place, found = gain, i, offers.row[j]
                own, others = offers.loss[j], loss
    return place, found, own, others


@inner_borrowed
def _change(groups, g, place, row, own, others):
    """Change places."""
    other = groups.of[row]
    groups.member[other, _place_of(groups.member[other], row)] = groups.member[g, place]
    groups.of[groups.member[g, place]] = other
    groups.member[g, place] = row
    groups.of[row] = g
    groups.loss[g], groups.loss[other] = own, others


@kernel(**BORROWED)
def find_losses(forest, costs, box, groups):
    """Fill in the loss of every group."""
    for g in range(len(groups.loss)):
        _cover(box, costs, forest, groups.member[g], NOBODY, NOBODY)
        groups.loss[g] = box_loss(box, costs)


@kernel(**BORROWED)
def change_places(forest, costs, codes, box, groups, order, offers):
    """Let members of the groups in `order` change places as long as that gains; how often it did.

    A group has at most two changes a place, so that the work is bounded.
    """
    changes = 0
    for g in order:
        for _ in range(2 * groups.member.shape[1]):
            place, row, own, others = _best_change(forest, costs, codes, box, groups, g, offers)
            if place == NOBODY:
                break
            _change(groups, g, place, row, own, others)
            changes += 1
    return changes


class Chains(NamedTuple):
    """Groups that grow: lists of records."""

    first: np.ndarray  # int64 (G,): first record of a group
    following: np.ndarray  # int64 (n,): next record of the same group, NOBODY after the last
    size: np.ndarray  # int64 (G,)


def new_chains(of, count):
    """`Chains` of groups 0..count-1, some perhaps empty; records below 0 are in none."""
    order = np.argsort(of, kind="stable")[np.count_nonzero(of < 0) :]
    size = np.bincount(of[order], minlength=count).astype(np.int64)
    following = np.full(len(of), NOBODY, dtype=np.int64)
    following[order[:-1]] = np.where(of[order[:-1]] == of[order[1:]], order[1:], NOBODY)
    first = np.full(count, NOBODY, dtype=np.int64)
    first[size > 0] = order[(np.cumsum(size) - size)[size > 0]]
    return Chains(first, following, size)


@inner_borrowed
def _clashes(codes, chains, g, row):
    """How many members of a group are like a record in some column, and the last of them."""
    count = 0
    found = NOBODY
    member = chains.first[g]
    while member != NOBODY:
        if _alike(codes, member, row):
            count += 1
            found = member
        member = chains.following[member]
    return count, found


@inner_borrowed
def _added(costs, points, box, chains, g, row):
    """What it adds to the loss of the table if a group takes a record in."""
    member = chains.first[g]
    begin_box(box, costs, points, member)
    while member != NOBODY:
        widen(box, costs, points, member)
        member = chains.following[member]
    before = chains.size[g] * box_loss(box, costs)
    return (chains.size[g] + 1) * record_loss(box, costs, points, row) - before


@inner_borrowed
def _best_host(costs, points, codes, box, chains, row, but):
    """The group that takes a record in at the least loss; NOBODY if none can."""
    best = np.inf
    found = NOBODY
    for g in range(len(chains.first)):
        if g == but or _clashes(codes, chains, g, row)[0] > 0:
            continue
        added = _added(costs, points, box, chains, g, row)
        if added < best:
            best, found = added, g
    return found


@inner_borrowed
def join_chain(chains, g, row):
    """A record joins a group."""
    chains.following[row] = chains.first[g]
    chains.first[g] = row
    chains.size[g] += 1


@inner_borrowed
def quit_chain(chains, g, row):
    """A record leaves a group."""
    chains.size[g] -= 1
    if chains.first[g] == row:
        chains.first[g] = chains.following[row]
        return
    member = chains.first[g]
    while chains.following[member] != row:
        member = chains.following[member]
    chains.following[member] = chains.following[row]


@inner_borrowed
def _make_room(costs, points, codes, box, chains, row, of, tries):
    """Let a record in where one member is in its way and can go elsewhere; whether it worked."""
    for g in range(len(chains.first)):
        count, member = _clashes(codes, chains, g, row)
        if count != 1:
            continue
        host = _best_host(costs, points, codes, box, chains, member, g)
        if host != NOBODY:
            quit_chain(chains, g, member)
            join_chain(chains, g, row)
            join_chain(chains, host, member)
            of[row], of[member] = g, host
            return True
        tries -= 1
        if tries == 0:
            break
    return False


@kernel(**BORROWED)
def incorporate(costs, points, codes, box, chains, rows, of, tries):
    """Put the records `rows`, left over, into groups that have none of their values.

    Each joins where that adds least to the loss (Figure 3 of the paper, without
    its last resort, which breaks l-diversity). Where no group can take a record
    in, a member may have to go elsewhere, for which `tries` members are asked.
    Returns how many records are still in no group.
    """
    stuck = 0
    for row in rows:
        host = _best_host(costs, points, codes, box, chains, row, NOBODY)
        if host != NOBODY:
            join_chain(chains, host, row)
            of[row] = host
        elif not _make_room(costs, points, codes, box, chains, row, of, tries):
            stuck += 1
    return stuck
