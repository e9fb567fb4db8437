"""Downcoding: a generalised value made finer again.

An interval that is as tight as it can be says that somebody in the class has its least value,
and somebody its largest. The attacker says so of every interval. He is right if somebody of the
original who fits the class has that value; by chance he would be as often as somebody has a
value that is drawn from the interval.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.scene import People, Scene
from shoal.risks.places import ABSENT, NONE

__all__ = ["downcoding"]


def downcoding(scene: Scene) -> Iterator[Found | Skipped]:
    """Ends of intervals, against values drawn from inside them."""
    counts = [_heads_at_ends(people, scene.qi) for people in scene.both]
    if not len(counts[0]):
        yield Skipped("downcoding", "the release has no interval")
        return
    rates = [Rate(int(np.count_nonzero(heads)), len(heads)) for heads in counts]
    drawn = _heads_at_random(scene)
    control = rates[1] if len(rates) > 1 else None
    baseline = float(np.mean(drawn > 0)) if len(drawn) else 0.0
    yield Found("downcoding", "ends of intervals", rates[0], control, baseline, 1.0)


def _heads_at_ends(people: People, qi: tuple[str, ...]) -> NDArray[np.int64]:
    places = people.places(qi)
    return np.concatenate([places.at_end(a, end) for a in range(len(qi)) for end in (0, 1)])


def _heads_at_random(scene: Scene) -> NDArray[np.int64]:
    """How many fit a class and have a value that was drawn from those between the ends."""
    rng = np.random.default_rng(0)
    places, found = scene.original.places(scene.qi), []
    for a in range(len(scene.qi)):
        low, high = places.ends[places.boxes.rows[:, a]].T
        chosen = np.flatnonzero((low != NONE) & (low != ABSENT) & (high != ABSENT) & (low < high))
        if len(chosen):
            drawn = rng.integers(low[chosen], high[chosen] + 1)
            found.append(places.at_value(a, chosen, drawn.astype(np.int32)))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
