"""DuckDB's release as a folder of Parquet parts: the parts of Spark, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import stat

import pyarrow.parquet as pq
import pytest

import naive_spark
import shoal
from engine_tables import ROLES, patients, people
from shoal.engines.duckdb import publishing, stored
from shoal.engines.ranges import folder
from shoal.engines.spark import engine as spark_engine
from shoal.errors import OutputError, PolicyError
from shoal.io.write import write_table
from shoal.methods.hilbert import Hilbert

ASKED = {**ROLES, "method": "hilbert", "k": 5, "seed": 5}


@pytest.fixture
def short_parts(monkeypatch):
    """Ranges and parts so short that a small table has many."""
    monkeypatch.setattr(Hilbert, "by_range", 150)
    monkeypatch.setattr(folder, "PART", 100)
    monkeypatch.setattr(publishing, "STRETCH", 30)


def parts_of(path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(path.iterdir())}


def test_the_record_is_for_nobody_else_whatever_lay_there(short_parts, tmp_path):
    """It took the place, and the mode, of a file that everybody could read."""
    (tmp_path / "out.record.json").write_text("{}")
    (tmp_path / "out.record.json").chmod(0o644)
    shoal.anonymize(people(), out=tmp_path / "out", engine="duckdb", **ASKED)
    assert stat.S_IMODE((tmp_path / "out.record.json").stat().st_mode) == 0o600


def test_parts_together_are_the_release(short_parts, tmp_path):
    table = people()
    shoal.anonymize(table, out=tmp_path / "m.parquet", engine="memory", **ASKED)
    release = shoal.anonymize(table, out=tmp_path / "out", engine="duckdb", **ASKED)
    whole = pq.read_table(tmp_path / "m.parquet")
    assert len(release.data) == whole.num_rows
    assert pq.read_table(tmp_path / "out").equals(whole)
    known = json.loads((tmp_path / "out.manifest.json").read_text())["release"]
    found = parts_of(tmp_path / "out")
    assert {part["file"]: part["sha256"] for part in known["parts"]} == found
    assert len(found) > 3
    assert release.verify().ok
    with pytest.raises(PolicyError, match="a folder of parts"):
        release.write(tmp_path / "one.parquet")
    release.write(tmp_path / "again")
    assert parts_of(tmp_path / "again") == found
    release.close()
    assert {path.name for path in tmp_path.iterdir()} == {
        "m.parquet", "m.parquet.manifest.json", "m.parquet.record.json",
        *(f"{name}{end}" for name in ("out", "again")
          for end in ("", ".manifest.json", ".record.json")),
    }  # fmt: skip
    assert shoal.verify(tmp_path / "out").ok
    (tmp_path / "out" / "part-00001.parquet").unlink()
    assert not shoal.verify(tmp_path / "out").ok


def test_parts_are_those_of_spark(short_parts, tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setattr(spark_engine, "WrittenParts", naive_spark.WrittenParts)
    asked = {**ASKED, "plain": [], "identifier": ["name", "note"]}
    table = people()
    frame = naive_spark.DataFrame.of(naive_spark.Session(3), table, 4)
    shoal.anonymize(table, out=tmp_path / "d", engine="duckdb", **asked).close()
    shoal.anonymize(frame, out=tmp_path / "s", engine="spark", **asked).close()
    assert parts_of(tmp_path / "d") == parts_of(tmp_path / "s")


def test_persons_are_checked_over_all_parts(short_parts, tmp_path):
    asked = {**ASKED, "identifier": (), "person": "name"}
    release = shoal.anonymize(patients(), out=tmp_path / "out", engine="duckdb", **asked)
    assert release.verify().ok
    release.close()
    assert len(parts_of(tmp_path / "out")) > 3
    assert shoal.verify(tmp_path / "out", record=tmp_path / "out.record.json").ok


@pytest.mark.parametrize("stage", ["a part", "the copy", "the manifest"])
def test_a_failure_leaves_no_folder(stage, short_parts, tmp_path, monkeypatch):
    write_table(people(), tmp_path / "in.parquet")
    calls = []

    def fails(*_, **__):
        calls.append(stage)
        if len(calls) > 2 or stage == "the manifest":
            raise OSError(28, "No space left on device")

    if stage == "a part":
        write = publishing._Writing.write
        monkeypatch.setattr(
            publishing._Writing, "write", lambda *given: fails() or write(*given)
        )  # fmt: skip
    elif stage == "the copy":
        put = stored._put
        monkeypatch.setattr(stored, "_put", lambda *given: fails() or put(*given))
    else:
        monkeypatch.setattr(folder, "manifest_of", fails)
    with pytest.raises((OSError, OutputError)):
        shoal.anonymize(tmp_path / "in.parquet", out=tmp_path / "out", engine="duckdb", **ASKED)
    assert calls
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_folder_that_is_there_is_refused_before_the_work(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other.parquet").touch()
    with pytest.raises(OutputError, match="not empty"):
        shoal.anonymize("no-such.csv", out=tmp_path / "out", engine="duckdb", **ASKED)
