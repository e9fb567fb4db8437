"""Steps of a scikit-learn Pipeline: releases that are learnt, cells as plain values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import shoal
from shoal.errors import PolicyError, VerificationError
from shoal.sklearn import Anonymizer, Expander, expand

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")


@parametrize_with_checks(
    [
        Anonymizer(k=2, form="midpoint", method="hilbert"),
        Anonymizer(k=2, form="bounds", method="mondrian"),
        Expander("midpoint"),
        Expander("bounds"),
    ]
)
def test_what_scikit_learn_expects(estimator: Any, check: Any) -> None:
    check(estimator)


def people(n: int = 300, seed: int = 1) -> pd.DataFrame:
    table = shoal.datasets.census(n, seed=seed)
    return table.select(["age", "gender", "marital", "salary"]).to_pandas()


SALARY = {"plain": ["salary"]}


def in_cell(value: Any, cell: str) -> bool:
    """Slow twin of covering, from the released text."""
    if cell == "*":
        return True
    if cell.startswith("["):
        low, high = cell[1:-1].split(",")
        return float(low) <= float(value) <= float(high)
    if cell.startswith("{"):
        return str(value) in cell[1:-1].split(",")
    return str(value) == cell


# --- Anonymizer


@pytest.mark.parametrize("method", ["hilbert", "mondrian"])
def test_new_rows_are_in_boxes_of_the_release_or_stars(method: str) -> None:
    rows = people()
    learnt = Anonymizer(
        k=5, qi=["age", "gender", "marital"], method=method, random_state=1, settings=SALARY
    )
    own = learnt.fit_transform(rows[:200])
    assert learnt.release_.verify().ok
    assert own[["age", "gender", "marital"]].astype(str).value_counts().min() >= 5
    assert (own["salary"].to_numpy() == rows["salary"][:200].to_numpy()).all()
    new = learnt.transform(rows[200:])
    boxes = {tuple(row) for row in own[["age", "gender", "marital"]].astype(str).to_numpy()}
    for (_, before), (_, after) in zip(rows[200:].iterrows(), new.iterrows(), strict=True):
        cells = tuple(str(after[name]) for name in ("age", "gender", "marital"))
        covering = [box for box in boxes if all(
            in_cell(before[name], cell)
            for name, cell in zip(("age", "gender", "marital"), box, strict=True))]  # fmt: skip
        assert cells in covering or (not covering and set(cells) == {"*"})


@settings(max_examples=40, deadline=None)
@given(
    fitted=st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=4, max_size=12),
    new=st.lists(st.tuples(st.integers(-2, 12), st.sampled_from("abcd")), min_size=1, max_size=8),
)  # fmt: skip
def test_a_row_is_a_star_only_where_no_box_covers_it(fitted: Any, new: Any) -> None:
    names = ["n", "c"]
    learnt = Anonymizer(k=2, method="mondrian", random_state=1)
    own = learnt.fit_transform(pd.DataFrame(fitted, columns=names)).astype(str)
    found = learnt.transform(pd.DataFrame(new, columns=names)).astype(str)
    boxes = {tuple(row) for row in own.to_numpy()}
    for row, cells in zip(new, map(tuple, found.to_numpy()), strict=True):
        covering = {box for box in boxes if all(map(in_cell, row, box))}
        assert (cells in covering) if covering else (cells == ("*", "*"))


def test_other_rows_have_no_promise_of_their_own() -> None:
    rows = people()
    learnt = Anonymizer(
        k=10, qi=["age", "gender"], method="hilbert", random_state=1, settings={"rest": "plain"}
    )
    own = learnt.fit_transform(rows[:200])
    assert learnt.check(own).ok
    assert "k-anonymity" in learnt.promises_[0] or "k" in learnt.promises_[0]
    with pytest.raises(VerificationError, match="do not keep what the fitted release promises"):
        learnt.check(learnt.transform(rows[200:205]))
    with pytest.raises(PolicyError, match="frame of published cells"):
        learnt.check(np.zeros((3, 2)))


def test_equal_rows_are_published_alike_and_the_seed_is_secret() -> None:
    rows = people()[["age", "gender"]]
    twice = pd.concat([rows[200:], rows[200:]])
    learnt = Anonymizer(k=5, method="hilbert").fit(rows[:200])
    found = learnt.transform(twice).to_numpy()
    assert (found[:100] == found[100:]).all()
    assert learnt.random_state is None
    assert "seed" not in str(learnt.release_.manifest)


def test_nothing_is_published_unasked() -> None:
    """fit_transform gave the names out that `identifier` named, and whatever had no role."""
    rows = people(100)
    rows["name"] = [f"Zq9Xw4Kv7-{i}" for i in range(len(rows))]
    asked = {"k": 5, "qi": ["age", "gender"], "method": "hilbert"}
    with pytest.raises(PolicyError, match="have no role"):
        Anonymizer(**asked).fit(rows)
    learnt = Anonymizer(**asked, settings={"identifier": ["name", "salary"], "rest": "drop"})
    assert list(learnt.fit_transform(rows).columns) == ["age", "gender"]
    assert list(learnt.transform(rows[:3]).columns) == ["age", "gender"]
    with pytest.warns(shoal.errors.ShoalWarning, match="nearly a key"):
        Anonymizer(**asked, settings={"plain": ["name"], "rest": "drop"}).fit(rows)
    with pytest.raises(PolicyError, match="treat follows from all rows"):
        Anonymizer(**asked, settings={"treat": {"salary": ["round:10"]}}).fit(rows)


@pytest.mark.usefixtures("secret_seeds")
def test_a_saved_anonymizer_has_neither_rows_nor_seed() -> None:
    """Whoever fits a Pipeline saves it and hands it on; pickled were all rows and the seed."""
    rows = people(120)
    rows["note"] = [f"Zq9Xw4Kv7-{i}" for i in range(len(rows))]
    settings = {"plain": ["salary", "marital", "note"]}
    learnt = Anonymizer(k=5, qi=["age", "gender"], method="hilbert", settings=settings)
    learnt.fit(rows[:100])
    seed = learnt.release_.seed
    learnt.transform(rows[100:101].assign(age=37.123456789, gender="Zq9Xw4Kv7-g"))
    saved = pickle.dumps(learnt)
    assert b"Zq9Xw4Kv7" not in saved
    assert b"7.123456789" not in saved, "an age that was asked about"
    assert seed.to_bytes(17, "little").rstrip(b"\x00") not in saved
    assert str(seed).encode() not in saved
    again = pickle.loads(saved)
    assert not hasattr(again, "release_")
    assert again.transform(rows[100:]).equals(learnt.transform(rows[100:]))
    assert again.check(learnt.release_.to_pandas()).ok
    state = again.__dict__
    assert not [v for v in state.values() if hasattr(v, "__len__") and len(v) >= 100]


def test_a_saved_expander_has_no_cell_that_it_was_asked_about() -> None:
    released = pd.DataFrame({"place": ["{rome,paris}", "{rome,paris}", "oslo", "oslo"]})
    learnt = expand("shares", settings={"qi": ["place"]}).fit(released)
    asked = pd.DataFrame({"place": ["Zq9Xw4Kv7", "oslo"]})
    first = learnt.transform(asked)
    saved = pickle.dumps(learnt)
    assert b"Zq9Xw4Kv7" not in saved
    assert pickle.loads(saved).transform(asked).equals(first)


def test_sensitive_values_keep_their_model() -> None:
    table = shoal.datasets.census(400).select(["age", "gender", "occupation"]).to_pandas()
    learnt = Anonymizer(k=5, qi=["age", "gender"], method="hilbert",
                        settings={"sensitive": "occupation", "l": 3}).fit(table)  # fmt: skip
    assert len(learnt.promises_) == 2
    with pytest.raises(PolicyError, match="one reader, and a release in one table"):
        Anonymizer(k=2, qi=["age", "gender"], method="union", settings={
            "reader": {"a": {"qi": ["age"]}, "b": {"qi": ["gender"]}}, "rest": "drop",
        }).fit(table)  # fmt: skip


def test_kinds_of_frames_come_back() -> None:
    table = shoal.datasets.census(100).select(["age", "gender"])
    for rows, kind in ((table.to_pandas(), pd.DataFrame), (pl.from_arrow(table), pl.DataFrame)):
        made = Anonymizer(k=5, method="hilbert").fit_transform(rows)
        assert isinstance(made, kind)
    array = np.column_stack([np.arange(40), np.arange(40) % 7]).astype(float)
    made = Anonymizer(k=5, method="hilbert", form="midpoint").fit_transform(array)
    assert made.shape == (40, 2)
    assert made.dtype == float


@pytest.mark.parametrize(
    ("one", "rows", "says"),
    [
        (Anonymizer(k=10), np.zeros((5, 2)), "minimum of k = 10"),
        (Anonymizer(k=2, form="samples"), np.zeros((5, 2)), "form: expected one of cells"),
        (Expander("samples"), np.zeros((5, 2)), "form: expected one of midpoint"),
    ],
)
def test_what_cannot_be_learnt_is_said(one: Any, rows: Any, says: str) -> None:
    with pytest.raises((PolicyError, ValueError), match=says):
        one.fit(rows)
    with pytest.raises(NotFittedError):
        clone(one).transform(rows)


# --- expand


@pytest.mark.parametrize("form", ["midpoint", "mean", "bounds", "shares"])
def test_what_is_learnt_is_what_expand_gives(form: str) -> None:
    release = shoal.anonymize(people(), qi=["age", "gender", "marital"], k=5, rest="plain",
                              method="hilbert", seed=1)  # fmt: skip
    frame = release.to_pandas()
    made = expand(form, policy=release.policy).fit_transform(frame)
    whole = shoal.expand(release, form).to_pandas() if isinstance(
        shoal.expand(release, form), pa.Table) else shoal.expand(release, form)  # fmt: skip
    pd.testing.assert_frame_equal(made, whole, check_dtype=False)


def test_a_row_depends_on_itself_and_what_was_learnt() -> None:
    rows = people()
    release = shoal.anonymize(rows[:200], qi=["age", "gender", "marital"], k=5, rest="plain",
                              method="hilbert", seed=1)  # fmt: skip
    step = expand("shares", policy=release.policy).fit(release.to_pandas())
    original = rows[200:]
    together = step.transform(original)
    again = clone(step).fit(release.to_pandas())
    alone = pd.concat([again.transform(original[i : i + 1]) for i in range(0, 100, 9)])
    pd.testing.assert_frame_equal(
        together[::9].reset_index(drop=True), alone.reset_index(drop=True), check_dtype=False
    )
    assert (together["age"].to_numpy() == original["age"].to_numpy()).all()
    assert (together["gender=Female"] == (original["gender"] == "Female").to_numpy()).all()


def test_in_a_pipeline() -> None:
    rows = people(1000)
    rich = rows["salary"] > rows["salary"].median()
    qi = ["age", "gender", "marital"]
    release = shoal.anonymize(rows, qi=qi, k=10, rest="plain", method="hilbert", keep_order=True)
    model = make_pipeline(
        expand("shares", policy=release.policy), StandardScaler(), LogisticRegression()
    )
    model.fit(release.to_pandas()[qi], rich)
    assert model.score(rows[qi], rich) > 0.5
    both = make_pipeline(
        Anonymizer(k=10, method="hilbert", form="midpoint"),
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["gender", "marital"]),
                                remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    )  # fmt: skip
    both.fit(rows[qi], rich)
    assert both.score(rows[qi], rich) > 0.5
