"""A process killed while it writes: the target holds the old release or the new one, whole."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import shoal
from command import files_below

ROWS = 200_000
DRIVER = """
import os, pickle, signal, sys
from pathlib import Path

mode, number, target, *stored = sys.argv[1:]
releases = [pickle.loads(Path(file).read_bytes()) for file in stored]
name, steps = Path(target).name, 0

def step(event, args):
    # A step is whatever the system is asked to do with a file that bears the target's name.
    global steps
    if any(name in os.fsdecode(arg) for arg in args if isinstance(arg, str | bytes | os.PathLike)):
        steps += 1
        if steps == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

def batch(done, total):
    global steps
    steps += 1
    if steps == int(number):
        os.kill(os.getpid(), getattr(signal, mode))

if mode == "loop":
    releases[0].write(target)  # everything is loaded and compiled: from now on it only writes
print("ready", flush=True)
sys.stdin.readline()
if mode == "step":
    sys.addaudithook(step)
    releases[1].write(target)
elif mode == "loop":
    while True:
        for release in reversed(releases):
            release.write(target)
else:
    releases[1].write(target, progress=batch)
"""


class Written(NamedTuple):
    """What the target and its manifest hold when a release was written in peace."""

    release: bytes
    manifest: bytes


class Stage:
    """Two releases of one table, ready to be written over one another by a driver."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stored = []
        people = shoal.datasets.census(ROWS)
        for k in (5, 50):
            release = shoal.anonymize(people, qi=["age", "gender"], k=k)
            self.stored.append(folder / f"k{k}.pickle")
            self.stored[-1].write_bytes(pickle.dumps(release))

    def old_and_new(self, target: Path) -> tuple[Written, Written]:
        """Write both in peace, the new one first: the old one is in place at the end."""
        written = []
        for stored in reversed(self.stored):
            pickle.loads(stored.read_bytes()).write(target)
            written.append(state_of(target))
        return written[1], written[0]

    def start(self, mode: str, number: int, target: Path) -> subprocess.Popen[str]:
        """A driver that has loaded the releases and waits for a word."""
        arguments = [mode, str(number), str(target), *map(str, self.stored)]
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


def end(process: subprocess.Popen[str]) -> int:
    with process:
        return process.wait(timeout=60)


def state_of(target: Path) -> Written:
    return Written(target.read_bytes(), Path(f"{target}.manifest.json").read_bytes())


def left_over(target: Path) -> list[Path]:
    """Files beside the target and its manifest; each must be recognisable as unfinished."""
    finished = {target.name, f"{target.name}.manifest.json"}
    others = [path for path in target.parent.iterdir() if path.name not in finished]
    assert all(p.name.startswith(".") and p.name.endswith(".partial") for p in others), others
    return others


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield Stage(tmp_path_factory.mktemp("stage"))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "release.csv"


@pytest.mark.xdist_group("killed")
def test_killed_at_every_step(stage: Stage, target: Path) -> None:
    """Die just before each request to the file system, until a run gets through."""
    old, new = stage.old_and_new(target)
    assert old != new
    seen = []
    step, code = 0, -signal.SIGKILL
    waiting = [stage.start("step", step, target) for step in (1, 2, 3)]
    while code == -signal.SIGKILL:
        process = waiting.pop(0)
        waiting.append(stage.start("step", step + 4, target))
        go(process)
        code = end(process)
        state = state_of(target)
        assert state.release in (old.release, new.release)
        assert state.manifest in (old.manifest, new.manifest)
        seen.append(state)
        step += 1
        assert step < 40, "the driver dies of something else"
        old_again(target, old)
    for process in waiting:
        process.kill()
        end(process)
    assert code == 0
    assert step > 5, "there are that many steps at least: open, write, rename, twice"
    assert seen[0] == old
    assert seen[-1] == new
    assert left_over(target), "some died half-way"


def old_again(target: Path, old: Written) -> None:
    target.write_bytes(old.release)
    Path(f"{target}.manifest.json").write_bytes(old.manifest)


@pytest.mark.xdist_group("killed")
def test_killed_between_batches(stage: Stage, target: Path) -> None:
    """Die with a part of the rows written."""
    old, _ = stage.old_and_new(target)
    for process in [stage.start("SIGKILL", batch, target) for batch in (1, 3)]:
        go(process)
        assert end(process) == -signal.SIGKILL
        assert state_of(target) == old
    assert left_over(target)


@pytest.mark.xdist_group("killed")
def test_interrupted_between_batches(stage: Stage, target: Path) -> None:
    """Ctrl-C leaves nothing behind at all."""
    stage.old_and_new(target)
    before = files_below(target.parent)
    process = stage.start("SIGINT", 2, target)
    go(process)
    assert end(process) != 0
    assert files_below(target.parent) == before


@pytest.mark.xdist_group("killed")
@pytest.mark.parametrize(
    ("ending", "kills"), [("csv", 7), ("csv.gz", 4), ("parquet", 3), ("jsonl", 3)]
)
def test_killed_at_any_moment(stage: Stage, target: Path, ending: str, kills: int) -> None:
    """Two releases take turns over one another until the kill comes."""
    target = target.with_name(f"release.{ending}")
    old, new = stage.old_and_new(target)
    hit = 0
    waiting = [stage.start("loop", 0, target)]
    for number in range(kills):
        process = waiting.pop()
        go(process)
        waiting.append(stage.start("loop", 0, target))
        time.sleep(0.02 + 0.11 * number)
        process.kill()
        assert end(process) == -signal.SIGKILL, "it wrote until it was killed"
        state = state_of(target)
        assert state.release in (old.release, new.release)
        assert state.manifest in (old.manifest, new.manifest)
        hit += bool(left_over(target))
    for process in waiting:
        process.kill()
        end(process)
    assert hit, "no kill came while a file was being written"
    pickle.loads(stage.stored[0].read_bytes()).write(target)
    assert shoal.verify(target).ok
