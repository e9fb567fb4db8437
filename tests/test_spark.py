"""The Spark engine on a real cluster: a master and two workers, started and stopped here.

Starting takes long, so all tests share one cluster and one session.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.spark_cluster import Cluster, environment, missing, settings, short_lived

import shoal
from engine_tables import ROLES, TOWNS, crowded, patients, people
from shoal.engines.ranges import spill
from shoal.engines.spark import working
from shoal.errors import HierarchyError, InputError, OutputError, PolicyError
from shoal.io.write import write_table
from shoal.methods.best.method import Best
from shoal.methods.bsgi import BSGI
from shoal.methods.hilbert import Hilbert
from sql_checks import COLUMNS, assert_finds_what_breaks, rows

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A master and two workers of two cores: one for the tests' session, one for commands."""
    if reason := missing():
        if os.environ.get("CI"):
            pytest.fail(f"in CI Spark must be there: {reason}")
        pytest.skip(reason)
    found = Cluster(tmp_path_factory.mktemp("cluster"), workers=2, memory="1500m", cores=2)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def spark(cluster):
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master(cluster.url).appName("shoal tests")
        asked = {"spark.cores.max": "2", "spark.sql.shuffle.partitions": "2"}
        for name, value in settings(**asked, **short_lived()).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture
def short_ranges(monkeypatch):
    """Ranges so short that a small table has many."""
    for method, records in ((Hilbert, 150), (BSGI, 200), (Best, 200)):
        monkeypatch.setattr(method, "by_range", records)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def by_memory(source, out: Path, **asked) -> str:
    shoal.anonymize(source, out=out, seed=5, engine="memory", **{**ROLES, **asked})
    return sha256(out)


def by_spark(source, out: Path, **asked) -> str:
    release = shoal.anonymize(source, out=out, seed=5, engine="spark", **{**ROLES, **asked})
    release.close()
    return sha256(out)


def as_frame(spark, table: pa.Table, partitions: int = 2):
    """The table as a data frame in so many pieces."""
    return spark.createDataFrame(table).repartition(partitions)


HEAVY = pytest.mark.heavy
"""What `test_spark_tasks` shows without Java, once more on the cluster."""
CASES = [
    ("parquet", 1, {"method": "hilbert", "k": 5}),
    ("csv", 2, {"method": "hilbert", "k": 4, "l": 3}),
    ("csv.gz", 3, {"method": "best", "k": 5, "effort": "instant", "bound": False}),
    ("parquet", 2, {"method": "hilbert", "k": 4, "l": 2, "identifier": [], "person": "name"}),
    pytest.param(
        "csv", 2, {"method": "hilbert", "k": 4, "t": 0.5, "identifier": [], "person": "name"},
        marks=HEAVY,
    ),
    pytest.param("parquet", 3, {"method": "bsgi", "l": 4}, marks=HEAVY),
    pytest.param(
        "parquet", 2,
        {"method": "hilbert", "k": 3, "t": 0.4, "layout": "bounds", "csv_safe": True},
        marks=HEAVY,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "partitions", "asked"), CASES, ids=str)
def test_spark_gives_the_bytes_of_memory(spark, ending, partitions, asked, short_ranges, tmp_path):
    make = patients if "person" in asked else people
    table = make(700, seed=partitions)
    expected = by_memory(table, tmp_path / f"m.{ending}", **asked)
    order = np.random.default_rng(partitions).permutation(table.num_rows)
    frame = as_frame(spark, table.take(pa.array(order)), partitions)
    assert by_spark(frame, tmp_path / f"s.{ending}", **asked) == expected
    duckdb = shoal.anonymize(
        table, out=tmp_path / f"d.{ending}", seed=5, engine="duckdb", **{**ROLES, **asked}
    )
    duckdb.close()
    assert sha256(tmp_path / f"d.{ending}") == expected
    claims = [json.loads((tmp_path / f"{e}.{ending}.manifest.json").read_text()) for e in "ds"]
    for claim in claims:
        for own in ("generation", "release"):
            claim.pop(own)
    assert claims[0] == claims[1]
    record = json.loads((tmp_path / f"s.{ending}.record.json").read_text())
    assert record["method"]["ranges"] > (0 if "t" in asked else 2)
    secret = tmp_path / f"s.{ending}.record.json" if "person" in asked else None
    assert shoal.verify(tmp_path / f"s.{ending}", record=secret).ok
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@HEAVY
def test_ranges_lend_what_they_have_too_many_of(spark, monkeypatch, tmp_path):
    monkeypatch.setattr(Hilbert, "by_range", 90)
    table = crowded()
    most = table.column("disease").to_pylist().count("flu")
    asked = {"method": "hilbert", "l": table.num_rows // most}  # the largest there is
    expected = by_memory(table, tmp_path / "m.parquet", **asked)
    assert by_spark(as_frame(spark, table, 3), tmp_path / "s.parquet", **asked) == expected
    record = json.loads((tmp_path / "s.parquet.record.json").read_text())
    assert record["method"]["lent_records"] > 0
    told = json.loads((tmp_path / "m.parquet.record.json").read_text())
    for known in ("before", "risk_before"):
        assert record.get(known) == told.get(known)


def test_a_release_of_parts_is_a_data_frame(spark, short_ranges, tmp_path, monkeypatch):
    import shoal.spark

    table = people(500)
    by_memory(table, tmp_path / "m.parquet", k=5, method="hilbert")
    whole = pq.read_table(tmp_path / "m.parquet")
    frame = as_frame(spark, table)
    release = shoal.spark.anonymize(
        frame, temp=str(tmp_path), k=5, method="hilbert", seed=5, **ROLES
    )
    assert release.data.toArrow().to_pydict() == whole.to_pydict()
    assert release.verify().ok
    assert "Release of 500 records in" in release._repr_html_()
    release.write(tmp_path / "out")
    listed = json.loads((tmp_path / "out.manifest.json").read_text())["release"]
    assert {part["file"]: part["sha256"] for part in listed["parts"]} == {
        path.name: sha256(path) for path in (tmp_path / "out").iterdir()
    }
    assert pq.read_table(tmp_path / "out").equals(whole)
    with pytest.raises(OutputError, match="not empty"):
        release.write(tmp_path / "out")
    with release.files[0].open("ab") as file:
        file.write(b"x")
    with pytest.raises(OutputError, match="changed after"):
        release.write(tmp_path / "again")
    assert not (tmp_path / "again").exists()
    release.close()
    with pytest.raises(PolicyError, match="closed"):
        release.verify()
    assert {path.name for path in tmp_path.iterdir()} == {
        "m.parquet", "m.parquet.manifest.json", "m.parquet.record.json",
        "out", "out.manifest.json", "out.record.json",
    }  # fmt: skip


def test_what_cannot_be_promised_is_refused_before_the_work(tmp_path):
    refused = [
        ({"method": "optimal", "k": 2}, "all records at once"),
        ({"k": 2, "memory": "1GB"}, "executor.memory"),
        ({"k": 2, "keep_order": True}, "keep_order"),
        ({"k": 2, "max_suppressed": 0.01}, "max_suppressed"),
    ]
    for asked, word in refused:
        with pytest.raises(PolicyError, match=word):
            settings_ = {**ROLES, "method": "hilbert", **asked}
            shoal.anonymize("no-such-file.csv", engine="spark", **settings_)


def test_errors_of_tasks_are_told_in_our_words(spark, short_ranges, tmp_path):
    tree = {"north": ["Aachen", "Bonn", "Celle"], "south": [*TOWNS[3:]]}
    table = people(300)
    towns = table.column("town").to_pylist()
    towns[220] = "Atlantis"
    spoilt = table.set_column(2, "town", pa.array(towns))
    folder = tmp_path / "in"
    folder.mkdir()
    write_table(spoilt.slice(0, 200), folder / "a.csv")
    write_table(spoilt.slice(200), folder / "b.csv")
    with pytest.raises(HierarchyError, match=r"'town'.*record 21 of .*b\.csv") as refused:
        by_spark(folder, tmp_path / "out.csv", k=5, hierarchy={"town": {"tree": tree}})
    assert "Atlantis" not in str(refused.value)
    lines = (folder / "b.csv").read_bytes().split(b"\n")
    lines[40] += b",x,y"
    (folder / "b.csv").write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match=r"b\.csv, line 41: expected 6 cells; got 8"):
        by_spark(folder, tmp_path / "out.csv", k=5)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_an_error_of_a_task_shows_no_cell():
    def fails(error):
        def work(batches):
            raise error
            yield

        with pytest.raises(working.TaskError) as found:
            list(working.in_our_words(work, []))
        assert "Atlantis" not in str(found.value)
        return working.what_failed(found.value)

    assert "ValueError" in str(fails(ValueError("Atlantis")))
    assert "no room is left" in str(fails(OSError(errno.ENOSPC, "full: Atlantis")))
    assert "out of memory" in str(fails(MemoryError("Atlantis")))
    assert isinstance(fails(InputError("bad line")), InputError)


@pytest.mark.parametrize("stage", ["partition", pytest.param("write", marks=HEAVY)])
def test_a_worker_that_is_killed_changes_nothing(stage, cluster, spark, short_ranges, tmp_path):
    table = people(500, seed=9)
    expected = by_memory(table, tmp_path / "m.parquet", k=5, method="hilbert")
    killed = []

    def progress(now, done, total):
        if now == stage and not killed:
            killed.append(len(cluster.workers) - 1)
            cluster.add_worker()
            cluster.kill_worker(killed[0])

    release = shoal.anonymize(
        as_frame(spark, table), out=tmp_path / "s.parquet", engine="spark", k=5, seed=5,
        method="hilbert", progress=progress, **ROLES,
    )  # fmt: skip
    release.close()
    assert killed
    assert sha256(tmp_path / "s.parquet") == expected


def test_a_full_disk_leaves_nothing(spark, short_ranges, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small disk takes a mount, which only root can do")
    try:
        with pytest.raises(OutputError, match="no room is left"):
            by_spark(as_frame(spark, people(3_000)), small / "s.parquet", k=5, method="hilbert")
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def command_on(master: str, folder: Path, out: Path, **conf: str) -> tuple[list[str], dict]:
    """A command that releases a folder on a cluster, with its environment."""
    command = [
        sys.executable, "-m", "shoal", "anonymize", str(folder), "-o", str(out), "--qi",
        "age,town,degree", "--sensitive", "disease", "--plain", "note", "--identifier", "name",
        "--kind", "degree=ordinal", "-k", "5", "--method", "hilbert", "--engine", "spark",
        "--master", master, "--seed", "5",
    ]  # fmt: skip
    asked = {
        "spark.cores.max": "2", "spark.executor.memory": "600m", **short_lived(), **conf,
    }  # fmt: skip
    told = " ".join(f"--conf '{name}={value}'" for name, value in asked.items())
    return command, {
        **environment(),
        "PYSPARK_SUBMIT_ARGS": f"{told} --driver-memory 600m pyspark-shell",
    }


def people_in(folder: Path, records: int = 200) -> Path:
    folder.mkdir()
    for number in range(3):
        write_table(people(records, seed=number), folder / f"part-{number}.csv")
    return folder


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@HEAVY
def test_a_task_that_runs_out_of_memory_leaves_nothing(cluster, tmp_path):
    folder = people_in(tmp_path / "in", 60_000)
    little = {"spark.executor.pyspark.memory": "330m", "spark.task.maxFailures": "2"}
    command, env = command_on(cluster.url, folder, tmp_path / "out", **little)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "engine spark: " in done.stderr
    assert "Aachen" not in done.stderr
    assert left_in(tmp_path) == {"in"}


@HEAVY
def test_a_full_disk_of_a_worker_leaves_nothing(tmp_path):
    if reason := missing():
        pytest.skip(reason)
    home = tmp_path / "cluster"
    (home / "local").mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(home / "local")]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small disk takes a mount, which only root can do")
    one = None
    try:
        one = Cluster(home, workers=1, memory="1g", cores=1)
        folder = people_in(tmp_path / "in", 60_000)
        often = {"spark.task.maxFailures": "2", "spark.cores.max": "1"}
        command, env = command_on(one.url, folder, tmp_path / "out", **often)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "engine spark: " in done.stderr
        assert "Aachen" not in done.stderr
        assert left_in(tmp_path) == {"cluster", "in"}
    finally:
        if one is not None:
            one.stop()
        subprocess.run(["umount", "-l", str(home / "local")], check=True)


def test_a_driver_that_is_killed_leaves_nothing_published(cluster, tmp_path):
    folder, out = people_in(tmp_path / "in"), tmp_path / "out"
    command, env = command_on(cluster.url, folder, out)
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    for _ in range(1200):
        if any(path.name.startswith(spill.PREFIX) for path in tmp_path.iterdir()):
            break
        assert process.poll() is None, "it ended before it began"
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")} == {"in"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {
        "in", "out", "out.manifest.json", "out.record.json",
    }  # fmt: skip
    (part,) = out.iterdir()
    assert sha256(part) == by_memory(folder, tmp_path / "m.parquet", k=5, method="hilbert")


def test_spark_runs_the_check_that_is_printed_for_it(spark):
    schema = ", ".join(f"`{name}` string" for name in COLUMNS)
    spark.createDataFrame(rows(), schema).createOrReplaceTempView("people")
    assert_finds_what_breaks(lambda sql: spark.sql(sql).collect(), "spark")


LOOKS = """
import json, os, stat, sys
from pathlib import Path
from shoal.engines.spark.session import session_of

session = session_of(None, "local[1]")
session.spark.range(100).cache().count()
kept = [path for path in session.folder.path.rglob("*")]
mode = stat.S_IMODE(session.folder.path.stat().st_mode)
elsewhere = [path.name for path in Path(sys.argv[1]).iterdir() if "blockmgr" in path.name]
session.close()
print(json.dumps([mode, len(kept), elsewhere, session.folder.path.exists()]))
"""


@pytest.mark.heavy
def test_what_spark_keeps_on_this_machine_is_for_nobody_else(tmp_path):
    """By itself it puts records into a folder of the temporary one that everybody can read."""
    if reason := missing():
        pytest.skip(reason)
    env = {**environment(), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, str(tmp_path)], env=env, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    mode, kept, elsewhere, there = json.loads(done.stdout.splitlines()[-1])
    assert (mode, elsewhere, there) == (0o700, [], False)
    assert kept
