"""The private record: written with the release, for its owner alone; it makes the same bytes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal as library
from command import ROLES, SECRET, assert_refused, files_below, people, shoal

METHODS = [
    ("hilbert", "-k", 4),
    ("anatomy", "-l", 3),
    ("best", "-k", 4, "--effort", "instant"),
    ("mondrian", "--max-loss", 0.4),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return people(tmp_path / "people.csv", 60)


def released(table: Path, out: Path, *options: object) -> Any:
    done = shoal("anonymize", table, "-o", out, *ROLES, "--plain", "note", *options)
    assert done.code == 0, done
    return done


def record_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{out}.record.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("asked", METHODS, ids=lambda asked: asked[0])
def test_a_record_makes_the_same_bytes_again(tmp_path: Path, table: Path, asked: Any) -> None:
    method, *options = asked
    out, again = tmp_path / "out.csv", tmp_path / "again.csv"
    released(table, out, "--method", method, *options)
    done = shoal("reproduce", f"{out}.record.json", table, "-o", again)
    assert done.code == 0, done
    assert "the same bytes as out.csv" in done.out
    assert again.read_bytes() == out.read_bytes()
    if method == "anatomy":
        assert (tmp_path / "again.sensitive.csv").read_bytes() == (
            tmp_path / "out.sensitive.csv"
        ).read_bytes()
    assert library.verify(again).ok


def test_it_is_for_its_owner_alone_and_says_so(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    done = released(table, out, "--method", "hilbert", "-k", 4, "--seed", 987654321987)
    secret = Path(f"{out}.record.json")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert done.out.splitlines()[-1] == (
        f"wrote {out}, {out}.manifest.json and the record {secret}: keep the record to yourself"
    )
    record, manifest = record_of(out), json.loads(Path(f"{out}.manifest.json").read_text())
    assert next(iter(record)) == "private"
    assert record["generation"] == manifest["generation"]
    assert record["release"] == manifest["release"]
    assert record["command"][:2] == ["shoal", "anonymize"]
    assert record["input"]["file"] == str(table)
    assert str(record["seed"]) not in json.dumps(manifest)
    assert record["input"]["sha256"] not in json.dumps(manifest)
    assert SECRET not in secret.read_text()
    secret.chmod(0o644)
    released(table, out, "--method", "hilbert", "-k", 4)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert record_of(out)["generation"] != record["generation"]


def test_it_goes_elsewhere_or_nowhere(tmp_path: Path, table: Path) -> None:
    out, secret = tmp_path / "out.csv", tmp_path / "mine.json"
    released(table, out, "--method", "hilbert", "-k", 4, "--record", secret)
    released(table, tmp_path / "b.csv", "--method", "hilbert", "-k", 4, "--no-record")
    assert sorted(files_below(tmp_path)) == [
        "b.csv", "b.csv.manifest.json", "mine.json", "out.csv", "out.csv.manifest.json",
        "people.csv",
    ]  # fmt: skip


def test_a_record_needs_a_file_of_its_own(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    for name in (table, out, f"{out}.manifest.json", tmp_path):
        assert_refused(
            tmp_path, "anonymize", table, "-o", out, *ROLES, "--plain", "note", "-k", 2,
            "--record", name,
        )  # fmt: skip


def test_another_input_is_refused(tmp_path: Path, table: Path) -> None:
    released(table, tmp_path / "first.csv", "--method", "hilbert", "-k", 4)
    other = people(tmp_path / "other.csv", 61)
    secret = tmp_path / "first.csv.record.json"
    reproduce = ("reproduce", secret, other, "-o", tmp_path / "out.csv")
    assert_refused(tmp_path, *reproduce, says=("SHA-256 differs",))
    for strange in ("first.csv.manifest.json", "absent.json", "people.csv"):
        asked = ("reproduce", tmp_path / strange, table, "-o", tmp_path / "out.csv")
        assert_refused(tmp_path, *asked, says=("record",))


@pytest.mark.parametrize("part", ["policy", "base", "seed", "input", "release"])
@pytest.mark.parametrize("value", [None, 3.5, "x", []])
def test_a_damaged_record_is_one_line(
    tmp_path: Path, table: Path, part: str, value: object
) -> None:
    """Found by the fuzzer, also with parts of the record gone."""
    released(table, tmp_path / "first.csv", "--method", "hilbert", "-k", 4)
    secret = tmp_path / "first.csv.record.json"
    changed = json.loads(secret.read_text())
    changed[part] = value
    if value is None:
        del changed[part]
    secret.write_text(json.dumps(changed))
    reproduce = ("reproduce", secret, table, "-o", tmp_path / "out.csv")
    code = 2 if (part, value) != ("base", "x") else 0
    if code:
        assert_refused(tmp_path, *reproduce, says=("record",))
    else:
        assert shoal(*reproduce).code == 0


def test_other_bytes_are_not_written(tmp_path: Path, table: Path) -> None:
    released(table, tmp_path / "first.csv", "--method", "hilbert", "-k", 4)
    secret = tmp_path / "first.csv.record.json"
    changed = json.loads(secret.read_text())
    changed["policy"]["k"] = 5
    secret.write_text(json.dumps(changed))
    reproduce = ("reproduce", secret, table, "-o", tmp_path / "out.csv")
    assert_refused(tmp_path, *reproduce, code=1, says=("bytes differ",))


def test_a_search_by_the_clock_is_not_promised() -> None:
    table = pa.table({"age": list(range(40))})
    settings: dict[str, Any] = {"qi": "age", "k": 4, "method": "best"}
    by_steps = library.anonymize(table, **settings, effort="instant", bound=False)
    assert by_steps.record["reproducible"] is True
    by_time = library.anonymize(table, **settings, time=0.2, bound=False)
    assert "limited by time" in by_time.record["reproducible"]
    assert by_time.record["input"] == {"file": None, "sha256": None}


def test_a_release_that_was_kept_private_stays_so(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    released(table, out, "--method", "hilbert", "-k", 4)
    out.chmod(0o600)
    released(table, out, "--method", "hilbert", "-k", 4)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path, table: Path) -> None:
    out, victim = tmp_path / "out.csv", tmp_path / "victim.txt"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / ".out.csv.lock").symlink_to(victim)
    done = shoal("anonymize", table, "-o", out, *ROLES, "--method", "hilbert", "-k", 4)
    assert done.code == 2
    assert ".out.csv.lock" in done.err
    assert victim.read_text(encoding="utf-8") == "precious"
    assert not out.exists()
