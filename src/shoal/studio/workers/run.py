"""One run: ``python -m shoal.studio.workers.run FOLDER`` does what its ``job.json`` asks.

How far it is goes to ``progress.json``; what came of it is written last, to ``result.json``
or ``error.json``. See `shoal.studio.jobs`.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, ShoalWarning
from shoal.policy import Policy
from shoal.studio.session import read_json, write_json
from shoal.studio.workers.leash import ends_with_its_parent, quiet

__all__ = ["main"]

EVERY = 0.1
"""Seconds between two words of progress."""


class Teller:
    """Writes down how far the work is: stages, shares and losses, never a cell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun = time.monotonic()
        self.told = 0.0
        self.stage = ""
        self.loss: float | None = None

    def __call__(self, stage: str, done: float, total: float, loss: float | None = None) -> None:
        now = time.monotonic()
        if loss is not None and loss != self.loss:
            self.loss = loss
            with (self.folder / "losses.txt").open("a", encoding="utf-8") as file:
                file.write(f"{now - self.begun:.2f} {loss:.6f}\n")
        if stage == self.stage and now - self.told < EVERY:
            return
        self.told, self.stage = now, stage
        share = min(1.0, done / total) if done and total else None
        write_json(self.folder / "progress.json",
                   {"stage": stage, "share": share, "loss": self.loss})  # fmt: skip


def _without_folders(message: str, job: dict[str, Any], folder: Path) -> str:
    """A message as a page shows it: where files lie is nobody's business there."""
    rooms = (folder, folder.parent, folder.parent.parent, Path(job.get("table", "")).parent)
    for room in rooms:
        if room.is_absolute():
            message = message.replace(f"{room}{os.sep}", "")
    return message


def main() -> None:
    quiet()
    os.umask(0o077)  # whatever is written is for nobody else
    ends_with_its_parent(watch_stdin=True)
    folder = Path(sys.argv[1])
    job = read_json(folder / "job.json") or {}
    tell = Teller(folder)
    tell("start", 0, 1)
    try:
        from shoal.studio.workers.bounds import check_unpacked
        from shoal.studio.workers.tasks import TASKS

        check_unpacked(Path(job["table"]))
        task: Callable[..., dict[str, Any]] = TASKS[job["kind"]]
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ShoalWarning)
            result = task(folder, job, Policy.load(folder / "shoal.toml"), tell)
        told = [str(w.message) for w in warned if isinstance(w.message, ShoalWarning)]
        result = {**result, "seconds": time.monotonic() - tell.begun, "warnings": told}
        write_json(folder / "result.json", result)
    except ShoalError as error:
        write_json(folder / "error.json", {"message": _without_folders(str(error), job, folder)})
    except MemoryError:
        write_json(folder / "error.json", {"message": "not enough memory for this table"})
    except Exception as error:  # its text may quote a cell
        kind = type(error).__name__
        write_json(folder / "error.json", {"message": f"an error of Shoal's own ({kind})"})
        if os.environ.get("SHOAL_DEBUG"):
            raise


if __name__ == "__main__":
    main()
