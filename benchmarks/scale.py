"""Larger than memory: the DuckDB engine beside DuckDB's own sort and rewrite of the same file.

Every side runs in a process of its own. CPU seconds are of the whole process, from its start
to its end; memory is the peak of the process; what was written is grouped once more by a
reader that knows nothing of Shoal. ``--rows 50`` takes 50 million records in place of 10.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import shoal
from benchmarks.data import CENSUS_QI, acs, census
from benchmarks.keeping import Table
from benchmarks.memory_stages import in_stages
from benchmarks.on_spark import on_spark
from benchmarks.spark_cluster import missing
from shoal.engines.ranges.which import DISTANT
from shoal.io.write import decoded
from shoal.methods.best.method import Best
from shoal.methods.bsgi import BSGI
from shoal.methods.hilbert import Hilbert

MILLION = 1_000_000
MEMORY = "1.5GB"
LAUNCHED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""A small process that starts another: a peak begins with the memory of who started it."""
COPY = """
import duckdb, sys
duckdb.sql(f"COPY (SELECT * FROM read_csv('{sys.argv[1]}')) TO '{sys.argv[2]}'")
"""
SORT = """
import duckdb, sys
source, target, folder = sys.argv[1:]
settings = {"memory_limit": "1GB", "threads": 2, "temp_directory": folder}
form = "(FORMAT parquet, COMPRESSION zstd)" if target.endswith("parquet") else "(HEADER)"
with duckdb.connect(config=settings) as con:
    con.execute(f"COPY (SELECT * FROM '{source}' ORDER BY ALL) TO '{target}' {form}")
"""


class Spill(threading.Thread):
    """The most that lies in folders of runs at one time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most, self.done = folder, 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.1):
            size = 0
            for path in self.folder.glob(".shoal-spill.*/**/*"):
                try:
                    size += path.stat().st_size
                except OSError:  # gone meanwhile
                    continue
            self.most = max(self.most, size)


def as_installed() -> dict[str, str]:
    """An environment in which Python keeps bytecode: who installs a package has it."""
    return {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}


def measured(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds, seconds and peak megabytes of a command."""
    begin = time.perf_counter()
    whole = [sys.executable, "-c", LAUNCHED, *command]
    done = subprocess.run(whole, capture_output=True, text=True, check=True, env=as_installed())
    told = done.stdout.split()
    return float(told[-2]), time.perf_counter() - begin, float(told[-1]) / 1024


def make_files(folder: Path, millions: int) -> dict[str, Path]:
    """A census of so many million records, as Parquet and as CSV."""
    files = {ending: folder / f"people.{ending}" for ending in ("parquet", "csv")}
    writer = None
    for number in range(millions):
        table = decoded(shoal.datasets.census(MILLION, seed=number + 1))
        writer = writer or pq.ParquetWriter(files["parquet"], table.schema, compression="zstd")
        writer.write_table(table, row_group_size=122_880)
    assert writer is not None
    writer.close()
    duckdb.sql(f"COPY (SELECT * FROM '{files['parquet']}') TO '{files['csv']}' (HEADER)")
    return files


def command(source: Path, out: Path, asked: list[str], engine: str) -> list[str]:
    kinds = [f"--kind={name}=ordinal" for name in census(10)[1]["kind"]]
    roles = ["--qi", ",".join(CENSUS_QI), "--sensitive", "occupation", "--plain", "salary"]
    how = ["--method", "hilbert", "--engine", engine, "--memory", MEMORY, "--seed", "7", "-q"]
    whole = [sys.executable, "-m", "shoal", "anonymize", str(source), "-o", str(out)]
    return [*whole, *roles, *kinds, *how, *asked]


def independent(out: Path) -> tuple[int, int, int]:
    """Records, the smallest class, and the smallest l, by SQL alone."""
    qi = ", ".join(CENSUS_QI)
    read = f"read_csv('{out}', all_varchar = true)" if out.suffix == ".csv" else f"'{out}'"
    found = duckdb.sql(
        f"SELECT sum(n), min(n), min(n // m) FROM (SELECT sum(c) n, max(c) m FROM (SELECT {qi}, "
        f"occupation, count(*) c FROM {read} GROUP BY ALL) GROUP BY {qi})"
    ).fetchall()[0]
    return int(found[0]), int(found[1]), int(found[2])


def against_duckdb(folder: Path, millions: int) -> None:
    table = Table(
        "scale",
        f"DuckDB engine, {millions} million records, {MEMORY}, in CPU of DuckDB's sort and rewrite",
        ["file", "asked", "DuckDB's sort s", "shoal CPU s", "ratio", "shoal s", "peak MB",
         "spill MB", "smallest class", "smallest l"],
        ".2f",
    )  # fmt: skip
    files = make_files(folder, millions)
    for ending, asked in (("parquet", "k = 10"), ("parquet", "l = 5"), ("csv", "k = 10")):
        out = folder / f"release.{ending}"
        sort = [sys.executable, "-c", SORT, str(files[ending]), str(folder / f"sorted.{ending}")]
        theirs, _, _ = measured([*sort, str(folder)])
        spill = Spill(folder)
        spill.start()
        option = ["-" + asked[0], asked[4:]]
        ours, seconds, peak = measured(command(files[ending], out, option, "duckdb"))
        spill.done.set()
        records, smallest, diverse = independent(out)
        assert records == millions * MILLION
        assert smallest >= 10 if asked[0] == "k" else diverse >= 5
        table.add(ending, asked, theirs, ours, ours / theirs, seconds, round(peak),
                  round(spill.most / 1e6), smallest, diverse)  # fmt: skip
        table.show()


def same_bytes(folder: Path) -> None:
    files = make_files(folder, 3)
    table = Table("scale", "The same seed by two engines, 3 million records",
                  ["engine", "CPU s", "peak MB", "SHA-256 begins"], ".1f")  # fmt: skip
    digests = set()
    for engine in ("memory", "duckdb"):
        out = folder / f"{engine}.parquet"
        cpu, _, peak = measured(command(files["parquet"], out, ["-k", "10"], engine))
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        digests.add(digest)
        table.add(engine, cpu, round(peak), digest[:12])
    assert len(digests) == 1
    table.show()


def of_ranges() -> None:
    table = Table("scale", "Loss of ranges beside the whole table",
                  ["table", "method", "asked", "whole", "in ranges", "ratio", "CPU s whole",
                   "CPU s in ranges"], ".5g")  # fmt: skip
    cases: list[tuple[type, dict]] = [
        (Hilbert, {"k": 10}), (Hilbert, {"l": 5}), (BSGI, {"l": 5}),
        (Best, {"k": 10, "effort": "instant", "bound": False}),
        (Hilbert, {"l": "auto"}), (Hilbert, {"k": 10, "t": 0.3}),
    ]  # fmt: skip
    sources = [("census, 1 million", census(MILLION), "occupation")]
    if (real := acs()) is not None:
        sources.append(("ACS", real, "OccGroup"))
    for name, (source, roles), sensitive in sources:
        for method, asked in cases:
            losses, times = [], []
            usual = method.by_range
            for size in (source.num_rows, min(usual, source.num_rows // 4)):
                # ranges of the usual length, though they are longer where t is asked
                method.by_range = size // DISTANT if "t" in asked else size
                begin = time.process_time()
                release = shoal.anonymize(source, **roles, sensitive=sensitive, rest="drop",
                                          method=method.name, seed=7, **asked)  # fmt: skip
                times.append(time.process_time() - begin)
                losses.append(release.loss.gcp)
            method.by_range = usual
            told = ", ".join(f"{n} = {v}" for n, v in asked.items() if n != "bound")
            if asked.get("l") == "auto":
                told = f"l = {release.policy.l}, the largest"
            table.add(name, method.name, told, *losses, losses[1] / losses[0], *times)
    table.show()


def in_memory(folder: Path, millions: int) -> None:
    """CSV to verified CSV by the engine in memory, beside DuckDB's copy of the file.

    What was measured of tables of other lengths stays.
    """
    table = Table("scale", "In memory, CSV to verified CSV, in CPU of DuckDB's copy",
                  ["million records", "DuckDB's copy s", "shoal CPU s", "ratio", "peak MB"],
                  ".2f")  # fmt: skip
    each = Table("scale", "In memory, stage by stage",
                 ["million records", "stage", "CPU s", "peak MB"], ".2f")  # fmt: skip
    source, out = make_files(folder, millions)["csv"], folder / "m.csv"
    copy = [sys.executable, "-c", COPY, str(source), str(folder / "copy.csv")]
    words = ["anonymize", str(source), "-o", str(out), "--qi", ",".join(CENSUS_QI), "--sensitive",
             "occupation,salary", "-k", "10", "--method", "hilbert", "--engine", "memory",
             "-q"]  # fmt: skip
    run = [sys.executable, "-m", "shoal", *words]
    turns = [(measured(copy), measured(run)) for _ in range(5 if millions < 5 else 1)]
    theirs, (ours, _, peak) = min(t[0][0] for t in turns), min(t[1] for t in turns)
    records, smallest, _ = independent(out)
    assert (records, smallest >= 10) == (millions * MILLION, True)
    table.add(millions, theirs, ours, ours / theirs, round(peak))
    for stage, cpu, most in in_stages(words, as_installed()):
        each.add(millions, stage, cpu, most or None)
    for measured_now in (table, each):
        measured_now.rows += [row for row in measured_now.known() if row[0] != millions]
        measured_now.rows.sort(key=lambda row: row[0] or 0)  # stages stay in their order
        measured_now.show()


def little_memory(folder: Path) -> None:
    """What three million records take at their peak where 400 MB are given."""
    table = Table("scale", "DuckDB engine, 3 million records, 400MB given",
                  ["file", "asked", "CPU s", "peak MB"], ".1f")  # fmt: skip
    for ending, source in make_files(folder, 3).items():
        for asked in ("k = 10", "l = 5"):
            option = ["-" + asked[0], asked[4:], "--memory", "400MB"]
            run = command(source, folder / f"little.{ending}", option, "duckdb")
            cpu, _, peak = measured(run)
            table.add(ending, asked, cpu, round(peak * 1.048576))  # as --memory counts
    table.show()


def millions_asked() -> int:
    """Of records, by ``--millions``: that length alone."""
    return int(sys.argv[sys.argv.index("--millions") + 1])


def main() -> None:
    warnings.simplefilter("ignore")
    millions = int(sys.argv[sys.argv.index("--rows") + 1]) if "--rows" in sys.argv else 10
    parts = ("sort", "bytes", "ranges", "memory", "little", "spark")
    only = [part for part in parts if f"--{part}" in sys.argv]
    print("\n## Larger than memory\n")
    with tempfile.TemporaryDirectory() as folder:
        if not only or "ranges" in only:
            of_ranges()
        if not only or "bytes" in only:
            same_bytes(Path(folder))
        if not only or "memory" in only:
            for length in (1, 10) if "--millions" not in sys.argv else (millions_asked(),):
                in_memory(Path(folder), length)
        if not only or "little" in only:
            little_memory(Path(folder))
        if not only or "sort" in only:
            against_duckdb(Path(folder), millions)
        if (not only or "spark" in only) and not missing():
            on_spark(
                Path(folder), millions, "--kill" in sys.argv, make_files, command, measured,
                independent,
            )  # fmt: skip
