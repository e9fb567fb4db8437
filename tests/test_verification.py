"""Verification believes nothing that a manifest says: it is worked out again and compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.errors import InputError, VerificationError
from shoal.io.write import sha256_of, write_table

QI = ["age", "gender", "education", "marital", "workclass"]
Change = Callable[[dict[str, Any]], None]


def people() -> pa.Table:
    table = shoal.datasets.census(120)
    names = pa.array([f"P{number}" for number in range(120)])
    return table.append_column("name", names)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    table = people()
    qi = [name for name in QI if name in table.column_names]
    kept = table.select([*qi, "occupation", "name"])
    made = shoal.anonymize(
        kept,
        qi=qi,
        sensitive="occupation",
        identifier="name",
        k=4,
        l=2,
        method="hilbert",
        rest="plain",
    )
    return made.write(tmp_path / "r.csv")


def rewritten(release: Path, change: Change, hashed: bool = True) -> Path:
    """Change the manifest as somebody would who can also hash the file."""
    path = Path(f"{release}.manifest.json")
    manifest = json.loads(path.read_text("utf-8"))
    if hashed:
        manifest["release"]["sha256"] = sha256_of(release)
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return path


def put(*where: str | int, value: Any) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        part: Any = manifest
        for name in where[:-1]:
            part = part[name]
        part[where[-1]] = value

    return change


def test_what_was_written_is_as_its_manifest_says(release: Path) -> None:
    found = shoal.verify(release)
    assert found.ok
    assert found.mismatches == ()
    assert command("verify", release).code == 0
    assert json.loads(command("verify", release, "--json").out)["mismatches"] == []


def test_the_raw_table_with_fewer_quasi_identifiers(release: Path) -> None:
    raw = people()
    kept = shoal.io.read.read_table(release).column_names
    write_table(raw.select(kept), release)
    rewritten(release, put("release", "qi", value=["gender"]))
    found = shoal.verify(release)
    assert not found.ok
    assert not found.checks[0].holds  # on the policy's own quasi-identifiers
    assert any("release.qi" in line for line in found.mismatches)
    assert command("verify", release).code == 1


def test_a_manifest_without_a_hash_is_refused(release: Path) -> None:
    rewritten(release, lambda manifest: manifest["release"].pop("sha256"), hashed=False)
    with pytest.raises(InputError, match=r"no SHA-256.*--qi and -k"):
        shoal.verify(release)
    assert command("verify", release).code == 2


def test_an_added_name_column(release: Path) -> None:
    table = shoal.io.read.read_table(release)
    write_table(table.append_column("name", pa.array(["x"] * table.num_rows)), release)
    rewritten(release, lambda manifest: None)
    found = shoal.verify(release)
    assert [line.split(", ")[0] for line in found.mismatches] == ["the file has column 'name'"] * 2
    rewritten(release, lambda manifest: manifest["release"]["columns"].append("name"))
    assert shoal.verify(release).mismatches == (
        "the file has column 'name', which the policy says is dropped",
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("models", 0, "reached", value=40), "models: k = 4: reached is"),
        (put("models", 0, "asked", value="k = 40"), "k = 40 is not asked for"),
        (put("models", 1, "holds", value=False), "on occupation is not said to hold"),
        (put("models", value=[]), "k = 4 is asked for by the policy and not among them"),
        (put("risk", "highest", value=0.001), "risk: highest is"),
        (put("risk", value={}), "risk: average is"),
        (put("release", "records", value=12_000), "release.records: the file has 120 records"),
        (put("release", "layout", value="bounds"), "release.layout"),
        (put("release", "columns", value=["age"]), "the file has column 'gender'"),
        (put("classes", "smallest", value=60), "classes: smallest is"),
        (put("kinds", "occupation", value="ordinal"), "kinds: 'occupation'"),
        (
            put("release", "suppressed", value={"by": "drop", "at_most": "1%"}),
            "release.suppressed",
        ),
    ],
)  # fmt: skip
def test_whatever_is_not_so_is_named(release: Path, change: Change, says: str) -> None:
    rewritten(release, change)
    found = shoal.verify(release)
    assert not found.ok
    assert not found.holds
    assert any(says in line for line in found.mismatches), found.mismatches
    assert all("\n" not in line for line in found.mismatches)
    shown = command("verify", release)
    assert shown.code == 1
    assert "not as the manifest says" in shown.out
    with pytest.raises(VerificationError, match="not what its manifest says"):
        found.raise_if_failed()


def test_a_policy_that_promises_something_else_does_not_fit_the_models(release: Path) -> None:
    rewritten(release, put("policy", "k", value=2))
    lines = shoal.verify(release).mismatches
    assert any("k = 2 is asked for by the policy and not among them" in line for line in lines)
    assert any("k = 4 is not asked for" in line for line in lines)


def test_cells_declared_missing_are_no_less_different(tmp_path: Path) -> None:
    """Every cell of a raw table declared missing made one class of it."""
    table = pa.table({"age": ["1", "2", "3", "4"], "s": ["a", "b", "a", "b"]})
    path = shoal.anonymize(
        table, qi="age", sensitive="s", k=4, method="hilbert", rest="plain"
    ).write(tmp_path / "r.csv")
    write_table(table, path)
    rewritten(path, put("policy", "missing", value=["", "1", "2", "3", "4"]))
    found = shoal.verify(path)
    assert not found.checks[0].holds
    assert found.class_sizes.tolist() == [1, 1, 1, 1]


def test_an_added_person_is_no_way_out(release: Path) -> None:
    rewritten(release, put("policy", "person", value="who"))
    found = shoal.verify(release)
    assert (found.ok, found.holds, found.complete, bool(found)) == (False, True, False, False)
    assert repr(found).startswith("checked in part")
    assert command("verify", release).code == 5
    assert command("verify", release, "-q") == (5, "", "")


def test_a_release_with_persons_is_made_and_checked_in_part(tmp_path: Path) -> None:
    table = people().append_column("salary2", pa.array(range(120)))
    release = shoal.anonymize(
        table.select(["age", "gender", "occupation", "salary2", "name"]),
        qi=["age", "gender"], sensitive=["occupation", "salary2"], person="name",
        k=3, l=2, e=3, method="hilbert", rest="plain",
    )  # fmt: skip
    assert release.verify().ok
    found = shoal.verify(release.write(tmp_path / "r.csv"))
    assert (found.holds, found.complete, found.mismatches) == (True, False, ())


def test_a_hidden_order_leaves_closeness_unchecked(tmp_path: Path) -> None:
    table = pa.table({"age": [1, 1, 2, 2], "s": ["low", "high", "low", "high"]})
    settings = {"qi": "age", "sensitive": "s", "order": {"s": ["low", "high"]}, "t": 0.1}
    path = shoal.anonymize(table, **settings, method="hilbert", rest="plain").write(
        tmp_path / "r.csv"
    )
    assert shoal.verify(path).ok
    rewritten(path, lambda manifest: manifest.pop("orders"), hashed=False)
    found = shoal.verify(path)
    assert (found.holds, found.complete) == (True, False)
    assert "--policy" in str(found.checks[0])
    assert shoal.verify(path, **settings).ok


def test_a_changed_file_fails_and_says_so(release: Path) -> None:
    lines = release.read_text("utf-8").splitlines()
    release.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    assert "SHA-256" in shoal.verify(release).mismatches[0]
    shown = command("verify", release)
    assert shown.code == 1
    assert "SHA-256" in shown.out
    release.write_text("something,else\n1,2\n", "utf-8")
    shown = command("verify", release)
    assert (shown.code, shown.out) == (1, "")
    assert "SHA-256" in shown.err


def test_a_column_of_the_policy_that_is_not_there(release: Path) -> None:
    table = shoal.io.read.read_table(release)
    write_table(table.drop_columns(["gender"]), release)
    rewritten(release, lambda manifest: None)
    with pytest.raises(VerificationError, match="'gender'"):
        shoal.verify(release)
    assert command("verify", release).code == 1


def test_a_manifest_may_be_a_dictionary(release: Path) -> None:
    manifest = json.loads(Path(f"{release}.manifest.json").read_text("utf-8"))
    table = shoal.io.read.read_table(release)
    assert shoal.verify(table, manifest=manifest).ok
    assert shoal.verify(release, manifest=manifest).ok
    manifest["release"]["records"] = 7
    assert not shoal.verify(table, manifest=manifest).ok
    with pytest.raises(InputError, match="not a Shoal manifest"):
        shoal.verify(table, manifest={})


def test_a_release_in_two_tables_is_compared_too(tmp_path: Path) -> None:
    table = shoal.datasets.census(100).select(["age", "occupation"])
    made = shoal.anonymize(
        table, qi="age", sensitive="occupation", l=2, method="anatomy", rest="plain"
    )
    path = made.write(tmp_path / "r.csv")
    assert shoal.verify(path).ok
    rewritten(path, put("classes", "count", value=1), hashed=False)
    assert shoal.verify(path).mismatches
    rewritten(path, lambda manifest: manifest["release"].pop("sensitive_table"), hashed=False)
    with pytest.raises(VerificationError, match="'group', to which the policy gives no role"):
        shoal.verify(path)
