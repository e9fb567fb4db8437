"""What README and docs say is true: every example runs, everything public is documented."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import shoal
from shoal.cli import COMMANDS, cli
from shoal.methods import METHODS
from shoal.models import MODELS
from shoal.policy import Policy

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def blocks(page, language):
    return [body for found, body in FENCE.findall(page.read_text("utf-8")) if found == language]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the table that the docs talk about."""
    from shoal.io.write import write_table

    write_table(shoal.datasets.census(2000), tmp_path / "census.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_shell(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "TERM": "dumb"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples_run(page, workplace):
    names: dict = {"shoal": shoal}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS)
    for number, block in enumerate(blocks(page, "python"), start=1):
        if ">>>" in block:
            test = parser.get_doctest(block, names, f"{page.name} block {number}", None, 0)
            results = []
            runner.run(test, out=results.append, clear_globs=False)
            assert not results, "".join(results)
            names.update(test.globs)
        else:
            exec(compile(block, f"{page.name} block {number}", "exec"), names)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "console")], ids=lambda p: p.name)
def test_shell_examples_print_what_the_page_says(page, workplace):
    for block in blocks(page, "console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = example.partition("\n")
            if command.startswith("make ") or "pip install" in command:
                continue  # set-up: CI itself runs make test, and test_demo runs the demo
            got = run_shell(command, workplace)
            # On a slow machine it says how far it is; examples do not show it.
            got = re.sub(r"^shoal: .* so far.*\n", "", got, flags=re.MULTILINE)
            got = re.sub(r"^preparing .*\n", "", got, flags=re.MULTILINE)
            assert CHECKER.check_output(expected, got, FLAGS), f"$ {command}\n{got}"


def test_policy_examples_are_policies():
    from shoal.policy import tomllib

    for page in PAGES:
        for block in blocks(page, "toml"):
            Policy(**tomllib.loads(block))


def commands():
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        yield f"shoal {name}", command
        if isinstance(command, click.Group):
            yield from ((f"shoal {name} {n}", c) for n, c in command.commands.items())


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=str)
def test_every_command_and_option_is_documented(name, command):
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert name in text
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert any(option in text for option in parameter.opts), (name, parameter.opts)


def test_every_public_name_method_and_model_is_documented():
    python = (ROOT / "docs" / "python.md").read_text("utf-8")
    for name in set(shoal.__all__) - {"__version__"}:
        assert f"shoal.{name}" in python, name
    members = [n for n in dir(shoal.Release) if not n.startswith("_")]
    assert [n for n in members if f"`{n}" not in python and f".{n}" not in python] == []
    readme = (ROOT / "README.md").read_text("utf-8")
    for page in (readme, (ROOT / "docs" / "methods.md").read_text("utf-8")):
        assert [name for name in METHODS if f"`{name}`" not in page] == []
    for page in (readme, (ROOT / "docs" / "models.md").read_text("utf-8")):
        assert [name for name in MODELS if name not in page] == []


def test_every_policy_setting_is_documented():
    text = (ROOT / "docs" / "policy.md").read_text("utf-8") + (
        ROOT / "docs" / "formats.md"
    ).read_text("utf-8")
    hidden = {"base", "file"}  # where relative paths start, and it lies: set by load
    assert [
        n for n in Policy.model_fields if n not in hidden and not re.search(rf"\b{n}\b", text)
    ] == []
