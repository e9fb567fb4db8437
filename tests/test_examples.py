"""The examples run, and do what they say."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import jinja2
import pyarrow as pa
import pytest

import shoal
from shoal.recipient.script import check_script

EXAMPLES = Path(__file__).parents[1] / "examples"
GATE = EXAMPLES / "gate.sh"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("notebooks/*.ipynb"))


def gate(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """The gate as CI runs it, with this Python's shoal."""
    return with_shoal(folder, "sh", str(GATE), name)


def gate_of(folder: Path, entry: str, name: str) -> subprocess.CompletedProcess[str]:
    return with_shoal(folder, "sh", "-c", entry, "--", name)


def with_shoal(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    own = folder / "bin"
    own.mkdir(exist_ok=True)
    command = own / "shoal"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal "$@"\n')
    command.chmod(0o755)
    path = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        list(words), cwd=folder, env=path, capture_output=True, text=True, check=False
    )


def test_gate_lets_a_sound_release_pass_and_stops_a_changed_one(tmp_path):
    people = shoal.datasets.census(200)
    release = shoal.anonymize(people, qi=["age", "gender"], k=5, rest="drop", method="hilbert")
    path = Path(release.write(tmp_path / "release.csv"))
    passed = gate(tmp_path, path.name)
    assert passed.returncode == 0, passed.stderr
    assert json.loads((tmp_path / "verified.json").read_text())
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    stopped = gate(tmp_path, path.name)
    assert stopped.returncode == 1
    assert "is not published" in stopped.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def shown(source: str, names: dict) -> str:
    """A code cell as a notebook runs it: its last expression is what is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        ""
        if last is None
        else repr(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    )


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = json.loads(path.read_text("utf-8"))
    names: dict = {"__name__": "__main__"}
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(NOTEBOOKS) == 3
    for cell in cells:
        assert cell["outputs"] == [], "commit notebooks without outputs"
        shown("".join(cell["source"]), names)


def dbt(name: str, **given: object) -> str:
    """A generic test as dbt renders it: its own tag is a macro."""
    text = (EXAMPLES / "dbt" / "macros" / f"{name}.sql").read_text("utf-8")
    text = re.sub(r"{% test (.*?) %}", r"{% macro \1 %}", text).replace("endtest", "endmacro")
    return str(getattr(jinja2.Template(text).module, name)(**given))


@pytest.mark.parametrize("k", [2, 3])
def test_dbt_tests_find_what_the_printed_check_finds(k):
    rows = "('a', 'x'), ('a', 'y'), ('b', 'x'), ('b', 'x'), (NULL, 'x'), (NULL, NULL)"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) v(q, s)")
        by_dbt = connection.execute(dbt("k_anonymous", model="t", k=k, quasi_identifiers=["q"]))
        found = {row[0] for row in by_dbt.fetchall()}
        printed = connection.execute(check_script("t", ["q"], k=k)).fetchall()
        assert found == {row[0] for row in printed}
        l_test = dbt("distinct_l", model="t", column_name="s", l=2, quasi_identifiers=["q"])
        assert [row[0] for row in connection.execute(l_test).fetchall()] == ["b"]


def patients(groups: int) -> pa.Table:
    """Each age with so many records, of three diseases."""
    rows = [(30 + n // 12, "8000", ["a", "b", "c"][n % 3]) for n in range(12 * groups)]
    return pa.table(
        dict(zip(["age", "zip", "disease"], map(list, zip(*rows, strict=True)), strict=True))
    )


def test_real_dbt_lets_a_release_pass_and_stops_a_table_that_is_none(tmp_path, monkeypatch):
    """On a real DuckDB. dbt is not among what developers need: give its place by SHOAL_DBT."""
    program = os.environ.get("SHOAL_DBT") or shutil.which("dbt")
    if program is None:
        pytest.skip("dbt is not there: pip install dbt-duckdb, and SHOAL_DBT=.../bin/dbt")
    project = shutil.copytree(EXAMPLES / "dbt", tmp_path / "project")
    monkeypatch.chdir(project)
    quiet = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "0", "NO_COLOR": "1"}

    def build() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "build", "--profiles-dir", "."], capture_output=True, text=True,
            check=False, env={name: text for name, text in quiet.items() if name != "PYTHONPATH"},
        )  # fmt: skip

    place = "duckdb:///patients.duckdb?table=release"
    shoal.anonymize(
        patients(20), qi=["age", "zip"], sensitive="disease", k=10, l=3, seed=1, method="hilbert"
    ).write(place)
    passed = build()
    assert passed.returncode == 0, passed.stdout
    assert "PASS=3 WARN=0 ERROR=0" in passed.stdout
    with duckdb.connect("patients.duckdb") as connection:
        connection.execute("DELETE FROM release WHERE disease = 'a'")
    stopped = build()
    assert stopped.returncode == 1
    assert "distinct_l_published_patients_disease" in stopped.stdout
    assert "PASS=1 WARN=0 ERROR=2" in stopped.stdout


def test_the_hook_stops_a_changed_release_and_a_private_record(tmp_path):
    text = (EXAMPLES / "pre-commit" / ".pre-commit-config.yaml").read_text("utf-8")
    entry = re.search(r"entry: sh -c '(.*)' --", text)[1]
    people = shoal.datasets.census(100)
    path = Path(
        shoal.anonymize(people, qi=["age"], k=5, rest="drop", method="hilbert").write(
            tmp_path / "release.csv"
        )
    )
    hooked = gate_of(tmp_path, entry, path.name)
    assert hooked.returncode == 0, hooked.stderr
    path.write_text(path.read_text() + "99\n")
    assert gate_of(tmp_path, entry, path.name).returncode == 1
    records = re.compile(re.findall(r"files: (.*)", text)[1])
    assert records.search("release.csv.record.json")


def test_the_workflow_names_commands_that_there_are():
    text = (EXAMPLES / "github-actions" / "release-gate.yml").read_text("utf-8")
    from click import Context

    from shoal.cli import cli as main

    context = Context(main)
    for name in re.findall(r"shoal (\w+) \"", text):
        assert main.get_command(context, name) is not None
    risk = main.get_command(context, "risk")
    known = {option for parameter in risk.params for option in parameter.opts}
    assert {"--threshold", "--json"} <= known
