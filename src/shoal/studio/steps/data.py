"""Data: choose a table of the start folder, or bring one; look at a few rows."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from shoal.errors import InputError, ShoalError
from shoal.studio.pages import Studio, form_of, go, studio_of
from shoal.studio.session import write_text
from shoal.studio.texts import text

__all__ = ["choose", "data", "ensure_look", "reading", "show", "upload"]

PART = 1 << 20
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")


async def data(request: Request) -> Response:
    """Which table, what is in it, a few rows with what is private masked."""
    studio = studio_of(request)
    ensure_look(studio)
    return studio.page("data.html", **_told(studio))


def _told(studio: Studio) -> dict[str, Any]:
    session = studio.session
    look = session.look
    policy = session.policy
    hidden: set[str] = set()
    if look:
        hidden = {*policy.identifier, *policy.sensitive, *look["undecided"]} - {
            *policy.qi, *policy.plain,
        }  # fmt: skip
        hidden |= {policy.person} if policy.person else set()
    state = session.state
    return {
        "tables": session.tables(), "uploads": session.uploads(), "look": look,
        "hidden": hidden, "shown": session.shown, "problem": state.get("problem", ""),
        "encoding": state.get("encoding", "utf-8"), "encodings": ENCODINGS,
        "reading": studio.looking is not None, "folder": session.start.name,
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
    """Take a table, or read the same one in another encoding."""
    studio = studio_of(request)
    form = await form_of(request)
    uploaded = form.one("uploaded") == "yes"
    try:
        studio.session.choose(form.one("name"), uploaded)
    except ShoalError as error:
        return studio.page("data.html", 422, **{**_told(studio), "problem": str(error)})
    encoding = form.one("encoding")
    studio.session.remember(encoding=encoding if encoding in ENCODINGS else None, refusal=None,
                            bad_trees=None)  # fmt: skip
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
        encoding = session.state.get("encoding", "utf-8")
        missing = session.state.get("missing", [""])
        found = await studio.desk.ask("look", path=str(table), missing=missing, encoding=encoding)
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
    place = form.one("column")
    if look and place.isdecimal() and int(place) < len(look["columns"]):
        studio.session.shown ^= {look["columns"][int(place)]["name"]}
    return go("data", "preview")


async def upload(request: Request) -> Response:
    """Take a file part by part, straight to the disk; more than the limit is refused."""
    studio = studio_of(request)
    session = studio.session
    try:
        target = session.upload_target(unquote(request.headers.get("x-file-name", "")))
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > studio.upload_limit:
            raise InputError(_too_large(studio))
        draft = target.with_name(f"{target.name}.part")
        try:
            await _stream(request, draft, studio)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except ShoalError as error:
        return JSONResponse({"problem": str(error)}, 422)
    except OSError as error:
        return JSONResponse({"problem": error.strerror or text("errors.own")}, 507)
    session.choose(target.name, uploaded=True)
    session.remember(encoding=None, refusal=None, bad_trees=None, missing=None)
    _stop_looking(studio)
    ensure_look(studio)
    return JSONResponse({"go": f"{studio.keys.path}/data"})


async def _stream(request: Request, draft: Any, studio: Studio) -> None:
    taken = 0
    with draft.open("wb") as file:
        draft.chmod(0o600)
        async for part in request.stream():
            taken += len(part)
            if taken > studio.upload_limit:
                raise InputError(_too_large(studio))
            file.write(part)
    if not taken:
        raise InputError(text("data.empty_upload"))


def _too_large(studio: Studio) -> str:
    return text("data.too_large", limit=f"{studio.upload_limit / (1 << 20):,.0f}")
