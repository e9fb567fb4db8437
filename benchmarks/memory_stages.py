"""What each stage of a run in memory takes: CPU, and the most memory that the process has in it.

`in_stages` starts this file as a process, which runs the command line with every step of the
engine watched, and prints what it saw as JSON. Peaks are Linux's own (``VmHWM``), put back
before every step.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

STEPS = {
    "read": "read the CSV file; its SHA-256",
    "settle": "roles, notations",
    "encode": "encode",
    "decide": "is it possible; cautions",
    "partition": "canonical order, curve keys, ranges, groups",
    "recode": "released texts, canonical row order",
    "verify": "verify the released text",
    "measure": "loss, risk of disclosure",
    "release": "who stood out, what is exposed, where the loss sits",
}
START, WRITE = "start of Python and of the program", "write CSV, manifest and record"


def status(name: str) -> float:
    """A number of the process, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


class Watch:
    """CPU seconds and peak of each step."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, float]] = {}
        self.inside = 0.0

    def step(self, owner: Any, name: str, told: str) -> None:
        """Watch a method of a class."""
        plain: Callable[..., Any] = getattr(owner, name)

        @wraps(plain)
        def watched(*args: Any, **more: Any) -> Any:
            Path("/proc/self/clear_refs").write_text("5")
            begin = time.process_time()
            try:
                return plain(*args, **more)
            finally:
                cpu = time.process_time() - begin
                self.inside += cpu
                self.found[told] = (cpu, status("VmHWM"))

        setattr(owner, name, watched)


def main(words: list[str]) -> None:
    """Run a command and print what its steps took."""
    from shoal.cli import _NothingUnused
    from shoal.cli import main as command

    sys.meta_path.insert(0, _NothingUnused())  # as the command's own entry does
    from shoal.engines.memory.engine import MemoryEngine
    from shoal.release import Release

    watch = Watch()
    for name, told in STEPS.items():
        watch.step(MemoryEngine, name, told)
    watch.step(Release, "write", WRITE)
    sys.argv = ["shoal", *words]
    try:
        command()
    except SystemExit as end:
        if end.code:
            raise
    whole = time.process_time()
    found = {START: (whole - watch.inside, 0.0), **watch.found}
    print(json.dumps([[told, cpu, round(peak)] for told, (cpu, peak) in found.items()]))


def in_stages(words: list[str], environment: dict[str, str]) -> list[tuple[str, float, int]]:
    """Name, CPU seconds and peak of every stage of a command."""
    whole = [sys.executable, __file__, *words]
    done = subprocess.run(whole, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]


if __name__ == "__main__":
    main(sys.argv[1:])
