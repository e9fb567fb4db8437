"""What compiling costs, kernel by kernel: all that the demo's release by `best` needs.

Each way of compiling runs in a process and with a cache of its own. Seconds are CPU seconds
of a kernel without those that are compiled for it; only totals of one run are compared.
``python -m benchmarks compile --all`` lists every kernel, not only the dearest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results") / "compile.json"
SHOWN = 20
WAYS = {"before": "0", "now": "1"}
"""As Numba always does it, with its own garbage collection; and as `kernels/compiling` does."""
WORKER = """
import gc, json, os, sys, time
from collections import defaultdict
from shoal.kernels.compiling.watching import Watcher, WATCH
import shoal.kernels.jit

class Table(Watcher):
    def __init__(self):
        self.inside, self.found = [0.0], defaultdict(lambda: [0, 0.0])
    def begun(self, dispatcher, depth):
        if os.environ["SHOAL_LEAN"] == "0":
            gc.enable()
        self.inside.append(0.0)
    def ended(self, dispatcher, arguments, depth, spent):
        name = dispatcher.py_func.__module__.removeprefix("shoal.kernels.")
        row = self.found[f"{name}.{dispatcher.py_func.__qualname__}"]
        row[0] += 1
        row[1] += spent[1] - self.inside.pop()
        self.inside[-1] += spent[1]

# Not by `shoal demo`, which on an empty cache takes the quickest method and helpers.
from pathlib import Path
from shoal.cli.demo import make
from shoal.progress import silent
began = time.process_time()
with Table() as table:
    make(Path(sys.argv[1]), silent)
run = time.process_time() - began
print(json.dumps({"kernels": table.found, "compiling": table.inside[0], "run": run}))
"""


def measured(way: str) -> dict[str, Any]:
    """Compile everything once, in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", WORKER, str(Path(folder) / "demo")],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "SHOAL_LEAN": way},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        files = [path for path in cache.rglob("*") if path.is_file()]
        found |= {"files": len(files), "bytes": sum(path.stat().st_size for path in files)}
    return found


def main() -> None:
    found = {name: measured(way) for name, way in WAYS.items()}
    rows: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for name, one in found.items():
        for kernel, row in one["kernels"].items():
            rows[kernel][name] = row
    nothing = [0, 0.0]
    dearest = sorted(rows, key=lambda k: -max(row[1] for row in rows[k].values()))
    print("\n## Compiling: what `shoal demo` needs, with an empty cache (CPU seconds)\n")
    print("| kernel | signatures before | s before | signatures | s |\n|---|---|---|---|---|")
    for kernel in dearest if "--all" in sys.argv else dearest[:SHOWN]:
        old, new = (rows[kernel].get(name, nothing) for name in WAYS)
        print(f"| {kernel} | {old[0]} | {old[1]:.2f} | {new[0]} | {new[1]:.2f} |")
    totals = [f"{sum(r[0] for r in one['kernels'].values())} | {one['compiling']:.1f}"
              for one in found.values()]  # fmt: skip
    print(f"| all {len(rows)} | {' | '.join(totals)} |")
    for name, one in found.items():
        print(f"\n{name}: {one['files']} files of {one['bytes'] / 1e6:.1f} MB in the cache")
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
