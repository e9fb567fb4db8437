"""What tasks of the Spark engine do, without Spark: whatever it leaves open changes no byte."""

from __future__ import annotations

import errno
import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive_spark
import shoal
from engine_tables import ROLES, crowded, patients, people
from shoal.engines.ranges import folder as folder_of_parts
from shoal.engines.spark import engine, frames, profiling, publishing, stored
from shoal.errors import OutputError, PolicyError
from shoal.methods.best.method import Best
from shoal.methods.bsgi import BSGI
from shoal.methods.hilbert import Hilbert

pytest.importorskip("pyspark")

NAMELESS = {**ROLES, "plain": [], "identifier": ["name", "note"]}
"""Plain columns are counted by SQL, which is not here."""


def released(source, out, **asked) -> str:
    release = shoal.anonymize(source, out=out, seed=5, **{**NAMELESS, **asked})
    release.close()
    return hashlib.sha256(out.read_bytes()).hexdigest()


ASKED = [
    {"method": "hilbert", "k": 5},
    {"method": "hilbert", "k": 4, "l": 3},
    {"method": "bsgi", "l": 4},
    {"method": "best", "k": 5, "effort": "instant", "bound": False},
    {"method": "hilbert", "k": 3, "t": 0.4},
    {"method": "hilbert", "l": 3, "layout": "bounds", "csv_safe": True},
    {"method": "hilbert", "k": 4, "l": 2, "identifier": ["note"], "person": "name"},
]


@pytest.fixture
def small(monkeypatch):
    """Ranges, packets and parts so short that a small table has many."""
    for method, records in ((Hilbert, 90), (BSGI, 110), (Best, 130)):
        monkeypatch.setattr(method, "by_range", records)
    monkeypatch.setattr(engine, "WrittenParts", naive_spark.WrittenParts)
    monkeypatch.setattr(engine, "FAN", 1)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_partitions_order_and_packets_change_nothing(data, small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    asked = data.draw(st.sampled_from(ASKED))
    make = patients if "person" in asked else people
    table = make(data.draw(st.integers(100, 500)), data.draw(st.integers(0, 99)))
    expected = released(table, folder / "m.parquet", engine="memory", **asked)
    session = naive_spark.Session(data.draw(st.integers(0, 999)))
    frame = naive_spark.DataFrame.of(session, table, data.draw(st.integers(1, 5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiling, "PACKET", data.draw(st.sampled_from([1, 30, 10**6])))
        patch.setattr(engine, "PART", data.draw(st.sampled_from([50, 10**6])))
        patch.setattr(folder_of_parts, "PART", data.draw(st.sampled_from([40, 200, 10**6])))
        found = released(frame, folder / "s.parquet", engine="spark", **asked)
    assert found == expected
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("method", ["hilbert", "bsgi"])
@pytest.mark.parametrize("partitions", [1, 4])
def test_ranges_lend_the_same_records(method, partitions, small, tmp_path):
    table = crowded()
    flu = table.column("disease").to_pylist().count("flu")
    asked = {"method": method, "l": table.num_rows // flu}
    expected = released(table, tmp_path / "m.parquet", engine="memory", **asked)
    frame = naive_spark.DataFrame.of(naive_spark.Session(partitions), table, partitions)
    release = shoal.anonymize(
        frame, out=tmp_path / "s.parquet", engine="spark", seed=5, **NAMELESS, **asked
    )
    release.close()
    assert hashlib.sha256((tmp_path / "s.parquet").read_bytes()).hexdigest() == expected
    assert release.record["method"]["lent_records"] > 0
    twin = shoal.anonymize(table, engine="memory", seed=5, **NAMELESS, **asked)
    assert release.before == twin.before
    assert release.risk_before == twin.risk_before
    assert release.loss == twin.loss


@pytest.mark.parametrize("partitions", [1, 4])
def test_persons_stay_whole(partitions, small, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PART", 100)
    monkeypatch.setattr(folder_of_parts, "PART", 200)
    table = patients()
    asked = {"method": "hilbert", "k": 4, "identifier": ["note"], "person": "name"}
    expected = released(table, tmp_path / "m.parquet", engine="memory", **asked)
    frame = naive_spark.DataFrame.of(naive_spark.Session(partitions), table, partitions)
    release = shoal.anonymize(
        frame, out=tmp_path / "s.parquet", engine="spark", seed=5, **{**NAMELESS, **asked}
    )
    release.close()
    assert hashlib.sha256((tmp_path / "s.parquet").read_bytes()).hexdigest() == expected
    assert release.record["method"]["ranges"] > 2
    twin = shoal.anonymize(table, engine="memory", seed=5, **{**NAMELESS, **asked})
    assert release.risk_before == twin.risk_before
    assert release.loss == twin.loss
    assert shoal.verify(tmp_path / "s.parquet", record=tmp_path / "s.parquet.record.json").ok


def test_columns_may_be_called_anything(small, tmp_path):
    names = {"age": "a.ge", "town": "to`wn", "disease": "Town"}
    table = people(200).rename_columns([names.get(n, n) for n in people(1).column_names])
    roles = {"qi": ["a.ge", "to`wn"], "sensitive": "Town", "rest": "drop", "k": 4}
    frame = naive_spark.DataFrame.of(naive_spark.Session(1), table, 2)
    for engine_, source in (("memory", table), ("spark", frame)):
        release = shoal.anonymize(
            source, out=tmp_path / f"{engine_}.parquet", engine=engine_, method="hilbert",
            seed=5, **roles,
        )  # fmt: skip
        release.close()
    found = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("memory", "spark")]
    assert found[0] == found[1]


def test_a_profile_does_not_depend_on_the_parts():
    values = pa.array([0.0, -0.0, None, float("nan"), 2.5, 2.5, 1e300])
    rng = np.random.default_rng(1)
    table = pa.table({"x": values.take(pa.array(rng.integers(0, 7, 60)))})
    wholes = []
    for cut in (60, 20, 7):
        rows = []
        for start in range(0, 60, cut):
            packing = profiling._Packing(profiling.Wanted(("x",), (), None, ()))
            rows += list(packing.add(table.slice(start, cut), start))
            rows.append(packing.flush(start))
            rows += list(packing.profile())
        told = [profiling.told(row.packet) for row in rows if row.kind == "profile"]
        _, merged = profiling.merged_profiles(told)
        found = merged["x"].in_order()
        texts = [str(value) for value in found.all_values().to_pylist()]
        wholes.append((texts, found.counts.tolist(), found.firsts[0].tolist()))
    assert wholes[0] == wholes[1] == wholes[2]


def test_frames_of_spark_are_told_from_others():
    assert frames.is_frame(naive_spark.DataFrame(naive_spark.Session(1), []))
    assert not frames.is_frame(people(2).to_pandas())
    assert frames.quoted("a`b.c") == "`a``b.c`"


def of_parts(tmp_path, monkeypatch, **asked):
    """A release of several parts, and its frame."""
    monkeypatch.setattr(folder_of_parts, "PART", 100)
    monkeypatch.setattr(stored, "WrittenParts", naive_spark.WrittenParts)
    frame = naive_spark.DataFrame.of(naive_spark.Session(3), people(500), 3)
    return shoal.anonymize(
        frame, engine="spark", method="hilbert", k=5, seed=5, **{**NAMELESS, **asked}
    )


def test_a_folder_of_parts_is_whole_or_not_there(small, tmp_path, monkeypatch):
    released(people(500), tmp_path / "m.parquet", engine="memory", k=5, method="hilbert")
    whole = pq.read_table(tmp_path / "m.parquet")
    release = of_parts(tmp_path, monkeypatch, out=tmp_path / "out")
    told = json.loads((tmp_path / "out.manifest.json").read_text())["release"]
    parts = sorted((tmp_path / "out").iterdir())
    assert len(parts) > 3
    assert told["parts"] == [
        {"file": part.name, "sha256": hashlib.sha256(part.read_bytes()).hexdigest()}
        for part in parts
    ]
    assert pa.concat_tables([pq.read_table(part) for part in parts]).equals(whole)
    assert release.verify().ok
    for memory in (None, "300MB"):
        assert shoal.verify(tmp_path / "out", memory=memory).ok
    assert "Release of 500 records in" in release._repr_html_()
    with pytest.raises(OutputError, match="not empty"):
        release.write(tmp_path / "out")
    with pytest.raises(PolicyError, match="a folder of parts"):
        release.write(tmp_path / "out.csv")
    with release.files[-1].open("ab") as file:
        file.write(b"x")
    with pytest.raises(OutputError, match="changed after"):
        release.write(tmp_path / "again")
    release.close()
    with pytest.raises(PolicyError, match="closed"):
        release.verify()
    expected = {f"{name}{end}" for name in ("m.parquet", "out") for end in ENDINGS}
    assert {path.name for path in tmp_path.iterdir()} == expected


ENDINGS = ("", ".manifest.json", ".record.json")


def test_a_manifest_that_cannot_be_written_takes_the_folder_back(small, tmp_path, monkeypatch):
    def fails(release):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(folder_of_parts, "manifest_of", fails)
    with pytest.raises(OutputError, match="full"):
        of_parts(tmp_path, monkeypatch, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stage", ["read", "partition", "write", "verify"])
def test_a_run_that_is_stopped_leaves_nothing(stage, small, tmp_path, monkeypatch):
    def progress(now, done, total):
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        of_parts(tmp_path, monkeypatch, out=tmp_path / "out", progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(small, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device: Atlantis")

    monkeypatch.setattr(publishing, "_whole", full)
    with pytest.raises(OutputError, match="no room is left") as refused:
        of_parts(tmp_path, monkeypatch, out=tmp_path / "out")
    assert "Atlantis" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
