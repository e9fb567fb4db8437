"""Where tables come from and go to besides plain files: statistics formats, sheets, fixed width,
packed files, frames that are read as they come, pipes."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import openpyxl
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command import shoal as run
from shoal.errors import InputError, OutputError
from shoal.io.fixed_width import read_fixed_width
from shoal.io.frames import to_arrow
from shoal.io.read import read_table
from shoal.io.sniffing import ending_of
from shoal.io.statistics import read_statistics, write_statistics
from shoal.io.write import decoded, write_table

PEOPLE = {
    "age": [20 + n % 50 for n in range(200)],
    "health": [1.0 + n % 4 for n in range(200)],
    "job": ["cook", "nurse", "clerk"] * 66 + ["cook", "cook"],
    "born": [datetime.date(1990, 1, 1 + n % 28) for n in range(200)],
}
LABELS = {"health": {1.0: "very bad", 2.0: "bad", 3.0: "good", 4.0: "very good"}}
ASKED = {"qi": ["age", "health"], "sensitive": "job", "rest": "drop", "k": 5, "method": "hilbert"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def survey(path):
    frame = polars.DataFrame(PEOPLE)
    if path.endswith(".sav"):
        measures = {"health": "ordinal", "age": "scale"}
        pyreadstat.write_sav(frame, path, variable_value_labels=LABELS, variable_measure=measures)
    elif path.endswith(".dta"):
        whole = {"health": {int(code): text for code, text in LABELS["health"].items()}}
        pyreadstat.write_dta(frame, path, variable_value_labels=whole)
    else:
        pyreadstat.write_xport(frame, path)
    return path


# SPSS, Stata, SAS


@pytest.mark.parametrize("name", ["s.sav", "s.dta", "s.xpt"])
def test_a_survey_is_read_with_its_labels(here, name):
    found = read_table(survey(name))
    text = LABELS["health"].get if name != "s.xpt" else int
    assert found.column("age").to_pylist() == PEOPLE["age"]
    assert found.column("health").to_pylist() == [text(code) for code in PEOPLE["health"]]
    assert found.column("job").to_pylist() == PEOPLE["job"]
    assert found.column("born").to_pylist() == PEOPLE["born"]
    assert shoal.anonymize(name, **ASKED).verification.ok


def test_labels_keep_their_order_where_spss_says_so(here):
    release = shoal.anonymize(survey("s.sav"), **ASKED)
    assert release.kinds["health"] == "ordinal"
    assert release.policy.order["health"] == tuple(LABELS["health"].values())
    apart = shoal.anonymize(survey("s.sav"), **ASKED, kind={"health": "categorical"})
    assert apart.kinds["health"] == "categorical"
    assert shoal.anonymize(survey("s.dta"), **ASKED).kinds["health"] == "categorical"


def test_codes_without_labels_empty_texts_and_missing(here):
    frame = polars.DataFrame({"a": [1.0, 9.0, None, 2.5], "t": ["x", "", "y", "z"]})
    pyreadstat.write_sav(frame, "s.sav", variable_value_labels={"a": {1.0: "one"}})
    found = read_statistics(Path("s.sav"))
    assert found.column("a").to_pylist() == ["one", "9", None, "2.5"]
    assert found.column("a").combine_chunks().dictionary.to_pylist() == ["one", "2.5", "9"]
    assert found.column("t").to_pylist() == ["x", None, "y", "z"]


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_release_goes_back_with_labels(here, ending):
    survey(f"s{ending}")
    words = ["--qi", "age,health", "--sensitive", "job", "--rest", "drop", "-k", "5"]
    done = run("anonymize", f"s{ending}", "-o", f"r{ending}", *words, "--method", "hilbert")
    assert done.code == 0, done.err
    assert run("verify", f"r{ending}").code == 0
    reader = pyreadstat.read_sav if ending == ".sav" else pyreadstat.read_dta
    _, about = reader(f"r{ending}", output_format="dict")
    assert set(about.variable_value_labels["job"].values()) == {"clerk", "cook", "nurse"}
    assert any(text.startswith("[") for text in about.variable_value_labels["age"].values())
    again = run("reproduce", f"r{ending}.record.json", f"s{ending}", "-o", f"again{ending}")
    assert again.code == 0, again.err
    assert Path(f"again{ending}").read_bytes() == Path(f"r{ending}").read_bytes()


texts = st.none() | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Z")),
                            min_size=1, max_size=5)  # fmt: skip


@given(st.lists(st.tuples(texts, st.none() | st.integers(-9, 9)), min_size=1, max_size=9))
def test_what_is_written_is_read(tmp_path_factory, rows):
    table = pa.table({"t": pa.array([t for t, _ in rows], pa.string()),
                      "n": pa.array([n for _, n in rows], pa.int64())})  # fmt: skip
    for ending in (".sav", ".dta"):
        path = tmp_path_factory.mktemp("s") / f"a{ending}"
        write_statistics(table, path, ending)
        found = read_statistics(path)
        assert found.column("t").to_pylist() == table.column("t").to_pylist()
        assert list(map(str, found.column("n").to_pylist())) == list(
            map(str, table.column("n").to_pylist())
        )


@pytest.mark.parametrize("name", ["s.sav", "s.dta", "s.sas7bdat", "s.xpt", "s.xlsx"])
def test_damaged_files_are_one_line(here, name):
    Path(name).write_bytes(b"age,zip\nXq7,2\n" * 50)
    with pytest.raises(InputError, match="not a readable") as refused:
        read_table(name)
    assert "Xq7" not in str(refused.value)


# Sheets


def workbook():
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["nothing", "here"])
    sheet = book.create_sheet("People 2024")
    sheet.append(["age", "job", "born", "share"])
    for n in range(200):
        sheet.append([20 + n % 50, PEOPLE["job"][n], PEOPLE["born"][n], n / 4])
    sheet.append([33, None, None, "n/a"])
    book.save("b.xlsx")


def test_a_sheet_by_its_name(here):
    workbook()
    found = read_table("b.xlsx#People 2024")
    assert found.column("age").to_pylist() == [*PEOPLE["age"], 33]
    assert found.column("job").to_pylist() == [*PEOPLE["job"], None]
    assert [str(day)[:10] for day in found.column("born").to_pylist()[:2]] == [
        "1990-01-01", "1990-01-02",
    ]  # fmt: skip
    assert found.column("share").to_pylist()[1:5] == ["0.25", "0.5", "0.75", "1"]
    assert read_table("b.xlsx").column_names == ["nothing", "here"]
    with pytest.raises(InputError, match="did you mean 'People 2024'"):
        read_table("b.xlsx#People2024")
    words = ["--qi", "age", "--rest", "drop", "-k", "5", "--method", "hilbert"]
    done = run("anonymize", "b.xlsx#People 2024", "-o", "r.csv", *words)
    assert done.code == 0, done.err
    assert json.loads(Path("r.csv.record.json").read_text())["input"]["sha256"]


# Fixed width


def test_lines_of_fixed_width(here):
    lines = [f"{PEOPLE['age'][n]:>3}{PEOPLE['job'][n]:<6}x" for n in range(200)]
    Path("p.dat").write_text("\n".join(lines) + "\n", encoding="latin-1")
    Path("p.dat.layout.csv").write_text("name,start,width\nage,1,3\njob,4,6\n")
    Path("own.csv").write_text("name,start,width\nletter,10,1\njob,4,6\n")
    found = read_table("p.dat")
    assert found.column("age").to_pylist() == list(map(str, PEOPLE["age"]))
    assert found.column("job").to_pylist() == PEOPLE["job"]
    assert read_table("p.dat#own.csv").column("letter").to_pylist() == ["x"] * 200
    assert shoal.anonymize("p.dat", qi="age", rest="drop", k=5).verification.ok


def test_what_is_wrong_with_a_layout_is_said(here):
    Path("p.dat").write_text(" 30cook  \nXq7\n")
    with pytest.raises(InputError, match=r"no p\.dat\.layout\.csv"):
        read_table("p.dat")
    Path("p.dat.layout.csv").write_text("name,start,width\nage,1,3\njob,4,6\n")
    with pytest.raises(InputError, match=r"p\.dat, line 2: has 3 characters") as refused:
        read_table("p.dat")
    assert "Xq7" not in str(refused.value)
    Path("p.dat.layout.csv").write_text("name,start,width\nage,0,3\n")
    with pytest.raises(InputError, match="line 2: expected a name, a start"):
        read_table("p.dat")


widths = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@given(widths, st.data())
def test_fixed_width_against_cutting_by_hand(tmp_path_factory, sizes, data):
    cell = st.text(alphabet="ab1é", max_size=4)
    rows = data.draw(st.lists(st.tuples(*[cell] * len(sizes)), max_size=6))
    path = tmp_path_factory.mktemp("f") / "p.fwf"
    cut = [[c[:size] for c, size in zip(row, sizes, strict=True)] for row in rows]
    path.write_text(
        "".join(
            "".join(c.ljust(size) for c, size in zip(row, sizes, strict=True)) + "\n" for row in cut
        ),
        encoding="utf-8",
    )
    starts = [1 + sum(sizes[:place]) for place in range(len(sizes))]
    layout = path.with_name("p.fwf.layout.csv")
    layout.write_text(
        "name,start,width\n"
        + "".join(
            f"c{n},{start},{size}\n"
            for n, (start, size) in enumerate(zip(starts, sizes, strict=True))
        )
    )
    expected = [[c or None for c in row] for row in cut if any(row)]
    found = read_fixed_width(path, None, ("",), "utf-8")
    assert [list(row.values()) for row in found.to_pylist()] == expected


# Packed files and folders


def test_packed_csv(here):
    text = "age,job\n" + "".join(
        f"{a},{j}\n" for a, j in zip(PEOPLE["age"], PEOPLE["job"], strict=True)
    )
    Path("p.csv").write_text(text)
    with zipfile.ZipFile("p.csv.zip", "w") as archive:
        archive.writestr("folder/anything.csv", text)
    with pa.CompressedOutputStream("p.csv.zst", "zstd") as out:
        out.write(text.encode())
    plain = read_table("p.csv")
    for name in ("p.csv.zip", "p.csv.zst"):
        assert read_table(name).to_pylist() == plain.to_pylist()
        for engine in ("memory", "duckdb"):
            made = shoal.anonymize(
                name, qi="age", rest="drop", k=5, method="hilbert", engine=engine
            )
            assert made.verification.ok
            made.close()
        with pytest.raises(OutputError, match="read only"):
            shoal.anonymize("p.csv", qi="age", rest="drop", k=5, out=f"r{name[1:]}")
    Path("broken.csv.zip").write_bytes(Path("p.csv.zip").read_bytes()[:80])
    Path("broken.csv.zst").write_bytes(Path("p.csv.zst").read_bytes()[:40])
    for name in ("broken.csv.zip", "broken.csv.zst"):
        with pytest.raises(InputError):
            read_table(name)
    with zipfile.ZipFile("two.csv.zip", "w") as archive:
        archive.writestr("a.csv", text)
        archive.writestr("b.csv", text)
    with pytest.raises(InputError, match="one file in the archive; got 2"):
        read_table("two.csv.zip")


# Frames that come as a stream


@pytest.mark.parametrize("kind", ["lazy", "relation", "reader", "table", "capsule"])
def test_frames_of_others_come_without_a_file(kind):
    table = pa.table({"age": PEOPLE["age"], "job": PEOPLE["job"]})
    brought = {
        "lazy": lambda: polars.from_arrow(table).lazy(),
        "relation": lambda: duckdb.from_arrow(table),
        "reader": table.to_reader,
        "table": lambda: table,
        "capsule": lambda: Capsule(table),
    }[kind]
    found, _ = to_arrow(brought())
    assert found.to_pylist() == table.to_pylist()
    assert shoal.anonymize(brought(), qi="age", rest="drop", k=5).verification.ok


class Capsule:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_numbers_of_a_frame_are_not_copied():
    table = pa.table({"age": pa.array(range(10_000), pa.int64())})
    found, _ = to_arrow(table.to_reader())
    before, after = table.column(0).chunk(0).buffers()[1], found.column(0).chunk(0).buffers()[1]
    assert before.address == after.address


# Pipes


def piped(*words, given=b""):
    script = "import sys; from shoal.cli import run; sys.argv[0] = 'shoal'; run()"
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        input=given, capture_output=True, check=False,
    )  # fmt: skip


WORDS = ["--qi", "age", "--sensitive", "job", "-k", "5", "--method", "hilbert"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow", "csv.gz"])
def test_from_pipe_to_pipe(here, form):
    table = pa.table({"age": PEOPLE["age"], "job": PEOPLE["job"]})
    write_table(table, Path(f"p.{form}"))
    done = piped("anonymize", "-", "-o", "-", *WORDS, "--manifest", "m.json",
                 given=Path(f"p.{form}").read_bytes())  # fmt: skip
    assert done.returncode == 0, done.stderr
    Path("r.csv").write_bytes(done.stdout)
    assert done.stdout.startswith(b"age,job\n")
    assert done.stdout.count(b"\n") == 201
    assert run("verify", "r.csv", "--manifest", "m.json").code == 0
    assert sorted(path.name for path in here.iterdir()) == ["m.json", f"p.{form}", "r.csv"]


def test_nothing_goes_into_a_pipe_unless_it_is_whole(here):
    for words, code in ((["-k", "500"], 3), (["--json"], 2)):
        done = piped("anonymize", "-", "-o", "-", *WORDS, *words, given=b"age,job\n30,cook\n" * 9)
        assert done.returncode == code
        assert b"cook" not in done.stdout
        assert b"age,job" not in done.stdout
    assert list(here.iterdir()) == []


def test_what_comes_by_a_pipe_is_private_and_goes(here, monkeypatch):
    seen = []
    from shoal.explore import inspection

    look = inspection.inspect

    def spy(file, *rest, **more):
        seen.append(
            (file, stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode))
        )
        return look(file, *rest, **more)

    monkeypatch.setattr(inspection, "inspect", spy)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"age,job\n" + b"30,cook\n" * 9)))
    assert run("inspect", "-").code == 0
    ((file, mode, folder),) = seen
    assert (mode, folder) == (0o600, 0o700)
    assert not file.parent.exists()


def test_formats_of_bytes(here):
    cases = {
        b'\xef\xbb\xbf{"a": 1}\n': ".jsonl",
        b"a,b\n": ".csv",
        b"": ".csv",
        gzip.compress(b'{"a": 1}'): ".jsonl.gz",
        b"\x1f\x8bbroken": ".csv.gz",
        b"PAR1...": ".parquet",
    }
    for content, ending in cases.items():
        Path("x").write_bytes(content)
        assert ending_of(Path("x")) == ending


# --- folders


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_partitions_of_hive_are_columns(here, engine):
    table = decoded(shoal.datasets.census(200, seed=1)).select(["age", "gender", "occupation"])
    table = table.append_column("year", pa.array([2020 + i % 2 for i in range(200)]))
    pq.write_to_dataset(table, "hive", partition_cols=["gender", "year"])
    asked = {"qi": ["age", "gender", "year"], "plain": "occupation", "k": 5, "seed": 1,
             "method": "hilbert", "rest": "drop", "engine": engine}  # fmt: skip
    shoal.anonymize("hive", **asked, out="hive.parquet")
    # The same rows in one file make the same release.
    pq.write_table(table.select(["age", "occupation", "gender", "year"]), "one.parquet")
    shoal.anonymize("one.parquet", **asked, out="whole.parquet")
    found, whole = (pq.read_table(p).to_pylist() for p in ("hive.parquet", "whole.parquet"))
    assert len(found) == 200
    assert found == whole


def test_commands_take_folders_and_patterns(here):
    table = decoded(shoal.datasets.census(100, seed=1)).select(["age", "gender"])
    Path("many").mkdir()
    for name, part in (("a", table.slice(0, 40)), ("b", table.slice(40))):
        pa.csv.write_csv(part, f"many/{name}.csv")
    for place in ("many", "many/*.csv"):
        assert "age" in run("inspect", place).out
        counted = run("query", place, "SELECT count(*) FROM r", "--qi", "age")
        assert "100 records" in counted.out
    pq.write_to_dataset(table, "hive", partition_cols=["gender"])
    grouped = "SELECT gender, count(*) FROM r GROUP BY 1"
    assert "of 100 records" in run("query", "hive", grouped).out
    Path("hive/other").mkdir()
    Path("hive/other/x.csv").write_text("age\n1\n")  # no partition
    assert "of 100 records" in run("query", "hive", grouped).out
    Path("hive/year=1").mkdir()
    pa.csv.write_csv(table, "hive/year=1/x.csv")
    assert "do not all name the same columns" in run("query", "hive", grouped).err


def test_a_release_comes_by_a_pipe(here):
    people = shoal.datasets.census(100)
    path = Path(shoal.anonymize(people, qi=["age", "gender"], k=5, rest="drop",
                                method="hilbert").write("release.csv"))  # fmt: skip
    content, manifest = path.read_bytes(), f"{path}.manifest.json"
    sql = "SELECT count(*) FROM r WHERE age < 30"
    counted = piped("query", "-", sql, "--manifest", manifest, given=content)
    assert counted.stdout.decode() == run("query", path, sql).out
    made = piped("expand", "-", "-o", "-", "--manifest", manifest, given=content)
    assert made.stdout.splitlines()[0].decode() == "age,gender"
    told = piped("report", "-", "--manifest", manifest, given=content)
    assert told.returncode == 2
    assert b"-o" in told.stderr
