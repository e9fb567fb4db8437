"""What a shell and a newcomer lean on: versions, completion, the manual, the nearest name."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import click
import pytest

from command import people, shoal
from shoal.cli import COMMANDS, cli
from shoal.cli.completion import SHELLS
from shoal.cli.interrupting import keeps, what_was_kept
from shoal.cli.man import commands_of, page_of
from shoal.errors import did_you_mean, nearest, no_column


def module(*args, env=None, **how):
    """``python -m shoal`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "shoal", *map(str, args)], capture_output=True, text=True,
        check=False, timeout=120, env={**os.environ, **(env or {})}, **how,
    )  # fmt: skip


def completed(*words):
    """What a shell offers for the last of the words."""
    line = " ".join(["shoal", *map(str, words)])
    settings = {
        "_SHOAL_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    done = module(env=settings)
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_python_m_shoal_and_the_versions_of_what_it_uses():
    lines = module("--version").stdout.splitlines()
    assert lines[0].startswith("shoal ")
    assert [line.split()[0] for line in lines[1:]] == [
        "Python", "numpy", "numba", "pyarrow", "duckdb",
    ]  # fmt: skip
    assert all(line.split()[1][0].isdigit() for line in lines[1:])


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_call_shoal(shell):
    result = shoal("completion", shell)
    assert result.code == 0
    assert f"_SHOAL_COMPLETE={shell}_complete" in result.out


ASKED = """
compopt() { printf 'compopt %s %s\n' "$1" "$2"; }
eval "$(SHOAL completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMP_CWORD=0
_shoal_completion shoal
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("shoal anonymize TABLE --qi age,z", ["age,zip"]),
        ("shoal anonymize TABLE --kind zip=cat", ["categorical"]),  # behind "zip=", for bash
        ("shoal anonymize TABLE --kind zi", ["compopt -o nospace", "zip="]),
        ("shoal explain lower", [r"lower\ bound"]),
        ("shoal verify TAB", ["compopt -o default", ""]),
        ("shoal anonymize TABLE --effort ", ["instant", "fast", "normal", "max"]),
    ],
)
def test_bash_completes(tmp_path, line, offered):
    table = people(tmp_path / "people.csv")
    command = f"{sys.executable} -m shoal"
    shell = tmp_path / "shoal"
    shell.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    shell.chmod(0o755)
    done = subprocess.run(
        ["bash", "--norc", "-c", ASKED.replace("SHOAL", command), "bash",
         line.replace("TABLE", str(table))],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.splitlines() == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(
    ("line", "offered"), [("--qi age,z", "age,zip"), ("--kind zip=cat", "zip=categorical")]
)
def test_fish_completes(tmp_path, line, offered):
    table = people(tmp_path / "people.csv")
    (tmp_path / "shoal").write_text(f'#!/bin/sh\nexec {sys.executable} -m shoal "$@"\n', "utf-8")
    (tmp_path / "shoal").chmod(0o755)
    asked = f"shoal completion fish | source; complete -C 'shoal anonymize {table} {line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == [offered]


def test_methods_columns_and_words_are_completed(tmp_path):
    table = people(tmp_path / "people.csv")
    assert completed("anonymize", table, "--method", "hil") == ["hilbert"]
    assert completed("anonymize", table, "--qi", "") == ["name", "age", "zip", "disease", "note"]
    assert completed("anonymize", table, "--qi", "age,z") == ["age,zip"]
    assert completed("anonymize", table, "-k", "5", "--kind", "zi") == ["zip="]
    assert completed("anonymize", table, "-k", "5", "--kind", "zip=cat") == ["zip=categorical"]
    assert completed("explain", "gc") == ["gcp"]
    assert completed("anonymize", tmp_path / "none.csv", "--qi", "") == []


def test_the_manual_names_every_command_and_option():
    page = shoal("man").out
    plain = page.replace("\\-", "-")
    context = click.Context(cli, info_name="shoal")
    found = list(commands_of(cli, context))
    assert len(found) > len(COMMANDS)
    for name, command in found:
        assert f".SS {name}" in plain
        for parameter in command.params:
            assert all(option in plain for option in parameter.opts if option.startswith("-"))


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_the_manual_is_good_roff():
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww"], input=page_of(cli), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "shoal anonymize" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["anonimize"], "anonymize"),
        (["policy", "shwo"], "show"),
        (["inspect", "x.csv", "--quite"], "--quiet"),
        (["explain", "clas"], "class"),
    ],
)
def test_commands_options_and_words_have_a_nearest_name(args, meant):
    result = shoal(*args)
    assert result.code == 2
    assert f"id you mean '{meant}'?" in result.err
    assert len(result.err.splitlines()) == 1


def test_columns_methods_and_settings_have_a_nearest_name(tmp_path):
    table = people(tmp_path / "people.csv")
    base = ["anonymize", table, "-o", tmp_path / "out.csv", "--rest", "drop", "-k", "2"]
    assert "did you mean 'disease'?" in shoal(*base, "--qi", "age,desease").err
    assert "did you mean 'hilbert'?" in shoal(*base, "--qi", "age", "--method", "hilbrt").err
    policy = tmp_path / "shoal.toml"
    policy.write_text('sensitve = ["disease"]\n', "utf-8")
    assert "did you mean 'sensitive'?" in shoal("policy", "show", policy).err


def test_the_nearest_name_is_a_near_one():
    assert nearest("marital", ["age", "marital_stat"]) == "marital_stat"
    assert nearest("Marital Stat", ["age", "maritalstat"]) == "maritalstat"
    assert nearest("xyz", ["age", "marital_stat"]) is None
    assert did_you_mean("xyz", ["age"]) == ""


def test_a_record_in_the_place_of_a_header_is_not_suggested():
    record = ["Nora", "1936-06-21", "diabetes"]
    told = no_column("diabetic", record, ["diabetic", "nora"], "the table")
    assert "diabetes" not in told


def test_ctrl_c_says_what_was_kept():
    what_was_kept()  # of commands that earlier tests ran in this process
    assert what_was_kept() == "nothing was kept or changed"
    keeps("release.csv", None, "release.csv.manifest.json")
    assert what_was_kept() == "kept, and whole: release.csv, release.csv.manifest.json"
    assert what_was_kept() == "nothing was kept or changed"


def test_an_interrupted_run_exits_130_and_leaves_nothing(tmp_path):
    table = people(tmp_path / "people.csv", 20_000)
    before = set(tmp_path.iterdir())
    run = subprocess.Popen(
        [sys.executable, "-m", "shoal", "anonymize", table, "-o", tmp_path / "out.csv", "--rest",
         "drop", "--qi", "age,zip,note", "-k", "5", "--time", "60s"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(4)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert said.splitlines()[-1] == "shoal: stopped; nothing was kept or changed"
    assert set(tmp_path.iterdir()) == before


ENDING = """
import atexit, sys, threading, time
from shoal.cli.interrupting import leave_tidily
atexit.register(print, "cleaned up")
def late():
    time.sleep(0.2)
    print("late")
if "thread" in sys.argv:
    threading.Thread(target=late).start()
print("said", end="; ")
leave_tidily(3)
print("went on")
"""


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [([], "said; cleaned up\n", 3), (["thread"], "said; went on\nlate\ncleaned up\n", 0)],
)
def test_the_end_cleans_up_and_waits_for_threads(words, said, code):
    asked = [sys.executable, "-c", ENDING, *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (said, code)
