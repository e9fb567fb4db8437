"""A process killed while it writes: the target holds the old release or the new one, whole.

Release, manifest and record are of one run, or the next run makes them so; until then it is
said that they are of different runs.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import shoal
from command import files_below
from shoal.errors import InputError
from shoal.io.together import all_or_none, lock_path, unfinished
from shoal.io.write import sha256_of

ROWS = 200_000

DRIVER = """
import os, pickle, signal, sys, traceback
from pathlib import Path

old, new = (pickle.loads(Path(file).read_bytes()) for file in sys.argv[1:])
new.verify()  # loads all kernels: whoever is forked from here on only writes


def at_step(number, target):
    # A step is whatever the system is asked to do with a file that bears the target's name.
    name, steps = Path(target).name, 0

    def step(event, args):
        nonlocal steps
        texts = [os.fsdecode(a) for a in args if isinstance(a, str | bytes | os.PathLike)]
        if any(name in text for text in texts):
            steps += 1
            if steps == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    new.write(target)


def at_batch(number, target, sign):
    steps = 0

    def batch(done, total):
        nonlocal steps
        steps += 1
        if steps == number:
            os.kill(os.getpid(), sign)

    new.write(target, progress=batch)


def forever(target):
    while True:
        new.write(target)
        old.write(target)


for line in sys.stdin:
    mode, number, target = line.rstrip("\\n").split(" ", 2)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            if mode == "step":
                at_step(int(number), target)
            elif mode == "forever":
                forever(target)
            else:
                at_batch(int(number), target, signal.Signals[mode])
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException:
            traceback.print_exc()
            os._exit(9)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Loads two releases once; each line on stdin forks a process that writes them and is killed."""


class Written(NamedTuple):
    """What the target, its manifest and its record hold, but for the generation of the run."""

    release: bytes
    manifest: dict[str, Any]
    record: dict[str, Any]


class Whole(pickle.Pickler):
    """Pickles a release with its private half, for other processes of a test."""

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, shoal.Release):
            return NotImplemented
        return object.__new__, (shoal.Release,), vars(obj)


class Stage:
    """Two releases of one large table, and the driver that writes one over the other."""

    def __init__(self, folder: Path) -> None:
        self.stored = []
        people = shoal.datasets.census(ROWS)
        for k in (5, 50):
            release = shoal.anonymize(
                people, qi=["age", "gender"], k=k, method="hilbert", rest="plain"
            )
            self.stored.append(folder / f"k{k}.pickle")
            with self.stored[-1].open("wb") as file:
                Whole(file).dump(release)
        self.driver = self.second_driver()

    def second_driver(self) -> subprocess.Popen[str]:
        """Another process from which writers are forked."""
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, *map(str, self.stored)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def old_and_new(self, target: Path) -> tuple[Written, Written]:
        """Write both in peace, the new one first: the old one is in place at the end."""
        written = []
        for stored in reversed(self.stored):
            pickle.loads(stored.read_bytes()).write(target)
            written.append(state_of(target))
        old, new = written[1], written[0]
        assert old.release != new.release
        assert old.manifest != new.manifest
        return old, new

    def start(self, mode: str, number: int, target: Path) -> int:
        """Fork a process that begins to write; its number."""
        assert self.driver.stdin is not None
        self.driver.stdin.write(f"{mode} {number} {target}\n")
        self.driver.stdin.flush()
        return self._answer()

    def end(self) -> int:
        """How the process ended: minus the signal that killed it, or 0."""
        return self._answer()

    def _answer(self) -> int:
        assert self.driver.stdout is not None
        return int(self.driver.stdout.readline())

    def close(self) -> None:
        with self.driver:
            assert self.driver.stdin is not None
            self.driver.stdin.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("stage"))
    yield stage
    stage.close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "release.csv"


def state_of(target: Path) -> Written:
    return Written(target.read_bytes(), *(without_run(file) for file in proofs(target)))


def proofs(target: Path) -> list[Path]:
    return [Path(f"{target}.{kind}.json") for kind in ("manifest", "record")]


def without_run(file: Path) -> dict[str, Any]:
    """A manifest or record but for the generation, which is another each time."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    del found["generation"]
    return found


def left_over(target: Path) -> list[Path]:
    """Files beside the release's own; each must be recognisable as unfinished."""
    finished = {target.name, *(file.name for file in proofs(target)), lock_path(target).name}
    others = [path for path in target.parent.iterdir() if path.name not in finished]
    assert all(p.name.startswith(".") and p.name.endswith(".partial") for p in others), others
    return others


def of_one_run(target: Path) -> bool:
    """Whether release, manifest and record were written together."""
    manifest, record = (json.loads(file.read_text(encoding="utf-8")) for file in proofs(target))
    same = manifest["generation"] == record["generation"]
    return bool(same and manifest["release"]["sha256"] == sha256_of(target))


def assert_whole(target: Path, old: Written, new: Written) -> Written:
    """Assert that each file is old or new, and that a mixture is known to be one."""
    state = state_of(target)
    for found, before, after in zip(state, old, new, strict=True):
        assert found in (before, after)
    assert of_one_run(target) or unfinished(target)
    return state


def test_killed_at_every_step(stage: Stage, target: Path) -> None:
    """Die just before each request to the file system, until a run gets through."""
    old, new = stage.old_and_new(target)
    before = files_below(target.parent)
    seen, mixed = [], 0
    code = -signal.SIGKILL
    while code == -signal.SIGKILL:
        assert len(seen) < 60, "it dies of something else"
        stage.start("step", len(seen) + 1, target)
        code = stage.end()
        seen.append(assert_whole(target, old, new))
        if not of_one_run(target):
            mixed += 1
            with pytest.raises(InputError, match="different runs"):
                shoal.verify(target)
        if unfinished(target):
            with all_or_none([target.with_name("other.csv")], lock_beside=target) as (other,):
                other.write_text("the next run first finishes what was begun")
            assert of_one_run(target)
            assert state_of(target) == new
        for path in target.parent.iterdir():
            path.unlink()
        for name, content in before.items():
            (target.parent / name).write_bytes(content or b"")
    assert code == 0
    assert seen[0] == old
    assert seen[-1] == new
    assert mixed, "no kill came between the renames"


def test_what_dead_processes_left_is_removed(stage: Stage, target: Path) -> None:
    stage.old_and_new(target)
    stage.start("SIGKILL", 1, target)
    assert stage.end() == -signal.SIGKILL
    strange = target.with_name(f".{target.name}.1234abcd.partial")  # who wrote it is not known
    strange.write_text("another's")
    assert len(left_over(target)) > 1
    pickle.loads(stage.stored[0].read_bytes()).write(target)
    assert left_over(target) == [strange]
    assert not lock_path(target).exists()


def test_two_writers_take_turns(stage: Stage, target: Path) -> None:
    """Both write all the time; whenever they are stopped the files are of one run."""
    other = Stage.__new__(Stage)
    other.stored, other.driver = stage.stored, stage.second_driver()
    try:
        old, new = stage.old_and_new(target)
        for number in range(12):
            children = [one.start("forever", 0, target) for one in (stage, other)]
            time.sleep(0.5 + 0.05 * number)
            for child in children:
                os.kill(child, signal.SIGKILL)
            assert [one.end() for one in (stage, other)] == [-signal.SIGKILL] * 2
            assert_whole(target, old, new)
    finally:
        other.close()


@pytest.mark.parametrize("batch", [1, 3])
def test_killed_between_batches(stage: Stage, target: Path, batch: int) -> None:
    """Die with a part of the rows written."""
    old, _ = stage.old_and_new(target)
    stage.start("SIGKILL", batch, target)
    assert stage.end() == -signal.SIGKILL
    assert state_of(target) == old
    assert left_over(target)


def test_interrupted_between_batches(stage: Stage, target: Path) -> None:
    """Ctrl-C leaves nothing behind at all."""
    stage.old_and_new(target)
    before = files_below(target.parent)
    stage.start("SIGINT", 2, target)
    assert stage.end() == 130
    assert files_below(target.parent) == before


@pytest.mark.parametrize(
    ("ending", "kills"), [("csv", 10), ("csv.gz", 5), ("parquet", 5), ("feather", 3), ("jsonl", 5)]
)
def test_killed_at_any_moment(stage: Stage, target: Path, ending: str, kills: int) -> None:
    """Two releases take turns over one another until the kill comes."""
    target = target.with_name(f"release.{ending}")
    old, new = stage.old_and_new(target)
    number = 0
    # At least so many kills, and more until one has come while a file was being written.
    while number < kills or (number < 100 and not left_over(target)):
        child = stage.start("forever", 0, target)
        time.sleep(0.03 + 0.07 * (number % kills))
        os.kill(child, signal.SIGKILL)
        assert stage.end() == -signal.SIGKILL, "it wrote until it was killed"
        assert_whole(target, old, new)
        number += 1
    assert left_over(target), "no kill came while a file was being written"
    pickle.loads(stage.stored[0].read_bytes()).write(target)
    assert shoal.verify(target).ok, "what killed processes leave behind is in nobody's way"
