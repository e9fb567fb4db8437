"""Every engine gives the same bytes for a seed, whatever the batches, threads and memory."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from engine_tables import ROLES, TOWNS, people
from shoal.encoding.sketch import Sketch
from shoal.engines.duckdb import engine as duckdb_engine
from shoal.engines.duckdb import publishing
from shoal.engines.memory import size
from shoal.engines.ranges import spill
from shoal.engines.ranges.cutting import BucketCounts, first_buckets
from shoal.errors import (
    HierarchyError,
    InputError,
    OutputError,
    PolicyError,
    ShoalWarning,
    VerificationError,
)
from shoal.io import batches
from shoal.io.write import Writer, decoded, write_table
from shoal.methods.best.method import Best
from shoal.methods.bsgi import BSGI
from shoal.methods.hilbert import Hilbert
from shoal.models import KAnonymity, models_of
from shoal.policy import Policy


@pytest.fixture
def short_ranges(monkeypatch):
    """Ranges so short that a small table has many."""
    for method, records in ((Hilbert, 90), (BSGI, 110), (Best, 130)):
        monkeypatch.setattr(method, "by_range", records)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def released(source, out: Path, **asked) -> str:
    release = shoal.anonymize(source, out=out, seed=5, **{**ROLES, **asked})
    release.close()
    return sha256(out)


ASKED = [
    {"method": "hilbert", "k": 5},
    {"method": "hilbert", "k": 4, "l": 3},
    {"method": "hilbert", "l": 3, "recoding": "suppress"},
    {"method": "hilbert", "k": 3, "layout": "bounds", "csv_safe": True},
    {"method": "hilbert", "l": 2.5, "l_reading": "entropy"},
    {"method": "bsgi", "l": 4},
    {"method": "best", "k": 5, "effort": "instant", "bound": False},
    {"method": "best", "k": 3, "alpha": 0.5, "effort": "instant", "bound": False},
    {"method": "hilbert", "k": 3, "t": 0.4},
    {"method": "hilbert", "k": 4, "beta": 2},
    {"method": "bsgi", "l": 2, "delta": 1.2},
    {"method": "best", "k": 3, "t": 0.35, "effort": "instant", "bound": False},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_engines_give_the_same_bytes(asked, ending, short_ranges, tmp_path):
    write_table(people(), tmp_path / f"in.{ending}")
    source = tmp_path / f"in.{ending}"
    by_memory = released(source, tmp_path / f"m.{ending}", engine="memory", **asked)
    by_duckdb = released(source, tmp_path / f"d.{ending}", engine="duckdb", **asked)
    assert by_memory == by_duckdb
    record = json.loads((tmp_path / f"d.{ending}.record.json").read_text())
    assert record["method"]["ranges"] > (1 if {"t", "beta", "delta"} & set(asked) else 3)
    told = [json.loads((tmp_path / f"{e}.{ending}.manifest.json").read_text()) for e in "md"]
    for manifest in told:
        for own in ("generation", "release", "disclosure"):
            manifest.pop(own, None)  # names of files; what is not counted out of memory
    left_out = ["disclosure"] + ["bound"] * (asked.get("bound", asked["method"] == "best"))
    notice = f"not worked out, since it takes all records in memory: {', '.join(left_out)}"
    told[1]["notices"].remove(notice)
    assert told[0] == told[1]
    found = shoal.verify(tmp_path / f"d.{ending}")
    assert found.ok


@pytest.mark.parametrize("asked", [ASKED[0], ASKED[5]], ids=str)
def test_a_short_table_is_one_range_by_every_engine(asked, tmp_path):
    write_table(people(300), tmp_path / "in.csv")
    names = ("memory", "duckdb")
    found = {released(tmp_path / "in.csv", tmp_path / f"{e}.csv", engine=e, **asked) for e in names}
    assert len(found) == 1


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_batches_threads_and_memory_change_nothing(data, short_ranges, tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    table = people(data.draw(st.integers(120, 500)), data.draw(st.integers(0, 99)))
    asked = data.draw(st.sampled_from(ASKED[:2] + ASKED[5:7]))
    expected = released(table, folder / "m.csv", engine="memory", **asked)
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(table.num_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "ROWS", data.draw(st.integers(1, 200)))
        patch.setattr(publishing, "STRETCH", data.draw(st.integers(1, 300)))
        patch.setattr(duckdb_engine, "ROOM", data.draw(st.sampled_from([0, 3000, 10**7])))
        memory = data.draw(st.sampled_from(["300MB", "2GB"]))
        found = released(
            table.take(pa.array(order)), folder / "d.csv", engine="duckdb", memory=memory, **asked
        )
    assert found == expected


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_table_written_in_parts_is_the_same_file(ending, tmp_path):
    table = people(300_000 if ending == "parquet" else 70_000)
    whole, parts = tmp_path / f"whole.{ending}", tmp_path / f"parts.{ending}"
    digest = write_table(table, whole)
    writer = Writer(parts, parts)
    for start in range(0, table.num_rows, 44_444):
        writer.write(table.slice(start, 44_444))
    assert writer.close() == digest == sha256(parts)


def test_a_sketch_does_not_depend_on_parts():
    codes = np.random.default_rng(3).integers(0, 9, (3, 4000)).astype(np.int32)
    whole = Sketch(3, rows=200)
    whole.add(codes)
    for step in (1, 7, 1000):
        parts = Sketch(3, rows=200)
        for start in range(0, 4000, step) if step > 1 else range(0, 4000, 97):
            other = Sketch(3, rows=200)
            other.add(codes[:, start : start + (step if step > 1 else 97)])
            parts.merge(other)
        assert np.array_equal(parts.codes, whole.codes)
        assert np.array_equal(parts.counts, whole.counts)
    for row, count in zip(whole.codes.T, whole.counts, strict=True):
        assert count == (codes == row[:, None]).all(axis=0).sum()


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_range_is_feasible_by_itself(data):
    l = data.draw(st.integers(2, 4))  # noqa: E741
    buckets = data.draw(st.integers(1, 30))
    values = data.draw(st.integers(l, 6))
    table = pa.table({"q": [1] * values, "s": [str(v) for v in range(values)]})
    policy = Policy.parse(qi=["q"], sensitive=["s"], l=l)
    from shoal.encoding.encode import encode

    models = models_of(policy)
    counts = BucketCounts(buckets, encode(table, policy).codebook, models)
    cells = data.draw(
        st.lists(
            st.lists(st.integers(0, 5), min_size=values, max_size=values),
            min_size=buckets,
            max_size=buckets,
        )
    )
    counts.columns[0][:] = np.array(cells)
    counts.sizes[:] = counts.columns[0].sum(axis=1)
    total = counts.columns[0].sum(axis=0)
    assume(total.sum() and l * total.max() <= total.sum())  # else refused before
    firsts = first_buckets(counts, data.draw(st.integers(1, 40)))
    assert firsts[0] == 0
    assert (np.diff(firsts) > 0).all()
    for begin, end in zip(firsts, [*firsts[1:], buckets], strict=True):
        own = counts.columns[0][begin:end].sum(axis=0)
        assert l * own.max() <= own.sum()  # eligible, in integers


def test_folders_and_patterns_are_read_as_one_table(short_ranges, tmp_path):
    table = people(400)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(4):
        write_table(table.slice(100 * number, 100), folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()
    write_table(table, tmp_path / "in.parquet")
    expected = released(tmp_path / "in.parquet", tmp_path / "m.csv", engine="memory", k=5)
    for engine in ("memory", "duckdb"):
        for source in (folder, f"{folder}/part-*.parquet"):
            assert released(source, tmp_path / "o.csv", engine=engine, k=5) == expected
    other = table.set_column(1, "age", table.column("age").cast(pa.string()))
    write_table(other, folder / "part-8.parquet")
    for engine in ("memory", "duckdb"):
        with pytest.raises(InputError, match="type"):
            released(folder, tmp_path / "o.csv", engine=engine, k=5)
    (folder / "part-8.parquet").unlink()
    write_table(table.drop_columns(["note"]), folder / "part-9.parquet")
    for engine in ("memory", "duckdb"):
        with pytest.raises(InputError, match="part-9"):
            released(folder, tmp_path / "o.csv", engine=engine, k=5)


REFUSED = [
    ({"method": "optimal", "k": 2}, "all records at once"),
    ({"method": "incognito", "k": 2}, "all records at once; best, bsgi, hilbert do not"),
    ({"method": "butterfly", "k": 2}, "all records at once; best, bsgi, hilbert do not"),
    ({"method": "bsgi", "l": 2, "l_reading": "unique"}, "another reading"),
    ({"k": 2, "max_suppressed": 0.01}, "max_suppressed"),
    ({"max_loss": 0.1}, "max_loss"),
    ({"k": 2, "keep_order": True}, "keep_order"),
    ({"method": "best", "k": 2, "time": "5s"}, "effort"),
    ({"k": 2, "bound": True}, "bound"),
    ({"k": 2, "person": "name", "identifier": (), "person_as": "pseudonym"}, "person_as"),
    ({"k": 2, "treat": {"id": ["round:10"]}, "plain": ["id"]}, "treat"),
]


@pytest.mark.parametrize(("asked", "word"), REFUSED, ids=str)
def test_what_cannot_be_promised_is_refused_before_the_work(asked, word, tmp_path):
    settings_ = {**ROLES, "method": "hilbert", **asked}
    with pytest.raises(PolicyError, match=word) as refused:
        shoal.anonymize("no-such-file.csv", engine="duckdb", temp=str(tmp_path), **settings_)
    assert "engine = memory" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def lines_of(table: pa.Table, path: Path) -> list[bytes]:
    write_table(table, path)
    return path.read_bytes().split(b"\n")


BROKEN = {
    "ragged": (lambda line: line + b",x,y", r"in\.csv, line 401: expected 6 cells; got 8"),
    "not utf-8": (lambda line: line[:-3] + b"\xff\xfe", r"in\.csv, row 401, byte .*not UTF-8"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_bad_input_in_the_middle_is_named_and_leaves_nothing(what, short_ranges, tmp_path):
    spoil, message = BROKEN[what]
    source = tmp_path / "in.csv"
    lines = lines_of(people(), source)
    lines[400] = spoil(lines[400])
    source.write_bytes(b"\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "BLOCK", 4096)
        with pytest.raises(InputError, match=message):
            released(source, tmp_path / "out.csv", engine="duckdb", k=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


def test_a_value_that_no_hierarchy_covers_is_told_by_column_file_and_record(tmp_path):
    tree = {"north": ["Aachen", "Bonn", "Celle"], "south": [*TOWNS[3:]]}
    table = people(300)
    towns = table.column("town").to_pylist()
    towns[220] = "Atlantis"
    spoilt = table.set_column(2, "town", pa.array(towns))
    folder = tmp_path / "in"
    folder.mkdir()
    write_table(spoilt.slice(0, 200), folder / "a.csv")
    write_table(spoilt.slice(200), folder / "b.csv")
    with pytest.raises(HierarchyError) as refused:
        released(
            folder, tmp_path / "out.csv", engine="duckdb", k=5, hierarchy={"town": {"tree": tree}}
        )
    told = str(refused.value)
    assert "'town'" in told
    assert "record 21 of" in told
    assert "b.csv" in told
    assert "Atlantis" not in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_the_folder_of_a_run_is_private_and_gone_in_the_end(short_ranges, tmp_path):
    temp = tmp_path / "temp"
    temp.mkdir()
    release = shoal.anonymize(people(), engine="duckdb", temp=str(temp), k=5, seed=5, **ROLES)
    (own,) = temp.iterdir()
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert release.verify().ok
    assert release.data.num_rows == 600
    out = tmp_path / "out.parquet"
    release.write(out)
    assert stat.S_IMODE(out.stat().st_mode) & 0o077 == 0o644 & ~_umask() & 0o077
    release.close()
    assert list(temp.iterdir()) == []
    assert pq.read_table(out).num_rows == 600
    with pytest.raises(PolicyError, match="closed"):
        release.write(tmp_path / "again.parquet")


def test_a_file_that_was_changed_is_not_written_again(tmp_path):
    release = shoal.anonymize(people(), engine="duckdb", out=tmp_path / "a.csv", k=5, **ROLES)
    with (tmp_path / "a.csv").open("ab") as file:
        file.write(b"1,2,3,4,5\n")
    with pytest.raises(VerificationError, match="changed after"):
        release.write(tmp_path / "b.csv")
    release.close()
    assert not (tmp_path / "b.csv").exists()


def test_a_full_disk_is_told_and_leaves_nothing(short_ranges, tmp_path, monkeypatch):
    write_table(people(), tmp_path / "in.csv")
    append, calls = spill.Pieces.append, []

    def full(self, *batches):
        calls.append(self)
        if len(calls) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, *batches)

    monkeypatch.setattr(spill.Pieces, "append", full)
    with pytest.raises(OutputError, match="no room is left"):
        released(tmp_path / "in.csv", tmp_path / "out.csv", engine="duckdb", k=5)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "shoal", "anonymize", *arguments]


def asked_of_command(source: Path, out: Path) -> list[str]:
    return command(
        str(source), "-o", str(out), "--qi", "age,town,degree", "--sensitive", "disease",
        "--plain", "note", "--identifier", "name", "--kind", "degree=ordinal", "-k", "5",
        "--method", "hilbert", "--engine", "duckdb",
    )  # fmt: skip


def begun(process: subprocess.Popen, folder: Path) -> None:
    """Wait until a run has put something down."""
    for _ in range(600):
        if any(path.name.startswith(spill.PREFIX) for path in folder.iterdir()):
            return
        assert process.poll() is None, "it ended before it began"
        time.sleep(0.05)
    raise AssertionError("it never began")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_nothing(how, tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    write_table(people(200_000), source)
    process = subprocess.Popen(
        asked_of_command(source, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    begun(process, tmp_path)
    process.send_signal(how)
    process.wait(timeout=60)
    assert not out.exists()
    left = {path.name for path in tmp_path.iterdir()} - {"in.csv"}
    # Where it was killed nobody was there to remove its folder; the next run does.
    assert len(left) == (1 if how == signal.SIGKILL else 0)
    write_table(people(300), source)
    subprocess.run(asked_of_command(source, out), check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == {
        "in.csv", "out.csv", "out.csv.manifest.json", "out.csv.record.json",
    }  # fmt: skip


def test_auto_goes_by_a_budget_and_says_so(short_ranges, tmp_path, monkeypatch):
    write_table(people(), tmp_path / "in.csv")
    quiet = released(tmp_path / "in.csv", tmp_path / "a.csv", k=5)
    monkeypatch.setattr(size, "BASE", 10**12)  # as if the program were larger than the machine
    with pytest.warns(ShoalWarning, match="engine duckdb: about [0-9,]+ records need"):
        assert released(tmp_path / "in.csv", tmp_path / "b.csv", k=5) == quiet


@pytest.mark.parametrize("memory", ["a lot", "0GB", "-1GB", "10"])
def test_memory_is_an_amount(memory):
    with pytest.raises(PolicyError, match="memory"):
        Policy.parse(qi=["a"], k=2, memory=memory)


def test_the_manifest_does_not_tell_where_the_work_was_done(tmp_path):
    released(
        people(200), tmp_path / "o.csv", engine="duckdb", temp=str(tmp_path), memory="1GB", k=5
    )
    told = json.loads((tmp_path / "o.csv.manifest.json").read_text())
    assert {"engine", "memory", "temp"} & set(told["policy"]) == set()
    assert str(tmp_path) not in json.dumps(told)


LIMITED = """
import resource, sys, threading, time
from pathlib import Path
from shoal.cli import run
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
own = [0]
def watch():
    while True:
        status = Path("/proc/self/status").read_text()
        own.append(max(own.pop(), int(status.split("RssAnon:")[1].split()[0])))
        time.sleep(0.005)
threading.Thread(target=watch, daemon=True).start()
try:
    run()
finally:
    print(own[0])
"""


def peak_of(arguments: list[str], limit: int) -> int:
    """Run a command whose data may take so many bytes; gives the peak of memory of its own.

    Pages of libraries are not counted: how many of them are in memory is up to the system
    (from 130 to 270 MB of the same ones were seen), which drops them when it wants room.
    """
    whole = [sys.executable, "-c", LIMITED, str(limit), *arguments]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]) * 1024


def within_400_megabytes(source: Path, target: Path) -> list[str]:
    """A command that may use no more than so much memory."""
    qi = "age,gender,education,marital,race,workclass,country"
    return [
        "anonymize", str(source), "-o", str(target), "--qi", qi, "--sensitive", "occupation",
        "--plain", "salary", "-l", "3", "--method", "hilbert", "--quiet", "--engine", "duckdb",
        "--memory", "400MB",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Kernels of such a run, compiled by another one: a compiler takes memory of its own."""
    folder = tmp_path_factory.mktemp("compiled")
    write_table(decoded(shoal.datasets.census(400_000)), folder / "in.parquet")
    arguments = within_400_megabytes(folder / "in.parquet", folder / "out.parquet")
    peak_of(arguments, limit=4_000_000_000)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    "records", [400_000, pytest.param(3_000_000, marks=pytest.mark.heavy)], ids=["short", "long"]
)
def test_a_run_keeps_within_its_memory(records, ending, tmp_path, compiled):
    source = tmp_path / f"in.{ending}"
    write_table(decoded(shoal.datasets.census(records)), source)
    arguments = within_400_megabytes(source, tmp_path / f"out.{ending}")
    peak = peak_of(arguments, limit=1_000_000_000)  # addresses, of which some are never touched
    assert peak < 270_000_000  # and 130 at least are libraries
    assert shoal.verify(tmp_path / f"out.{ending}").ok


def test_no_model_is_forgotten():
    assert BucketCounts(1, shoal_codebook(), [KAnonymity(3)]).holds(3, [])
    assert not BucketCounts(1, shoal_codebook(), [KAnonymity(3)]).holds(2, [])


def shoal_codebook():
    from shoal.encoding.encode import encode

    return encode(pa.table({"q": [1, 2, 3]}), Policy.parse(qi=["q"], k=2)).codebook
