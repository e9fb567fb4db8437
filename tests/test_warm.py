"""Kernels compiled ahead: by helpers, into a wheel, counted while it happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numba import typeof

import shoal
from shoal.cli import cli, demo, preparing
from shoal.io.paths import manifest_path
from shoal.kernels.compiling import wanted
from shoal.kernels.compiling.store import levels
from shoal.kernels.costs import Costs
from shoal.verification.files import verify
from shoal.warm import METHODS, usual
from shoal.watching import State

SOURCE = Path(shoal.__file__).parent
KERNEL = """
from shoal.kernels.jit import kernel
@kernel
def caller(x):
    return x * 2 + 1
"""
RUN = """
import numba
from shoal.kernels.caller import caller
print(caller(5), sum(caller.stats.cache_hits.values()))
"""
NUMBERS, READ_ONLY = np.zeros(3, np.int32), np.zeros((2, 2)).T
READ_ONLY.flags.writeable = False


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of what compiles, with one kernel and the list that wants it."""
    target = tmp_path / "here" / "shoal"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(
        SOURCE / "kernels" / "compiling", target / "kernels" / "compiling", ignore=ignored
    )
    for name in ("__init__.py", "_version.py", "warm.py", "kernels/__init__.py", "kernels/jit.py"):
        shutil.copy(SOURCE / name, target / name)
    (target / "kernels" / "caller.py").write_text(KERNEL, encoding="utf-8")
    listed = {"one": [["caller.caller", ["int64"]], ["caller.gone", ["int64"]]]}
    path = target / "kernels" / "compiling" / "wanted.json"
    path.write_text(json.dumps(listed), encoding="utf-8")
    return target


def python(package: Path, cache: Path, *words: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, *words], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout + done.stderr


def test_what_is_compiled_ahead_is_not_compiled_again(package, tmp_path):
    cache = tmp_path / "cache"
    assert "1 kernels compiled" in python(package, cache, "-m", "shoal.warm")
    assert "0 kernels compiled" in python(package, cache, "-m", "shoal.warm")
    assert python(package, cache, "-c", RUN).split() == ["11", "1"]


@pytest.mark.skipif(not levels(), reason="kernels are shipped for x86-64 only")
def test_shipped_kernels_are_loaded_where_nothing_can_be_cached(package, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, where a folder is needed", encoding="utf-8")
    assert python(package, blocked, "-c", RUN).split() == ["11", "0"]
    python(package, blocked, "-m", "shoal.warm", "--ship", "x86-64-v2")
    assert len([*(package / "kernels" / "_compiled").iterdir()]) == 1
    assert python(package, blocked, "-c", RUN).split() == ["11", "1"]
    (package / "kernels" / "caller.py").write_text(KERNEL.replace("2", "3"), encoding="utf-8")
    assert python(package, blocked, "-c", RUN).split() == ["16", "0"]  # others are not run


@pytest.mark.parametrize(
    "value",
    [
        (1, 2.0, True, np.uint32(3)),
        NUMBERS,
        READ_ONLY,
        Costs(*(NUMBERS for _ in Costs._fields)),
        (Costs(*(NUMBERS for _ in Costs._fields)), (1, 1)),
    ],
    ids=["numbers", "array", "read-only", "named", "nested"],
)
def test_types_survive_as_text(value):
    kind = typeof(value)
    text = json.loads(json.dumps(wanted.as_text(kind)))
    assert wanted.as_type(text) == kind


def test_the_list_fits_the_source():
    # After a kernel got other arguments: python -m shoal.warm --record
    assert set(wanted.listed()) == {
        usual(name, sensitive) for name in METHODS for sensitive in (False, True)
    }
    for each in wanted.wanted():
        assert each.dispatcher().py_func.__code__.co_argcount == len(each.types()), each.name


def test_a_usual_release_uses_what_is_listed():
    script = """
import shoal
from shoal.kernels.compiling import store, wanted
shoal.anonymize(shoal.datasets.census(700), qi=["age", "country", "marital"], k=4, seed=3,
                method="hilbert", rest="drop")
listed = wanted.listed()["hilbert k"]
for line in wanted.noted(store.USED):
    assert line in listed, line
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_words_of_progress():
    assert preparing.words(0, 31, 2.0) == "preparing (once): 0 of 31 kernels"
    assert preparing.words(7, 31, 14.0) == "preparing (once): 7 of 31 kernels, about 48 s left"
    assert preparing.words(31, 31, 60.0) == "preparing (once): 31 of 31 kernels"


def test_preparing_tells_how_far_it_is(monkeypatch):
    told = []

    class Kernel:
        def is_there(self) -> bool:
            return len(told) > 1

    from shoal.kernels.compiling.watching import WATCH

    monkeypatch.setattr(preparing, "LOOK", 0.001)
    monkeypatch.setattr(WATCH, "open", [(0.0, 0.0)])

    class Over:
        def wait(self, seconds: float) -> bool:
            return len(told) > 2

    def report(stage: str, done: float, total: float, loss: float | None = None) -> None:
        told.append((stage, done, total))

    preparing._tell([Kernel(), Kernel()], report, Over())
    assert [done for _, done, _ in told] == [0, 0, 2]
    assert told[0][0] == "preparing (once): 0 of 2 kernels"


def test_a_stage_that_tells_its_own_time_is_told_once():
    clock = iter([0.0, 0.0, *[10.0] * 9]).__next__
    state = State(clock)
    state.report("preparing (once): 7 of 31 kernels, about 48 s left", 7, 31)
    assert state.line() == "preparing (once): 7 of 31 kernels, about 48 s left, 10 s so far"


@pytest.mark.parametrize("said", [(), ("--quiet",)])
def test_a_first_demo_waits_for_no_compiler(tmp_path, monkeypatch, said):
    """Where `best` would have to be compiled, the quickest method shows a release first."""
    compiled = []
    monkeypatch.setattr(wanted, "missing", lambda *names: [None] * 9 if "best l" in names else [])
    monkeypatch.setattr(demo, "prepare", lambda names, quiet: compiled.append(names))
    result = CliRunner().invoke(cli, ["demo", "--out", str(tmp_path / "demo"), *said])
    assert result.exit_code == 0, result.output
    release = tmp_path / "demo" / "release.csv"
    proof = verify(release)
    assert proof.ok
    assert proof.class_sizes.min() >= 10
    manifest = json.loads(manifest_path(release).read_text("utf-8"))
    assert manifest["method"]["name"] == "hilbert"
    assert compiled == ([] if said else [("best l",)])
    assert ("This first time by hilbert" in result.output) == (not said)


@pytest.mark.parametrize(
    "kernel",
    ["bsgi.exchange.incorporate", "metrics.disclosure.candidates", "sorting._pack_next"],
)
def test_what_longer_tables_want_is_known_ahead(kernel):
    """Records left over by groups of l, columns without a model, wide keys: not in every table."""
    assert kernel in {each.name for each in wanted.wanted(usual("best", True))}
