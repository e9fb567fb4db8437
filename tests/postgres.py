"""A real PostgreSQL on loopback, started for the tests by an unprivileged user."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

USER, PASSWORD = "custodian", "Tr0ub4dor-s3cret"
PLACES = (*Path("/usr/lib/postgresql").glob("*/bin"), *map(Path, os.get_exec_path()))


class Server(NamedTuple):
    """Where it answers, and where its files are."""

    port: int
    data: Path

    def url(self, rest: str = "", user: str = USER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/postgres{rest}"

    def psql(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        """What PostgreSQL's own client makes of a script."""
        settings = {"PGPASSWORD": PASSWORD, "PGHOST": "127.0.0.1", "PGPORT": str(self.port)}
        words = ("-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", "postgres", *words)
        return subprocess.run(
            _command("psql", *words), input=script, env={**os.environ, **settings},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def kill(self) -> None:
        """Every process of it at once, as when the power goes."""
        parent = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(parent, signal.SIGQUIT)  # immediate shutdown: no time to end anything

    def start(self) -> None:
        _run("pg_ctl", "start", "-w", "-t", "60", "-D", self.data, "-l", self.data / "log")


def programs() -> Path | None:
    """The folder with initdb and pg_ctl; None where PostgreSQL is not installed."""
    return next((place for place in PLACES if (place / "initdb").exists()), None)


def need_postgres() -> None:
    """Skips where PostgreSQL is not installed, but not in CI."""
    if programs() is not None:
        return
    places = "no initdb in /usr/lib/postgresql/*/bin or on the PATH"
    if os.environ.get("CI"):
        pytest.fail(
            f"in CI PostgreSQL must be there: {places}; `make test` installs it where apt-get "
            "and root are there"
        )
    pytest.skip(f"PostgreSQL is not installed: {places}")


@contextmanager
def running() -> Iterator[Server]:
    """A server with an empty database; gone in the end."""
    base = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    try:
        if _user() is not None:
            shutil.chown(base, *_user())
        data, words = base / "data", base / "words"
        words.write_text(PASSWORD)
        words.chmod(0o644)
        _run("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", words, "-N")
        port = _free_port()
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"port = {port}\nlisten_addresses = '127.0.0.1'\nfsync = off\n"
                f"unix_socket_directories = '{base}'\nmax_connections = 20\n"
            )
        server = Server(port, data)
        server.start()
        yield server
        subprocess.run(_command("pg_ctl", "stop", "-m", "immediate", "-D", data), check=False,
                       capture_output=True, **_as_user())  # fmt: skip
    finally:
        for _ in range(50):  # processes of a killed server may still write
            shutil.rmtree(base, ignore_errors=True)
            if not base.exists():
                break
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _user() -> tuple[str, str] | None:
    """PostgreSQL refuses to run as root: Debian's package brings a user."""
    return ("postgres", "postgres") if os.geteuid() == 0 else None


def _as_user() -> dict[str, str]:
    user = _user()
    return {} if user is None else {"user": user[0], "group": user[1], "cwd": "/"}


def _command(name: str, *words: object) -> list[str]:
    folder = programs()
    assert folder is not None
    return [str(folder / name), *map(str, words)]


def _run(name: str, *words: object) -> None:
    subprocess.run(
        _command(name, *words), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, **_as_user(),
    )  # fmt: skip
