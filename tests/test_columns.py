"""No column is published unasked, and what plain columns give away is said before the work."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from command import assert_refused, people
from command import shoal as command
from shoal.errors import PolicyError, ShoalWarning

N = 200
ASKED: dict[str, Any] = {"qi": ["age"], "sensitive": ["ill"], "k": 5, "method": "hilbert"}


def table(**more: list[object]) -> pa.Table:
    return pa.table(
        {
            "age": [20 + i % 40 for i in range(N)],
            "ill": [f"secret{i * 7 % 11}" for i in range(N)],
            **more,
        }
    )


def told(data: pa.Table, **settings: Any) -> list[str]:
    """Warnings of a run, which are also in the record; the manifest has its own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = shoal.anonymize(data, **{**ASKED, **settings})
    lines = [str(w.message) for w in caught if issubclass(w.category, ShoalWarning)]
    said = [line for line in lines if line.startswith("plain column")]
    assert set(said) <= set(release.record["notices"])
    assert "secret" not in " ".join([*said, *release.manifest["notices"]])
    return said


def test_columns_without_a_role_are_an_error_that_names_all_of_them() -> None:
    data = table(**{f"c{i}": [0] * N for i in range(9)})
    with pytest.raises(PolicyError, match="no role") as error:
        shoal.anonymize(data, **ASKED)
    text = str(error.value)
    assert all(f"'c{i}'" in text for i in range(9))
    assert "rest" in text
    assert "plain = [...]" in text
    assert "\n" not in text


def test_it_is_said_before_anything_is_encoded() -> None:
    """The order of a sensitive column would be refused, too, but later."""
    with pytest.raises(PolicyError, match="'extra' has no role"):
        shoal.anonymize(table(extra=[1] * N), **ASKED, order={"ill": ["nobody"]})


def test_a_name_that_does_not_exist_is_said_first() -> None:
    with pytest.raises(PolicyError, match="no column 'agee'"):
        shoal.anonymize(table(), **{**ASKED, "qi": ["agee"]})


@pytest.mark.parametrize(
    ("rest", "columns", "qi"),
    [
        ("drop", ["age", "ill"], ["age"]),
        ("plain", ["age", "ill", "a", "b"], ["age"]),
        ("qi", ["age", "ill", "a", "b"], ["age", "a", "b"]),
    ],
)
def test_rest_decides(rest: str, columns: list[str], qi: list[str]) -> None:
    data = table(a=[i % 2 for i in range(N)], b=[i % 3 for i in range(N)])
    release = shoal.anonymize(data, **ASKED, rest=rest)
    assert release.verify().ok
    assert release.table.column_names == columns
    assert list(release.qi) == qi
    manifest = release.manifest
    assert manifest["policy"]["qi"] == qi
    assert manifest["policy"]["rest"] == rest
    public = manifest["release"].get("rest")
    assert public == (None if rest == "drop" else {rest: ["a", "b"]})  # names nobody declared
    assert release.record["release"]["rest"] == {rest: ["a", "b"]}
    assert manifest["policy"].get("plain", []) == (["a", "b"] if rest == "plain" else [])


def test_rest_touches_no_column_that_has_a_role() -> None:
    data = table(name=[f"n{i}" for i in range(N)], a=[i % 2 for i in range(N)])
    release = shoal.anonymize(data, **ASKED, identifier="name", plain="a", rest="qi")
    assert list(release.qi) == ["age"]
    assert "rest" not in release.manifest["release"]


def test_rest_as_quasi_identifiers_may_be_weighed_and_given_trees() -> None:
    data = table(a=[f"v{i % 4}" for i in range(N)])
    release = shoal.anonymize(data, **ASKED, rest="qi", weight={"a": 2}, hierarchy={"a": "flat"})
    assert release.qi == ("age", "a")
    with pytest.raises(PolicyError, match="weight of 'ill'"):
        shoal.anonymize(data, **ASKED, rest="qi", weight={"ill": 2})


def test_compare_needs_no_rest() -> None:
    found = shoal.compare(table(a=[0] * N), ["hilbert"], k=5, qi=["age"])
    assert found.rows[0].reason is None or not found.rows[0].reason
    assert found.qi == ("age",)
    wider = shoal.compare(table(a=[i % 2 for i in range(N)]), ["hilbert"], k=5, qi=["age", "ill"],
                          rest="qi")  # fmt: skip
    assert wider.qi == ("age", "ill", "a")


def test_on_the_command_line(tmp_path: Path) -> None:
    source, out = people(tmp_path / "people.csv"), tmp_path / "out.csv"
    roles = ("--identifier", "name", "--qi", "age,zip", "--sensitive", "disease", "-k", 4)
    assert_refused(
        tmp_path, "anonymize", source, "-o", out, *roles, "--method", "hilbert",
        says=("'note'", "no role", "--rest drop"),
    )  # fmt: skip
    done = command(
        "anonymize", source, "-o", out, *roles, "--method", "hilbert", "--rest", "drop", "--json"
    )
    assert done.code == 0, done
    assert "note" not in done.out
    assert "left out, having no role: note" in done.err
    assert out.read_text().splitlines()[0] == "age,zip,disease"


# --- what plain columns give away


def test_a_key_is_told() -> None:
    (key, few) = told(table(key=list(range(N))), plain="key")
    assert "'key' is nearly a key: 100% of the records" in key
    assert "break k = 5" in few


def test_a_copy_of_a_quasi_identifier_is_told() -> None:
    ages = [20 + i % 40 for i in range(N)]
    lines = told(table(years=[f"a{age}" for age in ages]), plain="years")
    assert any("'years' tells quasi-identifier 'age' of 100%" in line for line in lines)


def test_what_tells_a_sensitive_column_is_told() -> None:
    drugs = [f"d{i * 7 % 11}" for i in range(N)]
    lines = told(table(drug=drugs), plain="drug")
    assert any("'drug' tells sensitive column 'ill' of 100%" in line for line in lines)


def test_columns_that_break_k_only_together_are_told() -> None:
    a, b = [i % 14 for i in range(N)], [i // 14 for i in range(N)]
    (line,) = told(table(a=a, b=b), plain=["a", "b"])
    assert "100% of the records share their values of 'a', 'b' with too few" in line


def test_a_harmless_column_is_not_told() -> None:
    assert told(table(a=[i % 2 for i in range(N)]), plain="a") == []
