"""This checkout against another commit, in one run: does a change cost time?

``python -m benchmarks.against HEAD~20`` (or a folder with another checkout). Both sides
take turns, each in a process of its own, and use the public interface only, so that they
may differ inside. What counts is the ratio of the least CPU seconds of each; releases are
compared by their SHA-256.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
ROUNDS = 3
CASES: dict[str, dict[str, Any]] = {
    "partition: hilbert k = 10": {"data": "census", "method": "hilbert", "k": 10},
    "partition: hilbert l = 5": {"data": "census", "method": "hilbert", "l": 5},
    "partition: mondrian k = 10": {"data": "census", "method": "mondrian", "k": 10},
    "partition: mondrian l = 5": {"data": "census", "method": "mondrian", "l": 5},
    "partition: bsgi l = 5": {"data": "census", "method": "bsgi", "l": 5},
    "partition: anatomy l = 5": {"data": "census", "method": "anatomy", "l": 5},
    "partition: idistance k = 10": {"data": "census", "method": "idistance", "k": 10},
    "partition: tp+ l = 5": {"data": "census", "method": "tp+", "l": 5},
    "best: instant, k = 10": {"data": "adult", "effort": "instant", "k": 10, "bound": False},
    "best: fast, k = 10": {"data": "adult", "effort": "fast", "k": 10, "bound": False},
    "best: fast, l = 5": {"data": "adult", "effort": "fast", "l": 5, "bound": False},
    "end to end: hilbert k = 10": {"data": "file", "method": "hilbert", "k": 10},
}
WORKER = Path(__file__).with_name("timed.py")


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """The folder of a checkout: as named, or a work tree of a revision."""
    if Path(revision).is_dir():
        yield Path(revision).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "before"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(target), revision], check=True)
        try:
            yield target
        finally:
            subprocess.run([*git, "remove", "--force", str(target)], check=True)


def measured(folder: Path, case: dict[str, Any], repeats: int, records: int) -> dict[str, Any]:
    """Least CPU seconds of a few runs in a process that uses the source of a checkout."""
    asked = json.dumps({**case, "repeats": repeats, "records": records})
    paths = os.pathsep.join([str(folder / "src"), str(folder)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(WORKER), asked],
        env={"SHOAL_DATA": str(HERE.parent / "shared" / "data"), **os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(before: Path, records: int, only: list[str]) -> None:
    print("| case | before s | now s | now / before | same release |\n|---|---|---|---|---|")
    for name, case in CASES.items():
        if only and not any(part in name for part in only):
            continue
        runs: dict[Path, list[dict[str, Any]]] = {before: [], HERE: []}
        for number in range(ROUNDS):
            for folder in (before, HERE) if number % 2 == 0 else (HERE, before):
                runs[folder].append(measured(folder, case, 3, records))
        old, new = (min(run["seconds"] for run in runs[folder]) for folder in (before, HERE))
        same = len({run["sha256"] for found in runs.values() for run in found}) == 1
        print(f"| {name} | {old:.3f} | {new:.3f} | {new / old:.3f} | {same} |", flush=True)


def main() -> None:
    named = [text for text in sys.argv[1:] if not text.startswith("-")]
    if not named:
        raise SystemExit("benchmarks.against: give a revision or a folder to compare with")
    records = next((int(a[10:]) for a in sys.argv if a.startswith("--records=")), 1_000_000)
    with checkout(named[0]) as before:
        compare(before, records, named[1:])


if __name__ == "__main__":
    main()
