"""The Spark engine on a master and two workers of this machine, beside the DuckDB engine.

CPU is of every process of the cluster and of the driver, from the command's start to its end;
the cluster itself is up before. ``--kill`` kills a worker in the middle.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.keeping import Table
from benchmarks.spark_cluster import Cluster, Counted, environment, settings

KILL_AFTER = 0.5
"""Of the usual seconds of a run, when a worker is killed."""
FILES = 8
"""Input files: a folder, as data lie in a cluster."""


@contextmanager
def cluster_in(folder: Path, memory: str = "1500m"):
    """A cluster, and the environment of a command that works in it."""
    folder.mkdir()
    (folder / "conf").mkdir()
    asked = settings(**{"spark.executor.memory": "1200m", "spark.driver.memory": "1g"})
    lines = [f"{name} {value}" for name, value in asked.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    (folder / "conf" / "log4j2.properties").write_text("rootLogger.level = error\n")
    cluster = Cluster(folder, workers=2, memory=memory)
    try:
        yield cluster, {**environment(), "SPARK_CONF_DIR": str(folder / "conf")}
    finally:
        cluster.stop()


class Watched(Counted):
    """A command, with the CPU of a cluster and its own, and the peak of its processes' memory."""

    peak = 0.0

    def run(self, command: list[str], env: dict[str, str]) -> float:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, env=env, start_new_session=True, stdout=subprocess.DEVNULL
        )
        self.sessions = [*self.sessions, process.pid]
        self.driver = process.pid
        with self:
            self.begun = {pid: cpu for pid, cpu in self.begun.items() if not self._own(pid)}
            status = process.wait()
        if status:
            raise subprocess.CalledProcessError(status, command)
        return time.perf_counter() - begin

    def _own(self, pid: int) -> bool:
        try:
            return os.getsid(pid) == self.driver
        except OSError:
            return True

    def _look(self) -> None:
        super()._look()
        resident = 0
        for pid in self.cpu:
            if self._own(pid):
                try:
                    told = Path(f"/proc/{pid}/status").read_text()
                    resident += int(told.split("VmRSS:")[1].split()[0])
                except (OSError, IndexError, ValueError):
                    continue
        self.peak = max(self.peak, resident / 1024)


def sharded(source: Path, folder: Path) -> Path:
    """A Parquet file as several."""
    folder.mkdir(exist_ok=True)
    pages = pq.ParquetFile(source)
    groups = list(range(pages.num_row_groups))
    each = -(-len(groups) // FILES)
    for number, start in enumerate(range(0, len(groups), each)):
        table = pages.read_row_groups(groups[start : start + each])
        pq.write_table(table, folder / f"part-{number}.parquet", compression="zstd")
    return folder


def on_spark(folder: Path, millions: int, kill: bool, make_files, command, measured, check) -> None:
    """The same release by DuckDB and by a cluster."""
    table = Table(
        "scale", f"Spark engine, {millions} million records, a master and two workers",
        ["asked", "engine", "CPU s", "ratio", "s", "driver's peak MB", "SHA-256 begins"], ".1f",
    )  # fmt: skip
    source = sharded(make_files(folder, millions)["parquet"], folder / "in")
    with cluster_in(folder / "cluster") as (cluster, env):
        for asked in ("k = 10", "l = 5"):
            option = ["-" + asked[0], asked[4:]]
            out = folder / f"duckdb-{asked[0]}.parquet"
            theirs, seconds, _ = measured(command(source, out, option, "duckdb"))
            expected = hashlib.sha256(out.read_bytes()).hexdigest()
            table.add(asked, "duckdb", theirs, 1.0, seconds, None, expected[:12])
            out = folder / f"spark-{asked[0]}.parquet"
            run = command(source, out, option, "spark")
            at = run.index("--memory")
            run[at : at + 2] = ["--master", cluster.url]
            watched = Watched(cluster.sessions())
            seconds = watched.run(run, env)
            digest = hashlib.sha256(out.read_bytes()).hexdigest()
            assert digest == expected
            records, smallest, diverse = check(out)
            assert records == millions * 1_000_000
            assert smallest >= 10 if asked[0] == "k" else diverse >= 5
            ours = watched.seconds
            table.add(asked, "spark", ours, ours / theirs, seconds, round(watched.peak),
                      digest[:12])  # fmt: skip
            table.show()
        if kill:
            timer = threading.Timer(KILL_AFTER * seconds, cluster.kill_worker, [0])
            timer.start()
            out.unlink()
            Watched(cluster.sessions()).run(run, env)
            assert timer.finished.is_set()
            digest = hashlib.sha256(out.read_bytes()).hexdigest()
            assert digest == expected
            manifest = json.loads(Path(f"{out}.manifest.json").read_text())
            assert manifest["release"]["sha256"] == digest
            print("\na worker killed in the middle: the same bytes\n")
