"""What is odd about names, files and folders is odd for no engine."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import random
import stat
import warnings
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import command
import shoal
from engine_tables import ROLES, people
from shoal.encoding import exposure
from shoal.engines.choosing import chosen
from shoal.engines.duckdb import stored
from shoal.engines.duckdb.check import Written, connection
from shoal.engines.duckdb.engine import DuckDBEngine
from shoal.engines.memory import size
from shoal.engines.ranges import exposing
from shoal.errors import InputError, OutputError, PolicyError, ShoalWarning, VerificationError
from shoal.io.write import write_table
from shoal.methods.hilbert import Hilbert
from shoal.models import models_of
from shoal.plan import Plan
from shoal.policy import Policy

ENGINES = ("memory", "duckdb")


@pytest.fixture(autouse=True)
def short_ranges(monkeypatch):
    """Ranges so short that a small table has many."""
    monkeypatch.setattr(Hilbert, "by_range", 90)


def released(source, out: Path, engine: str, **asked) -> str:
    asked = {**ROLES, "method": "hilbert", "k": 5, "seed": 5, **asked}
    shoal.anonymize(source, out=out, engine=engine, progress=False, **asked).close()
    return hashlib.sha256(out.read_bytes()).hexdigest()


def same(source, folder: Path, ending: str = "csv", **asked) -> None:
    """Both engines give the same bytes, or the same error in the same words."""
    found = []
    for engine in ENGINES:
        try:
            found.append(released(source, folder / f"{engine}.{ending}", engine, **asked))
        except shoal.errors.ShoalError as error:
            found.append(f"{type(error).__name__}: {error}")
    assert found[0] == found[1]


def checked(table: pa.Table, path: Path, **asked) -> bool:
    """Whether a file holds, by the check of DuckDB."""
    write_table(table, path)
    policy = Policy.parse(**asked)
    with connection(path.parent / "spilt", 500_000_000, 1) as con:
        written = Written(con, path, table.column_names, policy, None)
        return written.check(policy.qi, models_of(policy), table.num_rows, 10**8).holds


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_differ_in_case_are_checked_each_by_itself(ending, tmp_path):
    file = tmp_path / f"r.{ending}"
    values = [f"v{i}" for i in range(6)]
    one = pa.table({"S": values, "q": ["a"] * 3 + ["b"] * 3, "s": ["x"] * 6})
    assert not checked(one, file, qi=["q"], sensitive=["s"], plain=["S"], k=2, l=3)
    unique = pa.table({"Q": ["z"] * 6, "s": values, "q": list("abcdef")})
    assert not checked(unique, file, qi=["q"], sensitive=["s"], plain=["Q"], k=3)
    assert checked(unique, file, qi=["Q"], sensitive=["s"], plain=["q"], k=3)


def test_a_file_with_other_columns_is_not_checked(tmp_path):
    pq.write_table(pa.table({"a": [1, 1], "b": [1, 1]}), tmp_path / "r.parquet")
    policy = Policy.parse(qi=["b"], plain=["a"], k=2)
    with connection(tmp_path, 500_000_000, 1) as con, pytest.raises(VerificationError):
        Written(con, tmp_path / "r.parquet", ["b", "a"], policy, None)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("folder", ["k=1", "a[1]", "what*?"])
def test_folders_with_odd_names(folder, ending, tmp_path):
    (tmp_path / folder).mkdir()
    source = tmp_path / folder / f"in.{ending}"
    write_table(people(200), source)
    same(source, tmp_path / folder, ending)


ODD = [
    ["name", "age", "town", "degree", "disease", "Disease"],
    ["name", "Age", "age", "AGE", "disease", "note"],
    ["name", "v", "t", "n", "h0", "o0"],
    ["name", "0", "1", "c0", "c1", ""],
    ["name", "age", "town", "degree", "class", "=class"],
    ["name", "age", "town", "degree", "disease", "class"],
    ["name", "class", "town", "degree", "disease", "note"],
    ["name", "=", "=x", "count", "filename", "'\""],
]


@pytest.mark.parametrize("names", ODD, ids=str)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_with_odd_names(names, ending, tmp_path):
    source = tmp_path / "in.parquet"
    write_table(people(200).rename_columns(names), source)
    roles = {"qi": names[1:4], "sensitive": names[4], "plain": [names[5]], "kind": {}}
    for models in ({"k": 3}, {"k": 3, "l": 2}):
        same(source, tmp_path, ending, **roles, **models)


@pytest.fixture
def parts(tmp_path):
    """A folder of two files."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(2):
        write_table(people(200, seed=number), folder / f"p{number}.csv")
    return folder


@pytest.mark.parametrize("engine", ENGINES)
def test_no_file_of_the_input_is_written_over(engine, parts, monkeypatch):
    before = {file: file.read_bytes() for file in parts.iterdir()}
    monkeypatch.chdir(parts)
    asked = [
        (parts, parts / "p0.csv", "is the input"),
        (f"{parts}/p*.csv", parts / "p1.csv", "is the input"),
        ("p*.csv", "p1.csv", "is the input"),
        ("p?.csv", parts.parent / "parts" / ".." / "parts" / "p0.csv", "is the input"),
        (parts, parts / "release.csv", "choose another folder"),
        (".", "release.parquet", "choose another folder"),
        (f"{parts}/*.csv", parts / "release.csv", "choose another folder"),
        ("*.csv", "release.csv", "choose another folder"),
    ]
    for source, out, words in asked:
        with pytest.raises(PolicyError, match=words):
            released(source, Path(out), engine)
    asked = ["--qi", "age", "--rest", "drop", "-k", "2", "--engine", engine]
    found = command.shoal("anonymize", parts, "-o", "p0.csv", *asked)
    assert found.code != 0
    assert "is the input" in found.err
    assert {file: file.read_bytes() for file in parts.iterdir()} == before
    released("p*.csv", parts / "release.csv", engine)  # which the pattern does not name


@pytest.mark.parametrize("engine", ENGINES)
def test_manifests_and_records_are_not_written_over_the_input(engine, parts):
    release = shoal.anonymize(parts, k=5, engine=engine, seed=5, **ROLES)
    for asked in ({"manifest": parts / "p0.csv"}, {"record": parts / "p1.csv"}):
        with pytest.raises(PolicyError, match="needs a file of its own"):
            release.write(parts.parent / "out.parquet", **asked)
    release.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_earlier_release_is_no_input(engine, parts):
    released(parts, parts.parent / "release.csv", "memory")
    for file in parts.parent.glob("release.csv*"):
        file.rename(parts / file.name)
    for source in (parts, f"{parts}/*.csv"):
        with pytest.raises(InputError, match=r"release\.csv: is a release"):
            released(source, parts.parent / "again.csv", engine)
    released(f"{parts}/p*.csv", parts.parent / "again.csv", engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_record_names_the_folder(engine, parts):
    released(parts, parts.parent / "o.csv", engine)
    record = json.loads((parts.parent / "o.csv.record.json").read_text())
    assert record["input"] == {"file": str(parts), "sha256": None}


@pytest.mark.parametrize("engine", ENGINES)
def test_targets_are_looked_at_before_the_work(engine, tmp_path):
    write_table(people(200), tmp_path / "in.csv")
    with pytest.raises(OutputError, match="there is no directory"):
        released(tmp_path / "in.csv", tmp_path / "no" / "o.csv", engine)
    with pytest.raises(PolicyError, match="is the input"):
        released(tmp_path / "in.csv", tmp_path / "in.csv", engine)
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


def test_a_release_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, "it broke")

    monkeypatch.setattr(stored, "_put", fails)
    with pytest.raises(OutputError, match="broke") as error:  # whose traceback holds the release
        released(people(200), tmp_path / "o.csv", "duckdb")
    assert list(tmp_path.iterdir()) == [], error


def told_by(engine: str, source, folder: Path, **asked) -> tuple[list[str], ...]:
    """Warnings, and the notices of record and manifest."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        released(source, folder / f"{engine}.parquet", engine, **asked)
    paths = [folder / f"{engine}.parquet.{what}.json" for what in ("record", "manifest")]
    notices = [json.loads(path.read_text())["notices"] for path in paths]
    warned = [str(w.message) for w in caught if issubclass(w.category, ShoalWarning)]
    return warned, *notices


def telling(n: int = 300) -> pa.Table:
    """People with plain columns that are keys, and tell what they should not."""
    table = people(n)
    diseases = table.column("disease").to_pylist()
    towns = table.column("town").to_pylist()
    rng = random.Random(3)
    return (
        table.append_column("key", pa.array([float(i) for i in range(n)]))
        .append_column("ward", pa.array([f"{d}x" for d in diseases]))
        .append_column("county", pa.array([t and t[0] for t in towns]))
        .append_column("weight", pa.array([rng.random() * 90 for _ in range(n)]))
    )


TELLING = [
    ({"plain": ["note", "key", "ward", "county"], "identifier": ["name", "weight"]}, 4),
    ({"plain": ["ward"], "rest": "drop"}, 1),
    ({"plain": ["note"], "weight_column": "weight", "rest": "drop"}, 2),
    ({"plain": [], "rest": "drop", "recoding": "suppress", "k": 40}, 1),
    ({"plain": [], "rest": "drop"}, 0),
]


@pytest.mark.parametrize(("asked", "least"), TELLING, ids=str)
@pytest.mark.parametrize("sample", [20_000, 40])
def test_the_custodian_is_told_the_same_by_every_engine(
    asked, least, sample, tmp_path, monkeypatch
):
    for module in (exposure, exposing):
        monkeypatch.setattr(module, "SAMPLE", sample)
    write_table(telling(), tmp_path / "in.parquet")
    memory, other = (told_by(e, tmp_path / "in.parquet", tmp_path, **asked) for e in ENGINES)
    assert len(memory[0]) >= least
    for notices in other[1:]:
        notices.remove("not worked out, since it takes all records in memory: disclosure")
    assert other == memory


@pytest.mark.parametrize("ending", ["csv.GZ", "CSV", "Csv.gz", "PARQUET", "tsv.gz"])
def test_endings_in_capitals(ending, tmp_path):
    same(people(200), tmp_path, ending)


def test_what_is_not_worked_out_is_said(tmp_path):
    write_table(people(300), tmp_path / "in.csv")
    asked = {"method": "best", "effort": "instant"}
    for engine, words in (("memory", None), ("duckdb", "in memory: disclosure, bound")):
        released(tmp_path / "in.csv", tmp_path / f"{engine}.csv", engine, **asked)
        manifest = json.loads((tmp_path / f"{engine}.csv.manifest.json").read_text())
        assert ("disclosure" in manifest) is ("bound" in manifest["loss"]) is (words is None)
        assert any(line.endswith(words or "nothing") for line in manifest["notices"]) is bool(words)


def test_a_folder_keeps_its_delimiter(parts):
    for file in parts.iterdir():
        write_table(people(200), file, delimiter=";")
    same(parts, parts.parent)
    assert (parts.parent / "memory.csv").read_text().startswith("age;town")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("place", [1, 4, 5], ids=["qi", "sensitive", "plain"])
def test_zeros_have_signs(place, kind, ending, tmp_path):
    rng = random.Random(4)
    numbers = [rng.choice([0.0, -0.0, 1.5, 2.0, float("nan"), None]) for _ in range(300)]
    table = people(300)
    name = table.column_names[place]
    table = table.set_column(place, name, pa.array(numbers, kind))
    write_table(table, tmp_path / "in.parquet")
    same(tmp_path / "in.parquet", tmp_path, ending, k=3)


def test_auto_does_not_choose_what_would_be_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(size, "BASE", 10**12)  # as if the program were larger than the machine
    write_table(people(200), tmp_path / "in.csv")
    plan = {**ROLES, "k": 5, "method": "hilbert"}
    refused = [
        {"bound": True}, {"keep_order": True}, {"max_suppressed": 0.01},
        {"weight_column": "note", "weight_as": "round", "plain": []},
    ]  # fmt: skip
    for asked in refused:
        made = Plan.of(Policy.parse(**{**plan, **asked}))
        assert chosen(made, tmp_path / "in.csv", None) == ("memory", None)
    made = Plan.of(Policy.parse(**plan))
    assert chosen(made, tmp_path / "in.csv", tmp_path / "o.jsonl")[0] == "memory"
    assert chosen(made, tmp_path / "in.csv", tmp_path / "o.csv")[0] == "duckdb"


def test_a_long_cell_is_verified(tmp_path):
    notes = ['"' * 1_500_000, *["y"] * 199]
    write_table(people(200).set_column(5, "note", pa.array(notes)), tmp_path / "in.parquet")
    same(tmp_path / "in.parquet", tmp_path)
    release = shoal.anonymize(
        tmp_path / "in.parquet", out=tmp_path / "o.csv", engine="duckdb", k=5, seed=5, **ROLES
    )
    assert release.verify().ok
    release.close()


@pytest.mark.parametrize(
    ("error", "words", "not_words"),
    [
        (duckdb.InvalidInputException("row: secret"), "not for want of room", "--temp"),
        (
            duckdb.IOException("No space left on device: secret"),
            "no room is left.*--temp",
            "memory",
        ),
        (OSError(errno.ENOSPC, "full"), "no room is left.*--temp", "memory"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), "x: Permission denied", "--temp"),
    ],
    ids=str,
)
def test_room_is_asked_for_only_where_it_is_missing(error, words, not_words, tmp_path, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr(Written, "check", fails)
    with pytest.raises(OutputError, match=words) as told:
        released(people(200), tmp_path / "o.csv", "duckdb")
    assert "secret" not in str(told.value)
    assert not_words not in str(told.value)
    assert list(tmp_path.iterdir()) == []


def spoilt(what: str) -> tuple[str, bytes]:
    """A name and bytes that are no CSV file."""
    sink = io.BytesIO()
    pa.csv.write_csv(people(300), sink)
    good = sink.getvalue()
    return {
        "truncated": ("in.csv.gz", gzip.compress(good)[:1000]),
        "not gzip": ("in.csv.gz", good),
        "header": ("in.csv", b"na\xffme" + good[5:]),
        "utf-16": ("in.csv", good.decode().encode("utf-16")),
        "empty": ("in.csv", b""),
        "strange": ("in.xyz", good),
        "no parquet": ("in.parquet", good),
    }[what]


@pytest.mark.parametrize(
    "what", ["truncated", "not gzip", "header", "utf-16", "empty", "strange", "no parquet"]
)
def test_what_is_wrong_with_a_file_is_told_alike(what, tmp_path):
    name, content = spoilt(what)
    (tmp_path / name).write_bytes(content)
    same(tmp_path / name, tmp_path)
    same(tmp_path / f"no-{name}", tmp_path)
    with pytest.raises(InputError, match=r"in\."):
        released(tmp_path / name, tmp_path / "o.csv", "duckdb")


def test_files_that_are_written_twice_are_two(tmp_path):
    release = shoal.anonymize(people(200), engine="duckdb", out=tmp_path / "a.csv", k=5, **ROLES)
    release.write(tmp_path / "b.csv")
    release.write(tmp_path / "c.csv")
    release.close()
    assert len({(tmp_path / f"{name}.csv").stat().st_ino for name in "abc"}) == 3
    assert len({(tmp_path / f"{name}.csv").read_bytes() for name in "abc"}) == 1


@pytest.mark.parametrize("out", ["o.csv", "o.parquet"])
def test_a_release_in_a_file_is_used_like_another(out, tmp_path):
    made = [
        shoal.anonymize(
            people(200).to_pandas(), engine=engine, out=tmp_path / f"{engine}-{out}", k=5, seed=5,
            **ROLES,
        )
        for engine in ENGINES
    ]  # fmt: skip
    memory, stored_ = made
    asked = "SELECT count(*) FROM release WHERE age > 30"
    assert repr(shoal.query(stored_, asked)) == repr(shoal.query(memory, asked))
    assert list(stored_.to_pandas("interval")["age"]) == list(memory.to_pandas("interval")["age"])
    assert list(shoal.expand(stored_)) == list(shoal.expand(memory))
    stored_.close()
    again = shoal.anonymize(people(200), engine="duckdb", k=5, **ROLES)
    again.close()
    for use in (again.verify, lambda: again.data, lambda: shoal.expand(again)):
        with pytest.raises(PolicyError, match="was closed"):
            use()


def test_what_is_spilt_is_private(tmp_path, monkeypatch):
    modes = set()

    def looked_at(self, *arguments):
        modes.update(stat.S_IMODE(f.stat().st_mode) for f in self.room.spill.path.iterdir())
        return recode(self, *arguments)

    recode = DuckDBEngine.recode
    monkeypatch.setattr(DuckDBEngine, "recode", looked_at)
    temp = tmp_path / "temp"
    temp.mkdir()
    asked = {**ROLES, "k": 5, "method": "hilbert", "temp": str(temp)}
    release = shoal.anonymize(people(200), engine="duckdb", **asked)
    modes.update(stat.S_IMODE(file.stat().st_mode) for file in temp.glob("*/*.*"))
    release.close()
    assert modes == {0o600}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_that_duckdb_has_not(ending, tmp_path):
    large = pa.array([10**45 + i % 3 for i in range(200)], pa.decimal256(50, 0))
    same(people(200).set_column(5, "note", large), tmp_path, ending)
