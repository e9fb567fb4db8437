"""Data: choose a table of the start folder, or bring one; look at a few rows."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from shoal.errors import InputError, ShoalError
from shoal.studio.pages import Studio, form_of, go, studio_of, whole
from shoal.studio.session import write_text
from shoal.studio.texts import text

__all__ = ["choose", "data", "ensure_look", "reading", "show", "upload"]

PART = 1 << 20
READ_AS = {
    "encoding": ("latin-1", "cp1252", "utf-16"),
    "delimiter": (",", ";", "tab", "|", "~"),
    "decimal": (",", "."),
}
"""What a CSV file may not tell of itself, or tell wrongly; nothing is chosen for it at first."""


async def data(request: Request) -> Response:
    """Which table, what is in it, a few rows with what is private masked."""
    studio = studio_of(request)
    ensure_look(studio)
    return studio.page("data.html", **_told(studio))


def _told(studio: Studio) -> dict[str, Any]:
    session = studio.session
    look = session.look
    policy = session.policy
    open_to_all = {*policy.qi, *policy.plain}
    hidden = {
        column["name"]
        for column in (look or {}).get("columns", ())
        # What was taken for private at first stays so here, whatever its role is now.
        if column["name"] not in open_to_all or column["role"] in {"identifier", "sensitive"}
    }
    state = session.state
    return {
        "tables": session.tables(), "uploads": session.uploads(), "look": look,
        "hidden": hidden, "shown": session.shown, "problem": state.get("problem", ""),
        "read_as": {name: (marks, state.get(name)) for name, marks in READ_AS.items()},
        "reading": studio.looking is not None, "folder": session.start.name,
        "uploaded": bool((state.get("table") or {}).get("uploaded")),
        "look_version": session.look_version,
        "is_text": session.table is not None and ".csv" in session.table.name.lower(),
    }  # fmt: skip


async def reading(request: Request) -> Response:
    """The part of the page that waits while the table is read."""
    studio = studio_of(request)
    if studio.looking is not None:
        return studio.page("data-reading.html")
    answer = studio.page("data-reading.html")
    answer.headers["HX-Redirect"] = "/data"
    return answer


async def choose(request: Request) -> Response:
    """Take a table, or read the same one in another way."""
    studio = studio_of(request)
    form = await form_of(request)
    uploaded = form.one("uploaded") == "yes"
    try:
        studio.session.choose(form.one("name"), uploaded)
    except ShoalError as error:
        return studio.page("data.html", 422, **{**_told(studio), "problem": str(error)})
    given = {name: form.one(name) for name in READ_AS}
    known = {name: mark if mark in READ_AS[name] else None for name, mark in given.items()}
    studio.session.remember(**known)
    studio.jobs.cancel_others()
    _stop_looking(studio)
    ensure_look(studio)
    return go("data")


def ensure_look(studio: Studio) -> None:
    """Have the table read, if nobody has: also after a server was killed while it was."""
    session = studio.session
    wanted = session.table is not None and session.look is None
    if wanted and studio.looking is None and not session.state.get("problem"):
        studio.looking = asyncio.get_running_loop().create_task(_look(studio))


def _stop_looking(studio: Studio) -> None:
    """Nobody waits any more for what is read."""
    if studio.looking is not None:
        studio.looking.cancel()
        studio.looking = None
        studio.desk.close()


async def _look(studio: Studio) -> None:
    session = studio.session
    try:
        table = session.table
        assert table is not None
        marks = {name: session.state.get(name) for name in READ_AS}
        marks["encoding"] = marks["encoding"] or "utf-8"
        missing = session.state.get("missing", [""])
        found = await studio.desk.ask("look", path=str(table), missing=missing, **marks)
        if not session.policy_file.exists():
            write_text(session.policy_file, found["policy"])
        session.look = found
    except ShoalError as error:
        # The full path is nobody's business on a page.
        message = str(error).replace(
            f"{session.table}", session.table.name if session.table else ""
        )
        session.remember(problem=message)
    except Exception:  # its text may quote a cell, and asyncio would print it
        with suppress(OSError):
            session.remember(problem=text("errors.own"))
    finally:
        if studio.looking is asyncio.current_task():
            studio.looking = None


async def show(request: Request) -> Response:
    """Show, or hide again, the cells of one column."""
    studio = studio_of(request)
    form = await form_of(request)
    look = studio.session.look
    if form.one("look") not in {"", studio.session.look_version}:
        return studio.page("data.html", 409, **{**_told(studio), "problem": text("errors.stale")})
    place = whole(form.one("column"))
    if look and place is not None and place < len(look["columns"]):
        studio.session.shown ^= {look["columns"][place]["name"]}
    return go("data", "preview")


async def upload(request: Request) -> Response:
    """Take a file part by part, straight to the disk; more than the limit is refused."""
    studio = studio_of(request)
    session = studio.session
    try:
        target = session.upload_target(unquote(request.headers.get("x-file-name", "")))
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and whole(length, studio.upload_limit) is None:
            raise InputError(_too_large(studio))
        # A draft of its own, new and private: another upload of this name has another.
        handle, made = tempfile.mkstemp(".part", ".", target.parent)
        draft = Path(made)
        try:
            await _stream(request, handle, studio)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except ShoalError as error:
        return JSONResponse({"problem": str(error)}, 422)
    except OSError as error:
        return JSONResponse({"problem": error.strerror or text("errors.own")}, 507)
    session.choose(target.name, uploaded=True)
    session.remember(missing=None)
    studio.jobs.cancel_others()
    _stop_looking(studio)
    ensure_look(studio)
    return JSONResponse({"go": f"{studio.keys.path}/data"})


async def _stream(request: Request, handle: int, studio: Studio) -> None:
    taken = 0
    with os.fdopen(handle, "wb") as file:
        async for part in request.stream():
            taken += len(part)
            if taken > studio.upload_limit:
                raise InputError(_too_large(studio))
            file.write(part)
    if not taken:
        raise InputError(text("data.empty_upload"))


def _too_large(studio: Studio) -> str:
    return text("data.too_large", limit=f"{studio.upload_limit / (1 << 20):,.0f}")
