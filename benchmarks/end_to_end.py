"""CSV in, verified CSV and manifest out, against DuckDB reading and writing the same CSV.

Each side runs in a process of its own; time is the best of a few runs, memory
the peak of the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import CENSUS_QI, census
from shoal.io.write import decoded, write_table

DUCKDB = """
import duckdb, time, sys
begin = time.perf_counter()
duckdb.sql(f"COPY (SELECT * FROM read_csv('{sys.argv[1]}')) TO '{sys.argv[2]}'")
print(time.perf_counter() - begin)
"""


def measured(command: list[str]) -> tuple[float, float, str]:
    """Seconds, peak megabytes and stdout of a command."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, f"{command[:3]} failed"
    return time.perf_counter() - begin, usage.ru_maxrss / 1024, output


def run(rows: int, folder: Path, repeats: int) -> None:
    table, _ = census(rows)
    source, target = folder / "people.csv", folder / "release.csv"
    write_table(table, source)
    arrow = decoded(table).nbytes / 1e6
    del table
    shoal = [
        str(Path(sys.executable).with_name("shoal")), "anonymize", str(source), "-o", str(target),
        "--qi", ",".join(CENSUS_QI), "--sensitive", "occupation,salary", "-k", "10", "--quiet",
        "--method", "hilbert",
    ]  # fmt: skip
    duckdb = [sys.executable, "-c", DUCKDB, str(source), str(folder / "copy.csv")]
    ours, theirs, peak = [], [], 0.0
    for _ in range(repeats):  # by turns, so that a busy machine slows both
        theirs.append(float(measured(duckdb)[2].split()[-1]))
        seconds, megabytes, _ = measured(shoal)
        ours.append(seconds)
        peak = max(peak, megabytes)
    print(
        f"| {rows:,} | {min(theirs):.2f} | {min(ours):.2f} | {min(ours) / min(theirs):.1f} | "
        f"{arrow:.0f} | {peak:.0f} | {6 * arrow + 400:.0f} |"
    )


def main() -> None:
    print("\n## End to end: CSV in, verified CSV and manifest out (hilbert, k = 10, 7 QIs)\n")
    print("| rows | DuckDB copy s | shoal s | ratio | Arrow MB | peak MB | 6 x Arrow + 400 MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        run(1_000_000, Path(folder), repeats=5)
        if "--large" in sys.argv:
            run(10_000_000, Path(folder), repeats=1)
