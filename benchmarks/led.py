"""What `best` loses, and the seconds it takes with its bound, against another checkout.

``python -m benchmarks.led REVISION`` (or a folder); ``--only=trees`` and ``--k=10`` choose
cases, ``--effort=normal`` another effort. Both sides take turns, each in a process of its
own; means of three seeds, CPU seconds of a whole run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import shoal
from benchmarks.against import HERE, checkout
from benchmarks.best import SHARED, TREES
from benchmarks.data import acs, adult
from benchmarks.keeping import keep, kept

SEEDS = 3
CASES = {"trees": (5, 10, 50), "ordered": (5, 10, 50), "diverse": (5,), "acs": (10, 50)}
HEAD = ["data", "k or l", "effort", "loss before", "loss now", "ratio"]
HEAD += ["seconds before", "seconds now", "ratio of seconds"]
TITLE = "best with its bound, against the search that drew groups alike"


def asked(name: str, usual: list[str]) -> list[str]:
    given = [a.partition("=")[2].split(",") for a in sys.argv if a.startswith(f"--{name}=")]
    return given[0] if given else usual


def settings_of(case: str) -> tuple[Any, dict[str, Any]]:
    """A table, and what is asked of it besides k or l."""
    found = acs() if case == "acs" else adult()
    if found is None:
        raise SystemExit("benchmarks.led: the real data are not at hand")
    data, settings = found
    if case == "trees":
        folder = SHARED / "hierarchies" / "adult"
        trees = {name: str(folder / f"{file}.csv") for name, file in TREES.items()}
        return data, {"qi": ["age", *TREES], "hierarchy": trees}
    if case == "diverse":
        kinds = {name: kind for name, kind in settings["kind"].items() if name != "occupation"}
        qi = [name for name in settings["qi"] if name != "occupation"]
        return data, {"qi": qi, "kind": kinds, "sensitive": "occupation"}
    return data, settings


def worker(case: str, strength: int, effort: str) -> None:
    """Loss and CPU seconds, means of some seeds; the first run compiles and does not count."""
    table, settings = settings_of(case)
    settings |= {"l" if case == "diverse" else "k": strength, "rest": "drop"}
    shoal.anonymize(table.slice(0, 1000), **settings, seed=0, effort="fast")
    losses, begun = [], time.process_time()
    for seed in range(SEEDS):
        made = shoal.anonymize(table, **settings, seed=seed, effort=effort)
        assert made.verification.ok
        losses.append(made.loss.gcp)
    seconds = (time.process_time() - begun) / SEEDS
    print(json.dumps([sum(losses) / SEEDS, seconds]))


def measured(folder: Path, case: str, strength: int, effort: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.led", "--worker", case,
         str(strength), effort],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(HERE)])},
        cwd=HERE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    if "--worker" in sys.argv:
        case, strength, effort = sys.argv[-3:]
        return worker(case, int(strength), effort)
    named = [text for text in sys.argv[1:] if not text.startswith("-")]
    if not named:
        raise SystemExit("benchmarks.led: give a revision or a folder to compare with")
    with checkout(named[0]) as before:
        for effort in asked("effort", ["fast"]):
            for case in asked("only", list(CASES)):
                for strength in map(int, asked("k", list(map(str, CASES[case])))):
                    old = measured(before, case, strength, effort)
                    new = measured(HERE, case, strength, effort)
                    numbers = [
                        f"{old[0]:.5f}", f"{new[0]:.5f}", f"{new[0] / old[0]:.3f}",
                        f"{old[1]:.1f}", f"{new[1]:.1f}", f"{new[1] / old[1]:.2f}",
                    ]  # fmt: skip
                    _keep([case, str(strength), effort, *numbers])
    return None


def _keep(row: list[str]) -> None:
    print(" ".join(row), flush=True)
    rows = [old for old in kept("bounds").get(TITLE, {"rows": []})["rows"] if old[:3] != row[:3]]
    keep("bounds", {TITLE: {"head": HEAD, "form": "", "rows": [*rows, row]}})


if __name__ == "__main__":
    main()
