"""Composition: what several releases tell together that none of them tells alone.

Of each person the attacker asks every release which sensitive values are possible, and keeps
those that all of them allow. `shoal.join_check` adds what follows from who must be who.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.scene import People, Scene
from shoal.attacks.secret import (
    MOST_VALUES,
    codes_among,
    counts_by_bucket,
    expected_by_class,
)
from shoal.errors import ShoalError
from shoal.joining import join_check
from shoal.risks.places import placed
from shoal.risks.subject import Subject

__all__ = ["composition", "pinned"]

ANY = 1e-6
"""Less of a record than this is none: sums of parts are not exact."""


def composition(scene: Scene) -> Iterator[Found | Skipped]:
    """Sets of possible values intersected, then records matched by `join_check`."""
    if not scene.others:
        yield Skipped("composition", "needs further releases that the attacker holds")
        return
    releases = (scene.subject, *scene.others)
    for name in scene.subject.sensitive:
        known = all(name in people.table.column_names for people in scene.both)
        if known and all(release.publishes(name) for release in releases):
            found = _intersected(scene, releases, name)
            if found is not None:
                yield found
    yield _joined(scene, releases)


def _intersected(scene: Scene, releases: Sequence[Subject], name: str) -> Found | None:
    tables = [_told(release, name) for release in releases]
    texts = list(dict.fromkeys(text for values, _ in tables for text in values))
    if len(texts) > MOST_VALUES:
        return None
    place = {text: number for number, text in enumerate(texts)}
    rates: list[Rate] = []
    baseline = covered = 0.0
    for people in scene.both:
        possible = []
        for release, (values, counts) in zip(releases, tables, strict=True):
            allowed = np.zeros((people.count, len(texts)), dtype=bool)
            allowed[:, [place[text] for text in values]] = _possible(release, people, counts)
            possible.append(allowed)
        truth = codes_among(people.table.column(name), texts)
        right = pinned(np.logical_and.reduce(possible), truth)
        rates.append(Rate(int(right.sum()), people.count))
        if people is scene.original:
            baseline = max(float(pinned(one, truth).mean()) for one in possible)
            covered = float(np.logical_and.reduce(possible).any(axis=1).mean())
    control = rates[1] if len(rates) > 1 else None
    about = f"{name} pinned by {len(releases)} releases together"
    return Found("composition", about, rates[0], control, baseline, covered)


def _told(release: Subject, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The values of a column, and how many records of each class are expected to have each."""
    texts, counts = counts_by_bucket(release, name)
    return texts, expected_by_class(release, counts)


def _possible(release: Subject, people: People, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values some record that each of them can be has: people by values."""
    ids, classes = release.classes
    places = placed(release.source, ids, classes, people.table, release.qi)
    found: NDArray[np.bool_] = np.stack([places.candidates(one) > ANY for one in counts.T], axis=1)
    return found


def pinned(possible: NDArray[np.bool_], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of whom one value alone is possible, and is the true one."""
    alone = possible.sum(axis=1) == 1
    right: NDArray[np.bool_] = alone & (truth >= 0) & (possible.argmax(axis=1) == truth)
    return right


def _joined(scene: Scene, releases: Sequence[Subject]) -> Found | Skipped:
    """Records that, by who must be who, are among fewer than were promised."""
    try:
        checked = join_check(scene.given, k=_promised(releases), policy=scene.policy)
    except ShoalError as error:
        return Skipped("composition (join-check)", str(error))
    exposed = max(view.exposed for view in checked.views)
    rate = Rate(exposed, checked.records)
    return Found("composition", "among fewer than k by join-check", rate, None, 0.0, 1.0)


def _promised(releases: Sequence[Subject]) -> int:
    """The k that each of them keeps by itself."""
    return max(2, min(int(release.sizes.min()) for release in releases))
