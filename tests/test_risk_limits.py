"""Risk where numbers grow large, households are missing, and files were changed."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.risks import risk
from shoal.risks.attackers import journalist, prosecutor
from shoal.risks.special import special_uniques
from shoal.thresholds import Threshold

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")


@pytest.mark.parametrize("columns", [18, 20, 21, 22, 30])
def test_suda_of_many_columns(columns: int) -> None:
    """Shares against exact integers: (A - 1)! for every value that is there once."""
    draw = np.random.default_rng(columns)
    codes = draw.integers(0, 300, (columns, 400))
    names = [f"c{a}" for a in range(columns)]
    found = special_uniques(names, [(column, 300) for column in codes], 1)
    alone = [np.bincount(column, minlength=300)[column] == 1 for column in codes]
    every = sum(int(one.sum()) for one in alone)
    for name, one in zip(names, alone, strict=True):
        assert found.columns[name] == pytest.approx(int(one.sum()) / every)
    sets = np.sum(alone, axis=0)
    exact = [int(count) * math.factorial(columns - 1) for count in sets]
    assert [float(score) for score in found.scores] == pytest.approx(list(map(float, exact)))
    assert (found.scores >= 0).all() and found.records == np.count_nonzero(sets)
    if max(exact) < 2**63:
        assert found.scores.tolist() == exact


def test_suda_of_22_columns_in_a_table() -> None:
    draw = np.random.default_rng(0)
    table = pa.table({f"q{n}": draw.integers(0, 50, 60) for n in range(22)})
    found = risk(table, qi=table.column_names, suda=2)
    assert sum(found.special.columns.values()) >= 1
    assert found.per_record.table().num_rows == 60


@pytest.mark.parametrize(
    "tau", [1 / 11, "0.1000000000000000000001", Fraction(1, 10**30), "0.0000000000000000000001"]
)
def test_thresholds_of_many_digits(tau: object) -> None:
    limit = Threshold.of(tau)
    sizes = np.array([1, 9, 10, 11, 12, 2**40])
    broken = [Fraction(1, int(f)) > limit.tau for f in sizes]
    assert prosecutor(sizes, limit).above == int(sizes[broken].sum()) / int(sizes.sum())
    people = np.array([1.0, 9.5, 10.0, 11.0, 12.0, 2.0**41])
    few = [1 / Fraction(float(p)) > limit.tau for p in people]
    assert journalist(sizes, people, limit).above == int(sizes[few].sum()) / int(sizes.sum())


def test_thresholds_of_many_digits_in_the_command(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("age\n" + "1\n" * 10 + "2\n" * 9, "utf-8")
    asked = ("risk", tmp_path / "p.csv", "--qi", "age", "--threshold")
    assert command(*asked, "0.1000000000000000000001").code == 1
    assert command(*asked, "0.1111111111111111111112").code == 0


def test_missing_households_are_nobodys() -> None:
    table = pa.table({"age": list(range(100)), "home": pa.array([None] * 98 + [7, 7], pa.int64())})
    found = risk(table, qi=["age"], fraction=0.1, household="home")
    own, together = found.per_record.individual_risk, found.per_record.household_risk
    np.testing.assert_allclose(together[:98], own[:98])
    np.testing.assert_allclose(together[98:], 1 - (1 - own[98]) ** 2)


def test_a_changed_file_is_said(tmp_path: Path) -> None:
    table = pa.table({"age": list(range(40)), "ill": ["a", "b"] * 20})
    shoal.anonymize(table, qi="age", sensitive="ill", k=4, method="hilbert").write(
        tmp_path / "r.csv"
    )
    assert "SHA-256" not in command("risk", tmp_path / "r.csv").out
    rows = (tmp_path / "r.csv").read_text("utf-8").splitlines()
    (tmp_path / "r.csv").write_text("\n".join([*rows, rows[-1]]) + "\n", "utf-8")
    told = command("risk", tmp_path / "r.csv")
    assert told.out.startswith("the file is not the one that its manifest describes")
    assert risk(tmp_path / "r.csv").to_dict()["changed"] is True
