"""The classifier of the boosting attack, against its slow twin; and what it learns from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_attacks
import naive_boosting as naive
import shoal
from shoal.attacks import boosting
from shoal.attacks.scene import scene_of
from shoal.attacks.secret import secrets_of
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
TREES = 4


def secret_of(seed: int, method: str = "hilbert", values: int = 3, n: int = 60):
    """People of whom age and job say something about the illness."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 60, n), rng.integers(0, 4, n)
    ill = (age // 15 + job + rng.integers(0, values, n)) % values
    people = pa.table(
        {
            "age": age,
            "job": [f"job {number}" for number in job],
            "ill": [f"v{number}" for number in ill],
        }
    )
    release = shoal.anonymize(
        people, qi=["age", "job"], sensitive="ill", k=3, method=method, rest="drop", seed=1
    )
    (secret,) = secrets_of(scene_of(release, people, None, Policy.parse()))
    return secret, release


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from(["mondrian", "hilbert"]))
def test_it_believes_what_the_twin_believes(seed, values, method):
    """The same lessons: the people that records may be, drawn from their cells."""
    pytest.importorskip("sklearn")
    secret, _ = secret_of(seed, method, values)
    subject, people = secret.scene.subject, secret.scene.original
    places = people.places(secret.scene.qi)
    truth = subject.distinct("ill").codes
    rows = np.repeat(np.arange(len(truth)), boosting.DRAWS)
    lessons = places.drawn(subject.classes[0][rows], np.random.default_rng(1))
    try:
        expected = naive.chances(
            lessons.tolist(), truth[rows].tolist(), places.points.codes.tolist(),
            places.ordered().tolist(), TREES,
        )  # fmt: skip
    except naive.CloseError:
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "TREES", TREES)
        found = boosting._chances(places, lessons, truth[rows], len(secret.texts))
        guesses = boosting.boosted(secret, left_out=False)
    told = np.array([[one.get(v, 0.0) for v in range(len(secret.texts))] for one in expected])
    assert found == pytest.approx(told, abs=1e-4)
    best = np.sort(told, axis=1)
    assume((best[:, -1] - best[:, -2] > 1e-3).all())  # else either guess is right
    right = told.argmax(axis=1)[places.point_of] == secret.truth(people)
    assert guesses.main.right == np.count_nonzero(right)
    assert guesses.without is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["mondrian", "hilbert", "bsgi"]))
def test_lessons_lie_in_the_cells_of_their_record(seed, method):
    """Every value of the table that a cell covers is drawn, and no other."""
    secret, release = secret_of(seed, method, n=24)
    people = secret.scene.original
    places = people.places(secret.scene.qi)
    ids, classes = secret.scene.subject.classes
    first = [int(np.flatnonzero(ids == number)[0]) for number in range(classes)]
    value_of = [
        dict(zip(places.codes[:, a].tolist(), people.table.column(name).to_pylist(), strict=True))
        for a, name in enumerate(secret.scene.qi)
    ]
    for number, row in enumerate(first):
        cells = release.table.slice(row, 1).to_pylist()[0]
        lessons = places.drawn(np.full(400, number), np.random.default_rng(seed))
        for a, name in enumerate(secret.scene.qi):
            box = (naive_attacks.cell(cells[name]),)
            covered = {v for v in value_of[a].values() if naive_attacks.within(box, (v,))}
            assert {value_of[a][code] for code in lessons[:, a].tolist()} == covered
