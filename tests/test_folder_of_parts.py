"""A release that is a folder of parts: verified as the one file that it could have been."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from engine_tables import ROLES, people
from shoal.cli import cli
from shoal.engines.duckdb import verifying
from shoal.errors import InputError, PolicyError, VerificationError
from shoal.io.write import write_table
from shoal.policy import Policy
from shoal.release import dump_claims
from shoal.report.making import report
from shoal.verification.hashes import fingerprint_of
from shoal.verification.manifest import manifest_of

MEMORY = [None, "300MB"]
"""Read, and grouped by DuckDB: less than the program itself counts for."""


def cuts_between_classes(table: pa.Table, qi: list[str], about: int) -> list[int]:
    """Where parts begin: some classes on, as the Spark engine has them."""
    rows = table.select(qi).to_pylist()
    begins = [n for n in range(1, len(rows)) if rows[n] != rows[n - 1]]
    found = [0]
    for begin in begins:
        if begin - found[-1] >= about:
            found.append(begin)
    return [*found, len(rows)]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def claimed(folder: Path) -> dict:
    """What a manifest says of the bytes of a folder, worked out in another way."""
    listed = [{"file": part.name, "sha256": sha256(part)} for part in sorted(folder.iterdir())]
    joined = "".join(part["sha256"] + "\n" for part in listed)
    whole = hashlib.sha256(joined.encode()).hexdigest()
    return {"file": folder.name, "sha256": whole, "parts": listed}


def in_parts(folder: Path, about: int = 150, **asked) -> Path:
    """A release in memory, written as the Spark engine would; beside it one file of the same."""
    release = shoal.anonymize(people(), **{**ROLES, "method": "hilbert", "seed": 5, **asked})
    release.write(folder.with_name("one.parquet"))
    table = pq.read_table(folder.with_name("one.parquet"))
    cuts = cuts_between_classes(table, release.manifest["release"]["qi"], about)
    folder.mkdir()
    for number, (begin, end) in enumerate(pairwise(cuts)):
        write_table(table.slice(begin, end - begin), folder / f"part-{number:05d}.parquet")
    dump_claims(manifest(folder), manifest_of(release), claimed(folder))
    return folder


def manifest(folder: Path) -> Path:
    return folder.with_name(folder.name + ".manifest.json")


def part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}.parquet"


ASKED = [
    {"k": 5},
    {"k": 4, "l": 3, "csv_safe": True},
    {"k": 3, "t": 0.4, "layout": "bounds"},
    {"k": 3, "l": 2, "kind": {"degree": "ordinal", "disease": "ordinal"}},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("memory", MEMORY)
def test_a_folder_is_verified_as_one_file(asked, memory, tmp_path):
    folder = in_parts(tmp_path / "r[1]", **asked)
    assert len(list(folder.iterdir())) > 2
    found = shoal.verify(folder, memory=memory)
    assert found.ok
    assert found.to_dict() == shoal.verify(tmp_path / "one.parquet").to_dict()
    assert fingerprint_of(folder) == claimed(folder)["sha256"]


@pytest.mark.parametrize("memory", MEMORY)
def test_files_of_systems_are_no_parts(memory, tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-00000.parquet.crc", ".DS_Store"):
        (folder / name).write_bytes(b"")
    assert shoal.verify(folder, memory=memory).ok


def changed_cell(folder: Path) -> str:
    table = pq.read_table(part(folder, 1))
    cells = table.column("disease").to_pylist()
    place = table.column_names.index("disease")
    write_table(table.set_column(place, "disease", pa.array(["d99", *cells[1:]])), part(folder, 1))
    return "part-00001.parquet: is not the file its manifest describes"


def removed(folder: Path) -> str:
    part(folder, 1).unlink()
    return "part part-00001.parquet is missing; it was removed"


def added(folder: Path) -> str:
    part(folder, 99).write_bytes(part(folder, 1).read_bytes())
    return "has part-00099.parquet, which its manifest does not list"


def hidden(folder: Path) -> str:
    (folder / "_more.parquet").write_bytes(part(folder, 1).read_bytes())
    return "has _more.parquet, which its manifest does not list"


def in_a_folder_of_hive(folder: Path) -> str:
    (folder / "x=1").mkdir()
    (folder / "x=1" / "part.parquet").write_bytes(part(folder, 1).read_bytes())
    return "has x=1, which its manifest does not list"


def renamed(folder: Path) -> str:
    part(folder, 1).rename(part(folder, 77))
    return "part part-00001.parquet was renamed to part-00077.parquet; give it its name back"


def swapped(folder: Path) -> str:
    first, second = part(folder, 0).read_bytes(), part(folder, 1).read_bytes()
    part(folder, 0).write_bytes(second)
    part(folder, 1).write_bytes(first)
    return "part-00000.parquet: is not the file its manifest describes"


def moved_rows(folder: Path) -> str:
    first, second = pq.read_table(part(folder, 0)), pq.read_table(part(folder, 1))
    write_table(first.slice(3), part(folder, 0))
    write_table(pa.concat_tables([second, first.slice(0, 3)]), part(folder, 1))
    return "part-00000.parquet: is not the file its manifest describes"


def broken(folder: Path) -> str:
    part(folder, 1).write_bytes(b"PAR1")
    return "part-00001.parquet: is not the file its manifest describes"


def emptied(folder: Path) -> str:
    for file in folder.iterdir():
        file.unlink()
    return "part part-00000.parquet is missing"


TAMPERED = [
    changed_cell, removed, added, hidden, in_a_folder_of_hive, renamed, swapped, moved_rows,
    broken, emptied,
]  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
@pytest.mark.parametrize("memory", MEMORY)
def test_what_was_done_to_parts_is_told(tamper, memory, tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    expected = tamper(folder)
    try:
        found = shoal.verify(folder, memory=memory)
        assert not found.ok
        assert expected in found.mismatches[0]
    except VerificationError as error:
        assert expected in str(error)
    more = [] if memory is None else ["--memory", memory]
    told = CliRunner().invoke(cli, ["verify", str(folder), *more])
    assert told.exit_code == 1


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_rows_and_parts_of_a_claimed_folder_are_checked_as_one_table(data, tmp_path_factory):
    """Whoever makes the hashes anew is judged by the records of all parts together."""
    folder = in_parts(tmp_path_factory.mktemp("f") / "r", data.draw(st.integers(40, 300)), k=5)
    parts = [pq.read_table(file) for file in sorted(folder.iterdir())]
    whole = pa.concat_tables(parts)
    lost = data.draw(st.integers(0, 1))
    order = data.draw(st.permutations(range(whole.num_rows)))[lost:]
    cut = data.draw(st.integers(1, len(order) - 1))
    for file in folder.iterdir():
        file.unlink()
    for number, rows in enumerate((order[:cut], order[cut:])):
        write_table(whole.take(pa.array(rows)), part(folder, number))
    claims = json.loads(manifest(folder).read_text())
    claims["release"] |= claimed(folder)
    manifest(folder).write_text(json.dumps(claims))
    for memory in MEMORY:
        found = shoal.verify(folder, memory=memory)
        assert found.records == 600 - lost
        assert found.ok == (not lost)


@pytest.mark.parametrize("memory", MEMORY)
def test_parts_have_one_schema(memory, tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    table = pq.read_table(part(folder, 1))
    place = table.column_names.index("note")
    other = table.set_column(place, "note", table.column("note").cast(pa.float32()))
    pq.write_table(other, part(folder, 1))
    with pytest.raises(VerificationError, match=r"part-00001\.parquet: is not the file"):
        shoal.verify(folder, memory=memory)
    claims = json.loads(manifest(folder).read_text())
    claims["release"] |= claimed(folder)
    with pytest.raises(InputError, match=r"part-00001\.parquet: has other columns, or of other t"):
        shoal.verify(folder, claims, memory=memory)


DAMAGED = [
    None, [], "part-00000.parquet", [None], [{"file": "part-00000.parquet"}],
    [{"file": "../one.parquet", "sha256": "0"}], [{"file": "..", "sha256": "0"}],
    [{"file": "a", "sha256": "0"}] * 2,
]  # fmt: skip


@pytest.mark.parametrize("parts", DAMAGED, ids=str)
def test_a_damaged_list_of_parts_is_refused(parts, tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    claims = json.loads(manifest(folder).read_text())
    claims["release"]["parts"] = parts
    with pytest.raises(InputError, match="'parts' is no list of files"):
        shoal.verify(folder, claims)
    del claims["release"]["parts"]
    with pytest.raises(InputError, match="lists no parts of a folder"):
        shoal.verify(folder, claims)


def test_the_hash_of_all_parts_is_that_of_the_list(tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    claims = json.loads(manifest(folder).read_text())
    claims["release"]["sha256"] = "0" * 64
    assert shoal.verify(folder, claims).mismatches == (
        "release.sha256 is not that of the parts that the manifest lists",
    )


@pytest.mark.parametrize("memory", MEMORY)
def test_models_are_asked_of_a_folder(memory, tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    asked = {"qi": ROLES["qi"], "sensitive": "disease", "k": 5, "l": 3}
    found = shoal.verify(folder, memory=memory, **asked)
    assert not found.holds
    assert found.to_dict() == shoal.verify(tmp_path / "one.parquet", **asked).to_dict()


def test_a_folder_that_fits_is_read(tmp_path):
    folder, asked = in_parts(tmp_path / "r", k=5), Policy.of(None, {"qi": ["age"], "k": 2})
    assert verifying.large_file(folder, asked, "100GB") is None
    assert verifying.large_file(folder, asked, "300MB").num_rows == 600
    with pytest.raises(PolicyError, match="memory: expected an amount"):
        shoal.verify(folder, memory="plenty")


def test_the_command_says_of_a_folder_what_it_says_of_a_file(tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    said = [
        CliRunner().invoke(cli, ["verify", str(path), "--memory", "300MB"])
        for path in (folder, tmp_path / "one.parquet")
    ]
    assert [told.exit_code for told in said] == [0, 0]
    assert said[0].output == said[1].output


def test_a_folder_is_reported_and_measured_as_one_file(tmp_path):
    folder = in_parts(tmp_path / "r", k=5, l=2)
    dump_claims(folder.with_name("r.record.json"), record_of_one(tmp_path), claimed(folder))
    told = []
    for path in (folder, tmp_path / "one.parquet"):
        for more in ({}, {"record": path.with_name(f"{path.name}.record.json")}):
            made = report(path, **more)
            assert made.ok
            told.append(made.audience)
    assert told == ["public", "custodian"] * 2
    found = [shoal.risk(path) for path in (folder, tmp_path / "one.parquet")]
    assert [risk.changed for risk in found] == [False, False]
    assert found[0].to_dict() | {"table": ""} == found[1].to_dict() | {"table": ""}


def record_of_one(tmp_path: Path) -> dict:
    """The record of the one file, which says nothing of its format."""
    return json.loads((tmp_path / "one.parquet.record.json").read_text())


@pytest.mark.parametrize("tamper", [changed_cell, removed, added, renamed, moved_rows])
def test_parts_that_were_changed_are_not_reported(tamper, tmp_path):
    folder = in_parts(tmp_path / "r", k=5)
    expected = tamper(folder)
    with pytest.raises(VerificationError) as refused:
        report(folder)
    assert expected in str(refused.value)
    assert shoal.risk(folder).changed
