"""Attackers who know the method, its code, the policy and everything about everybody else.

What they lack is the seed. `values_by_replay` guesses sensitive values of an anatomy release
from the order of the rows, `Replay` a person's age by running the code on every age it could be.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from shoal.attacks.rates import wilson
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition, extents
from shoal.engines.memory.canonical import canonical
from shoal.engines.memory.partition import partition_eligible
from shoal.errors import ShoalError
from shoal.models import check_eligible
from shoal.plan import Plan
from shoal.policy import Policy

__all__ = ["Replay", "Seen", "Verdict", "anatomy_guesses", "attack", "drawn_plan", "wilson"]

Ints = NDArray[np.int64]


# Anatomy: whose is which value?


def drawn_plan(counts: Ints, l: int) -> list[list[tuple[int, int]]]:
    """Value and place in its bucket of each member of each group, as anatomy's code draws them."""
    left, groups = counts.copy(), []
    while np.count_nonzero(left) >= l:
        largest = np.lexsort((np.arange(len(left)), -left))[:l]
        left[largest] -= 1
        groups.append([(int(v), int(left[v])) for v in largest])
    return groups


def values_by_replay(
    group: Ints,
    values_of: Sequence[Sequence[int]],
    counts: Ints,
    l: int,
    place: Ints,
) -> Ints:
    """A guess at each row's value, from published groups and where the code is thought to put rows.

    Parameters
    ----------
    group
        Published group of each row.
    values_of
        Published values of each group.
    counts
        Records of each value.
    place
        Place of each row in the shuffle that the attacker believes was drawn: the rows of a
        value are dealt out from the back of it.
    """
    levels = [np.linspace(0, len(group), count + 2)[1:-1] for count in counts]
    plan = drawn_plan(counts, l)
    at: dict[tuple[int, ...], list[int]] = {}
    for number, members in enumerate(plan):
        at.setdefault(tuple(sorted(v for v, _ in members)), []).append(number)
    rows_of = Partition.from_group_ids(group)
    guess = np.full(len(group), -1, dtype=np.int64)
    for _ in range(4):  # what was guessed says more exactly where each bucket has been dealt to
        for g in range(rows_of.groups):
            rows = rows_of.order[rows_of.offsets[g] : rows_of.offsets[g + 1]]
            values = sorted(values_of[g])
            numbers = at.get(tuple(values), [])
            best = np.inf
            for orders in permutations(values) if numbers and len(values) == l else ():
                expected = np.array(
                    [[levels[v][dict(plan[c])[v]] for v in orders] for c in numbers]
                )
                cost = float(np.abs(expected - place[rows]).sum(axis=1).min())
                if cost < best:
                    best, guess[rows] = cost, orders
            if best == np.inf:
                guess[rows] = (values * len(rows))[: len(rows)]
        for v, count in enumerate(counts):
            found = np.sort(place[guess == v])
            if len(found) == count:
                levels[v] = found.astype(float)
    return guess


def anatomy_guesses(
    n: int,
    l: int,
    seed: int,
    *,
    sort: str | None = None,
    known: bool = False,
) -> tuple[int, int]:
    """Right values, and people, one of each group: an attack on an anatomy release.

    The strongest case: the release keeps the order of the rows, so that everybody's group is
    known. The attacker replays the shuffle with seed 0, on the rows as they came or in an
    order that he guesses. Where the seed is `known` (and 0) he has the canonical order, too.
    """
    people = shoal.datasets.census(n).select(["age", "gender", "education", "occupation"])
    if sort is not None:
        people = people.take(np.random.default_rng(1).permutation(n))
    policy = Policy.parse(
        qi=["age", "gender", "education"], sensitive="occupation", method="anatomy", l=l,
        seed=seed, keep_order=True,
    )  # fmt: skip
    release = shoal.anonymize(people, policy)
    table = encode(people, policy)
    codes = table.sensitive_codes[0].astype(np.int64)
    group = release.table.column("group").to_numpy() - 1
    values_of = [codes[group == g].tolist() for g in range(int(group.max()) + 1)]
    line = np.arange(n)
    if sort is not None:
        line = np.argsort(people.column(sort).to_numpy(), kind="stable")
    if known:
        line = canonical(table, seed).order
    place = np.empty(n, dtype=np.int64)
    place[line[np.random.default_rng(0).permutation(n)]] = np.arange(n)
    guess = values_by_replay(group, values_of, np.bincount(codes), l, place)
    _, one = np.unique(group, return_index=True)  # guesses in one group depend on each other
    return int(np.count_nonzero(guess[one] == codes[one])), len(one)


# Replay: how old is the one person I do not know?


class Seen(NamedTuple):
    """What a release shows: all its classes, and that of the target."""

    classes: tuple[Any, ...]
    target: Any


class Replay:
    """A table of which the attacker knows all but one age, and runs of the code on it."""

    def __init__(self, people: pa.Table, policy: Policy, age: str = "age") -> None:
        self.people, self.age = people, age
        self.plan = Plan.of(policy)

    def table(self, target: int, age: int) -> EncodedTable:
        """The table as it would be if the target were of that age."""
        ages = self.people.column(self.age).to_pylist()
        ages[target] = age
        place = self.people.column_names.index(self.age)
        return encode(self.people.set_column(place, self.age, pa.array(ages)), self.plan.policy)

    def seen(self, table: EncodedTable, target: int, seed: int) -> Seen | None:
        """The release of a table as readers see it, None where there is none."""
        ordered = canonical(table, seed)
        plan = Plan.of(self.plan.policy.override(seed=seed))
        try:
            check_eligible(table.codebook, plan.models)
            outcome = partition_eligible(ordered.table, plan)
        except ShoalError:
            return None
        groups = outcome.recoding.partitions[0]
        groups = Partition(ordered.order[groups.order], groups.offsets)
        shown = list(zip(_texts(table, groups), groups.sizes.tolist(), strict=True))
        return Seen(tuple(sorted(shown)), shown[int(groups.group_ids()[target])])

    def candidates(self, truth: Seen) -> list[int]:
        """Ages that fit the target's class."""
        low, high = truth.target[0][0]
        return list(range(int(low), int(high) + 1))

    def consistent(self, truth: Seen, target: int) -> list[int]:
        """Ages that fit, by the tight interval alone: somebody in the class has either end."""
        low, high = truth.target[0][0]
        ages = np.array(self.people.column(self.age).to_pylist())
        fits = self._fitting(truth, target)
        ends = {int(low), int(high)} - set(ages[fits].tolist())
        return sorted(ends) if ends else self.candidates(truth)

    def filled(self, truth: Seen, target: int) -> list[int]:
        """Ages with which most choices of others fill the target's class, by the release alone.

        The class says how many it has and from where to where it reaches. With each age, so many
        sets of others who fit have that number and reach as far as it does; all count alike.
        """
        ends, size = truth.target
        table = encode(self.people, self.plan.policy)
        fits = self._fitting(truth, target)
        sides = []
        for a, (low, high) in enumerate(ends):
            labels, codes = list(table.qi[a].labels), table.codes[a]
            for end in sorted({labels.index(low), labels.index(high)}):
                own = None if table.qi[a].name == self.age else bool(codes[target] == end)
                sides.append((codes[fits] == end, own, labels[end]))
        ways = {}
        for age in self.candidates(truth):
            open_ = [
                at for at, own, label in sides if not (label == str(age) if own is None else own)
            ]
            ways[age] = _sets_reaching(open_, len(fits), size - 1)
        most = max(ways.values())
        return [age for age, count in ways.items() if count == most]

    def _fitting(self, truth: Seen, target: int) -> Ints:
        """Others whose values lie in the target's class."""
        inside = np.ones(self.people.num_rows, dtype=bool)
        inside[target] = False
        table = encode(self.people, self.plan.policy)
        for a, (low, high) in enumerate(truth.target[0]):
            labels = list(table.qi[a].labels)
            codes = table.codes[a]
            inside &= (codes >= labels.index(low)) & (codes <= labels.index(high))
        return np.flatnonzero(inside)


def _sets_reaching(sides: list[NDArray[np.bool_]], fits: int, size: int) -> int:
    """Sets of so many of those who fit that have somebody at every side."""
    count = 0
    for chosen in range(1 << len(sides)):
        avoided = np.zeros(fits, dtype=bool)
        for i, at in enumerate(sides):
            if chosen >> i & 1:
                avoided |= at
        count += (-1) ** chosen.bit_count() * math.comb(fits - int(avoided.sum()), size)
    return count


class Verdict(NamedTuple):
    """How an attack on one target went: chance of a right guess, by each way of guessing."""

    guess: float
    """Any age that fits the class."""
    tight: float
    """Any age that the ends of the interval allow for."""
    filled: float
    """Any age with which most sets of others make the class: the release alone, no replay."""
    exact: float
    """An age with which a run made the whole release; `guess` if none did."""
    pinned: bool
    """There was one such age, and it was right."""
    scored: float
    """The age with which most runs made the target's class."""


def attack(replay: Replay, target: int, secret: int, own_seeds: Sequence[int]) -> Verdict | None:
    """One target, of a release under a secret seed; None where the class tells the age anyway."""
    age = replay.people.column(replay.age)[target].as_py()
    truth = replay.seen(replay.table(target, age), target, secret)
    assert truth is not None
    candidates = replay.candidates(truth)
    if len(candidates) == 1:
        return None
    exact, score = [], []
    for candidate in candidates:
        table = replay.table(target, candidate)
        runs = [replay.seen(table, target, seed) for seed in own_seeds]
        exact.append(sum(run is not None and run.classes == truth.classes for run in runs))
        score.append(sum(run is not None and run.target == truth.target for run in runs))
    mine = candidates.index(age)
    tight, filled = replay.consistent(truth, target), replay.filled(truth, target)
    guess = 1 / len(candidates)
    reproduced = np.flatnonzero(exact)
    most = np.flatnonzero(np.array(score) == max(score))
    return Verdict(
        guess,
        (age in tight) / len(tight),
        (age in filled) / len(filled),
        (mine in reproduced) / len(reproduced) if len(reproduced) else guess,
        list(reproduced) == [mine],
        (mine in most) / len(most),
    )


def _texts(table: EncodedTable, groups: Partition) -> list[tuple[Any, ...]]:
    """First and last value of each group in each attribute."""
    found = []
    for attribute, codes in zip(table.qi, table.codes, strict=True):
        low, high = extents(codes, groups)
        labels = attribute.labels
        found.append([(labels[a], labels[b]) for a, b in zip(low, high, strict=True)])
    return list(zip(*found, strict=True))
