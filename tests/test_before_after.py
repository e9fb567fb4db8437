"""The panel at the end of every run: before, after and loss, and no cell."""

from __future__ import annotations

import json

import pytest
from pyarrow import csv

import shoal
from command import shoal as command
from shoal.cli.before_after import lines_of

ASKED = ["--qi", "age,gender,education", "--sensitive", "occupation", "--rest", "drop"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    file = tmp_path_factory.mktemp("panel") / "people.csv"
    csv.write_csv(shoal.datasets.census(400), file)
    return file


def test_every_run_ends_with_before_and_after(people, tmp_path):
    out = tmp_path / "release.csv"
    done = command("anonymize", people, "-o", out, *ASKED, "-k", 5, "--method", "hilbert")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    table = csv.read_csv(people)
    rows = list(zip(*(table.column(n).to_pylist() for n in ("age", "gender", "education")),
                    strict=True))  # fmt: skip
    alone = sum(rows.count(row) == 1 for row in rows)
    assert any(line.startswith(f"BEFORE  {alone} of 400 records") for line in lines)
    smallest = json.loads((tmp_path / "release.csv.manifest.json").read_text())["classes"][
        "smallest"
    ]
    after = next(line for line in lines if line.startswith("AFTER"))
    assert after.endswith(f"at most 1 in {smallest}")
    assert any(line.startswith("LOSS    ") and "age" in line for line in lines)
    assert lines[-1].startswith("wrote ")
    assert not any(job in done.out for job in set(table.column("occupation").to_pylist()))


@pytest.mark.parametrize("how", ["--quiet", "--json"])
def test_quiet_and_json_have_no_panel(people, tmp_path, how):
    out = tmp_path / "release.csv"
    done = command("anonymize", people, "-o", out, *ASKED, "-k", 5, "--method", "hilbert", how)
    assert done.code == 0, done.err
    assert "BEFORE" not in done.out


def test_anatomy_and_readers_are_told_truly(people):
    table = csv.read_csv(people)
    apart = shoal.anonymize(table, qi=["age", "gender"], sensitive="occupation", l=2,
                            method="anatomy", rest="drop")  # fmt: skip
    told = dict(lines_of(apart))
    assert "nobody is hidden" in told["AFTER"]
    assert "LOSS" not in told
    shared = shoal.anonymize(table, reader={"a": ["age"], "b": ["gender"]}, k=5, rest="drop")
    assert "to all readers together" in dict(lines_of(shared))["AFTER"]


def test_bars_are_as_long_as_the_loss(people):
    release = shoal.anonymize(csv.read_csv(people), qi=["age"], k=5, rest="drop", method="hilbert")
    told = dict(lines_of(release, "#."))
    filled = round(release.loss.ncp["age"] * 10)
    assert f"age {'#' * filled}{'.' * (10 - filled)} " in told["LOSS"]
