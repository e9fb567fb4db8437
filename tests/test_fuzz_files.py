"""Valid files of every kind, damaged at random, through the command line: one line, no cell."""

from __future__ import annotations

import atexit
import functools
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from command import shoal
from fuzzing import MARKER, assert_well_behaved, fuzz
from shoal.io.write import sha256_of, write_table

ENDINGS = ["csv", "tsv", "csv.gz", "jsonl", "parquet", "arrow"]
POLICY = """\
identifier = ["name"]
qi = ["age", "place"]
sensitive = ["ill"]
plain = ["ward"]
k = 3
l = 2
method = "hilbert"
missing = ["", "NA"]

[kind]
age = "numeric"

[hierarchy]
place = "place.csv"

[weight]
age = 2.0
"""
TREE = "rome;italy;*\nmilan;italy;*\nlyon;france;*\nparis;france;*\n"
PLACES = ["rome", "milan", "lyon", "paris"]
ODD = [
    None, True, -1, 0, 2**63, -(2**70), 1e308, float("nan"), "", "\x00", "*", [], {}, [[]], [None],
    {"a": {"b": []}}, "x" * 5000, "\ud7ff", "a\nb", "../../etc/passwd", "/", 10**400,
]  # fmt: skip


# --- valid files


@functools.cache
def valid() -> Path:
    """A folder of files that all work: inputs, a policy, a tree, releases with their papers."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-fuzz-valid-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    n = 40
    table = pa.table({
        "name": [f"{MARKER}i{i}" for i in range(n)],
        "age": [20 + i * 7 % 30 for i in range(n)],
        "place": [PLACES[i % 4] for i in range(n)],
        "ill": [f"{MARKER}s{i % 5}" for i in range(n)],
        "ward": [["north", "south"][i % 2] for i in range(n)],
    })  # fmt: skip
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    (folder / "place.csv").write_text(TREE, encoding="utf-8")
    for ending in ENDINGS:
        write_table(table, folder / f"in.{ending}")
        asked = ("anonymize", folder / f"in.{ending}", "-o", folder / f"out.{ending}")
        done = shoal(*asked, "--policy", folder / "policy.toml", "-q")
        assert done.code == 0, done
    return folder


# --- damage


def flip(draw: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 3, 20])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(draw: random.Random, data: bytes) -> bytes:
    return data[: draw.randrange(len(data))]


def cut_out(draw: random.Random, data: bytes) -> bytes:
    begin = draw.randrange(len(data))
    return data[:begin] + data[begin + draw.randrange(1, 40) :]


def put_in(draw: random.Random, data: bytes) -> bytes:
    begin = draw.randrange(len(data) + 1)
    piece = draw.choice([
        b"\x00", b"\xff\xfe", b'"', b"\n", b"\r", b",,,,", b";", b"\t", b"[" * 3000, b'{"a":' * 500,
        b"9" * 400, b"1e999", b"-0", b"NaN", "\u200b\u202e".encode(), b"\xf0\x9f", b"=cmd()", b"\\",
        b"[[x]]\n", b"a.b.c = 1\n", b"'" * 3, bytes(draw.randrange(256) for _ in range(20)),
    ])  # fmt: skip
    return data[:begin] + piece + data[begin:]


def repeat(draw: random.Random, data: bytes) -> bytes:
    begin = draw.randrange(len(data))
    end = begin + draw.randrange(1, 200)
    return data[:end] + data[begin:end] * draw.choice([1, 3, 50]) + data[end:]


def other_encoding(draw: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(draw.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7"]))


def lines_changed(draw: random.Random, data: bytes) -> bytes:
    """Ragged rows, two equal headers, no header, other ends of lines."""
    lines = data.split(b"\n")
    way = draw.randrange(6)
    at = draw.randrange(len(lines))
    if way == 0:
        lines[at] += draw.choice([b",1", b",", b"\t\t", b',"'])
    elif way == 1:
        lines[0] = lines[0].replace(b"age", b"ill")
    elif way == 2:
        lines = lines[1:]
    elif way == 3:
        return b"\r".join(lines)
    elif way == 4:
        lines[at] = lines[at].rpartition(b",")[0]
    else:
        draw.shuffle(lines)
    return b"\n".join(lines)


def replaced(draw: random.Random, data: bytes) -> bytes:
    noise = bytes(draw.randrange(256) for _ in range(300))
    nothing = [b"", b"\n", b"\x00" * 100, b"{}", b"[]", b"null", b"PAR1", b"a\n", b"{" * 10**5]
    return draw.choice([*nothing, noise])


def a_node_changed(draw: random.Random, data: bytes) -> bytes:
    """JSON with something else somewhere in it."""
    try:
        document = json.loads(data)
    except ValueError:
        return flip(draw, data)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    if isinstance(document, dict | list):
        walk(document)
    for node, key in draw.sample(places, min(len(places), draw.choice([1, 1, 2]))):
        if isinstance(node, dict) and draw.random() < 0.3:
            node.pop(key, None)
        else:
            node[key] = draw.choice(ODD)
    return json.dumps(document).encode("utf-8", "surrogatepass")


DAMAGES: list[Callable[[random.Random, bytes], bytes]] = [
    flip, cut, cut_out, put_in, repeat, other_encoding, lines_changed, replaced,
]  # fmt: skip


def damaged(draw: random.Random, path: Path) -> None:
    data = path.read_bytes()
    ways = [a_node_changed] * 8 + DAMAGES if path.suffix == ".json" else DAMAGES
    for _ in range(draw.choice([1, 1, 2])):
        data = draw.choice(ways)(draw, data) if data else data
    path.write_bytes(data)


# --- commands


def one_case(draw: random.Random, folder: Path) -> str:
    ending = draw.choice(ENDINGS)
    for name in (f"in.{ending}", "policy.toml", "place.csv", f"out.{ending}",
                 f"out.{ending}.manifest.json", f"out.{ending}.record.json"):  # fmt: skip
        shutil.copy(valid() / name, folder / name)
    source, out = folder / f"in.{ending}", folder / f"out.{ending}"
    policy, manifest = folder / "policy.toml", Path(f"{out}.manifest.json")
    tree = folder / "place.csv"
    record, again = Path(f"{out}.record.json"), folder / f"new.{ending}"
    sql = draw.choice(["SELECT count(*) FROM t WHERE age < 30", "SELECT count(*) FROM t"])
    command, args, files = draw.choice([
        ("anonymize", (source, "-o", again, "--policy", policy), [source, policy, tree]),
        ("anonymize", (source, "-o", again, "--policy", policy, "-q"), [source]),
        ("inspect", (source,), [source]),
        ("verify", (out,), [out, manifest, record]),
        ("verify", (out, "--json"), [manifest]),
        ("verify", (out, "--policy", policy), [out, policy]),
        ("query", (out, sql), [out, manifest]),
        ("query", (out, sql, "--policy", policy), [policy, tree]),
        ("join-check", (out, out), [out, manifest]),
        ("reproduce", (record, source, "-o", again), [record, source]),
        ("reproduce", (record, source, "-o", again), [record]),
    ])  # fmt: skip
    victim = draw.choice(files)
    damaged(draw, victim)
    if victim == out and draw.random() < 0.7:  # so that more than its hash is looked at
        papers = json.loads(manifest.read_text("utf-8"))
        papers["release"]["sha256"] = sha256_of(out)
        manifest.write_text(json.dumps(papers), encoding="utf-8")
    if victim == source and command == "reproduce" and draw.random() < 0.7:
        kept = json.loads(record.read_text("utf-8"))
        kept["input"]["sha256"] = sha256_of(source)
        record.write_text(json.dumps(kept), encoding="utf-8")
    before = {path.name for path in folder.iterdir()}
    done = shoal(command, *args)
    assert_well_behaved(done, names_may_be_cells=command == "inspect")
    if done.code:
        assert {path.name for path in folder.iterdir()} == before, "a failed run left files"
    return f"{command} {done.code}"


def test_damaged_files() -> None:
    met = fuzz(one_case)
    assert all(outcome.split()[1] in "01235" for outcome in met), met


def test_a_null_byte_in_a_name_of_the_policy_is_one_line(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace('"place.csv"', '"pl\\u0000ace.csv"'), encoding="utf-8")
    done = shoal("anonymize", valid() / "in.csv", "-o", tmp_path / "out.csv", "--policy", policy)
    assert done.code == 2
    assert "null byte" in done.err
