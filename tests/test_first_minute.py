"""From a table to a release in one flow: proposals, rehearsals, and progress that is seen."""

from __future__ import annotations

import io
import re
import sys
import time
import types

import pytest

import shoal
from command import SECRET
from command import shoal as command
from shoal.engines.memory import size
from shoal.io.write import write_table
from shoal.policy import Policy
from shoal.rehearsal import rehearse
from shoal.watching import State, watched


@pytest.fixture
def census(tmp_path):
    source = tmp_path / "people.csv"
    write_table(shoal.datasets.census(400), source)
    return source


def test_a_proposal_is_shown_taken_and_kept(tmp_path, census):
    out = tmp_path / "out.csv"
    done = command("anonymize", census, "-o", out, "--propose", "-k", 7, "--method", "hilbert")
    assert done.code == 0
    assert "known: age or birth" in done.out
    kept = tmp_path / "out.csv.policy.toml"
    policy = Policy.load(kept)
    assert policy.k == 7
    assert policy.rest == "drop"
    assert "# age: qi, known: age or birth" in kept.read_text("utf-8")
    assert command("verify", out).code == 0
    again = tmp_path / "again.csv"
    assert command("anonymize", census, "-o", again, "--policy", kept).code == 0


def test_a_proposal_that_was_edited_is_not_lost(tmp_path, census):
    out, kept = tmp_path / "out.csv", tmp_path / "out.csv.policy.toml"
    kept.write_text("k = 3\n", "utf-8")
    done = command("anonymize", census, "-o", out, "--propose", "--method", "hilbert")
    assert done.code == 2
    assert "exists with other settings" in done.err
    assert not out.exists()
    assert kept.read_text("utf-8") == "k = 3\n"


def test_a_rehearsal_writes_nothing_and_says_what_would_happen(tmp_path, census):
    before = sorted(tmp_path.iterdir())
    done = command("anonymize", census, "--propose", "--dry-run", "-k", 10)
    assert done.code == 0
    for part in ("400 records", "k up to 400", "l up to", "time about", "memory about",
                 "engine memory", "nothing was written"):  # fmt: skip
        assert part in done.out
    assert sorted(tmp_path.iterdir()) == before


def test_a_rehearsal_names_what_no_release_can_satisfy(census):
    args = ["--qi", "age", "--sensitive", "occupation", "--rest", "drop"]
    done = command("anonymize", census, "--dry-run", *args, "-k", 2, "-l", 300)
    assert done.code == 3
    assert "asked: k = 2, l = 300" in done.out
    assert len(done.err.splitlines()) == 1


def test_a_rehearsal_agrees_with_the_run(census):
    settings = {"qi": ["age", "gender"], "sensitive": "occupation", "k": 5, "rest": "drop"}
    found = rehearse(census, **settings, l="auto", method="hilbert")
    release = shoal.anonymize(census, **settings, l="auto", method="hilbert")
    assert found.models == tuple(map(str, release.models))
    assert found.kinds == release.kinds
    assert found.records == 400


def test_without_a_name_for_the_release_nothing_begins(census):
    done = command("anonymize", census, "--qi", "age", "-k", 2, "--rest", "drop")
    assert done.code == 2
    assert "-o" in done.err


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_the_line_says_stage_share_loss_and_time_left():
    clock = Clock()
    state = State(clock)
    state.report("read", 0, 1)
    assert state.line() == "reading, 0 s so far"
    clock.now = 5
    state.report("partition", 0, 4, 0.5)
    clock.now = 15
    state.report("partition", 1, 4, 0.25)
    assert state.line() == ("grouping 25%, loss 0.2500, 15 s so far, about 30 s left in this stage")
    state.report("bound", 0, 1)
    assert "loss" not in state.line()
    clock.now = 600
    assert "10:00 min so far" in state.line()


def test_off_a_terminal_there_is_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr("shoal.watching.EVERY", 0.05)
    stream = io.StringIO()
    with watched(stream=stream) as report:
        report("partition", 1, 2, 0.125)
        time.sleep(0.4)
    lines = stream.getvalue().splitlines()
    assert len(lines) >= 2
    assert all(re.match(r"shoal: grouping 50%, loss 0\.1250, \d+ s so far", line) for line in lines)
    quiet = io.StringIO()
    with watched(quiet=True, stream=quiet) as report:
        report("partition", 1, 2)
        time.sleep(0.2)
    assert quiet.getvalue() == ""


def test_short_work_says_nothing(monkeypatch):
    stream = io.StringIO()
    with watched(stream=stream) as report:
        report("partition", 1, 2)
    assert stream.getvalue() == ""


def test_progress_shows_no_cell(tmp_path, monkeypatch):
    from command import people

    monkeypatch.setattr("shoal.watching.EVERY", 0.001)
    out = tmp_path / "out.csv"
    done = command(
        "anonymize", people(tmp_path / "people.csv", 200), "-o", out, "--identifier", "name",
        "--qi", "age", "--sensitive", "disease", "--rest", "drop", "-k", 4, "--method", "hilbert",
    )  # fmt: skip
    assert done.code == 0
    assert "shoal: " in done.err
    assert SECRET not in done.err


def test_a_notebook_shows_the_same_bar(monkeypatch):
    """With a stand-in for IPython: what it is handed is what a browser would show."""
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page)

    def display(page, display_id):
        shown.append(page)
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: shell
    screen = types.ModuleType("IPython.display")
    screen.HTML, screen.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    monkeypatch.setattr("shoal.watching.PATIENCE", 0.0)
    monkeypatch.setattr("shoal.watching.REFRESH", 0.05)
    with watched() as report:
        report("partition", 1, 2, 0.125)
        time.sleep(0.5)
    assert len(shown) >= 2
    assert "grouping" in shown[-1]
    assert "loss 0.1250" in shown[-1]
    assert shown[-1].startswith("<pre")


def test_python_shows_a_bar_if_asked(capsys, monkeypatch):
    monkeypatch.setattr("shoal.watching.EVERY", 0.001)
    table = shoal.datasets.census(300)
    settings = {"qi": ["age"], "k": 3, "rest": "drop", "method": "hilbert"}
    shoal.anonymize(table, **settings, progress=True)
    assert "shoal: " in capsys.readouterr().err
    shoal.anonymize(table, **settings)
    assert capsys.readouterr().err == ""


def test_too_large_a_table_is_told_with_its_size():
    table = shoal.datasets.census(1000)
    assert size.advice(table, free=10**12) is None
    told = size.advice(table, free=10**8)
    assert re.search(r"1,000 records of \d+ columns need about \d+ MB of memory", told)
    assert "100 MB are free" in told
    assert size.bytes_for(20_000_000, 9) > 10 * size.bytes_for(1_000_000, 9)
    assert size.in_words(6_000_000_000) == "6.0 GB"
