"""What is odd about names, files and folders is odd for no engine."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import command
import shoal
from shoal.encoding import exposure
from shoal.engines.duckdb import exposing, stored
from shoal.engines.duckdb.check import Written, connection
from shoal.errors import InputError, OutputError, PolicyError, ShoalWarning, VerificationError
from shoal.io.write import write_table
from shoal.methods.hilbert import Hilbert
from shoal.models import models_of
from shoal.policy import Policy
from test_engines import ROLES, people

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
    memory, duckdb = (told_by(e, tmp_path / "in.parquet", tmp_path, **asked) for e in ENGINES)
    assert len(memory[0]) >= least
    assert duckdb == memory


@pytest.mark.parametrize("ending", ["csv.GZ", "CSV", "Csv.gz", "PARQUET", "tsv.gz"])
def test_endings_in_capitals(ending, tmp_path):
    same(people(200), tmp_path, ending)
