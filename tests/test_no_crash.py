"""Odd input that ended in a crash, a traceback or gigabytes: one line, or the right result."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.errors import HierarchyError, InputError, PolicyError
from shoal.hierarchy import Hierarchy
from shoal.io.read import read_table
from shoal.recipient import query
from shoal.verification.manifest import load_manifest

DEEP = 20_000


@pytest.mark.parametrize(
    "text",
    [
        '{"a": ' + "[" * DEEP + "]" * DEEP + "}\n",
        '{"a": 1}\n{"a": ' + '{"b": ' * DEEP + "1" + "}" * DEEP + "}\n",
        '{"a": "' + "]" * DEEP + '", "b": ' + "[\n" * DEEP + "]\n" * DEEP + "}\n",
    ],
)
def test_deep_json_lines_are_refused_before_arrow_sees_them(tmp_path, text):
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    script = f"import shoal.io.read as r; r.read_table({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1  # no signal
    assert "nested more than 64 deep" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "text",
    [
        "null",
        " null\n{}",
        '{"a": 1} null',
        '{"a": 1}\nnull\n',
        "{}null{}",
        "\ufeffnull",
        "\ufeff\nnull",
    ],
)
def test_null_for_a_record_is_refused_before_arrow_sees_it(tmp_path, text):
    """Found by the fuzzer: Arrow follows no pointer to it, and ends."""
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="expected a JSON object a line"):
        read_table(path)


def test_null_values_are_read(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": null, "b": "} null"}\n{"a": 1, "b": "x"}\n')
    assert read_table(path).column("a").to_pylist() == [None, 1]


def test_brackets_in_texts_are_not_nested(tmp_path):
    path = tmp_path / "t.jsonl"
    odd = ("[{" * 100 + '\\"', "}", "{")
    path.write_text("".join(f'{{"a": "{text}"}}\n' for text in odd * 40))
    assert read_table(path).num_rows == 120


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * DEEP + "]" * DEEP,
        "a = " + "{b = " * DEEP + "1" + "}" * DEEP,
        ".".join(["a"] * 100_000) + " = 1",
        "[" + " . ".join(['"a"'] * 100_000) + "]",
        "k = 2\n" + "#" * 11_000_000,
    ],
    ids=["lists", "tables", "dots", "header", "size"],
)
def test_a_policy_too_deep_or_too_large_is_refused_at_once(tmp_path, text):
    path = tmp_path / "p.toml"
    path.write_text(text)
    begun = time.monotonic()
    with pytest.raises(PolicyError, match=r"too large|too deep|not TOML") as caught:
        shoal.Policy.load(path)
    assert len(str(caught.value)) < 500
    assert time.monotonic() - begun < 20


def test_a_deep_manifest_and_a_deep_tree_are_refused(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InputError, match="not readable"):
        load_manifest(path)
    tree: dict[str, object] = {"a": ["x"]}
    for _ in range(5000):
        tree = {"a": tree}
    with pytest.raises(HierarchyError, match="too deep"):
        Hierarchy.from_tree(tree)


@pytest.mark.parametrize("end", ["Z", "+02:00", "", ".123456789"])
def test_times_in_the_bounds_layout(end):
    times = [f"2024-01-{day:02d}T10:00:00{end}" for day in range(1, 11)]
    table = pa.table({"t": times})
    release = shoal.anonymize(table, qi=["t"], k=5, layout="bounds", method="mondrian")
    assert release.table.column_names == ["t_min", "t_max"]
    lows = sorted({str(value)[:10] for value in release.table.column("t_min").to_pylist()})
    assert lows == ["2024-01-01", "2024-01-06"]


@pytest.mark.parametrize("method", ["hilbert", "mondrian"])
def test_floats_with_denormals(method):
    table = pa.table({"a": [0.0, 1e-310, 1.0, 5.0] * 3})
    assert shoal.anonymize(table, qi=["a"], k=2, method=method).verify().ok


def test_a_name_of_many_characters_in_the_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a," + "b" * 200_000 + "\n1,2\n")
    with pytest.raises(InputError, match="line 1: a column name has more than 131,072 characters"):
        read_table(path)


def test_an_empty_name_for_the_release(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n1\n")
    done = command("anonymize", path, "-o", "", "--qi", "a", "-k", 2)
    assert (done.code, done.err) == (2, "shoal: the release needs a file name; got an empty one\n")


@pytest.mark.parametrize("values", ["[1,2]", "[]::int[]"])
@pytest.mark.parametrize("where", ["age = unnest({})", "age IN (1, unnest({}))", "unnest({}) = 1"])
def test_many_values_in_a_query(where, values):
    sql = f"SELECT count(*) FROM t WHERE {where.format(values)}"
    with pytest.raises(PolicyError, match="unnest"):
        query(pa.table({"age": ["[1,2]", "3"]}), sql)


def test_a_column_of_nulls_in_a_query(tmp_path):
    table = pa.table({"age": ["[1,2]", "3"], "n": pa.nulls(2)})
    assert query(table, "SELECT count(*) FROM t WHERE n = 1").upper == 0
    assert query(table, "SELECT count(*) FROM t WHERE n IS NULL").lower == 2
    assert query(table, "SELECT n, count(*) FROM t GROUP BY n").rows == (
        {"n": None, "expected": 2.0, "lower": 2, "upper": 2},
    )
    assert json.dumps(query(table, "SELECT count(*) FROM t WHERE n < 'x'").to_dict())


@pytest.mark.parametrize("name", ["records", "loss"])
def test_numbers_in_a_manifest_that_no_float_has(tmp_path, name):
    """Found by the fuzzer: whole numbers of JSON have no end."""
    out = tmp_path / "r.csv"
    asked = {"qi": ["age", "gender"], "k": 5, "rest": "drop", "method": "hilbert"}
    shoal.anonymize(shoal.datasets.census(100), **asked).write(out)
    manifest = tmp_path / "r.csv.manifest.json"
    told = json.loads(manifest.read_text("utf-8"))

    def swollen(node):
        if isinstance(node, dict):
            return {key: swollen(value) for key, value in node.items()}
        return 10**400 if isinstance(node, int | float) and not isinstance(node, bool) else node

    told["release"][name] = swollen(told["release"][name]) if name in told["release"] else 10**400
    told["risk"] = swollen(told["risk"])
    manifest.write_text(json.dumps(told), "utf-8")
    done = command("verify", out)
    assert done.code in (1, 2), done
    assert "Traceback" not in done.err
