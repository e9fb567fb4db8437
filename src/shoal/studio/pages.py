"""Templates and what all pages have in common."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from shoal.glossary import find
from shoal.studio.desk import AskDesk
from shoal.studio.jobs import Jobs
from shoal.studio.security import Keys
from shoal.studio.seen import escaped, formed, said, unformed, visible
from shoal.studio.session import Session
from shoal.studio.steps import steps_of
from shoal.studio.texts import all_texts, counted, language, text

__all__ = ["Form", "Studio", "TooLargeError", "form_of", "go", "studio_of", "whole"]

LARGEST_FORM = 4 << 20


class TooLargeError(Exception):
    """A form beyond all reason."""


class Studio:
    """One session with its workers and the pages that show it."""

    def __init__(self, session: Session, keys: Keys, upload_limit: int) -> None:
        self.session = session
        self.keys = keys
        self.desk = AskDesk()
        self.jobs = Jobs(session)
        self.upload_limit = upload_limit
        self.looking: Any = None
        """The task that reads the table, while it does."""

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page, or a part of one, as HTML."""
        told = {
            "at": self.keys.path,
            "csrf": self.keys.csrf,
            "version": self.session.version,
            "steps": steps_of(self.session, self.jobs),
            "here": name.partition(".")[0].partition("-")[0],
            "table_name": self.session.table.name if self.session.table else "",
            "problem": "", "notice": "",
        }  # fmt: skip
        if values.get("problem"):  # where the files lie is nobody's business on a page
            for room in (self.session.folder, self.session.start):
                values["problem"] = str(values["problem"]).replace(f"{room}{os.sep}", "")
        return HTMLResponse(_room().get_template(name).render({**told, **values}), status)

    def close(self) -> None:
        """End all workers."""
        if self.looking is not None:
            self.looking.cancel()
            self.looking = None
        self.jobs.cancel_all()
        self.desk.close()

    async def closed(self) -> None:
        """End all workers, and wait until they are gone."""
        await self.desk.closed()
        self.close()


def studio_of(request: Request) -> Studio:
    found: Studio = request.app.state.studio
    return found


def go(step: str, anchor: str = "") -> Response:
    """To a page, after a change."""
    return RedirectResponse(f"/{step}{'#' + anchor if anchor else ''}", 303)


class Form:
    """What a form sent: texts by name."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def one(self, name: str) -> str:
        """The last text of a name; empty if there is none."""
        return next((value.strip() for key, value in reversed(self.pairs) if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def raw(self, name: str) -> str:
        """As `one`, with its spaces and line breaks."""
        return next((value for key, value in reversed(self.pairs) if key == name), "")


def whole(given: str, most: int = 999_999_999) -> int | None:
    """A whole number that somebody typed, or an address says; None where it is none of ours."""
    short = given.isascii() and given.isdecimal() and len(given) <= len(str(most))
    return int(given) if short and int(given) <= most else None


async def form_of(request: Request) -> Form:
    """The fields of a form, up to a size.

    Raises
    ------
    TooLargeError
        There is more.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise TooLargeError
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    return Form([(name, unformed(value)) for name, value in pairs])


def _meaning(word: str) -> str:
    term = find(word)
    return term.meaning if term is not None else ""


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if seconds < 90 else f"{seconds / 60:.1f} min"


@cache
def _room() -> Environment:
    room = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    room.filters |= {
        "visible": visible,
        "formed": formed,
        "said": said,
        "percent": _percent,
        "span": _span,
        "escaped": escaped,
    }
    room.globals |= {"t": all_texts(), "text": text, "counted": counted, "meaning": _meaning,
                     "language": language(), "Markup": Markup}  # fmt: skip
    return room


def _text(name: str) -> str:
    return files("shoal.studio").joinpath("templates").joinpath(name).read_text(encoding="utf-8")
