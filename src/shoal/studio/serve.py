"""Run the studio: on 127.0.0.1 only, until it is ended, or nobody comes any more."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, ShoalError
from shoal.studio.app import make_app
from shoal.studio.security import ONWARD, Keys
from shoal.studio.session import OPENER, Session, write_text

__all__ = ["IDLE", "serve"]

HOST = "127.0.0.1"
IDLE = 3600.0
"""Seconds without a request, and without a run, after which the server ends."""
LOOK = 5.0


def serve(
    start: Path, file: str | None = None, *, port: int = 0, open_browser: bool = True,
    keep: bool = False, idle: float = IDLE, say: Any = print,
) -> bool:  # fmt: skip
    """Run until ended or idle; gives whether everything was deleted at the end.

    However it ends (Ctrl-C, SIGTERM, a terminal that is closed, nobody who comes), it deletes
    what it wrote, unless `keep`. Only where it is killed at once the session stays: the same
    folder opens it again.
    """
    import uvicorn

    session = Session(start)
    session.lock()
    if file is not None:
        _take(session, file)
    listening = _listening(port)
    keys = Keys(listening.getsockname()[1])
    last = time.monotonic()

    def touched() -> None:
        nonlocal last
        last = time.monotonic()

    app = make_app(session, keys, touched=touched)
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, date_header=False,
        lifespan="on", timeout_graceful_shutdown=1, limit_concurrency=400, ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)

    def ended(number: int, frame: Any) -> None:
        server.should_exit = True

    async def run() -> None:
        watching = asyncio.get_running_loop().create_task(watch())
        await server.serve(sockets=[listening])
        watching.cancel()

    async def watch() -> None:
        while not server.started:
            await asyncio.sleep(0.02)
        _listen_to(ended)  # uvicorn put its own there, which would end us before we deleted
        say(keys.address)
        if open_browser:
            await asyncio.to_thread(_open, session, keys)
        while True:
            await asyncio.sleep(min(LOOK, idle / 2))
            studio = app.studio  # type: ignore[attr-defined]
            studio.jobs._reap()
            if studio.jobs.processes or studio.looking is not None:
                touched()
            if time.monotonic() - last > idle:
                server.should_exit = True

    before = _listen_to(ended)
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(run())
        if not keep:
            session.delete()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return not keep


def _listen_to(ended: Any) -> dict[Any, Any]:
    """Have all signals that mean an end told to `ended`; gives who was told before."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    return {
        number: signal.signal(number, ended)
        for name in names
        if (number := getattr(signal, name, None)) is not None
    }


def _open(session: Session, keys: Keys) -> None:
    """Send the browser to our address without naming it: everybody can read command lines.

    It is given a private file that leads there, gone once somebody came in.
    """
    file = session.folder / OPENER
    keys.when_used = lambda: file.unlink(missing_ok=True)
    if not keys.used:
        write_text(file, ONWARD.format(keys.address))
        webbrowser.open(file.as_uri())


def _take(session: Session, file: str) -> None:
    """The table that was named: it must lie in the start folder. A session about it goes on."""
    chosen = session.state.get("table")
    if chosen != {"name": file, "uploaded": False}:
        try:
            session.choose(file)
        except ShoalError:
            raise OutputError(f"{file}: no table of this name in {session.start}") from None


def _listening(port: int) -> socket.socket:
    # Named as TCP, so that asyncio sends answers at once and not after a wait for more.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
    except OSError as error:
        made.close()
        raise OutputError(f"port {port}: {error.strerror}; choose another with --port") from None
    return made
