"""Bad input: files that cannot be read, or whose cells are not what they should be.

Every run below starts with last year's release in place of the output, and
with secrets in the sensitive and identifier columns: `assert_refused` holds
that the line shows none of them and that not a byte in the directory changed.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from command import (
    HEADER,
    ROLES,
    SECRET,
    assert_refused,
    people,
    rows,
    shoal,
    written,
)

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
    odd = people(tmp_path / "people.docx")
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
        tmp_path,
        "anonymize",
        twice,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "zip",
        "-k",
        2,
        says=("columns 1 and 3", "twice.csv"),
    )


def test_header_with_a_nameless_column(tmp_path: Path, out: Path) -> None:
    odd = written(tmp_path / "odd.csv", "age,,zip\n1,2,3\n")
    assert_refused(
        tmp_path,
        "anonymize",
        odd,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "zip",
        "-k",
        1,
        says=("column 2",),
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
        tmp_path,
        "anonymize",
        path,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "zip",
        "-k",
        1,
        says=("row 1,", "byte 3:"),
    )


def test_utf8_cut_off_at_the_end(tmp_path: Path, out: Path) -> None:
    path = written(tmp_path / "a.csv", "age,zip\n1,ä".encode()[:-1])
    assert_refused(
        tmp_path,
        "anonymize",
        path,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "zip",
        "-k",
        1,
        says=("row 2,", "byte 11:"),
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
        tmp_path, "anonymize", path, "-o", out, "--rest", "plain", "--qi", "zip", "-k", 1,
        says=(f"row {row},", f"byte {begin + 1}:"),
    )  # fmt: skip


def test_broken_utf8_in_json_lines(tmp_path: Path, out: Path) -> None:
    text = b"".join(b'{"age": %d, "name": "%s%d"}\n' % (i, SECRET.encode(), i) for i in range(9))
    text, _ = broken_at(text, f"{SECRET}6".encode())
    path = written(tmp_path / "a.jsonl", text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out,
        "--rest", "plain", "--qi", "age", "--identifier", "name", "-k", 2,
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
        tmp_path, "anonymize", path, "-o", out,
        "--rest", "plain", "--qi", "age", role, "text", "-k", 2,
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
        tmp_path, "anonymize", path, "-o", out, "--rest", "plain", "--qi", "age", "-k", 1,
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
        tmp_path,
        "anonymize",
        path,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "age",
        "-k",
        2,
        says=("line 1501", says),
    )


def test_json_lines_of_several_types(tmp_path: Path, out: Path) -> None:
    text = f'{{"age": 1, "name": "{SECRET}"}}\n{{"age": "old", "name": "{SECRET}"}}\n'
    path = written(tmp_path / "a.jsonl", text)
    assert_refused(
        tmp_path,
        "anonymize",
        path,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "age",
        "-k",
        1,
        says=("line 2", "value 1", "line 1"),
    )


@pytest.mark.parametrize("role", ["--qi", "--sensitive", "--plain", "--person"])
def test_nested_cells(tmp_path: Path, out: Path, role: str) -> None:
    text = "".join(f'{{"age": {i % 2}, "deep": ["{SECRET}", "b"]}}\n' for i in range(8))
    path = written(tmp_path / "a.jsonl", text)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out,
        "--rest", "plain", "--qi", "age", role, "deep", "-k", 2,
        says=("'deep'", "nested"),
    )  # fmt: skip


# --- cells ----------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity", "1e999"])
def test_infinite_number_in_csv(tmp_path: Path, out: Path, cell: str) -> None:
    path = written(tmp_path / "a.csv", f"age,name\n1,{SECRET}\n{cell},{SECRET}\n3,{SECRET}\n")
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, "--rest", "plain", "--qi", "age", "-k", 1,
        says=("'age'", "finite", f"a text of {len(cell)} characters, first in record 2"),
    )  # fmt: skip


def test_infinite_number_in_a_sensitive_column(tmp_path: Path, out: Path) -> None:
    path = written(tmp_path / "a.csv", "age,pay\n1,54321\n2,inf\n3,12345\n")
    line = assert_refused(
        tmp_path, "anonymize", path, "-o", out,
        "--rest", "plain", "--qi", "age", "--sensitive", "pay", "-k", 1,
        says=("'pay'", "finite"),
    )  # fmt: skip
    assert "54321" not in line
    assert "'inf'" not in line


@pytest.mark.parametrize("role", ["--qi", "--sensitive"])
def test_infinite_number_in_parquet(tmp_path: Path, out: Path, role: str) -> None:
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"age": [1.5, float("inf"), 2.0], "zip": [1, 2, 3]}), path)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out,
        "--rest", "plain", "--qi", "zip", role, "age", "-k", 1,
        says=("'age'", "finite"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["numeric", "date"])
@pytest.mark.parametrize("column", ["note", "disease"])
def test_kind_that_does_not_fit(
    tmp_path: Path, table: Path, out: Path, kind: str, column: str
) -> None:
    roles = ROLES if column == "disease" else ("--qi", "age,note", "--sensitive", "disease")
    assert_refused(
        tmp_path, "anonymize", table, "-o", out,
        "--rest", "plain", *roles, "-k", 2, "--kind", f"{column}={kind}",
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
