"""Bad input: one line that says what to do, the right exit code, and nothing lost.

Every run below starts with last year's release in place of the output, and
with secrets in the sensitive and identifier columns: `assert_refused` holds
that the line shows none of them and that not a byte in the directory changed.
"""

from __future__ import annotations

import gzip
import resource
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import shoal as library
from command import (
    HEADER,
    OLD_MANIFEST,
    OLD_RELEASE,
    ROLES,
    SECRET,
    Result,
    assert_refused,
    files_below,
    people,
    rows,
    shoal,
    shoal_process,
)
from shoal.errors import InputError, PolicyError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return people(tmp_path / "people.csv")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.csv"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- the input file -------------------------------------------------------------------


def test_missing_file(tmp_path: Path, out: Path) -> None:
    absent = tmp_path / "absent.csv"
    assert_refused(tmp_path, "anonymize", absent, "-o", out, *ROLES, "-k", 2, says=("no such",))


def test_directory_as_file(tmp_path: Path, out: Path) -> None:
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert_refused(
        tmp_path, "anonymize", folder, "-o", out, *ROLES, "-k", 2, says=("is a directory",)
    )


def test_file_name_that_no_system_accepts(tmp_path: Path, out: Path) -> None:
    long = tmp_path / ("x" * 300 + ".csv")
    assert_refused(tmp_path, "anonymize", long, "-o", out, *ROLES, "-k", 2)


def test_file_below_a_file(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(tmp_path, "anonymize", table / "x.csv", "-o", out, *ROLES, "-k", 2)


def test_unknown_input_ending(tmp_path: Path, out: Path) -> None:
    odd = people(tmp_path / "people.xls")
    assert_refused(
        tmp_path, "anonymize", odd, "-o", out, *ROLES, "-k", 2, says=(".csv", ".parquet")
    )


def test_unreadable_file(tmp_path: Path, out: Path) -> None:
    memory = Path("/proc/self/mem")  # which not even root can read from its start
    if not memory.exists():
        pytest.skip("no /proc here")
    unreadable = tmp_path / "people.csv"
    unreadable.symlink_to(memory)
    result = shoal("anonymize", unreadable, "-o", out, *ROLES, "-k", 2)
    assert (result.code, "cannot be read" in result.err) == (2, True)


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.jsonl", "people.jsonl.gz"])
@pytest.mark.parametrize("text", [b"", b"\n"])
def test_empty_file(tmp_path: Path, out: Path, name: str, text: bytes) -> None:
    packed = gzip.compress(text) if name.endswith(".gz") else text
    empty = written(tmp_path / name, packed)
    assert_refused(tmp_path, "anonymize", empty, "-o", out, *ROLES, "-k", 2, says=("empty",))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.parquet", "a.feather", "a.arrow"])
def test_file_of_no_bytes(tmp_path: Path, out: Path, name: str) -> None:
    empty = written(tmp_path / name, b"")
    assert_refused(tmp_path, "anonymize", empty, "-o", out, *ROLES, "-k", 2, says=(name,))


@pytest.mark.parametrize("ending", ["\n", ""])
def test_header_without_records(tmp_path: Path, out: Path, ending: str) -> None:
    bare = written(tmp_path / "bare.csv", HEADER + ending)
    assert_refused(
        tmp_path, "anonymize", bare, "-o", out, *ROLES, "-k", 2, says=("empty", "no records")
    )


def test_duplicate_header_names(tmp_path: Path, out: Path) -> None:
    twice = written(tmp_path / "twice.csv", "age,zip,age\n1,2,3\n1,2,3\n")
    assert_refused(
        tmp_path, "anonymize", twice, "-o", out, "--qi", "zip", "-k", 2, says=("'age'", "twice.csv")
    )


def test_header_with_a_nameless_column(tmp_path: Path, out: Path) -> None:
    odd = written(tmp_path / "odd.csv", "age,,zip\n1,2,3\n")
    assert_refused(
        tmp_path, "anonymize", odd, "-o", out, "--qi", "zip", "-k", 1, says=("column 2",)
    )


# --- broken UTF-8, ragged rows --------------------------------------------------------


def broken_at(text: bytes, place: bytes) -> tuple[bytes, int]:
    """The text with an invalid byte where `place` stands, and the byte's position from 1."""
    position = text.index(place)
    return text[:position] + b"\xff" + text[position + 1 :], position + 1


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("count", [40, 60_000])
def test_broken_utf8_names_row_and_byte(
    tmp_path: Path, out: Path, count: int, packed: bool
) -> None:
    row = count - 5
    text = "\n".join([HEADER, *rows(count)]).encode() + b"\n"
    text, byte = broken_at(text, f"{SECRET}name{row},".encode())
    name = "people.csv.gz" if packed else "people.csv"
    path = written(tmp_path / name, gzip.compress(text) if packed else text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2,
        says=(f"row {row + 2},", f"byte {byte}:", "UTF-8"),
    )  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_broken_utf8_after_quoted_line_breaks(tmp_path: Path, out: Path, packed: bool) -> None:
    lines = rows(50_000)
    lines[10:20] = [f'{line}a""\n\n""b'.replace(",n", ',"n') + '"' for line in lines[10:20]]
    text = "\n".join([HEADER, *lines]).encode() + b"\n"
    text, byte = broken_at(text, f"{SECRET}name49990,".encode())
    name = "people.csv.gz" if packed else "people.csv"
    path = written(tmp_path / name, gzip.compress(text) if packed else text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2,
        says=("row 49992,", f"byte {byte}:"),
    )  # fmt: skip


def test_broken_utf8_in_the_header(tmp_path: Path, out: Path) -> None:
    path = written(tmp_path / "a.csv", b"ag\xe4,zip\n1,2\n")
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "zip", "-k", 1, says=("row 1,", "byte 3:")
    )


def test_utf8_cut_off_at_the_end(tmp_path: Path, out: Path) -> None:
    path = written(tmp_path / "a.csv", "age,zip\n1,ä".encode()[:-1])
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "zip", "-k", 1, says=("row 2,", "byte 11:")
    )


def test_broken_utf8_across_a_reading_block(tmp_path: Path, out: Path) -> None:
    """A character begins in one block of a mebibyte and is broken in the next."""
    head = b"age,zip\n"
    body = b"1,2\n" * ((1 << 18) - 2)  # up to 8 bytes before the block's end, with the header
    assert len(head + body) == 1 << 20
    text = head + body[:-4] + b"1,\xe4\xbd" + b"\n" + b"1,2\n"  # two of three bytes
    begin = text.index(b"\xe4")
    assert begin < 1 << 20
    path = written(tmp_path / "a.csv", text)
    row = text[:begin].count(b"\n") + 1
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "zip", "-k", 1,
        says=(f"row {row},", f"byte {begin + 1}:"),
    )  # fmt: skip


def test_broken_utf8_in_json_lines(tmp_path: Path, out: Path) -> None:
    text = b"".join(b'{"age": %d, "name": "%s%d"}\n' % (i, SECRET.encode(), i) for i in range(9))
    text, _ = broken_at(text, f"{SECRET}6".encode())
    path = written(tmp_path / "a.jsonl", text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", "--identifier", "name", "-k", 2,
        says=("row 7,", "UTF-8"),
    )  # fmt: skip


@pytest.mark.parametrize("role", ["--qi", "--sensitive", "--plain"])
def test_broken_utf8_in_parquet(tmp_path: Path, out: Path, role: str) -> None:
    texts = pa.array([b"a", b"\xff" + SECRET.encode(), b"b", b"c"], pa.binary()).cast(
        pa.string(), safe=False
    )
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"age": [1, 2, 3, 4], "text": texts}), path)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", role, "text", "-k", 2,
        says=("'text'", "UTF-8"),
    )  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("row", "cells"), [(f"{SECRET}a,30,1000", 3), (f"{SECRET}a,30,1000,{SECRET}b,n,{SECRET}c", 6)]
)
@pytest.mark.parametrize("count", [40, 60_000])
def test_ragged_row_names_the_line(
    tmp_path: Path, out: Path, count: int, row: str, cells: int, packed: bool
) -> None:
    lines = [HEADER, *rows(count)]
    lines[-3] = row
    text = "\n".join(lines).encode()
    name = "people.csv.gz" if packed else "people.csv"
    path = written(tmp_path / name, gzip.compress(text) if packed else text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2,
        says=(f"line {len(lines) - 2}:", "expected 5 cells", f"got {cells}"),
    )  # fmt: skip


def test_ragged_row_after_quoted_line_breaks(tmp_path: Path, out: Path) -> None:
    text = f'age,zip,name\n1,"2\n2",{SECRET}\n\n3,"4\n\n4",{SECRET}\n5,{SECRET}\n6,7,8\n'
    path = written(tmp_path / "a.csv", text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", "-k", 1,
        says=("line 8:", "expected 3 cells", "got 2"),
    )  # fmt: skip


def test_quote_that_is_never_closed(tmp_path: Path, out: Path) -> None:
    lines = [HEADER, *rows(20_000)]
    lines[2] = f'"{lines[2]}'
    path = written(tmp_path / "a.csv", "\n".join(lines))
    assert_refused(tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2, says=("line 3",))


def test_binary_file_named_csv(tmp_path: Path, out: Path) -> None:
    path = written(tmp_path / "a.csv", bytes(range(256)) * 50)
    assert_refused(tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2, says=("a.csv",))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings(tmp_path: Path, out: Path, encoding: str) -> None:
    path = written(tmp_path / "a.csv", "\n".join([HEADER, *rows()]).encode(encoding))
    assert_refused(tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2, says=("UTF-8",))


# --- other formats --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow", "a.csv.gz", "a.jsonl.gz"])
def test_file_that_is_not_what_its_name_says(tmp_path: Path, out: Path, name: str) -> None:
    path = people(tmp_path / name)
    assert_refused(tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2, says=(name,))


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_truncated_columnar_file(tmp_path: Path, out: Path, name: str) -> None:
    path = tmp_path / name
    whole = pa.table({"age": list(range(1000)), "name": [f"{SECRET}{i}" for i in range(1000)]})
    if name.endswith("parquet"):
        pa.parquet.write_table(whole, path)
    else:
        pa.feather.write_feather(whole, path)
    path.write_bytes(path.read_bytes()[:-100])
    assert_refused(
        tmp_path,
        "anonymize",
        path,
        "-o",
        out,
        "--qi",
        "age",
        "-k",
        2,
        says=(name, "not a readable"),
    )


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_gzip(tmp_path: Path, out: Path, name: str, damage: str) -> None:
    if name.startswith("a.csv"):
        text = "\n".join([HEADER, *rows(3000)])
    else:
        text = "\n".join(f'{{"age": {i}, "zip": 1, "disease": "{SECRET}"}}' for i in range(3000))
    packed = bytearray(gzip.compress(text.encode()))
    if damage == "cut":
        del packed[len(packed) // 2 :]
    else:
        packed[len(packed) // 2] ^= 0xFF
    path = written(tmp_path / name, bytes(packed))
    assert_refused(tmp_path, "anonymize", path, "-o", out, *ROLES, "-k", 2, says=(name, "gzip"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"age": 3, "name": "' + SECRET, "not JSON"),
        ("[1, 2]", "expected a JSON object"),
        (SECRET, "not JSON"),
        ('{"age": 3}}', "not JSON"),
    ],
    ids=["cut", "list", "text", "brace"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_broken_json_line(tmp_path: Path, out: Path, line: str, says: str, packed: bool) -> None:
    lines = [f'{{"age": {i}, "name": "{SECRET}{i}"}}' for i in range(2000)]
    lines[1500] = line
    text = "\n".join(lines).encode()
    name = "a.jsonl.gz" if packed else "a.jsonl"
    path = written(tmp_path / name, gzip.compress(text) if packed else text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", "-k", 2, says=("line 1501", says)
    )


def test_json_lines_of_several_types(tmp_path: Path, out: Path) -> None:
    text = f'{{"age": 1, "name": "{SECRET}"}}\n{{"age": "old", "name": "{SECRET}"}}\n'
    path = written(tmp_path / "a.jsonl", text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", "-k", 1, says=("line 2", "'age'")
    )


@pytest.mark.parametrize("role", ["--qi", "--sensitive", "--plain", "--person"])
def test_nested_cells(tmp_path: Path, out: Path, role: str) -> None:
    text = "".join(f'{{"age": {i % 2}, "deep": ["{SECRET}", "b"]}}\n' for i in range(8))
    path = written(tmp_path / "a.jsonl", text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", role, "deep", "-k", 2,
        says=("'deep'", "nested"),
    )  # fmt: skip


# --- cells ----------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity", "1e999"])
def test_infinite_number_in_csv(tmp_path: Path, out: Path, cell: str) -> None:
    path = written(tmp_path / "a.csv", f"age,name\n1,{SECRET}\n{cell},{SECRET}\n3,{SECRET}\n")
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", "-k", 1,
        says=("'age'", "finite", repr(cell)),
    )  # fmt: skip


def test_infinite_number_in_a_sensitive_column(tmp_path: Path, out: Path) -> None:
    path = written(tmp_path / "a.csv", "age,pay\n1,54321\n2,inf\n3,12345\n")
    line = assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "age", "--sensitive", "pay", "-k", 1,
        says=("'pay'", "finite"),
    )  # fmt: skip
    assert "54321" not in line
    assert "'inf'" not in line


@pytest.mark.parametrize("role", ["--qi", "--sensitive"])
def test_infinite_number_in_parquet(tmp_path: Path, out: Path, role: str) -> None:
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"age": [1.5, float("inf"), 2.0], "zip": [1, 2, 3]}), path)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--qi", "zip", role, "age", "-k", 1,
        says=("'age'", "finite"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["numeric", "date"])
@pytest.mark.parametrize("column", ["note", "disease"])
def test_kind_that_does_not_fit(
    tmp_path: Path, table: Path, out: Path, kind: str, column: str
) -> None:
    roles = ROLES if column == "disease" else ("--qi", "age,note", "--sensitive", "disease")
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *roles, "-k", 2, "--kind", f"{column}={kind}",
        says=(f"'{column}'", "numbers" if kind == "numeric" else "2024-03-31"),
    )  # fmt: skip


def test_order_that_does_not_cover_a_sensitive_column(
    tmp_path: Path, table: Path, out: Path
) -> None:
    policy = written(tmp_path / "p.toml", f'[order]\ndisease = ["{SECRET}ill0"]\n')
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, "--policy", policy,
        says=("'disease'", "4 values"),
    )  # fmt: skip


@pytest.mark.parametrize("wrong", ['"%s"', '["%s", 3]', '{ a = "%s" }', "[[3, '%s']]"])
def test_order_of_the_wrong_type(tmp_path: Path, table: Path, out: Path, wrong: str) -> None:
    policy = written(tmp_path / "p.toml", f"k = 2\n[order]\ndisease = {wrong % SECRET}\n")
    assert_refused(
        tmp_path,
        "anonymize",
        table,
        "-o",
        out,
        *ROLES,
        "--policy",
        policy,
        says=("line 3", "order"),
    )


# --- roles ----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["qi", "sensitive", "identifier", "plain", "person"])
def test_unknown_column(tmp_path: Path, table: Path, out: Path, role: str) -> None:
    roles = ["--qi", "age"] if role != "qi" else []
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *roles, f"--{role}", "wage", "-k", 2,
        says=(role, "'wage'", "age, zip"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("option", "value"),
    [("kind", "wage=numeric"), ("weight", "wage=2"), ("hierarchy", "wage=flat")],
)
def test_unknown_column_in_a_table(
    tmp_path: Path, table: Path, out: Path, option: str, value: str
) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, f"--{option}", value,
        says=(option, "'wage'"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qi", "sensitive"),
        ("identifier", "qi"),
        ("identifier", "sensitive"),
        ("qi", "plain"),
        ("qi", "person"),
        ("sensitive", "person"),
    ],
)
def test_column_with_two_roles(
    tmp_path: Path, table: Path, out: Path, one: str, other: str
) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "--qi", "zip", f"--{one}", "age",
        f"--{other}", "age", "-k", 2, says=("'age'", one, other),
    )  # fmt: skip


def test_column_twice_in_one_role(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "--qi", "age,zip,age", "-k", 2,
        says=("'age'", "twice"),
    )  # fmt: skip


def test_no_quasi_identifier(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(tmp_path, "anonymize", table, "-o", out, "-k", 2, says=("qi",))


# --- models ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-k", 0), "k"),
        (("-k", -3), "k"),
        (("-l", 0), "l"),
        (("-l", "0.5"), "l"),
        (("-l", "nan"), "l"),
        (("-l", "inf"), "l"),
        (("-t", "1.5"), "t"),
        (("-t", "-0.1"), "t"),
        (("-t", "nan"), "t"),
        (("-t", "inf"), "t"),
        (("-k", 2, "--alpha", 0), "alpha"),
        (("-k", 2, "--alpha", "1.5"), "alpha"),
        (("-k", 2, "--alpha", "nan"), "alpha"),
        (("--alpha", "0.5"), "together with k"),
        (("-e", 5), "together with k"),
        (("-k", 2, "-e", "nan"), "e"),
        (("-k", 2, "-e", "-1"), "e"),
        (("-c", 2), "l"),
        (("-l", 2, "--l-reading", "recursive"), "c"),
        (("-l", 2, "-c", 2), "recursive"),
        ((), "at least one of k, l, t"),
    ],
)
def test_parameter_out_of_range(
    tmp_path: Path, table: Path, out: Path, options: tuple[object, ...], says: str
) -> None:
    assert_refused(tmp_path, "anonymize", table, "-o", out, *ROLES, *options, says=(says,))


@pytest.mark.parametrize("options", [("-l", 2), ("-t", "0.5"), ("-k", 2, "--alpha", "0.5")])
def test_model_without_a_sensitive_column(
    tmp_path: Path, table: Path, out: Path, options: tuple[object, ...]
) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "--qi", "age", *options, says=("sensitive",)
    )


def test_e_without_a_numeric_sensitive_column(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, "-e", 5, says=("numeric",)
    )


@pytest.mark.parametrize("k", [41, 10**30])
def test_fewer_than_k_records(tmp_path: Path, table: Path, out: Path, k: int) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", k, code=3,
        says=(str(k), "40 records"),
    )  # fmt: skip


def test_fewer_than_k_persons(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "--qi", "age", "--person", "zip", "-k", 8,
        "--identifier", "name", code=3, says=("7",),
    )  # fmt: skip


def test_table_that_is_not_eligible(tmp_path: Path, out: Path) -> None:
    lines = [*rows(12), *(f"{SECRET}n,3{i},10,{SECRET}ill0,x" for i in range(8))]
    path = written(tmp_path / "a.csv", "\n".join([HEADER, *lines]))
    ill0 = sum(f"{SECRET}ill0," in line for line in lines)
    assert (ill0, len(lines)) == (11, 20)
    line = assert_refused(
        tmp_path, "anonymize", path, "-o", out, *ROLES, "-l", 3, code=3, secret_allowed=True,
        says=(f"{SECRET}ill0", "55", "largest possible l", "disease"),
    )  # fmt: skip
    assert line.count(SECRET) == 1


# --- hierarchies ----------------------------------------------------------------------


def hierarchy_refused(
    tmp_path: Path, table: Path, text: str | bytes, *says: str, column: str = "zip"
) -> None:
    file = written(tmp_path / "zip.csv", text)
    assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / "out.csv", *ROLES, "-k", 2,
        "--hierarchy", f"{column}={file}", says=says,
    )  # fmt: skip


def test_values_that_a_hierarchy_does_not_cover(tmp_path: Path, table: Path) -> None:
    missing = ("'1001'", "'1002'", "'1003'", "'1004'", "'1005'")
    hierarchy_refused(tmp_path, table, "1000;10;*\n999;9;*\n", "'zip'", *missing)


def test_at_most_five_uncovered_values_are_named(tmp_path: Path, table: Path) -> None:
    file = written(tmp_path / "zip.csv", "999;9;*\n")
    line = assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / "out.csv", *ROLES, "-k", 2,
        "--hierarchy", f"zip={file}", says=("'1000'", "'1004'"),
    )  # fmt: skip
    assert "1005" not in line


def test_hierarchy_that_is_not_a_tree(tmp_path: Path, table: Path) -> None:
    text = "1000;a;b;*\n1001;a;c;*\n"
    hierarchy_refused(tmp_path, table, text, "not a tree", "'a'", "line 2")


def test_hierarchy_with_two_roots(tmp_path: Path, table: Path) -> None:
    hierarchy_refused(tmp_path, table, "1000;a;*\n1001;a;all\n", "two roots", "line 2")


def test_hierarchy_with_ragged_rows(tmp_path: Path, table: Path) -> None:
    hierarchy_refused(tmp_path, table, "1000;a;*\n1001;*\n", "line 2")


def test_empty_hierarchy(tmp_path: Path, table: Path) -> None:
    hierarchy_refused(tmp_path, table, "", "empty")


def test_hierarchy_in_another_encoding(tmp_path: Path, table: Path) -> None:
    hierarchy_refused(tmp_path, table, b"1000;\xe4;*\n", "UTF-8")


def test_hierarchy_of_a_sensitive_column(tmp_path: Path, table: Path) -> None:
    hierarchy_refused(tmp_path, table, "a;*\n", "'disease'", column="disease")


@pytest.mark.parametrize("name", ["absent.csv", "."])
def test_missing_hierarchy_file(tmp_path: Path, table: Path, out: Path, name: str) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2,
        "--hierarchy", f"zip={tmp_path / name}", says=("hierarchy",),
    )  # fmt: skip


@pytest.mark.parametrize(
    "spec",
    [
        "{ tree = 3 }",
        "{ groups = { a = 3 } }",
        "{ intervals = 3 }",
        '{ intervals = { widths = ["a"] } }',
        "{ intervals = { widths = [0] } }",
        '{ prefixes = { keep = ["a"] } }',
        '{ dates = { levels = ["year"] } }',
        "{ unknown = 3 }",
        "{ }",
        "3",
    ],
)
def test_broken_hierarchy_in_the_policy(tmp_path: Path, table: Path, out: Path, spec: str) -> None:
    policy = written(tmp_path / "p.toml", f"[hierarchy]\nzip = {spec}\n")
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, "--policy", policy, says=("zip",)
    )


# --- options and policy files ---------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--method", "magic"), ("'magic'", "hilbert", "mondrian")),
        (("--method", "hilbert", "--option", "speed=3"), ("'speed'", "fast")),
        (("--method", "hilbert", "--option", "fast=perhaps"), ("'fast'", "bool")),
        (("--method", "mondrian", "--option", "relaxed=7"), ("'relaxed'", "bool")),
        (("--option", "fast"), ("--option", "'fast'")),
        (("--kind", "age"), ("--kind", "'age'")),
        (("--kind", "=numeric"), ("--kind",)),
        (("--kind", "age=number"), ("kind.age", "numeric", "'number'")),
        (("--weight", "age"), ("--weight", "'age'")),
        (("--weight", "age=heavy"), ("--weight", "heavy")),
        (("--weight", "age=-1"), ("weight", "positive")),
        (("--weight", "age=0"), ("weight", "positive")),
        (("--weight", "age=nan"), ("weight",)),
        (("--weight", "age=inf"), ("weight",)),
        (("--weight", "note=2"), ("weight", "'note'")),
        (("--hierarchy", "zip"), ("--hierarchy", "'zip'")),
        (("--hierarchy", "zip="), ("hierarchy",)),
        (("--hierarchy", "age=flat", "--kind", "age=numeric"), ("'age'", "categorical")),
        (("--layout", "wide"), ("--layout", "cells", "bounds")),
        (("--l-reading", "loud"), ("--l-reading", "entropy")),
        (("--seed", "x"), ("--seed",)),
        (("-k", "many"), ("-k",)),
        (("--unheard-of",), ("--unheard-of",)),
        (("--policy", "absent.toml"), ("absent.toml", "no such file")),
    ],
)
def test_malformed_option(
    tmp_path: Path, table: Path, out: Path, options: tuple[str, ...], says: tuple[str, ...]
) -> None:
    assert_refused(tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, *options, says=says)


def test_missing_arguments(tmp_path: Path, table: Path) -> None:
    assert_refused(tmp_path, "anonymize", table, says=("--out",))
    assert_refused(tmp_path, "anonymize", says=("FILE",))
    assert_refused(tmp_path, "anonymise", says=("anonymise",))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("k = 2\nqi = [\n", 3, "TOML"),
        ("k = 2\nk = 3\n", 2, "TOML"),
        ("k = 2\nqi = ['age']\ncolour = 'red'\n", 3, "'colour'"),
        ("k = 2\nbase = 'here'\n", 2, "'base'"),
        ("qi = ['age']\n\nk = 'two'\n", 3, "k: expected"),
        ("qi = 3\nk = 2\n", 1, "qi: expected"),
        ("qi = ['age']\nk = 2\n[weight]\nage = 'much'\n", 4, "weight.age"),
        ("qi = ['age']\nk = 2\n[kind]\nage = 'odd'\n", 4, "kind.age"),
        ("qi = ['age']\nk = 2\nlayout = 'wide'\n", 3, "layout"),
        ("k = 2\nqi = ['age']\nsensitive = ['age']\n", 2, "'age'"),
        ("qi = ['age']\nk = 2.5\n", 2, "k: expected"),
        ("qi = ['age']\nk = true\n", 2, "k: expected"),
        ("qi = ['age']\nk = 2\noption = 3\n", 3, "option: expected"),
    ],
)
def test_policy_file_names_the_line(
    tmp_path: Path, table: Path, out: Path, text: str, line: int, says: str
) -> None:
    policy = written(tmp_path / "p.toml", text)
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "--policy", policy,
        says=("p.toml", f"line {line}", says),
    )  # fmt: skip


def test_policy_that_is_no_text(tmp_path: Path, table: Path, out: Path) -> None:
    policy = written(tmp_path / "p.toml", b"k = 2 # \xff\n")
    assert_refused(tmp_path, "anonymize", table, "-o", out, "--policy", policy, says=("p.toml",))
    assert_refused(tmp_path, "anonymize", table, "-o", out, "--policy", tmp_path, says=("policy",))


# --- the output -----------------------------------------------------------------------


def test_output_equal_to_input(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    for name in ("people.csv", "sub/../people.csv", table, "link.csv", "hard.csv"):
        assert_refused(
            tmp_path, "anonymize", table, "-o", name, *ROLES, "-k", 2, says=("is the input",)
        )
    assert_refused(
        tmp_path, "anonymize", "link.csv", "-o", table, *ROLES, "-k", 2, says=("is the input",)
    )


def test_manifest_in_place_of_another_file(tmp_path: Path, table: Path, out: Path) -> None:
    for name in (table, out):
        assert_refused(
            tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, "--manifest", name,
            says=("manifest",),
        )  # fmt: skip


def test_unwritable_output(tmp_path: Path, table: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "absent/out.csv", "people.csv/out.csv"):
        assert_refused(tmp_path, "anonymize", table, "-o", tmp_path / name, *ROLES, "-k", 2)
        manifest = ("--manifest", tmp_path / name)
        assert_refused(
            tmp_path, "anonymize", table, "-o", tmp_path / "new.csv", *ROLES, "-k", 2, *manifest
        )


def test_output_name_that_no_system_accepts(tmp_path: Path, table: Path) -> None:
    long = tmp_path / ("x" * 300 + ".csv")
    assert_refused(tmp_path, "anonymize", table, "-o", long, *ROLES, "-k", 2)


def test_name_too_long_beside_the_temporary_part(tmp_path: Path, table: Path) -> None:
    name = "x" * 245 + ".csv"
    assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / name, "--manifest", tmp_path / "m.json",
        *ROLES, "-k", 2, says=("cannot be written",),
    )  # fmt: skip


def test_output_in_a_read_only_file_system(tmp_path: Path, table: Path) -> None:
    target = Path("/proc/out.csv")
    if not target.parent.is_dir():
        pytest.skip("no /proc here")
    assert_refused(
        tmp_path, "anonymize", table, "-o", target, *ROLES, "-k", 2, says=("cannot be written",)
    )


@pytest.mark.parametrize("name", ["out", "out.xls", "out.parquet.gz", "out.gz", "out.csv.zip"])
def test_unknown_output_ending(tmp_path: Path, table: Path, name: str) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / name, *ROLES, "-k", 2, says=(".parquet",)
    )


OUTPUTS = ["out.csv", "out.csv.gz", "out.parquet", "out.feather", "out.jsonl", "out.jsonl.gz"]


# Names stay in these releases, so that no compression brings them under the limit.
LARGE = ("--qi", "age,zip", "--plain", "name,note,disease", "-k", 2)


def assert_nothing_lost(directory: Path, target: Path, run: Any, says: str) -> None:
    table = people(directory / "people.csv", 40_000)
    written(target, OLD_RELEASE)
    written(target.with_name(target.name + ".manifest.json"), OLD_MANIFEST)
    before = files_below(directory)
    result = run("anonymize", table, "-o", target, *LARGE)
    assert result.code == 2, result
    assert len(result.err.splitlines()) == 1, result.err
    assert says in result.err
    assert SECRET not in result.err + result.out
    assert files_below(directory) == before


def limit_file_size() -> None:
    """Let the system refuse to write beyond a size, as a quota does."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))


@pytest.fixture
def small_files() -> Any:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def run(*args: object) -> Result:
        limit_file_size()
        try:
            return shoal(*args)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    library.anonymize(pa.table({"age": [1, 1]}), qi="age", k=2)  # compiled and cached before
    return run


@pytest.mark.parametrize("name", OUTPUTS)
def test_file_size_limit_while_writing(tmp_path: Path, name: str, small_files: Any) -> None:
    assert_nothing_lost(tmp_path, tmp_path / name, small_files, "File too large")


def test_file_size_limit_in_a_process_of_its_own(tmp_path: Path) -> None:
    def run(*args: object) -> Result:
        return shoal_process(*args, preexec_fn=limit_file_size)

    assert_nothing_lost(tmp_path, tmp_path / "out.csv", run, "File too large")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Any:
    """A file system of 64 kB, if this machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("name", OUTPUTS)
def test_disk_full_while_writing(tmp_path: Path, tiny_disk: Path, name: str) -> None:
    assert_nothing_lost(tmp_path, tiny_disk / name, shoal, "No space left on device")


# --- as a user sees it ----------------------------------------------------------------


def test_in_a_process_of_its_own(tmp_path: Path, table: Path, out: Path) -> None:
    absent = tmp_path / "absent.csv"
    refusal = ("anonymize", absent, "-o", out, *ROLES, "-k", 2)
    assert_refused(tmp_path, *refusal, run=shoal_process)
    infeasible = ("anonymize", table, "-o", out, *ROLES, "-k", 50)
    assert_refused(tmp_path, *infeasible, code=3, run=shoal_process)


# --- verify and inspect ---------------------------------------------------------------


def test_verify_of_bad_files(tmp_path: Path, table: Path) -> None:
    assert_refused(tmp_path, "verify", tmp_path / "absent.csv", says=("absent.csv",))
    assert_refused(tmp_path, "verify", tmp_path / "absent.csv", "--qi", "age", "-k", 2)
    assert_refused(tmp_path, "verify", tmp_path, "--qi", "age", "-k", 2, says=("directory",))
    assert_refused(tmp_path, "verify", table, says=("manifest", "no such file", "--qi"))
    assert_refused(tmp_path, "verify", tmp_path / "out.csv", says=("manifest", "not readable"))
    assert_refused(tmp_path, "verify", table, "--qi", "wage", "-k", 2, says=("'wage'",))
    assert_refused(tmp_path, "verify", table, "--qi", "age", says=("k",))
    assert_refused(tmp_path, "verify", table, "--qi", "age", "-l", 2, says=("sensitive",))


def test_verify_without_quasi_identifiers(tmp_path: Path, table: Path) -> None:
    assert_refused(tmp_path, "verify", table, "-k", 2, says=("qi",))


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 99}', '{"format": 1}', "{", "\xff"])
def test_verify_with_a_broken_manifest(tmp_path: Path, table: Path, text: str) -> None:
    manifest = written(tmp_path / "m.json", text.encode("latin-1"))
    assert_refused(tmp_path, "verify", table, "--manifest", manifest, says=("m.json",))


# --- tables in memory -----------------------------------------------------------------

GOOD = {"age": [1, 2, 3, 4], "ill": [f"{SECRET}{i}" for i in range(4)]}


def test_duplicate_names_in_pandas() -> None:
    frame = pd.DataFrame([[1, 2, 3]] * 4, columns=["age", "zip", "age"])
    with pytest.raises(InputError, match=r"differ.*'age'"):
        library.anonymize(frame, qi="zip", k=2)


def test_duplicate_names_in_arrow() -> None:
    table = pa.table([[1, 2], [3, 4]], names=["age", "age"])
    with pytest.raises(InputError, match=r"differ.*'age'"):
        library.anonymize(table, qi="age", k=2)


@pytest.mark.parametrize("odd", [3, 3.5, None, b"x", ["x"], object()])
def test_mixed_types_in_pandas(odd: Any) -> None:
    frame = pd.DataFrame({**GOOD, "my ill": [SECRET, odd, 5, SECRET]})
    with pytest.raises(InputError, match="column 'my ill' mixes") as caught:
        library.anonymize(frame, qi="age", k=2)
    assert SECRET not in str(caught.value)


def test_cells_that_arrow_cannot_hold() -> None:
    frame = pd.DataFrame({**GOOD, "z": [1j, 2j, 3j, 4j]})
    with pytest.raises(InputError, match="'z'"):
        library.anonymize(frame, qi="age", k=2)
    frame = pd.DataFrame({**GOOD, "z": [2**70, 1, 2, 3]})
    with pytest.raises(InputError, match="'z'"):
        library.anonymize(frame, qi="age", k=2)


def test_infinite_numbers_in_frames() -> None:
    cells = {"age": [1.0, float("inf"), 3.0, 4.0]}
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        with pytest.raises(InputError, match=r"'age'.*finite"):
            library.anonymize(frame, qi="age", k=2)


@pytest.mark.parametrize("data", [None, 3, [1, 2], {"a": [1]}, np.zeros((2, 2))])
def test_data_of_an_unknown_kind(data: Any) -> None:
    with pytest.raises(InputError, match="expected a pandas, Polars"):
        library.anonymize(data, qi="age", k=2)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_without_rows_or_columns(kind: Any) -> None:
    with pytest.raises(InputError, match="empty"):
        library.anonymize(kind({"age": []}), qi="age", k=2)
    with pytest.raises((InputError, PolicyError)):
        library.anonymize(kind({}), qi="age", k=2)


@pytest.mark.parametrize("nested", [[[1], [2]], [{"x": 1}, {"x": 2}]])
@pytest.mark.parametrize("role", ["qi", "sensitive", "plain"])
def test_nested_columns_in_frames(nested: list[Any], role: str) -> None:
    table = pa.table({"age": [1, 2], "deep": nested})
    roles = {"qi": "age", role: "deep"}
    with pytest.raises(InputError, match=r"'deep'.*nested"):
        library.anonymize(table, **roles, k=2)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": "5"}, "k: expected"),
        ({"k": 2, "wage": 3}, "'wage'"),
        ({"k": 2, "qi": {"age": 1}}, "qi: expected"),
        ({"k": 2, "method": "magic"}, "'magic'"),
        ({"k": 2, "option": {"speed": 1}}, "'speed'"),
        ({"k": 2, "base": 3}, "base"),
    ],
)
def test_bad_settings_in_python(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says) as caught:
        library.anonymize(pa.table(GOOD), **{"qi": "age", **settings})
    assert "\n" not in str(caught.value)
