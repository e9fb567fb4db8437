"""What a manifest gives away: attacks with everything but one person known."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.verification.manifest import FORMAT

AGES = range(100, 1000)
"""What an outlier's age may be."""


def with_one_outlier(age: int, seed: int) -> shoal.Release:
    ages = np.random.default_rng(seed).integers(20, 60, 60)
    table = pa.table({"age": [*ages.tolist(), age]})
    return shoal.anonymize(
        table, qi="age", k=5, method="hilbert", max_suppressed="2%", seed=1, bound=True
    )


def ages_that_fit(told: float, kept: pa.Table, suppressed: int, digits: float) -> list[int]:
    """The attack: for which age of the dropped person is the published NCP right?"""
    cells = [str(cell).strip("[]").split(",") for cell in kept["age"].to_pylist()]
    low, high = (np.array([float(cell[end]) for cell in cells]) for end in (0, -1))
    lost = float((high - low).sum())
    everybody = len(cells) + suppressed
    ncp = {age: (lost / (age - low.min()) + suppressed) / everybody for age in AGES}
    return [age for age, value in ncp.items() if abs(value - told) <= digits]


@pytest.mark.parametrize("seed", range(3))
def test_the_age_of_a_dropped_person_does_not_follow_from_the_loss(seed: int) -> None:
    age = 300 + 100 * seed
    release = with_one_outlier(age, seed)
    assert release.suppressed is not None
    assert release.suppressed.records == 1
    exact = release.record["loss"]["ncp"]["age"]
    assert ages_that_fit(exact, release.table, 1, 1e-9) == [age], "the attack itself works"
    told = release.manifest["loss"]["ncp"]["age"]
    assert ages_that_fit(told, release.table, 1, 1e-9) != [age]
    rounded = float(f"{exact:.2e}")
    half_a_unit = 0.5 * 10 ** (np.floor(np.log10(exact)) - 2)
    assert len(ages_that_fit(rounded, release.table, 1, half_a_unit)) > 1, "by rounding alone"


def test_whoever_is_dropped_the_manifest_is_the_same() -> None:
    told = []
    for age in (300, 555, 999):
        release = with_one_outlier(age, 0)
        assert release.suppressed is not None
        assert release.suppressed.records == 1
        told.append(json.dumps(release.manifest))
    assert len(set(told)) == 1


@pytest.mark.parametrize("settings", [
    {"hierarchy": {"code": {"prefixes": {"keep": [2, 1]}}}},
    {"hierarchy": {"code": {"prefixes": {"keep": [2, 1]}}}, "coarsen": {"code": 1}},
    {"order": {"code": [str(number) for number in range(100, 200)]}, "kind": {"code": "ordinal"}},
    {"kind": {"code": "categorical"}},
    {"kind": {"code": "categorical"}, "method": "incognito",
     "hierarchy": {"code": {"prefixes": {"keep": [2, 1]}}}},
])  # fmt: skip
def test_leaves_and_values_count_as_released(settings: dict[str, Any]) -> None:
    """Public losses are those of the kept records alone, as if there had been no others."""
    codes = [str(100 + i % 9) for i in range(60)]
    records = {"age": [20 + i % 9 for i in range(60)] + [900], "code": [*codes, "177"]}
    asked = {"qi": ["age", "code"], "k": 4, "method": "mondrian", "seed": 1, **settings}
    release = shoal.anonymize(pa.table(records), **asked, max_suppressed="10%")
    assert release.suppressed is not None
    assert release.suppressed.records == 1
    alone = shoal.anonymize(pa.table(records).slice(0, 60), **asked)
    assert alone.table == release.table
    assert release.released_loss is not None
    for name, lost in alone.loss.ncp.items():
        assert release.released_loss.ncp[name] == pytest.approx(lost)


def test_rare_codes_cannot_be_found_by_a_hash() -> None:
    """The attack of the issue: which of the codes of a public tree occur in the input?"""
    leaves = [f"X{number:02}" for number in range(24)]
    tree = {"tree": {"common": leaves[:20], "rare": leaves[20:]}}
    occurring = [*leaves[:8] * 4, leaves[21], leaves[23]]
    release = shoal.anonymize(
        pa.table({"code": occurring}), qi="code", k=4, hierarchy={"code": tree},
        method="hilbert", seed=1,
    )  # fmt: skip
    full = shoal.Hierarchy.from_tree(tree["tree"], "*", "tree")
    guesses = (
        full.restrict([*leaves[:8], *rare], "code").digest()
        for size in range(5)
        for rare in itertools.combinations(leaves[20:], size)
    )
    text = json.dumps(release.manifest)
    assert not any(guess in text for guess in guesses)
    assert "sha256" not in text
    assert release.manifest["policy"]["hierarchy"] == {"code": {"from": "tree"}}
    assert release.record["policy"]["hierarchy"] == {"code": tree}


def test_orders_are_not_hashed() -> None:
    values = ["low", "middle", "high"]
    release = shoal.anonymize(
        pa.table({"level": values * 4}), qi="level", k=4, order={"level": values},
        method="hilbert", seed=1,
    )  # fmt: skip
    digest = hashlib.sha256("\n".join(values).encode()).hexdigest()
    assert digest not in json.dumps(release.manifest)
    assert release.manifest["policy"]["order"] == {"level": {"from": "list"}}
    assert release.record["policy"]["order"] == {"level": values}


def test_what_is_public_is_rounded_and_what_is_private_is_not() -> None:
    people = shoal.datasets.census(300)
    release = shoal.anonymize(
        people, qi=["age", "gender"], k=5, method="best", effort="instant", seed=987654321,
        plain=[n for n in people.column_names if n not in {"age", "gender"}],
    )  # fmt: skip
    public, private = release.manifest, release.record
    assert public["format"] == FORMAT
    for lost in (public["loss"]["gcp"], *public["loss"]["ncp"].values()):
        assert lost == float(f"{lost:.2e}")
    bound, exact = public["loss"]["bound"], private["loss"]["bound"]
    assert set(bound) == {"loss", "rung", "gap"}
    assert bound["loss"] == float(f"{bound['loss']:.1e}") <= exact["loss"]
    assert bound["gap"] >= exact["gap"]
    assert set(public["method"]) == {"name", "options", "recoding"}
    assert {"start", "steps"} <= set(private["method"])
    assert "987654321" not in json.dumps(public)
    assert private["seed"] == 987654321
    assert next(iter(private)) == "private"
    assert "keep this to yourself" in private["private"]


def test_what_a_budget_tried_is_private() -> None:
    release = shoal.anonymize(
        pa.table({"age": list(range(40))}), qi="age", max_loss=0.2, method="hilbert", seed=1
    )
    assert set(release.manifest["method"]["budget"]) == {"max_loss", "k"}
    assert {"loss", "trials"} <= set(release.record["method"]["budget"])
    assert "k" not in release.record["policy"]  # as it was given


def test_a_release_is_not_pickled_with_its_private_half() -> None:
    table = pa.table({"age": [20 + i % 30 for i in range(60)]})
    release = shoal.anonymize(table, qi="age", k=5, method="hilbert", seed=123_456_789_012_345)
    with pytest.raises(TypeError, match="seed"):
        pickle.dumps(release)
    assert copy.deepcopy(release) is release
    assert "123456789012345" not in repr(release) + release._repr_html_()
