"""Minimality: a method that generalises only where it must says where it must (Wong et al. 2007).

The attacker knows everybody's quasi-identifiers, the method and the release, and no sensitive
value. He goes through the ways in which the values can lie, runs the method on each with seeds
of his own, and keeps those that make this release. Of a small table he goes through all ways;
of a larger one, whose classes do not overlap, through some in which each class has its values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations
from math import factorial, prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.replaying import classes_in, made_again, not_replayable
from shoal.attacks.scene import Scene
from shoal.policy import Policy

__all__ = ["beliefs_by_worlds", "minimality"]

MOST_WORLDS = 400
"""More ways to lie are not gone through one by one."""
SEEDS = range(1, 4)
"""Runs for each way, where all are gone through."""
DRAWN = 60
"""Ways that are drawn of a larger table."""
BEYOND = 0.1
"""A belief is beyond what a class says if it is larger by more than this."""
ENOUGH = 5
"""Of fewer ways that made a person's class again nothing is believed."""

Belief = dict[Any, float]


def minimality(scene: Scene) -> Iterator[Found | Skipped]:
    """What can be believed of somebody beyond what the release says at its word."""
    if (reason := not_replayable(scene)) is not None:
        yield Skipped("minimality", reason)
        return
    assert scene.policy is not None
    names = [name for name in scene.subject.sensitive if name in scene.original.table.column_names]
    if len(names) != 1:
        yield Skipped("minimality", "needs one sensitive column")
        return
    values = scene.original.table.column(names[0]).to_pylist()
    if _worlds(values) <= MOST_WORLDS:
        yield _enumerated(scene, scene.policy, names[0], values)
    else:
        yield _sampled(scene, scene.policy, names[0], values)


def _worlds(values: Sequence[Any]) -> int:
    if len(values) > 20:
        return MOST_WORLDS + 1
    return factorial(len(values)) // prod(map(factorial, Counter(values).values()))


def _with_values(table: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    column = pa.array(list(values), table.column(name).type)
    return table.set_column(table.column_names.index(name), name, column)


def beliefs_by_worlds(
    table: pa.Table, name: str, values: Sequence[Any], policy: Policy, released: pa.Table
) -> list[Belief]:
    """How likely each value is of each person, over all ways in which the values can lie."""
    target = classes_in(released, released.column_names)
    weights: list[dict[Any, float]] = [defaultdict(float) for _ in values]
    for world in dict.fromkeys(permutations(values)):
        again = (made_again(_with_values(table, name, world), policy, seed) for seed in SEEDS)
        hits = sum(r is not None and classes_in(r, r.column_names) == target for r in again)
        for person, value in zip(weights, world, strict=True):
            person[value] += hits
    return [_normalised(person) for person in weights]


def _normalised(weights: dict[Any, float]) -> Belief:
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()} if total else {}


def _at_its_word(scene: Scene, name: str) -> NDArray[np.float64]:
    """The share of the most frequent value among the records that each person can be."""
    from shoal.attacks.secret import counts_by_bucket

    _, counts = counts_by_bucket(scene.subject, name)
    places = scene.original.places(scene.qi)
    each = np.stack([places.candidates(one) for one in counts.T], axis=1)
    return np.asarray(each.max(axis=1) / np.maximum(each.sum(axis=1), 1))


def _enumerated(scene: Scene, policy: Policy, name: str, values: Sequence[Any]) -> Found:
    """People of whom the true value is believed more than the release says at its word."""
    believed = beliefs_by_worlds(scene.original.table, name, values, policy, scene.subject.table)
    word = _at_its_word(scene, name)
    beyond = [
        belief.get(value, 0.0) > said + BEYOND
        for belief, value, said in zip(believed, values, word, strict=True)
    ]
    covered = float(np.mean([bool(belief) for belief in believed]))
    rate = Rate(sum(beyond), len(values))
    about = f"{name} believed beyond the release's word, over all worlds"
    return Found("minimality", about, rate, None, 0.0, covered)


def _sampled(scene: Scene, policy: Policy, name: str, values: Sequence[Any]) -> Found | Skipped:
    """Guesses by the ways, among some that were drawn, that made a person's class again."""
    places, subject = scene.original.places(scene.qi), scene.subject
    fits = np.rint(places.candidates(np.ones(len(subject.sizes))))
    if (fits != 1).any():
        return Skipped("minimality", "classes overlap, and the table is too large for all worlds")
    numbers = np.arange(len(subject.sizes), dtype=np.float64)
    ids = np.rint(places.candidates(numbers)).astype(np.int64)
    members = [np.flatnonzero(ids == number) for number in range(len(subject.sizes))]
    rng, columns = np.random.default_rng(0), subject.table.column_names
    published = _class_contents(subject.table, subject.columns, columns)
    class_cells = _cells_of_classes(scene)
    tally: list[Counter[Any]] = [Counter() for _ in values]
    for number in range(DRAWN):
        world = list(values)
        for rows in members:
            for row, other in zip(rows, rng.permutation(rows), strict=True):
                world[row] = values[other]
        again = made_again(_with_values(scene.original.table, name, world), policy, number + 1)
        if again is None:
            continue
        contents = _class_contents(again, subject.columns, columns)
        for rows, cells in zip(members, class_cells, strict=True):
            if contents.get(cells) == published[cells]:
                for row in rows:
                    tally[row][world[row]] += 1
    return _judged(scene, name, values, tally)


def _judged(scene: Scene, name: str, values: Sequence[Any], tally: Sequence[Counter[Any]]) -> Found:
    word = _at_its_word(scene, name)
    known = [i for i, seen in enumerate(tally) if seen.total() >= ENOUGH]
    right = sum(tally[i].most_common(1)[0][0] == values[i] for i in known)
    baseline = float(word[known].mean()) if known else 0.0
    about = f"{name} by the worlds that make a class again, {DRAWN} drawn"
    rate = Rate(right, len(known))
    return Found("minimality", about, rate, None, baseline, len(known) / max(1, len(values)))


def _class_contents(
    table: pa.Table, qi: Sequence[str], columns: Sequence[str]
) -> dict[tuple[Any, ...], Counter[tuple[Any, ...]]]:
    """What else is published in each class, by its cells."""
    rest = [name for name in columns if name not in qi]
    found: dict[tuple[Any, ...], Counter[tuple[Any, ...]]] = defaultdict(Counter)
    cells = zip(*(table.column(name).to_pylist() for name in qi), strict=True)
    others = zip(*(table.column(name).to_pylist() for name in rest), strict=True)
    for key, other in zip(cells, others, strict=True):
        found[key][other] += 1
    return dict(found)


def _cells_of_classes(scene: Scene) -> list[tuple[Any, ...]]:
    ids, classes = scene.subject.classes
    _, first = np.unique(ids, return_index=True)
    rows = scene.subject.table.select(scene.subject.columns).take(pa.array(first))
    assert rows.num_rows == classes
    return [tuple(row.values()) for row in rows.to_pylist()]
