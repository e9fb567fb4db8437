"""Replay: the attacker runs the method himself, with seeds of his own.

He knows everything about everybody but one value of one person. For every value that it may be
he makes the release a few times. If the release followed from the table alone, the true value
would make it again. Only the secret seed is in his way.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.scene import Scene
from shoal.errors import ShoalError
from shoal.pipeline import anonymize
from shoal.policy import Policy

__all__ = ["MOST_RECORDS", "classes_in", "made_again", "replay", "replayed"]

MOST_RECORDS = 2_000
"""Larger tables would take too long: the method is run for every guess."""
TARGETS = 8
VALUES = 8
"""Values that are tried of each target: the true one and others that occur."""
RUNS = 5
"""Runs, each with another seed, for each value."""

Cells = Counter[tuple[Any, ...]]


def replay(scene: Scene) -> Iterator[Found | Skipped]:
    """The value of one quasi-identifier of a person, all else being known."""
    if (reason := not_replayable(scene)) is not None:
        yield Skipped("replay", reason)
        return
    assert scene.policy is not None
    yield from replayed(scene, scene.policy, TARGETS, VALUES, range(1, RUNS + 1))


def not_replayable(scene: Scene) -> str | None:
    """Why the release cannot be made again; None if it can."""
    if scene.policy is None:
        return "needs the policy that the release was made by (--policy)"
    if scene.subject.apart is not None:
        return "is tried on releases in one table: here all but the sensitive value is published"
    if scene.original.count > MOST_RECORDS:
        return f"runs the method for every guess: of at most {MOST_RECORDS:,} records"
    return None


def replayed(
    scene: Scene, policy: Policy, targets: int, values: int, seeds: Sequence[int]
) -> Iterator[Found]:
    """By the whole release, and by how many of its classes came out again."""
    rng = np.random.default_rng(0)
    name, column = _finest(scene)
    people = rng.permutation(scene.original.count)[:targets]
    shown, cells = scene.subject.table.column_names, scene.subject.columns
    published, by_class = (classes_in(scene.subject.table, names) for names in (shown, cells))
    whole = shared = guessing = 0.0
    for target in people:
        own = column[int(target)].as_py()
        others = [value for value in dict.fromkeys(column.to_pylist()) if value != own]
        drawn = rng.permutation(len(others))[: values - 1]
        tried = [own, *(others[i] for i in drawn)]
        again, alike = np.zeros(len(tried)), np.zeros(len(tried))
        for number, value in enumerate(tried):
            table = _with_value(scene.original.table, name, int(target), value)
            for seed in seeds:
                release = made_again(table, policy, seed)
                if release is not None:
                    again[number] += classes_in(release, shown) == published
                    alike[number] += _common(classes_in(release, cells), by_class)
        whole += _chance_of_first(again)
        shared += _chance_of_first(alike)
        guessing += 1 / len(tried)
    baseline = guessing / len(people)
    runs = f"{len(seeds)} runs a value"
    for about, right in (("release", whole), ("classes", shared)):
        rate = Rate(right, len(people))
        yield Found("replay", f"{name} by the same {about}, {runs}", rate, None, baseline, 1.0)


def made_again(table: pa.Table, policy: Policy, seed: int) -> pa.Table | None:
    """The release of a table by a policy with another seed; None where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return anonymize(table, policy, seed=seed, bound=False, progress=False).table
    except ShoalError:
        return None


def classes_in(table: pa.Table, names: Sequence[str]) -> Cells:
    """How often each combination of these columns' cells is there."""
    columns = [table.column(name).to_pylist() for name in names]
    return Counter(zip(*columns, strict=True))


def _common(one: Cells, other: Cells) -> int:
    """Classes that are in both, with as many records."""
    return sum(other[cells] == count for cells, count in one.items())


def _chance_of_first(scores: NDArray[np.float64]) -> float:
    """That the first is taken, where any of the best is."""
    best = np.flatnonzero(scores == scores.max())
    return 1 / len(best) if best[0] == 0 else 0.0


def _finest(scene: Scene) -> tuple[str, pa.ChunkedArray]:
    """The quasi-identifier with most values: the one that is worth finding out."""
    table = scene.original.table
    name = max(scene.qi, key=lambda name: len(table.column(name).unique()))
    return name, table.column(name)


def _with_value(table: pa.Table, name: str, row: int, value: Any) -> pa.Table:
    column = table.column(name)
    values = [*column.slice(0, row).to_pylist(), value, *column.slice(row + 1).to_pylist()]
    number = table.column_names.index(name)
    return table.set_column(number, name, pa.array(values, column.type))
