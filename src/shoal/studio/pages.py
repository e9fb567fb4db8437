"""Templates and what all pages have in common."""

from __future__ import annotations

import os
import re
import unicodedata
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
from shoal.studio.session import Session
from shoal.studio.steps import steps_of
from shoal.studio.texts import all_texts, counted, language, text

__all__ = [
    "Form",
    "Studio",
    "TooLargeError",
    "form_of",
    "go",
    "marked",
    "studio_of",
    "visible",
    "whole",
]

LARGEST_FORM = 4 << 20
LONGEST = 60
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Controls, marks of direction, halves of characters: shown by their numbers."""


HIDING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0001-\U000e007f]"
)
"""Of these, those that hide or turn what is beside them."""


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
    return Form(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def visible(value: Any, longest: int = LONGEST) -> str:
    """A name or a cell as it can be shown: what cannot be seen by its number, and not too long."""
    shown = str(value)
    cut = shown if len(shown) <= longest else shown[:longest] + "…"
    return "".join(f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c) in UNSEEN else c for c in cut)


def marked(html: str) -> str:
    """A page of others' making, in which what cannot be seen is shown by its number."""
    return HIDING.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", html)


def _escaped(toml: str) -> str:
    """TOML in which what cannot be seen is written by its number, as TOML reads it."""
    return "".join(
        (f"\\u{ord(c):04x}" if ord(c) < 1 << 16 else f"\\U{ord(c):08x}")
        if c not in "\n\t" and unicodedata.category(c) in UNSEEN
        else c
        for c in toml
    )


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
    room.filters |= {"visible": visible, "percent": _percent, "span": _span, "escaped": _escaped}
    room.globals |= {"t": all_texts(), "text": text, "counted": counted, "meaning": _meaning,
                     "language": language(), "Markup": Markup}  # fmt: skip
    return room


def _text(name: str) -> str:
    return files("shoal.studio").joinpath("templates").joinpath(name).read_text(encoding="utf-8")
