"""Every other way in, damaged at random: dialects, packed files, folders, databases, engine duckdb,
series, treatments.

As in `test_fuzz_files`: a documented code, one line, no cell, no file left behind; and what is
released verifies. Each way is proven by a fault that is planted on it.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import random
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import command
from damaging import PLACES, damaged
from fuzzing import MARKER, assert_well_behaved, fuzz
from shoal.io.write import write_table

ROLES = (
    "--identifier", "name", "--qi", "age,place", "--sensitive", "ill", "--missing", "",
    "--method", "hilbert",
)  # fmt: skip
USUAL = 70


class Way(NamedTuple):
    """What is asked of the command, beside roles, and which file is damaged."""

    source: object
    options: tuple[object, ...]
    victim: Path
    out: object = "out.csv"
    models: tuple[object, ...] = ("-k", 3, "-l", 2)


def table(n: int = 40, first: int = 0) -> pa.Table:
    rows = range(first, first + n)
    return pa.table({
        "name": [f"{MARKER}i{i}" for i in rows],
        "age": [20 + i * 7 % 30 for i in rows],
        "place": [PLACES[i % 4] for i in rows],
        "ill": [f"{MARKER}s{i % 5}" for i in rows],
        "ward": [i % 9 * 1.5 for i in rows],
    })  # fmt: skip


# --- ways


def dialect(draw: random.Random, folder: Path) -> Way:
    """Marks and encodings as they are given: mostly the right ones."""
    mark, decimal = draw.choice([(";", ","), ("|", "."), ("\t", ","), (",", "."), (":", ",")])
    encoding = draw.choice(["utf-8", "latin-1", "cp1252", "utf-16", "utf-8-sig"])
    lines = [mark.join(table().column_names)]
    for row in table().to_pylist():
        cells = [str(cell) for cell in row.values()]
        cells[2] = cells[2].replace("o", "ö") if encoding != "utf-8" else cells[2]
        lines.append(mark.join([*cells[:4], cells[4].replace(".", decimal)]))
    source = folder / "in.csv"
    source.write_bytes("\n".join(lines).encode(encoding))
    asked: list[object] = []
    if draw.random() < 0.9:
        given = mark if draw.random() < 0.8 else draw.choice([",", ";", "x", "", "\n", '"', "ab"])
        asked += ["--delimiter", given]
    if draw.random() < 0.8:
        asked += ["--decimal", decimal if draw.random() < 0.8 else draw.choice(["", ";", "0", ","])]
    if encoding not in {"utf-8", "utf-8-sig"} or draw.random() < 0.3:
        wrong = draw.choice(["utf-8", "utf-16", "koi8-r", "rot13", "no-such", "base64"])
        asked += ["--encoding", encoding if draw.random() < 0.8 else wrong]
    return Way(source, (*asked, "--plain", "ward"), source)


def packed(draw: random.Random, folder: Path) -> Way:
    plain = folder / "plain.csv"
    write_table(table(), plain)
    source = folder / f"in.csv.{draw.choice(['zst', 'zip', 'gz'])}"
    if source.suffix == ".zip":
        with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(1 if draw.random() < 0.9 else draw.choice([0, 2])):
                archive.write(plain, f"in{number}.csv")
    elif source.suffix == ".zst":
        with pa.CompressedOutputStream(pa.OSFile(str(source), "wb"), "zstd") as file:
            file.write(plain.read_bytes())
    else:
        write_table(table(), source)
    plain.unlink()
    return Way(source, ("--rest", "drop"), source)


def of_parts(draw: random.Random, folder: Path) -> Way:
    """A folder of files, plain or of hive's partitions, or a pattern."""
    home, ending = folder / "in", draw.choice(["csv", "parquet"])
    files, hive, other = [], draw.random() < 0.4, draw.random() < 0.1
    for number, place in enumerate(PLACES):
        part = table(40).filter(pc.equal(table(40)["place"], place))
        where = home
        if hive:
            where, part = home / f"place={place}", part.drop_columns(["place"])
        where.mkdir(parents=True, exist_ok=True)
        if other and draw.random() < 0.5:
            part = part.rename_columns([name.upper() for name in part.column_names])
        files.append(where / f"part-{number}.{ending}")
        write_table(part, files[-1])
    source = draw.choice([home, home, home / ("*/*" if hive else f"*.{ending}")])
    engine = draw.choice([(), ("--engine", "duckdb")])
    return Way(source, ("--rest", "drop", *engine), draw.choice(files))


def database(draw: random.Random, folder: Path) -> Way:
    """A file of SQLite or DuckDB, into a file or another one."""
    kind = draw.choice(["sqlite", "duckdb"])
    file = folder / f"in.{kind}"
    if kind == "sqlite":
        con: Any = sqlite3.connect(file)
        con.execute("CREATE TABLE people (name TEXT, age INTEGER, place TEXT, ill TEXT, ward REAL)")
        rows = [list(row.values()) for row in table().to_pylist()]
        con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        con.commit()
    else:
        import duckdb

        con = duckdb.connect(str(file))
        con.register("given", table())
        con.execute("CREATE TABLE people AS SELECT * FROM given")
    con.close()
    asked = draw.choice(["table=people"] * 5 + ["table=nobody", "query=SELECT * FROM people",
                         f"query=SELECT '{MARKER}x'::INT", "table=", "x=1"])  # fmt: skip
    out = draw.choice(["out.csv", f"sqlite:///{folder}/out.db?table=r",
                       f"duckdb:///{folder}/out.duckdb?table=r"])  # fmt: skip
    return Way(f"{kind}:///{file}?{asked}", ("--rest", "drop"), file, out)


def on_disk(draw: random.Random, folder: Path) -> Way:
    ending = draw.choice(["csv", "parquet", "csv.gz", "jsonl", "arrow"])
    source = folder / f"in.{ending}"
    write_table(table(60), source)
    more = draw.choice([("--memory", "300MB"), ("--temp", folder), ()])
    asked = ("--rest", "drop", "--engine", "duckdb", *more)
    return Way(source, asked, source, draw.choice(["out.csv", "out.parquet"]))


def series(draw: random.Random, folder: Path) -> Way:
    """The second release of a series: damaged is the table, or what the first one left."""
    for file in begun().iterdir():
        shutil.copy(file, folder / file.name)
    source = folder / "in.csv"
    write_table(table(45, first=draw.choice([0, 5, 40])), source)
    record = folder / "one.csv.record.json"
    append = draw.choice([(), ("--append",)])
    victim = draw.choice([source, record, record, folder / "one.csv"])
    asked = ("--rest", "drop", "--after", record, *append)
    return Way(source, asked, victim, models=("-m", 3))


@functools.cache
def begun() -> Path:
    """A folder with the first release of a series."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-fuzz-series-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as elsewhere:
        source = Path(elsewhere) / "one.csv"
        write_table(table(), source)
        asked = ("anonymize", source, "-o", folder / "one.csv", *roles_for(("-m", 3)))
        done = command.shoal(*asked, "--rest", "drop", "-m", 3, "-q")
    assert done.code == 0, done
    return folder


def treatments(draw: random.Random, folder: Path) -> Way:
    source = folder / "in.csv"
    write_table(table(), source)
    steps = [
        "top:90%", "bottom:0", "round:5", "round:5:random", "micro:4", "noise:10%", "top:1e400",
        "round:0", "noise:-1", "micro:0", "top:", ":", "noise:5", "top:99.99%", "micro:9999999999",
    ]  # fmt: skip
    chosen = [f"ward={','.join(draw.sample(steps, draw.choice([1, 1, 2])))}"]
    if draw.random() < 0.2:
        chosen.append(draw.choice(["ill=round:5", "nobody=top:1", "age=noise:5", "ward"]))
    options = [word for one in chosen for word in ("--treat", one)]
    return Way(source, ("--plain", "ward", *options), source)


WAYS: dict[str, Callable[[random.Random, Path], Way]] = {
    "dialect": dialect, "packed": packed, "folder": of_parts, "database": database,
    "on disk": on_disk, "series": series, "treatments": treatments,
}  # fmt: skip


# --- a case


def roles_for(models: tuple[object, ...]) -> tuple[object, ...]:
    """A series is by a method of its own."""
    return ROLES[:-2] if "-m" in models else ROLES


def one_case(
    draw: random.Random, folder: Path, name: str | None = None, whole: bool = False
) -> str:
    name = name or draw.choice(list(WAYS))
    way = WAYS[name](draw, folder)
    if draw.random() < 0.6 and way.victim.exists() and not whole:
        damaged(draw, way.victim)
    before = {path.relative_to(folder) for path in folder.rglob("*")}
    out = folder / way.out if "://" not in str(way.out) else way.out
    done = command.shoal(
        "anonymize", way.source, "-o", out, *roles_for(way.models), *way.models, *way.options
    )
    assert_well_behaved(done)
    if done.code:
        left = {path.relative_to(folder) for path in folder.rglob("*")} - before
        assert not left, (way, left)
    else:
        checked = command.shoal("verify", out)
        assert_well_behaved(checked, codes=(0, 5))
    return f"{name} {done.code}"


def test_damaged_ways_in() -> None:
    met = fuzz(one_case, usual=USUAL)
    assert all(outcome.rsplit(maxsplit=1)[1] in "01235" for outcome in met), met


@pytest.mark.parametrize("name", WAYS)
def test_what_is_whole_is_released(name: str, tmp_path: Path) -> None:
    met = set()
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        met.add(one_case(random.Random(number), folder, name, whole=True))
        if f"{name} 0" in met:
            break
    assert f"{name} 0" in met


@pytest.mark.parametrize("number", [502436210788, 663318120992], ids=str)
def test_cases_that_once_failed(number: int, tmp_path: Path) -> None:
    """Records of a series with a list where a text should be: in a signature, in qi."""
    one_case(random.Random(number), tmp_path)


PLANTED = {
    "dialect": ("shoal.engines.memory.engine", "delimiter_of"),
    "packed": ("shoal.io.header", "open_binary"),
    "folder": ("shoal.io.folders", "with_partition"),
    "database": ("shoal.io.frames", "read_database"),
    "on disk": ("shoal.engines.duckdb.engine", "Spill"),
    "series": ("shoal.series.beginning", "check_unchanged"),
    "treatments": ("shoal.encoding.treating", "numbers_in"),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_fault_on_the_way_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fault(*args: Any, **named: Any) -> Any:
        raise RuntimeError(f"{MARKER}: a cell")

    module, function = PLANTED[name]
    found = importlib.import_module(module)
    assert hasattr(found, function)
    monkeypatch.setattr(found, function, fault)
    with pytest.raises((RuntimeError, AssertionError), match=MARKER):
        for number in range(30):
            folder = tmp_path / str(number)
            folder.mkdir()
            one_case(random.Random(number), folder, name)
