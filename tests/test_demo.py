"""`shoal demo`: the first thing a new user sees must work and be true."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import cli
from shoal.errors import OutputError
from shoal.io.read import read_table

FILES = {
    "people.csv", "shoal.toml", "marital.csv", "country.csv", "release.csv",
    "release.csv.manifest.json", "release.csv.record.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("demo") / "here"
    result = CliRunner().invoke(cli, ["demo", "--out", str(directory)])
    assert result.exit_code == 0, result.output
    return directory, result.stdout


def test_the_release_is_proven(made: tuple[Path, str]) -> None:
    directory, _ = made
    assert {file.name for file in directory.iterdir()} == FILES
    proof = shoal.verify(directory / "release.csv")
    assert proof.ok
    assert proof.class_sizes.min() >= 10
    assert "name" not in read_table(directory / "release.csv").column_names


def test_the_screen_tells_the_truth(made: tuple[Path, str]) -> None:
    directory, screen = made
    found = shoal.inspect(directory / "people.csv")
    assert found.named("identifier") == ("name",)
    assert f"{found.unique:,} of {found.rows:,} made-up people are unique" in screen
    assert "k = 10, reached" in screen
    assert "on occupation, reached" in screen
    assert len([line for line in screen.splitlines() if line.strip()]) <= 26
    assert max(map(len, screen.splitlines())) <= 100 + len(str(directory)) * 2


def test_the_people_shown_are_in_the_files(made: tuple[Path, str]) -> None:
    directory, screen = made
    lines = screen.splitlines()
    first = lines[lines.index("") - 3].split("  ")
    assert " ".join(first).split()[:3] == first[1].split()
    names = read_table(directory / "people.csv").column("name").to_pylist()
    assert first[1] in names
    assert f"{first[1]}'s class" in screen
    released = (directory / "release.csv").read_text()
    assert first[1] not in released


def test_the_commands_shown_do_the_same(
    made: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, screen = made
    monkeypatch.chdir(tmp_path)
    commands = [line.split() for line in screen.splitlines() if line.startswith("  shoal ")]
    assert [command[1] for command in commands] == ["inspect", "anonymize", "verify"]
    for command in commands:
        assert CliRunner().invoke(cli, command[1:]).exit_code == 0
    assert Path("release.csv").read_bytes() == (directory / "release.csv").read_bytes()


def test_again_into_its_own_directory_and_never_into_others(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    directory, _ = made
    result = CliRunner().invoke(cli, ["demo", "--out", str(directory), "--quiet"])
    assert (result.exit_code, result.stdout) == (0, "")
    (tmp_path / "people.csv").write_text("mine\n")
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path)])
    assert isinstance(result.exception, OutputError)
    assert (tmp_path / "people.csv").read_text() == "mine\n"
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "people.csv")])
    assert isinstance(result.exception, OutputError)


def test_as_a_process_with_json(tmp_path: Path) -> None:
    # Quiet: on a busy machine progress is told, and that is no error.
    command = [sys.executable, "-c", "from shoal.cli import main; main()"]
    command += ["demo", "--json", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["directory"] == "shoal-demo"
    assert told["after"]["ok"] is True
    assert told["after"]["smallest_class"] >= 10
    assert told["before"]["unique"] > 1000
    assert {Path(file).name for file in told["files"]} == FILES
    assert done.stderr == ""


def test_plain_letters_where_the_output_has_no_others(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from shoal.cli import main; main()", "demo"]
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, check=True)
    assert done.stdout.isascii()
    assert b"#." in done.stdout  # a bar, of one piece: little is lost
