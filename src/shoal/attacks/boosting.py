"""A classifier that learns the sensitive value from the release, and is asked about people.

Gradient boosting of scikit-learn (extra ``attacks``). A released record is learnt from as a few
people that it may be, with values drawn from those that its cells cover; a person is asked
about by the values he has.
"""

from __future__ import annotations

import numpy as np

from shoal.attacks.rates import Found, Skipped
from shoal.attacks.secret import Secret

__all__ = ["boosted"]

MOST_RECORDS = 50_000
"""So many records are learnt from at most, drawn at random."""
MOST_BOOSTED = 40
"""Columns with more values would take trees without end."""
TREES = 60
DRAWS = 3
"""People that a record is learnt from as."""
MOST_CATEGORIES = 200
"""Attributes without an order that have more values are taken as if they had one."""


def boosted(secret: Secret) -> Found | Skipped:
    """What a classifier gets to know of a sensitive column."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits
    except ImportError:
        return Skipped("inference (boosting)", "needs scikit-learn: pip install 'shoal[attacks]'")
    scene = secret.scene
    if len(secret.texts) > MOST_BOOSTED:
        more = f"{secret.name} has {len(secret.texts)} values, more than {MOST_BOOSTED}"
        return Skipped("inference (boosting)", more)
    places = scene.everybody.places(scene.qi)
    ids, _ = scene.subject.classes
    values = scene.subject.distinct(secret.name).codes
    rows = np.flatnonzero(values >= 0)
    if len(np.unique(values[rows])) < 2:
        return Skipped("inference (boosting)", f"{secret.name} has one value only")
    if len(rows) > MOST_RECORDS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_RECORDS, replace=False))
    rows = np.repeat(rows, DRAWS)
    known = places.drawn(ids[rows], np.random.default_rng(1)).astype(np.float64)
    there = (known >= 0).all(axis=1)  # else nobody at all could be that record
    few = places.points.codes.max(axis=0, initial=0) < MOST_CATEGORIES
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        early_stopping=False,
        random_state=0,
        categorical_features=list(np.flatnonzero(few & ~places.ordered())),
    )
    # On a busy machine its threads wait for each other by counting: ten times the work of one.
    with threadpool_limits(limits=1):
        model.fit(known[there], values[rows][there])
        told = model.predict_proba(places.points.codes.astype(np.float64))[places.point_of]
    chances = np.zeros((len(places.point_of), len(secret.texts)))
    chances[:, model.classes_] = told
    return secret.found("by a classifier", scene.apart(chances))
