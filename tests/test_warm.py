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
from shoal.warm import KINDS, METHODS, usual
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
    (target / "kernels" / "other.py").write_text(KERNEL.replace("2", "7"), encoding="utf-8")
    listed = {
        "one": [["caller.caller", ["int64"], 9], ["caller.gone", ["int64"], 1]],
        "two": [["other.caller", ["int64"], 1]],
    }
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
    assert "1 kernels compiled" in python(package, cache, "-m", "shoal.warm", "one")
    assert "0 kernels compiled" in python(package, cache, "-m", "shoal.warm", "one")
    assert python(package, cache, "-c", RUN).split() == ["11", "1"]


SHARED = """
import subprocess, sys, threading, time
from pathlib import Path
from shoal.kernels.compiling import sharing, wanted
from shoal.kernels.compiling.watching import WATCH
from shoal.kernels.caller import caller
(first, second), folder = (wanted.wanted(name)[0] for name in ("one", "two")), Path(sys.argv[1])
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
another = sharing.Share(folder)  # as if the helper had taken it
assert another.take(first.paths[-1].name) and another.take(first.paths[-1].name)
assert not sharing.compile_once(first, sharing.Share(folder))
assert not first.is_there() and not second.is_there()

def last():
    while not (second.is_there() and WATCH.busy):
        time.sleep(0.01)
    assert not first.is_there()
    ENDS
threading.Thread(target=last, daemon=True).start()
with sharing.shared(sharing.Run(folder, [helper], [first, second])):
    print(caller(5), sum(caller.stats.cache_hits.values()), first.is_there(), second.is_there())
helper.kill()
print(len(list(folder.iterdir())), sharing.SHARES, WATCH.busy)
"""


@pytest.mark.parametrize(
    ("ends", "loaded"),
    [("helper.kill()", 0), ("first.compile(); another.give_back(first.paths[-1].name)", 1)],
    ids=["never", "in time"],
)
def test_a_run_waits_for_what_another_compiles(package, tmp_path, ends, loaded):
    """And compiles what else it will want; nobody is waited for who has gone."""
    folder = tmp_path / "shared"
    folder.mkdir()
    ends = ends.replace("first.compile()", "done(first)")
    by_another = """
def done(kernel):
    subprocess.run([sys.executable, "-m", "shoal.warm", "one"], check=True)
"""
    script = SHARED.replace("    ENDS", f"    {ends}").replace(
        "\ndef last", f"{by_another}\ndef last"
    )
    lines = python(package, tmp_path / "cache", "-c", script, str(folder)).splitlines()
    assert [line for line in lines if "shoal.warm" not in line] == [
        f"11 {loaded} True True",
        f"{0 if loaded else 1} [] False",
    ]


@pytest.mark.skipif(not levels(), reason="kernels are shipped for x86-64 only")
def test_shipped_kernels_are_loaded_where_nothing_can_be_cached(package, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, where a folder is needed", encoding="utf-8")
    assert python(package, blocked, "-c", RUN).split() == ["11", "0"]
    assert "0 kernels compiled" in python(package, blocked, "-m", "shoal.warm")  # in vain
    python(package, blocked, "-m", "shoal.warm", "--ship", "x86-64-v2", "one")
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
    every = {usual(name, ask, kind) for name in METHODS for ask in (False, True) for kind in KINDS}
    assert {usual(name, ask) for name in METHODS for ask in (False, True)} <= set(wanted.listed())
    assert set(wanted.listed()) <= every
    for each in wanted.wanted():
        assert each.dispatcher().py_func.__code__.co_argcount == len(each.types()), each.name
        assert each.size > 0, each.name


LISTED = """
import tempfile
from pathlib import Path
import shoal
from shoal.kernels.compiling import store, wanted
from shoal.warm import KINDS, usual
qi = ["age", "gender", "education", "marital", "race", "workclass", "country"]
asked = {"qi": qi, "rest": "drop", "seed": 3, **ASKED}
with tempfile.TemporaryDirectory() as folder:
    files = {name: str(Path(folder) / f"{name}.csv") for name in ("marital", "country")}
    for name, file in files.items():
        shoal.datasets.census_hierarchies()[name].to_arx_csv(Path(file))
    kinds = dict.fromkeys(("gender", "marital", "race", "workclass", "country"), "ordinal")
    for more in ({}, {"hierarchy": files}, {"kind": kinds}):
        release = shoal.anonymize(shoal.datasets.census(ROWS), **more, **asked)
        assert release.verification.ok
entries = [usual(asked["method"], "sensitive" in asked, kind) for kind in KINDS]
listed = [line[:2] for entry in entries for line in wanted.listed().get(entry, ())]
print([line[0] for line in wanted.noted(store.USED) if line[:2] not in listed])
"""
K, L = {"k": 6}, {"k": 3, "l": 3, "sensitive": "occupation"}


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        (700, {"method": "hilbert", **K}),
        (700, {"method": "mondrian", **L}),
        (9_000, {"method": "hilbert", **L}),
        (700, {"method": "best", **K}),
        (700, {"method": "best", "effort": "normal", **L}),
        pytest.param(12_000, {"method": "best", **K}, marks=pytest.mark.heavy),
        pytest.param(12_000, {"method": "best", **L}, marks=pytest.mark.heavy),
        pytest.param(700, {"method": "best", "effort": "normal", **K}, marks=pytest.mark.heavy),
    ],
    ids=lambda value: value if isinstance(value, int) else "-".join(map(str, value.values())),
)
def test_a_usual_release_uses_what_is_listed(rows, asked):
    """Value sets, trees and orders; after new arguments of a kernel: shoal.warm --record."""
    script = LISTED.replace("ASKED", repr(asked)).replace("ROWS", str(rows))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_words_of_progress():
    assert preparing.words(0, 31, 2.0, 0.0) == "preparing (once): 0 of 31 kernels"
    assert preparing.words(1, 31, 2.0, 0.01) == "preparing (once): 1 of 31 kernels"  # too early
    assert preparing.words(7, 31, 14.0, 0.5) == "preparing (once): 7 of 31 kernels, about 14 s left"
    assert preparing.words(31, 31, 60.0, 1.0) == "preparing (once): 31 of 31 kernels"


def test_preparing_tells_how_far_it_is(monkeypatch):
    told = []

    class Kernel:
        def __init__(self, size: int, after: int) -> None:
            self.size, self.after = size, after

        def is_there(self) -> bool:
            return len(told) >= self.after

    from shoal.kernels.compiling.watching import WATCH

    monkeypatch.setattr(preparing, "LOOK", 0.001)
    monkeypatch.setattr(WATCH, "waiting", 1)

    class Over:
        def wait(self, seconds: float) -> bool:
            return len(told) > 2

    def report(stage: str, done: float, total: float, loss: float | None = None) -> None:
        told.append((stage, done, total))

    preparing._tell([Kernel(1, 2), Kernel(99, 1)], report, Over())
    assert [done for _, done, _ in told] == [0, 1, 2]
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
    assert compiled == ([] if said else [("best l", "best l trees")])
    assert ("This first time by hilbert" in result.output) == (not said)


@pytest.mark.parametrize(
    "kernel",
    ["bsgi.exchange.incorporate", "metrics.disclosure.candidates", "sorting._pack_next",
     *wanted.INSIDE],
)  # fmt: skip
def test_what_longer_tables_want_is_known_ahead(kernel):
    """Records left over by groups of l, columns without a model, wide keys: not in every table."""
    assert kernel in {each.name for each in wanted.wanted(usual("best", True))}
