"""Run the studio: on 127.0.0.1 only, until it is ended, or nobody comes any more."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
import webbrowser
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, ShoalError
from shoal.studio.app import make_app
from shoal.studio.security import Keys
from shoal.studio.session import Session

__all__ = ["IDLE", "serve"]

HOST = "127.0.0.1"
IDLE = 3600.0
"""Seconds without a request, and without a run, after which the server ends."""
LOOK = 5.0


def serve(
    start: Path, file: str | None = None, *, port: int = 0, open_browser: bool = True,
    keep: bool = False, idle: float = IDLE, say: Any = print,
) -> bool:  # fmt: skip
    """Run until interrupted or idle; gives whether everything was deleted at the end.

    Ended with Ctrl-C it deletes what it wrote, unless `keep`. Where it ends otherwise, by
    itself or killed, the session stays: the same folder opens it again.
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
    interrupted = False

    def by_hand(number: int, frame: Any) -> None:
        nonlocal interrupted
        interrupted = interrupted or number == signal.SIGINT
        server.should_exit = True

    async def run() -> None:
        watching = asyncio.get_running_loop().create_task(watch())
        await server.serve(sockets=[listening])
        watching.cancel()

    async def watch() -> None:
        while not server.started:
            await asyncio.sleep(0.02)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, by_hand)  # uvicorn's own would end without telling which
        say(keys.address)
        if open_browser:
            await asyncio.to_thread(webbrowser.open, keys.address)
        while True:
            await asyncio.sleep(min(LOOK, idle / 2))
            studio = app.studio  # type: ignore[attr-defined]
            studio.jobs._reap()
            if studio.jobs.processes or studio.looking is not None:
                touched()
            if time.monotonic() - last > idle:
                server.should_exit = True

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        interrupted = True
    if interrupted and not keep:
        session.delete()
        return True
    return False


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
