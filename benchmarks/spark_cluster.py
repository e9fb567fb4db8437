"""A real standalone cluster of Spark on this machine: a master and workers, on loopback only.

Tests and measurements start and stop it. Every process of it is in a session of its own, so
that it can be found, counted, and ended by its number.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HOST = "127.0.0.1"
WAIT = 120
"""Seconds after which a daemon that has not come up is given up: machines can be very busy."""
TICKS = os.sysconf("SC_CLK_TCK")
HOME = Path(__file__).resolve().parents[1]
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java that runs for seconds only: half of its CPU would be spent on compiling itself."""


def missing() -> str | None:
    """Why there can be no cluster here; None: there can."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is not installed (pip install shoal[spark])"
    if shutil.which("java") is None:
        return "there is no java on the PATH (make system, or apt-get install openjdk-17-jre)"
    return None


def environment() -> dict[str, str]:
    """What daemons, executors and the driver are started with."""
    paths = [str(HOME / "src"), str(HOME), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A master and some workers."""

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1g", cores: int = 1) -> None:
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        self.home = Path(spec.origin).parent
        self.folder, self.memory, self.cores = folder, memory, cores
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master.Master", "master", "--port", str(self.port))
            self._await("master", "I have been elected leader")
            for _ in range(workers):
                self.add_worker()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def add_worker(self) -> subprocess.Popen[bytes]:
        """One more worker, which is there when this returns."""
        name = f"worker{len(self.workers)}"
        asked = ["--cores", str(self.cores), "--memory", self.memory]
        asked += ["--work-dir", str(self.folder / name)]
        process = self._start("worker.Worker", name, self.url, *asked)
        self.workers.append(process)
        self._await(name, "Successfully registered")
        return process

    def kill_worker(self, number: int) -> None:
        """Kill a worker and all that it has started, at once."""
        for pid in _of_session(self.workers[number].pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.workers[number].wait()

    def stop(self) -> None:
        """End everything."""
        for process in self.processes:
            for pid in _of_session(process.pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        self.processes, self.workers = [], []

    def sessions(self) -> list[int]:
        return [process.pid for process in self.processes]

    def _start(self, name: str, log: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [
            str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}",
            *arguments, "--host", HOST, "--webui-port", "0",
        ]  # fmt: skip
        with (self.folder / f"{log}.log").open("wb") as out:
            process = subprocess.Popen(
                command, env={**environment(), "SPARK_LOCAL_DIRS": str(self.folder / "local")},
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=self.folder,
                preexec_fn=_end_with_us,  # noqa: PLW1509
            )  # fmt: skip
        self.processes.append(process)
        return process

    def _await(self, name: str, words: str) -> None:
        log = self.folder / f"{name}.log"
        for _ in range(10 * WAIT):
            if words in log.read_text(errors="replace"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{name} did not come up:\n{log.read_text(errors='replace')[-2000:]}")


def _end_with_us() -> None:
    """A daemon ends when whoever started it is killed, and no fixture ends it (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def short_lived() -> dict[str, str]:
    """What a session of tests is asked for besides."""
    return {"spark.driver.extraJavaOptions": QUICK, "spark.executor.extraJavaOptions": QUICK}


def settings(**more: str) -> dict[str, str]:
    """What a session of a small cluster is asked for."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": HOST,
        "spark.driver.host": HOST,
        "spark.driver.memory": "600m",
        "spark.executor.memory": "600m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.python.daemon.module": "shoal.engines.spark.daemon",
        "spark.executorEnv.PYTHONPATH": environment()["PYTHONPATH"],
        **more,
    }


def _stat(pid: int) -> list[str]:
    """The fields of a process after its name."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def _of_session(session: int) -> list[int]:
    """Processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int(_stat(int(entry.name))[3]) == session:
                    found.append(int(entry.name))
    return found


class Counted:
    """CPU seconds and memory of all processes of some sessions, looked at again and again."""

    def __init__(self, sessions: list[int], every: float = 0.5) -> None:
        self.sessions, self.every = sessions, every
        self.cpu: dict[int, float] = {}
        self.begun: dict[int, float] = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Counted:
        self._look()
        self.begun = dict(self.cpu)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self._look()

    @property
    def seconds(self) -> float:
        """CPU since this was entered."""
        return sum(cpu - self.begun.get(pid, 0.0) for pid, cpu in self.cpu.items())

    def _watch(self) -> None:
        while not self.ended.wait(self.every):
            self._look()

    def _look(self) -> None:
        for session in self.sessions:
            for pid in _of_session(session):
                with contextlib.suppress(OSError, IndexError, ValueError):
                    fields = _stat(pid)
                    self.cpu[pid] = (int(fields[11]) + int(fields[12])) / TICKS
