"""Spelling twins: texts that read the same count as one value, and make one class."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command import shoal as command
from shoal.encoding.folding import fold
from shoal.errors import InfeasibleError, ShoalWarning
from shoal.models import models_of
from shoal.policy import Policy
from shoal.verification.check import check_release

HIV = ["HIV", "HIV ", "hiv", "HIV\u00a0", "HI\u200bV"]
ONE = ["1", "01", "001", "1.0", "\uff11"]
NOBODY_KNOWS = ["NA", "?", "unknown", "n/a", "None"]
ROLES = {"qi": "age", "sensitive": "s"}


def one_class(values: list[str]) -> pa.Table:
    return pa.table({"age": ["[1,9]"] * len(values), "s": values})


@pytest.mark.parametrize("twins", [HIV, ONE, NOBODY_KNOWS])
@pytest.mark.parametrize("reading", ["frequency", "distinct", "entropy", "unique"])
def test_twins_do_not_satisfy_l(twins: list[str], reading: str) -> None:
    table = one_class(twins)
    assert not shoal.verify(table, **ROLES, l=2, l_reading=reading, kind={"s": "categorical"}).ok
    assert not shoal.verify(one_class([*twins, "x"]), **ROLES, l=3, l_reading=reading).ok
    apart = {**ROLES, "l": 2, "l_reading": reading, "kind": {"s": "categorical"}}
    assert shoal.verify(table, **apart, twins="distinct").ok


@pytest.mark.parametrize("twins", [HIV, NOBODY_KNOWS])
def test_no_release_calls_twins_diverse(twins: list[str]) -> None:
    table = pa.table({"age": range(10), "s": twins * 2})
    with warnings.catch_warnings(), pytest.raises(InfeasibleError):
        warnings.simplefilter("ignore", ShoalWarning)
        shoal.anonymize(table, **ROLES, l=2, method="hilbert", rest="plain")
    made = shoal.anonymize(table, **ROLES, l=2, method="hilbert", twins="distinct", rest="plain")
    assert made.manifest["policy"]["twins"] == "distinct"


def test_twins_are_grouped_as_one_value_and_published_as_they_are(tmp_path: Path) -> None:
    values = [*HIV, "flu", "Flu", "cold", "gout", "acne"] * 3
    table = pa.table({"age": range(len(values)), "s": values})
    with pytest.warns(ShoalWarning, match="column 's': 5 values differ") as caught:
        made = shoal.anonymize(table, **ROLES, l=2, method="hilbert", rest="plain")
    assert not any("hiv" in str(w.message).lower() for w in caught)
    assert sorted(made.table.column("s").to_pylist()) == sorted(values)
    for rows in made.table.to_pandas().groupby("age", observed=True)["s"]:
        read = [fold(value) for value in rows[1]]
        assert max(map(read.count, read)) * 2 <= len(read)
    for ending in ("csv", "parquet", "jsonl"):
        assert shoal.verify(made.write(tmp_path / f"r.{ending}")).ok


def test_without_twins_nothing_is_said(recwarn: pytest.WarningsRecorder) -> None:
    table = pa.table({"age": range(6), "s": ["a", "b", None] * 2})
    shoal.anonymize(table, **ROLES, l=2, method="hilbert", rest="plain")
    assert not [w for w in recwarn if issubclass(w.category, ShoalWarning)]


def test_a_word_for_unknown_is_the_missing_value() -> None:
    table = pa.table({"age": ["*"] * 4, "s": ["?", None, "NA", "flu"]})
    found = shoal.verify(table, **ROLES, l=2, l_reading="distinct")
    assert found.checks[0].reached == 2
    assert not shoal.verify(table, **ROLES, l=2).ok  # three of four are unknown


def test_the_command_line_takes_twins(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("age,s\n" + "".join(f"1,{v}\n" for v in HIV), encoding="utf-8")
    asked = ("verify", path, "--qi", "age", "--sensitive", "s", "-l", 2)
    assert command(*asked).code == 1
    assert command(*asked, "--twins", "distinct").code == 0


def test_classes_that_read_the_same_are_one_for_persons() -> None:
    """Apart, one of two persons of each class has value a; together, two of three."""
    table = pa.table({"sex": ["F", "F", " f", " f"], "s": ["a", "b", "a", "b"]})
    person = np.array([0, 1, 2, 1], dtype=np.int32)
    for twins in ("fold", "distinct"):
        policy = Policy.parse(qi="sex", sensitive="s", person="who", l=2, twins=twins)
        found = check_release(table, ["sex"], models_of(policy), policy, person=person)
        assert found.ok == (twins == "distinct")


def test_classes_are_exact_for_k() -> None:
    table = pa.table({"sex": ["F", "f", "F ", "F"]})
    assert shoal.verify(table, qi="sex", k=2).checks[0].reached == 1


@given(st.text(max_size=8))
def test_folding_is_settled_after_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(f" {text}\u00a0") == fold(text)
    assert fold(text + "\u200b") == fold(text)


@given(st.integers(-(10**9), 10**9), st.integers(0, 3))
def test_numbers_fold_to_one_form(number: int, zeros: int) -> None:
    sign, digits = ("-" if number < 0 else ""), "0" * zeros + str(abs(number))
    assert fold(f"{sign}{digits}") == fold(f"{number}.000") == fold(f"{number}e0")
    assert fold(str(number)) != fold(str(number + 1))


def test_of_many_values_each_is_looked_up_once() -> None:
    """A quarter of a million values with twins: in seconds, not in hours."""
    values = [f"v{number}" for number in range(250_000)] + ["V7 "]
    table = pa.table({"age": [1] * len(values), "s": values})
    assert shoal.verify(table, **ROLES, l=2).ok
