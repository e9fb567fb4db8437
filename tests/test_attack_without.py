"""A classifier with and without the target's class: what it knows of him, and not from him."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_attacks as naive
import shoal
from shoal.attacks import Found, Rate
from shoal.attacks.boosting import FOLDS, boosted, folds_of, right_without
from shoal.attacks.scene import scene_of
from shoal.attacks.secret import secrets_of
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")


def secret_of(people, control=None, **asked):
    release = shoal.anonymize(people, sensitive="ill", seed=1, **asked)
    (secret,) = secrets_of(scene_of(release, people, control, Policy.parse()))
    return release, secret


def interval(cell):
    ends = str(cell).strip("[]").split(",")
    return int(ends[0]), int(ends[-1])


def most_frequent(lessons):
    """A learner that is easily followed: the most frequent value of all that fits, or nothing."""

    def guess(person):
        votes = Counter(value for box, value in lessons if naive.within(box, person))
        return min(votes, key=lambda value: (-votes[value], value), default=None)

    return guess


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from(["mondrian", "hilbert"]))
def test_left_out_as_the_twin_does(seed, k, method):
    """Classes of `hilbert` overlap: a person can be in several."""
    rng = np.random.default_rng(seed)
    people = pa.table({"age": rng.integers(20, 50, 30), "pay": rng.integers(0, 30, 30),
                       "ill": rng.choice(["a", "b", "c"], 30)})  # fmt: skip
    release, secret = secret_of(people, qi=["age", "pay"], k=k, method=method)
    scene = secret.scene
    places, folds = scene.original.places(scene.qi), folds_of(len(secret.counts))

    def guessed(fold):
        here = secret.counts * (folds != -1 if fold is None else folds != fold)[:, None]
        votes = np.stack([places.candidates(here[:, v]) for v in range(here.shape[1])], axis=1)
        votes = np.rint(votes)
        texts = np.array(secret.texts)
        order = np.argsort(texts)
        best = order[votes[:, order].argmax(axis=1)]
        return np.where(votes.sum(axis=1) > 0, best, -1)

    shares = np.stack(
        [places.candidates(scene.subject.sizes * (folds == f)) for f in range(FOLDS)], axis=1
    )
    found = right_without(guessed, shares, secret.truth(scene.original))
    rows = release.table.to_pylist()
    expected = naive.right_without(
        [(interval(row["age"]), interval(row["pay"])) for row in rows],
        [row["ill"] for row in rows],
        folds[scene.subject.classes[0]].tolist(),
        [(p["age"], p["pay"]) for p in people.to_pylist()],
        people["ill"].to_pylist(),
        most_frequent,
    )
    assert found == pytest.approx(expected)


class TestClassifier:
    def test_what_only_the_own_class_tells(self):
        """Every class is of one illness, which follows from nothing that others have."""
        pytest.importorskip("sklearn")
        rng = np.random.default_rng(0)
        ages, ill = np.arange(20, 60), rng.permutation(np.repeat(list("xyzw"), 10))
        people = pa.table({"age": np.repeat(ages, 10), "ill": np.repeat(ill, 10)})
        _, secret = secret_of(people, qi="age", k=10, method="mondrian")
        found = boosted(secret)
        assert isinstance(found, Found)
        assert found.main.share > 0.9
        assert found.without.share < 0.5
        assert found.flagged
        assert found.to_dict()["without_target"]["of"] == 400
        assert "without the target" in str(found)

    def test_what_holds_for_anybody(self):
        """Four of five have what their age tells: known of whose class was not seen, too."""
        pytest.importorskip("sklearn")
        rng = np.random.default_rng(1)
        ages = rng.integers(18, 90, 1500)
        young = (ages < 50) ^ (rng.random(1500) < 0.2)
        people = pa.table({"age": ages, "ill": np.where(young, "young", "old")})
        _, secret = secret_of(people, qi="age", k=100, method="mondrian")
        found = boosted(secret)
        assert found.without.share > 0.7
        assert not found.flagged
        assert found.meaningless == "the same is told without the classes that people are in"

    def test_one_class_alone_has_no_other(self):
        pytest.importorskip("sklearn")
        people = pa.table({"age": [30] * 20, "ill": ["a", "b"] * 10})
        _, secret = secret_of(people, qi="age", k=10, method="mondrian")
        assert boosted(secret).without is None


def test_a_control_counts_where_there_is_one():
    """People who are not in the release are the stronger evidence: a flag stays."""
    told = Found("a", "b", Rate(60, 100), Rate(20, 100), 0.1, 1.0, without=Rate(58, 100))
    assert told.flagged
    alone = Found("a", "b", Rate(60, 100), None, 0.1, 1.0, without=Rate(58, 100))
    assert not alone.flagged
