"""Bad input: roles, models, hierarchies and options that contradict each other or the table.

Every run below starts with last year's release in place of the output, and
with secrets in the sensitive and identifier columns: `assert_refused` holds
that the line shows none of them and that not a byte in the directory changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from command import (
    HEADER,
    ROLES,
    SECRET,
    assert_refused,
    rows,
    written,
)

# --- roles ----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["qi", "sensitive", "identifier", "plain", "person"])
def test_unknown_column(tmp_path: Path, table: Path, out: Path, role: str) -> None:
    roles = ["--qi", "age"] if role != "qi" else []
    assert_refused(
        tmp_path, "anonymize", table, "-o", out,
        "--rest", "plain", *roles, f"--{role}", "wage", "-k", 2,
        says=(role, "'wage'", "it has", "4 others" if roles else "5 columns"),
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
        tmp_path, "anonymize", table, "-o", out,
        "--rest", "plain", "--qi", "zip", f"--{one}", "age",
        f"--{other}", "age", "-k", 2, says=("'age'", one, other),
    )  # fmt: skip


def test_column_twice_in_one_role(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "--rest", "plain", "--qi", "age,zip,age", "-k", 2,
        says=("'age'", "twice"),
    )  # fmt: skip


def test_no_quasi_identifier(tmp_path: Path, table: Path, out: Path) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out, "-k", 2, "--rest", "drop", says=("at least one",)
    )


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
        ((), "at least one of k, l, m, t"),
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
        tmp_path,
        "anonymize",
        table,
        "-o",
        out,
        "--rest",
        "plain",
        "--qi",
        "age",
        *options,
        says=("sensitive",),
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
        tmp_path, "anonymize", table, "-o", out,
        "--rest", "plain", "--qi", "age", "--person", "zip", "-k", 8,
        "--identifier", "name", code=3, says=("7",),
    )  # fmt: skip


def test_table_that_is_not_eligible(tmp_path: Path, out: Path) -> None:
    lines = [*rows(12), *(f"{SECRET}n,3{i},10,{SECRET}ill0,x" for i in range(8))]
    path = written(tmp_path / "a.csv", "\n".join([HEADER, *lines]))
    ill0 = sum(f"{SECRET}ill0," in line for line in lines)
    assert (ill0, len(lines)) == (11, 20)
    assert_refused(
        tmp_path, "anonymize", path, "-o", out, *ROLES, "-l", 3, code=3,
        says=("55", "largest possible l", "disease"),
    )  # fmt: skip


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
    told = ("'zip'", "6 values are not in", "texts of 4 characters")
    hierarchy_refused(tmp_path, table, "1000;10;*\n999;9;*\n", *told)


def test_uncovered_values_are_not_shown(tmp_path: Path, table: Path) -> None:
    file = written(tmp_path / "zip.csv", "999;9;*\n")
    line = assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / "out.csv", *ROLES, "-k", 2,
        "--hierarchy", f"zip={file}", says=("7 values",),
    )  # fmt: skip
    assert "100" not in line


def test_hierarchy_that_is_not_a_tree(tmp_path: Path, table: Path) -> None:
    text = "1000;a;b;*\n1001;a;c;*\n"
    hierarchy_refused(tmp_path, table, text, "not a tree", "line 1", "line 2")


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
        (("--weight", "age=-1"), ("weight", "from 1e-06")),
        (("--weight", "age=0"), ("weight", "from 1e-06")),
        (("--weight", "age=1e308"), ("weight", "to 1e+06")),  # was a segmentation fault
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
