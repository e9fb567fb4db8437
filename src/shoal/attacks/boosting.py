"""A classifier that learns the sensitive value from the release, and is asked about people.

Gradient boosting of scikit-learn (extra ``attacks``). A released record is learnt from as a few
people that it may be, with values drawn from those that its cells cover; a person is asked
about by the values he has. The same is tried without him: learnt from the classes that he is
not in. What it knows then, it knows about people like him, and not from him.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.secret import Secret
from shoal.risks.places import Places
from shoal.risks.subject import Subject

__all__ = ["boosted", "folds_of", "right_without"]

MOST_RECORDS = 50_000
"""So many records are learnt from at most, drawn at random."""
MOST_BOOSTED = 40
"""Columns with more values would take trees without end."""
TREES = 60
DRAWS = 3
"""People that a record is learnt from as."""
MOST_CATEGORIES = 200
"""Attributes without an order that have more values are taken as if they had one."""
FOLDS = 5
"""Parts of the classes that are left out in turn: one by one, there would be thousands."""

Chances = NDArray[np.float64]
Whole = NDArray[np.int64]


def boosted(secret: Secret, *, left_out: bool = True) -> Found | Skipped:
    """What a classifier gets to know of a sensitive column, with and without the target.

    With `left_out` false only with him, which takes a sixth of the time.
    """
    try:
        import sklearn.ensemble  # noqa: F401
        import threadpoolctl  # noqa: F401
    except ImportError:
        return Skipped("inference (boosting)", "needs scikit-learn: pip install 'shoal[attacks]'")
    scene = secret.scene
    if len(secret.texts) > MOST_BOOSTED:
        more = f"{secret.name} has {len(secret.texts)} values, more than {MOST_BOOSTED}"
        return Skipped("inference (boosting)", more)
    places = scene.everybody.places(scene.qi)
    ids, _ = scene.subject.classes
    values = np.stack([scene.subject.distinct(secret.name, n).codes for n in range(DRAWS)], axis=1)
    rows = np.flatnonzero((values >= 0).all(axis=1))
    if len(np.unique(values[rows])) < 2:
        return Skipped("inference (boosting)", f"{secret.name} has one value only")
    if len(rows) > MOST_RECORDS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_RECORDS, replace=False))
    values, rows = values[rows].ravel(), np.repeat(rows, DRAWS)
    known = places.drawn(ids[rows], np.random.default_rng(1))
    there = (known >= 0).all(axis=1)  # else nobody at all could be that record
    known, rows, values = known[there], rows[there], values[there]

    def learnt(chosen: NDArray[np.bool_]) -> Chances:
        return _chances(places, known[chosen], values[chosen], len(secret.texts))

    told = learnt(np.ones(len(rows), dtype=np.bool_))
    found = secret.found("by a classifier", scene.apart(told[places.point_of]))
    buckets, count = scene.subject.buckets
    if count < 2 or not left_out:
        return found
    folds = folds_of(count)
    shares = [
        scene.apart(places.candidates(_sizes_within(scene.subject, folds[buckets] == fold)))[0]
        for fold in range(FOLDS)
    ]
    fold_of_lesson = folds[buckets[rows]]

    def guessed(fold: int | None) -> Whole:
        chances = told if fold is None else learnt(fold_of_lesson != fold)
        return scene.apart(_guess(chances)[places.point_of])[0]

    right = right_without(guessed, np.stack(shares, axis=1), secret.truth(scene.original))
    return replace(found, without=Rate(right, scene.original.count))


def _sizes_within(subject: Subject, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The size of each class as far as its records are chosen."""
    ids, classes = subject.classes
    part = np.bincount(ids, chosen, minlength=classes) / np.bincount(ids, minlength=classes)
    return np.asarray(subject.sizes * part)


def folds_of(buckets: int) -> Whole:
    """The part that each bucket is left out with: parts of about as many buckets, drawn."""
    order = np.random.default_rng(2).permutation(buckets)
    return np.asarray(order % FOLDS, dtype=np.int64)


def right_without(
    guessed: Callable[[int | None], Whole], shares: NDArray[np.float64], truth: Whole
) -> float:
    """How many guesses about people are right, where their own class is not learnt from.

    A person who fits several classes is any of the records that he can be, with equal chance.

    Parameters
    ----------
    guessed
        The guess about each person without a fold of classes; with None, without nothing.
    shares
        How many records of each fold each person can be.
    truth
        The value of each; -1 where there is none.
    """
    total = shares.sum(axis=1)
    right = np.where(total > 0, 0.0, _hits(guessed(None), truth))  # of him there is no record
    for fold in range(shares.shape[1]):
        if shares[:, fold].any():
            part = np.divide(shares[:, fold], total, out=np.zeros_like(total), where=total > 0)
            right += part * _hits(guessed(fold), truth)
    return float(right.sum())


def _hits(guess: Whole, truth: Whole) -> NDArray[np.float64]:
    return np.asarray((guess == truth) & (truth >= 0), dtype=np.float64)


def _guess(chances: Chances) -> Whole:
    return np.where(chances.sum(axis=1) > 0, chances.argmax(axis=1), -1)


def _chances(places: Places, known: NDArray[np.int32], values: Whole, count: int) -> Chances:
    """What a classifier that learnt these people says of each point: points by values."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    points = places.points.codes
    chances = np.zeros((len(points), count))
    seen = np.unique(values)
    if len(seen) < 2:  # nothing to tell apart
        chances[:, seen] = 1.0
        return chances
    few = points.max(axis=0, initial=0) < MOST_CATEGORIES
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        early_stopping=False,
        random_state=0,
        categorical_features=list(np.flatnonzero(few & ~places.ordered())),
    )
    # On a busy machine its threads wait for each other by counting: ten times the work of one.
    with threadpool_limits(limits=1):
        model.fit(known.astype(np.float64), values)
        chances[:, model.classes_] = model.predict_proba(points.astype(np.float64))
    return chances
