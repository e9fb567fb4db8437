"""`csv_safe`, kept files and one-line errors: what a release must not do to those around it."""

from __future__ import annotations

import csv
import io
import stat
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from shoal.encoding.spreadsheet import armed, disarmed
from shoal.errors import PolicyError, ShoalError, ShoalWarning, one_line
from shoal.io.write import write_table
from shoal.recipient import query

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
NASTY = st.text(alphabet="'a5. ;,\"\t\r\n" + SIGNS, max_size=8)


def is_run(cell: str) -> bool:
    """Whether a spreadsheet would run a cell; numbers are no formulas."""
    bare = cell.strip().strip('"').strip()
    try:
        float(bare)
    except ValueError:
        return bare.startswith(tuple(SIGNS))
    return False


@settings(max_examples=500, deadline=None)
@given(NASTY)
def test_no_cell_of_a_disarmed_text_is_run_however_it_is_split(text):
    safe = disarmed(text)
    for cells in (safe.split(";"), safe.splitlines(), safe.split("\t"), [safe]):
        assert not any(is_run(cell) and not cell.startswith("'") for cell in cells)
    assert armed(safe) == text


@given(st.lists(NASTY, unique=True, max_size=8))
def test_no_two_texts_become_one(texts):
    assert len({disarmed(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("text", "safe"),
    [("=1", "'=1"), ("a\n=1", "a\n'=1"), ("a;=1", "a;'=1"), ("\uff1d1", "'\uff1d1"),
     ("a\r=1", "a\r'=1"), ("\tx", "'\tx"), ("-5", "-5"), ("a;-5", "a;-5"), (" =1", "' =1")],
)  # fmt: skip
def test_what_was_missed(text, safe):
    assert disarmed(text) == safe


def test_headers_and_cells_of_a_release(tmp_path: Path):
    names = ["=a", "+b;@c", "\uff1ds"]
    rows = ["=1", "a;=1", "a\n=2", "\uff20x"] * 2
    source = pa.table({names[0]: rows, names[1]: rows, names[2]: [*"xyzw", *"xyzw"]})
    release = shoal.anonymize(
        source, qi=[names[0]], sensitive=[names[2]], k=2, l=2, csv_safe=True, rest="plain"
    )
    path = release.write(tmp_path / "r.csv")
    text = path.read_text(encoding="utf-8")
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            assert not any(is_run(cell) and not cell.startswith("'") for cell in row)
    assert shoal.verify(path).ok
    got = query(path, f"SELECT count(*) FROM r WHERE \"{names[1]}\" = 'a;=1'")
    assert (got.lower, got.upper) == (2, 2)
    got = query(path, f'SELECT "{names[1]}", count(*) FROM r GROUP BY 1')
    assert {row[names[1]] for row in got.rows} == set(rows)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_order_of_signs_is_verified_as_it_was(tmp_path: Path, ending):
    order = ["-", "+", "++"]
    source = pa.table({"age": [1, 1, 1, 2, 2, 2], "s": order * 2})
    release = shoal.anonymize(
        source, qi=["age"], sensitive="s", order={"s": order}, k=3, t=0.5, csv_safe=True,
        rest="drop",
    )  # fmt: skip
    assert set(release.table.column("s").to_pylist()) == {"'-", "'+", "'++"}
    path = release.write(tmp_path / f"r.{ending}")
    checked = shoal.verify(path, qi=["age"], sensitive=["s"], order={"s": order}, k=3, t=0.5,
                           csv_safe=True)  # fmt: skip
    assert checked.holds


def test_anatomy_with_an_order_of_signs(tmp_path: Path):
    order = ["-", "+", "++"]
    source = pa.table({"age": [1, 2, 3, 4, 5, 6], "s": order * 2})
    release = shoal.anonymize(source, qi=["age"], sensitive="s", order={"s": order}, l=3,
                              method="anatomy", csv_safe=True, rest="drop")  # fmt: skip
    path = release.write(tmp_path / "r.csv")
    assert shoal.verify(path).holds
    got = query(path, "SELECT count(*) FROM r WHERE s = '+'")
    assert (got.lower, got.upper) == (2, 2)


@pytest.mark.parametrize(
    ("name", "tabs"),
    [("x.tsv_export.csv", False), ("x.csv", False), ("x.tsv", True), ("x.csv.tsv", True),
     ("x.tsv.csv.gz", False), ("x.TSV.gz", True), ("my.tsv files.csv", False)],
)  # fmt: skip
def test_the_ending_decides_the_delimiter(tmp_path: Path, name, tabs):
    write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "out", named=tmp_path / name)
    data = (tmp_path / "out").read_bytes()
    if name.lower().endswith(".gz"):
        import gzip

        data = gzip.decompress(data)
    assert data == (b"a\tb\n1\t2\n" if tabs else b"a,b\n1,2\n")


# Files that are kept


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_target_keeps_its_mode(tmp_path: Path, mode):
    target = tmp_path / "r.csv"
    target.write_text("old", encoding="utf-8")
    target.chmod(mode)
    release = shoal.anonymize(pa.table({"a": [1, 1]}), qi=["a"], k=2)
    release.write(target)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("c\na\na\nb\nb\n", encoding="utf-8")
    (tmp_path / "tree.csv").write_text("a;*\nb;*\n", encoding="utf-8")
    (tmp_path / "policy.csv").write_text(
        'qi = ["c"]\nk = 2\n[hierarchy]\nc = "tree.csv"\n', encoding="utf-8"
    )
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [("-o", "tree.csv"), ("-o", "policy.csv"), ("-o", "people.csv"),
     ("-o", "r.csv", "--manifest", "tree.csv"), ("-o", "r.csv", "--record", "policy.csv"),
     ("-o", "./x/../tree.csv")],
)  # fmt: skip
def test_what_a_run_is_asked_with_is_not_overwritten(project: Path, options, monkeypatch):
    monkeypatch.chdir(project)
    (project / "x").mkdir()
    before = {path: path.read_bytes() for path in project.glob("*.csv")}
    done = command("anonymize", "people.csv", "--policy", "policy.csv", *options)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert {path: path.read_bytes() for path in project.glob("*.csv")} == before


def test_nor_from_options_links_python_or_compare(project: Path, monkeypatch):
    monkeypatch.chdir(project)
    (project / "link.csv").symlink_to("tree.csv")
    given = ("--qi", "c", "-k", "2", "--hierarchy", "c=tree.csv")
    for out in ("tree.csv", "link.csv"):
        done = command("anonymize", "people.csv", "-o", out, *given)
        assert (done.code, "the hierarchy of 'c'" in done.err) == (2, True)
    done = command("compare", "people.csv", "--methods", "hilbert", *given, "--out", "tree.csv")
    assert (done.code, "the hierarchy of 'c'" in done.err) == (2, True)
    release = shoal.anonymize("people.csv", "policy.csv")
    for out in ("tree.csv", "policy.csv"):
        with pytest.raises(PolicyError, match="choose another name"):
            release.write(out)
    release.write("r.csv")
    assert (project / "tree.csv").read_text(encoding="utf-8") == "a;*\nb;*\n"


# One line


@given(st.text())
def test_every_message_is_one_line(text):
    for error in (PolicyError(text), ShoalError(f"column {text}"), ShoalWarning(text)):
        assert len(str(error).splitlines()) <= 1
        assert "\x1b" not in str(error)
    assert one_line(one_line(text)) == one_line(text)


NAMES = ["a\nb", "a\rb", "a\u2028b", "a\x1b[31mb", "a\x85b", "a\x0cb"]


@pytest.mark.parametrize("name", NAMES)
def test_control_characters_in_names(tmp_path: Path, name):
    source = tmp_path / "in.parquet"
    write_table(pa.table({name: [1, 2, 3, 4], "c": ["a", "b", "c", "d"], "s": ["x"] * 4}), source)
    out = tmp_path / "r.csv"
    for options in (
        ("--qi", "c", "-k", "2"),
        ("--qi", "nosuch", "--plain", f'"{name}"', "-k", "2"),
        ("--qi", "c", "--sensitive", "s", "-l", "2", "--rest", "plain"),
        ("--qi", "c", "-k", "9", "--rest", "qi"),
    ):
        done = command("anonymize", source, "-o", out, *options)
        assert done.code != 0
        assert all(line.startswith(("shoal: ", "note: ")) for line in done.err.splitlines())
        assert "\x1b" not in done.err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = shoal.anonymize(str(source), qi=["c", name], k=2, rest="drop")
    path = release.write(out)
    done = command("query", path, f"SELECT count(*) FROM r WHERE \"{name}\" = 'x'")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
