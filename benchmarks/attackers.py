"""Attackers who know the method, the policy and everybody's quasi-identifiers, not the seed.

`beliefs` is the exact attack: all worlds (who has which value) that are possible,
each weighted by how likely it is to be released like this. `paired_guesses` and
`refused_guesses` are attacks on tables that are too large for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.methods.blind.margins import UNIT
from shoal.methods.blind.method import TRIES, TRUST, Walk, spent_after
from shoal.models.base import Model

World = tuple[int, ...]
Released = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""Members and sorted values of each group: members are known by their quasi-identifiers."""
Chances = Callable[[EncodedTable], dict[Released, Fraction]]

DOUBT = 0.02
"""How likely a cheaper pairing of two pairs that was possible was left undone."""
PASSED = 0.3
"""The same of a nearer record that was free: places are changed later, so it says less."""


@dataclass(frozen=True)
class Hits:
    """How often an attacker was right."""

    right: int
    of: int

    @property
    def share(self) -> float:
        return self.right / self.of if self.of else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval, 95%."""
        if not self.of:
            return 0.0, 1.0
        z, n, p = 1.96, self.of, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return middle - half, middle + half


# --- all worlds ---


def with_values(table: EncodedTable, world: World) -> EncodedTable:
    """The table with these values in its one sensitive column."""
    return replace(table, sensitive_codes=np.array([world], dtype=np.int32))


def released(table: EncodedTable, partition: Partition) -> Released:
    """What such an attacker sees of a grouping."""
    parts = [partition.order[b:e] for b, e in pairwise(partition.offsets)]
    values = table.sensitive_codes[0]
    return tuple(
        sorted((tuple(sorted(p.tolist())), tuple(sorted(values[p].tolist()))) for p in parts)
    )


def by_seeds(name: str, models: Sequence[Model], seeds: int, effort: str | None = None) -> Chances:
    """Chances of releases of a method, counted over seeds."""
    method = get_method(name)

    def chances(table: EncodedTable) -> dict[Released, Fraction]:
        found: dict[Released, Fraction] = defaultdict(Fraction)
        for seed in range(seeds):
            outcome = method.run(table, models, method.options(), Run(seed, effort=effort))
            partition = outcome.separated or outcome.recoding.partitions[0]
            found[released(table, partition)] += Fraction(1, seeds)
        return found

    return chances


class _Scripted(Walk):
    """A walk whose random margins are dictated, with the chance that they come so."""

    def follow(self, script: list[bool]) -> None:
        self.script, self.made, self.chance = script, list[bool](), Fraction(1)

    def at_least_random(self, margin: int, steady: int) -> bool:
        refuses = Fraction(steady, steady + 1) ** max(0, margin + 1)
        if refuses == 1:
            return False
        step = len(self.made)
        passed = self.script[step] if step < len(self.script) else True
        self.made.append(passed)
        self.chance *= 1 - refuses if passed else refuses
        return passed


def exactly_blind(models: Sequence[Model], odds: float = 2.0) -> Chances:
    """Chances of releases of `blind`: every way its random margins can come."""

    def chances(table: EncodedTable) -> dict[Released, Fraction]:
        found: dict[Released, Fraction] = defaultdict(Fraction)
        waiting: list[list[bool]] = [[]]
        while waiting:
            script = waiting.pop()
            walk = _Scripted(table, models, odds, 0)
            walk.follow(script)
            groups = walk.groups(Run())
            order, offsets = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
            found[released(table, Partition(order, offsets))] += walk.chance
            steps = range(len(script), len(walk.made))
            waiting += [[*walk.made[:i], False] for i in steps]
        return found

    return chances


Beliefs = dict[Released, list[dict[int, Fraction]]]
"""For each release that can occur: of each person, how likely each value is."""


def beliefs(table: EncodedTable, chances: Chances) -> Beliefs:
    """What is believed after each release, all worlds with these values being as likely before."""
    values = table.sensitive_codes[0].tolist()
    weights: dict[Released, list[dict[int, Fraction]]] = {}
    for world in sorted(set(permutations(values))):
        for seen, chance in chances(with_values(table, world)).items():
            people = weights.setdefault(seen, [defaultdict(Fraction) for _ in world])
            for person, value in zip(people, world, strict=True):
                person[value] += chance
    return {seen: [_normalised(person) for person in people] for seen, people in weights.items()}


def _normalised(weights: dict[int, Fraction]) -> dict[int, Fraction]:
    whole = sum(weights.values())
    return {value: weight / whole for value, weight in weights.items()}


def surest(found: Beliefs) -> Fraction:
    """The strongest belief in any value of any person after any release."""
    return max(max(person.values()) for people in found.values() for person in people)


# --- pairs of near records with different values (bsgi, l = 2) ---


def paired_guesses(
    table: EncodedTable, partition: Partition, rounds: int = 30
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A value for each record and how sure it is, from who was not paired with whom.

    A record that was free and nearer than the partner that was chosen most likely has
    the chooser's own value. Two pairs that would cost less if paired otherwise
    hold a value in common that forbids it. Pairs tell each other so by passing
    messages (loopy belief propagation).
    """
    pairs = np.array(
        [partition.order[b : b + 2] for b, e in pairwise(partition.offsets) if e - b == 2]
    )
    values = table.sensitive_codes[0]
    shown = np.sort(values[pairs], axis=1)
    factors = _pair_factors(_places(table), pairs, shown)
    belief = _propagated(factors, len(pairs), rounds)
    guess, sure = np.full(table.n, -1), np.full(table.n, 0.5)
    as_shown = belief[:, 0] >= belief[:, 1]
    guess[pairs] = np.where(as_shown[:, None], shown, shown[:, ::-1])
    sure[pairs] = belief.max(axis=1)[:, None]
    for b, e in pairwise(partition.offsets):
        if e - b != 2:  # a group that took in a record too many
            guess[partition.order[b:e]] = values[partition.order[b]]
    return guess, sure


def _places(table: EncodedTable) -> NDArray[np.float64]:
    """Records as points: a distance is the loss of the two as a group (numbers only)."""
    columns = [qi.position[codes] for qi, codes in zip(table.qi, table.codes, strict=True)]
    return np.array(columns).T


def _pair_factors(
    places: NDArray[np.float64], pairs: NDArray[np.int64], shown: NDArray[np.int32]
) -> dict[tuple[int, int], NDArray[np.float64]]:
    """For two pairs, how likely each of the 2 x 2 ways of who has which value is."""
    far = np.abs(places[:, None, :] - places[None, :, :]).sum(axis=2)
    found: dict[tuple[int, int], NDArray[np.float64]] = defaultdict(lambda: np.ones((2, 2)))
    for (g, i), (h, j) in _passed_over(places, far, pairs):
        equal = shown[g][[i, 1 - i]][:, None] == shown[h][[j, 1 - j]][None, :]
        if equal.any():  # else places were changed since
            _multiply(found, g, h, np.where(equal, 1.0, PASSED))
    for g, h, crossed in _cheaper(far, pairs):
        first, second = (shown[h][::-1], shown[h]) if crossed else (shown[h], shown[h][::-1])
        ways = [[_differ(shown[g][::s], x) for x in (first, second)] for s in (1, -1)]
        _multiply(found, g, h, np.where(ways, DOUBT, 1.0))
    return dict(found)


def _multiply(
    found: dict[tuple[int, int], NDArray[np.float64]], g: int, h: int, ways: NDArray[np.float64]
) -> None:
    if g < h:
        found[g, h] *= ways
    else:
        found[h, g] *= ways.T


def _differ(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    return bool((one != other).all())


def _cheaper(far: NDArray[np.float64], pairs: NDArray[np.int64]) -> Iterator[tuple[int, int, bool]]:
    """Two pairs that would cost less as first with first and second with second, or crossed."""
    first, second = pairs.T
    own = far[first, second]
    for crossed, (one, other) in ((False, (first, second)), (True, (second, first))):
        cost = far[np.ix_(first, one)] + far[np.ix_(second, other)]
        for g, h in np.argwhere(cost < own[:, None] + own[None, :] - 1e-9):
            if g < h:
                yield int(g), int(h), crossed


def _passed_over(
    places: NDArray[np.float64], far: NDArray[np.float64], pairs: NDArray[np.int64]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Whoever chose (the outermost first) and who was free, nearer, and not chosen.

    Each as number of its pair and place in it.
    """
    spot = {int(record): (g, i) for g, pair in enumerate(pairs) for i, record in enumerate(pair)}
    free = np.zeros(len(far), dtype=bool)
    free[pairs.ravel()] = True
    away = np.abs(places - np.median(places, axis=0)).sum(axis=1)
    for chooser in np.argsort(-away, kind="stable"):
        if not free[chooser]:
            continue
        g, i = spot[int(chooser)]
        partner = pairs[g, 1 - i]
        free[[chooser, partner]] = False
        for other in np.flatnonzero(free & (far[chooser] < far[chooser, partner] - 1e-9)):
            yield (g, i), spot[int(other)]


def _propagated(
    factors: dict[tuple[int, int], NDArray[np.float64]], count: int, rounds: int
) -> NDArray[np.float64]:
    """Beliefs of each pair in its two ways."""
    both = {**factors, **{(h, g): f.T for (g, h), f in factors.items()}}
    messages = {edge: np.full(2, 0.5) for edge in both}
    for _ in range(rounds):
        total = _multiplied(messages, count)
        sent = {(g, h): both[g, h].T @ (total[g] / messages[h, g]) for g, h in both}
        messages = {edge: 0.5 * messages[edge] + 0.5 * m / m.sum() for edge, m in sent.items()}
    return _multiplied(messages, count)


def _multiplied(
    messages: dict[tuple[int, int], NDArray[np.float64]], count: int
) -> NDArray[np.float64]:
    """What all messages to each pair say together."""
    total = np.full((count, 2), 0.5)
    for (_, h), message in messages.items():
        total[h] *= message
        total[h] /= total[h].sum()
    return total


# --- groups that were not cut (blind) ---


def refused_guesses(
    table: EncodedTable, partition: Partition, models: Sequence[Model], draws: int = 2000
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A value for each record and how sure it is, from the cuts that must have been refused.

    Of each group the attacker works out the cuts that would have been tried, draws
    ways in which its values can lie, and weights each by the chance that all those
    cuts were refused.
    """
    walk = Walk(table, models, 2.0, 0)
    rng = np.random.default_rng(1)
    values = table.sensitive_codes[0]
    guess, sure = np.zeros(table.n, dtype=np.int64), np.zeros(table.n)
    for b, e in pairwise(partition.offsets):
        rows = partition.order[b:e]
        shuffled = np.array([rng.permutation(values[rows]) for _ in range(draws)])
        weight = np.ones(draws)
        for on_the_left, spent, steady in _cuts_tried(walk, rows):
            weight *= _refusals(walk, shuffled, on_the_left, spent, steady)
        share = np.array(
            [
                ((shuffled == v) * weight[:, None]).sum(axis=0)
                for v in range(walk.table.sensitive[0].size)
            ]
        )
        guess[rows], sure[rows] = share.argmax(axis=0), share.max(axis=0) / weight.sum()
    return guess, sure


def _cuts_tried(
    walk: Walk, rows: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.bool_], int, int]]:
    """Cuts of a group in their order, if each is refused; what its path spent is not known."""
    n, spent, trust = len(rows), UNIT, np.ones(len(walk.table.qi))
    counts = walk.counted(rows)
    for _ in range(TRIES if n >= 2 * walk.least else 0):
        parts, attribute = walk.proposed(rows, counts, spent, trust, False)
        if parts is None:
            return
        steady = walk.steady(min(map(len, parts)))
        after = spent_after(spent, steady)
        trust[attribute] *= TRUST
        if walk.affordable(n, counts, after):
            yield np.isin(rows, parts[0]), spent, steady
            spent = after


def _refusals(
    walk: Walk, shuffled: NDArray[np.int32], on_the_left: NDArray[np.bool_], spent: int, steady: int
) -> NDArray[np.float64]:
    """Chance that a cut is refused, for each way in which the values can lie."""
    size = walk.table.sensitive[0].size
    chance = np.empty(len(shuffled))
    for i, values in enumerate(shuffled):
        margin = min(
            walk.margins.of(int(side.sum()), [np.bincount(values[side], minlength=size)], spent)
            for side in (on_the_left, ~on_the_left)
        )
        chance[i] = (steady / (steady + 1)) ** max(0, margin + 1)
    return chance


# --- two releases of one table ---


def in_both(first: Partition, second: Partition) -> NDArray[np.int64]:
    """Of each record: how many records are with it in both groupings."""
    one, two = first.group_ids(), second.group_ids()
    _, place, count = np.unique(
        one.astype(np.int64) * (int(two.max()) + 1) + two, return_inverse=True, return_counts=True
    )
    return count[place]
