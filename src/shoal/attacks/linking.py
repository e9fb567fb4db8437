"""Linking, membership and singling out: who can be which record, by containment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.scene import People, Scene

__all__ = ["linking", "membership", "singling_out"]

MOST_TOLERATED = 0.2
"""Linking more people than one in five is flagged whatever was promised: the weakest threshold
in use asks for classes of five."""
NOISE = 0.1
"""Share of the cells in which an attacker with noisy knowledge has somebody else's value."""
MOST_SETS = 60
"""Sets of known quasi-identifiers beyond this are drawn at random."""


def linking(scene: Scene, size: int = 2, seed: int = 0) -> Iterator[Found]:
    """An attacker who knows all quasi-identifiers, some, or some wrongly, links a person.

    He takes any of the c records that the person can be: right with a chance of 1/c, as the
    person's own record is one of them (or m/c, if m of them are the person's, as far as the
    original says whose records are whose). Of people who are not in the release the same claim,
    "this one is he", is always wrong: the control is 0. A release with classes of k promises
    no more than 1/k; what stays within that, and within 1/5, is not flagged. One in two tables
    publishes quasi-identifiers as they are, and promises nothing about links.
    """
    yield _linked(scene, scene.qi, "knows all")
    for view in scene.views:
        if view.name is not None and set(view.qi) < set(scene.qi):
            yield _linked(scene, view.qi, f"reader {view.name}: knows {' and '.join(view.qi)}")
    sets = [s for n in range(1, min(size, len(scene.qi) - 1) + 1)
            for s in combinations(scene.qi, n)]  # fmt: skip
    if len(sets) > MOST_SETS:
        drawn = np.random.default_rng(seed).choice(len(sets), MOST_SETS, replace=False)
        sets = [sets[i] for i in sorted(drawn)]
    worst = [_linked(scene, names, f"knows {' and '.join(names)}") for names in sets]
    if worst:
        yield max(worst, key=lambda found: found.main.share - found.promised)
    yield _linked_by_mistaken(scene, NOISE, seed)
    if (ordered := _linked_by_order(scene)) is not None:
        yield ordered


def _linked_by_mistaken(scene: Scene, share: float, seed: int) -> Found:
    """He knows all quasi-identifiers, but a share of the cells wrongly.

    He takes any of the records that fit what he believes. The person's own record, any of
    those that fit the truth, is among them as far as it fits both.
    """
    people = scene.original
    wrong = people.mistaken(scene.qi, share, seed)
    believed = list(zip(scene.qi, wrong, strict=True))
    true = [(name, people.table.column(name)) for name in scene.qi]
    fits = people.fitting(believed)
    here = fits > 0
    right = np.zeros(people.count)
    own = people.candidates(scene.qi)
    both = people.fitting([*true, *believed])
    right[here] = both[here] / fits[here] / np.maximum(own[here], 1)
    rate = Rate(float(right.sum()), people.count)
    about = f"knows all, {share:.0%} of it wrongly"
    return _found(scene, scene.qi, about, rate, float(here.mean()))


def _linked_by_order(scene: Scene) -> Found | None:
    """He knows in which order the people stood in the original: is the first row the first?

    It is if every row fits the person with its number, and shows what was published
    unchanged of that person. None where nothing unchanged was published to tell by.
    """
    people, subject = scene.original, scene.subject
    same = [
        name
        for name in subject.table.column_names
        if name in people.table.column_names and name not in (*subject.qi, *subject.treated)
    ]
    if people.count != scene.records or not same:
        return None
    rows = np.arange(people.count)
    ids, _ = subject.classes
    fits = people.places(scene.qi).within(rows, ids)
    for name in same if fits.all() else ():
        theirs, ours = (t.column(name).cast(pa.string()) for t in (people.table, subject.table))
        fits &= np.asarray(pc.fill_null(pc.equal(theirs, ours), True).to_numpy(), dtype=bool)
    told = len(set(zip(*(subject.table.column(name).to_pylist() for name in same), strict=True)))
    in_order = bool(fits.all()) and told > 1 and not _sorted_anyway(scene, same)
    right = float(people.count) if in_order else 1.0  # one at random
    rate = Rate(right, people.count)
    return _found(scene, scene.qi, "knows the order of the rows", rate, 1.0)


def _sorted_anyway(scene: Scene, same: Sequence[str]) -> bool:
    """Whether the rows stand class by class and sorted: then their order tells nothing."""
    ids, _ = scene.subject.classes
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    columns = {name: _ranks(scene.subject.table.column(name)) for name in same}
    table = pa.table({"class": first[place], **columns})
    keys = [(name, "ascending") for name in table.column_names]
    return bool(table.take(pc.sort_indices(table, keys)).equals(table))


def _ranks(column: pa.ChunkedArray) -> pa.Array:
    """The column in numbers that sort as its values do: not every type can be sorted by."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ranks = pc.rank(column.combine_chunks(), tiebreaker="dense")
    return pc.if_else(pc.is_valid(column.combine_chunks()), ranks, 0)  # releases begin with nulls


def _linked(scene: Scene, names: Sequence[str], about: str) -> Found:
    candidates, own = scene.original.candidates(names), scene.original.alike(names)
    there = candidates > 0
    right = np.minimum(1, own[there] / candidates[there])
    rate = Rate(float(right.sum()), scene.original.count)
    return _found(scene, names, about, rate, float(there.mean()))


def _found(scene: Scene, names: Sequence[str], about: str, rate: Rate, covered: float) -> Found:
    """With the control: whoever is not in the release is none of its records, ever."""
    control = None if scene.control is None else Rate(0, scene.control.count)
    promised = scene.promised(names)
    tolerated = min(1 / promised, MOST_TOLERATED) if promised > 1 else 0.0
    return Found("linking", about, rate, control, 1 / scene.records, covered, tolerated)


def membership(scene: Scene) -> Iterator[Found | Skipped]:
    """Is somebody in the table? He is said to be if he fits a class.

    Tried on as many people in the release as not: guessing is right in half of the cases.
    Without people who are not in it there is nothing to tell apart.
    """
    if scene.control is None:
        yield Skipped("membership", "needs a control: people who are not in the release")
        return
    inside, outside = (p.candidates(scene.qi) > 0 for p in (scene.original, scene.control))
    right = float(inside.mean() + 1 - outside.mean()) / 2
    trials = 2 * min(len(inside), len(outside))
    yield Found("membership", "fits a class", Rate(right * trials, trials), None, 0.5, 1.0)


def singling_out(scene: Scene) -> Iterator[Found]:
    """Predicates made from the release alone that hold for exactly one person.

    "Fits this class", and "fits this class, and has the least (the largest) value of its
    interval" (downcoding: a tight interval says that somebody has it). A predicate that has
    nothing to do with the data isolates somebody in at most 1/e of the cases: the baseline.
    """
    yield _isolated(scene, "a class", lambda people: people.places(scene.qi).people())
    found = _isolated(scene, "a class and an end of its interval", lambda p: _at_ends(p, scene.qi))
    if found.main.of:
        yield found


def _at_ends(people: People, qi: Sequence[str]) -> NDArray[np.int64]:
    places = people.places(qi)
    return np.concatenate([places.at_end(a, end) for a in range(len(qi)) for end in (0, 1)])


def _isolated(scene: Scene, about: str, heads: Callable[[People], NDArray[np.int64]]) -> Found:
    """How many of the predicates hold for exactly one person of the original.

    There is no control: whom a predicate holds for among others says nothing of whether it
    isolates somebody here. What predicates isolate that do not know the data is the baseline.
    """
    counts = heads(scene.original)
    rate = Rate(int(np.count_nonzero(counts == 1)), len(counts))
    return Found("singling out", about, rate, None, float(np.exp(-1)), 1.0)
