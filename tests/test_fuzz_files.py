"""Valid files of every kind, damaged at random, through the command line: one line, no cell."""

from __future__ import annotations

import atexit
import functools
import json
import random
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa

from command import shoal
from damaging import PLACES, damaged
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
