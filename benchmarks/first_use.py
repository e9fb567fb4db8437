"""What compiling costs: the first release on a machine, and the second."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

RUN = """
import shoal
people = shoal.datasets.census(2000)
roles = dict(qi=["age", "gender", "country"], sensitive="occupation", rest="drop")
for method in ("hilbert", "mondrian"):
    shoal.anonymize(people, **roles, k=5, method=method)
    shoal.anonymize(people, **roles, k=5, l=3, method=method)
"""


def main() -> None:
    print("\n## First use: hilbert and mondrian, k and l, with an empty and a full kernel cache\n")
    print("| run | seconds | of which CPU |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for name in ("first, compiles", "second, from the cache"):
            begin, spent = time.perf_counter(), _child_cpu()
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            subprocess.run([sys.executable, "-c", RUN], check=True, env=environment)
            wall, cpu = time.perf_counter() - begin, _child_cpu() - spent
            print(f"| {name} | {wall:.1f} | {cpu:.1f} |")


def _child_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
