"""Runs: processes of their own that tell how far they are through files.

::

    runs/0001/
      job.json        what was asked
      shoal.toml      the policy as it was, with its trees beside it
      progress.json   stage, share and loss so far
      losses.txt      seconds and loss, a line each
      result.json     numbers, when it is done; or
      error.json      why there is no release

A run is what its files say: the server may end in between, and nothing is lost but the work
of a process that ran. Results are written last and whole.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError
from shoal.policy import Policy
from shoal.studio.session import Session, read_json, stamp_of, write_json, write_text

__all__ = ["MOST_AT_ONCE", "Job", "Jobs"]

MOST_AT_ONCE = 3
"""Processes that work at the same time."""
LONGEST_NAME = 9


class Job:
    """One folder of a run."""

    def __init__(self, folder: Path, running: bool) -> None:
        self.folder = folder
        self.id = folder.name
        self.asked = read_json(folder / "job.json") or {}
        self.result = read_json(folder / "result.json")
        self.error = read_json(folder / "error.json")
        self.progress = read_json(folder / "progress.json") or {}
        self.running = running and self.result is None and self.error is None

    def is_about(self, stamp: list[int] | None) -> bool:
        """Whether it is about the file of this stamp."""
        return self.asked.get("stamp", stamp) == stamp

    @property
    def kind(self) -> str:
        return str(self.asked.get("kind", "release"))

    @property
    def state(self) -> str:
        """``done``, ``failed``, ``cancelled``, ``running``, or ``lost`` with a server."""
        if self.result is not None:
            return "done"
        if self.error is not None:
            return "cancelled" if self.error.get("cancelled") else "failed"
        return "running" if self.running else "lost"

    @property
    def seconds(self) -> float:
        """How long it works, or worked."""
        if self.result is not None:
            return float(self.result.get("seconds", 0.0))
        begun = float(self.asked.get("begun", 0.0))
        return max(0.0, time.time() - begun) if self.running else 0.0

    @property
    def losses(self) -> list[tuple[float, float]]:
        """Seconds and loss, as it fell."""
        try:
            lines = (self.folder / "losses.txt").read_text("utf-8").splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            with suppress(ValueError):
                at, loss = line.split()
                found.append((float(at), float(loss)))
        return found

    @property
    def policy(self) -> Policy:
        """The policy that it was asked with."""
        return Policy.load(self.folder / "shoal.toml")

    def file(self, kind: str) -> Path | None:
        """One of its files by what it is, such as ``release`` or ``record``."""
        name = (self.result or {}).get("files", {}).get(kind)
        path = self.folder / name if isinstance(name, str) else None
        return path if path is not None and path.is_file() else None


class Jobs:
    """All runs of a session, and the processes that work on some of them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for path in self.folder.iterdir():
            _sweep(path)  # a server that was killed left them halfway

    @property
    def folder(self) -> Path:
        return self.session.folder / "runs"

    def all(self, *kinds: str) -> list[Job]:
        """Runs of these kinds (all if none is named) about the table, the oldest first.

        Those about another table, or about what the file held before, are not told.
        """
        self._reap()
        stamp = stamp_of(self.session.table)
        found = [self._job(path) for path in sorted(self.folder.iterdir()) if path.is_dir()]
        return [
            job
            for job in found
            if job.asked and job.is_about(stamp) and (not kinds or job.kind in kinds)
        ]

    def get(self, name: str) -> Job:
        """A run by its number.

        Raises
        ------
        InputError
            There is none.
        """
        path = self.folder / name
        known = name.isdecimal() and len(name) <= LONGEST_NAME and path.is_dir()
        job = self._job(path) if known else None
        if job is None or not job.is_about(stamp_of(self.session.table)):
            raise InputError(f"there is no run {name[:LONGEST_NAME]}")
        self._reap()
        return self._job(path)

    def of(self, run: str, kind: str) -> Job | None:
        """The latest work of a kind about a run."""
        found = [job for job in self.all(kind) if job.asked.get("run") == run]
        return found[-1] if found else None

    def _job(self, path: Path) -> Job:
        return Job(path, path.name in self.processes)

    def start(self, kind: str, policy: Policy, **asked: Any) -> Job:
        """Begin a run.

        Raises
        ------
        InputError
            No table is chosen, or too many runs work already.
        """
        table = self.session.table
        if table is None:
            raise InputError("choose a table first")
        self._reap()
        if len(self.processes) >= MOST_AT_ONCE:
            raise InputError(f"{MOST_AT_ONCE} runs work already: wait for one, or cancel one")
        folder = self._new_folder()
        self._copy_policy(policy, folder)
        asked = {"kind": kind, "table": str(table), "stamp": stamp_of(table),
                 "begun": time.time(), **asked}  # fmt: skip
        write_json(folder / "job.json", asked)
        try:
            self.processes[folder.name] = subprocess.Popen(
                [sys.executable, "-m", "shoal.studio.workers.run", str(folder)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise OutputError(f"a run could not be started: {error.strerror}") from None
        return self._job(folder)

    def _new_folder(self) -> Path:
        taken = [int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()]
        folder = self.folder / f"{max(taken, default=0) + 1:04d}"
        folder.mkdir(mode=0o700)
        return folder

    def _copy_policy(self, policy: Policy, folder: Path) -> None:
        """The policy with its trees beside it: what is changed later does not change the run."""
        trees: dict[str, Any] = {}
        base = self.session.folder if policy.file is None else policy.file.parent
        for number, (column, spec) in enumerate(policy.hierarchy.items()):
            if isinstance(spec, str) and spec != "flat":
                name = f"tree-{number}.csv"
                shutil.copyfile(base / spec, folder / name)
                trees[column] = name
            else:
                trees[column] = spec
        copied = policy.model_copy(update={"hierarchy": trees})
        write_text(folder / "shoal.toml", copied.to_toml())

    def cancel(self, name: str) -> None:
        """Kill a run and all it started, at once."""
        process = self.processes.pop(name, None)
        if process is None:
            return
        _kill(process)
        folder = self.folder / name
        if not (folder / "result.json").exists() and folder.is_dir():
            write_json(folder / "error.json", {"cancelled": True, "message": ""})
        _sweep(folder)

    def delete(self, name: str) -> None:
        """Forget a run, its files, and whatever was made about it: its report is private too.

        Raises
        ------
        InputError
            There is no such run.
        OutputError
            Something of it is still there.
        """
        about = [job for job in self.all() if job.asked.get("run") == name]
        for job in (*about, self.get(name)):
            self.cancel(job.id)
            shutil.rmtree(job.folder, ignore_errors=True)
            if job.folder.exists():
                raise OutputError(f"run {job.id} could not be deleted whole")

    def cancel_others(self) -> None:
        """Cancel what works on a table that is no longer the chosen one."""
        stamp = stamp_of(self.session.table)
        for name in list(self.processes):
            if not self._job(self.folder / name).is_about(stamp):
                self.cancel(name)

    def cancel_all(self) -> None:
        for name in list(self.processes):
            self.cancel(name)

    def _reap(self) -> None:
        """Take leave of processes that ended; one that said nothing was killed from outside."""
        for name, process in list(self.processes.items()):
            if process.poll() is None:
                continue
            del self.processes[name]
            if process.stdin is not None:
                process.stdin.close()
            folder = self.folder / name
            said = (folder / "result.json").exists() or (folder / "error.json").exists()
            if not said and folder.is_dir():
                write_json(folder / "error.json", {"killed": True, "message": ""})
                _sweep(folder)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _sweep(folder: Path) -> None:
    """Half of a release is none: only what was asked, and what became of it, stays."""
    kept = {"job.json", "shoal.toml", "error.json", "progress.json", "losses.txt", "result.json"}
    if (folder / "result.json").exists() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.name not in kept and not path.name.startswith("tree-"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
