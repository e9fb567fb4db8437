"""Who may talk to the studio: this browser, on this machine, and no page but our own.

A page on the web can make a browser send requests to 127.0.0.1, and with a name of its own
that resolves there (DNS rebinding) read the answers. So: the Host must be ours to the letter,
requests from other sites are refused, every change carries a token that only our pages have,
and nobody gets in without the secret of the address that the terminal showed, used once.

Another program of this machine may listen on another port of the same host, and browsers send
cookies to all ports of a host. So every page is below a path that nobody can guess, and the
cookie is for that path alone: a page on another port never gets it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.studio.texts import text

__all__ = ["HEADERS", "Guard", "Keys"]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), clipboard-write=(self)",
}
"""On every answer, whatever it is."""
NAMES = ("127.0.0.1", "localhost")
CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OPEN = frozenset({"none", "same-origin"})
"""Values of Sec-Fetch-Site: typed by a person, or asked for by our own page."""
LEADING = frozenset({b"location", b"hx-redirect"})
FORM = "application/x-www-form-urlencoded"
FIRST = 4096
"""Bytes of a form among which its token must be."""
ONWARD = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={0}">\
<title>Shoal</title><a href="{0}">Shoal</a>'
"""A page that goes on to another one."""


@dataclass
class Keys:
    """The secrets of one server, new at every start."""

    port: int
    room: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """The first part of every path: cookies are told apart by it, as ports do not."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """In the address that opens the studio; used up by the first who comes with it."""
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    used: bool = False
    when_used: Callable[[], None] = lambda: None
    """Told when the token was used up."""

    @property
    def path(self) -> str:
        """What every path begins with."""
        return f"/{self.room}"

    @property
    def cookie_name(self) -> str:
        """Browsers do not tell ports apart: each studio has a cookie of its own."""
        return f"shoal-studio-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a Host header may be, to the letter."""
        return frozenset(f"{name}:{self.port}" for name in NAMES)

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def address(self) -> str:
        """Where the browser is sent first."""
        return f"http://127.0.0.1:{self.port}{self.path}/?token={self.token}"

    def renew(self) -> str:
        """A new address for another browser; the one before is void."""
        self.token, self.used = secrets.token_urlsafe(32), False
        return self.address

    def take(self, given: str) -> bool:
        """Whether this is the token, for the first time."""
        right = not self.used and hmac.compare_digest(given.encode(), self.token.encode())
        if right:
            self.used = True
            self.when_used()
        return right

    def knows(self, cookies: Iterable[str]) -> bool:
        """Whether one of the Cookie headers holds ours."""
        # Cookies of other programs on this host may be anything: only pairs of our name count.
        for pair in ";".join(cookies).split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie_name and hmac.compare_digest(
                value.encode("utf-8", "replace"), self.cookie.encode()
            ):
                return True
        return False

    def inside(self, scope: Scope) -> Scope | None:
        """The request as the app sees it, without our first part; None if it lacks that."""
        first, slash, rest = scope["path"][1:].partition("/")
        if not hmac.compare_digest(first.encode("utf-8", "replace"), self.room.encode()):
            return None
        path = slash + rest or "/"
        return {**scope, "path": path, "raw_path": path.encode("utf-8", "replace")}


class Guard:
    """Stands before the app: refuses what is not ours, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app = app
        self.keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        begun = False

        async def sealed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _sealed(message["headers"], self.keys.path)}
            await send(message)

        inner = self.keys.inside(scope)
        answer = self._refusal(inner or scope)
        if inner is None:
            answer = answer or PlainTextResponse(text("errors.cookie"), 403)
        elif answer is None:
            answer = self._entry(inner)
        if answer is None and scope["method"] in CHANGES:
            given, receive = await _token(inner or scope, receive)
            if not hmac.compare_digest(given, self.keys.csrf.encode()):
                answer = PlainTextResponse(text("errors.csrf"), 403)
        try:
            await (answer or self.app)(inner or scope, receive, sealed)
        except Exception as error:
            # What went wrong may quote a cell: its kind is told, its text is not.
            _tell(error)
            if not begun:
                await PlainTextResponse(text("errors.own"), 500)(scope, receive, sealed)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why this request is none of ours; None if nothing speaks against it."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.keys.hosts:
            return PlainTextResponse(text("errors.host"), 421)
        site = headers.get("sec-fetch-site")
        if site is not None and site not in OPEN and not _at_the_door(scope):
            return PlainTextResponse(text("errors.site"), 403)
        origins = headers.getlist("origin")
        # Under no-referrer a browser sends "null" with a form; that it is our own form, it
        # says in a header that no page can set.
        own_form = origins == ["null"] and site == "same-origin"
        if not own_form and any(origin not in self.keys.origins for origin in origins):
            return PlainTextResponse(text("errors.site"), 403)
        if scope["method"] in CHANGES:
            # Browsers of today send an Origin with every change.
            here = len(origins) == 1 and urlsplit(origins[0]).netloc == hosts[0].lower()
            if not (own_form or here):
                return PlainTextResponse(text("errors.site"), 403)
        return None

    def _entry(self, scope: Scope) -> Response | None:
        """The door: a token becomes a cookie, and without a cookie nobody comes in."""
        headers = Headers(scope=scope)
        known = self.keys.knows(headers.getlist("cookie"))
        if _at_the_door(scope):
            if self.keys.take(_query(scope, "token")):
                # From the file that the browser was given it comes as from another site: a
                # redirect would not carry a strict cookie, a page of our own does.
                ours = headers.get("sec-fetch-site", "none") in OPEN
                answer: Response = (
                    RedirectResponse("/data", 303)
                    if ours
                    else HTMLResponse(ONWARD.format(f"{self.keys.path}/data"))
                )
                answer.set_cookie(
                    self.keys.cookie_name, self.keys.cookie, httponly=True, samesite="strict",
                    path=self.keys.path,
                )  # fmt: skip
                return answer
            if not known or headers.get("sec-fetch-site", "none") not in OPEN:
                return PlainTextResponse(text("errors.token"), 403)
        return None if known else PlainTextResponse(text("errors.cookie"), 403)


def _at_the_door(scope: Scope) -> bool:
    """Whether somebody comes with a token; only the right one opens."""
    return scope["method"] == "GET" and scope["path"] == "/" and bool(_query(scope, "token"))


def _query(scope: Scope, name: str) -> str:
    raw: bytes = scope.get("query_string", b"")
    return parse_qs(raw.decode("latin-1")).get(name, [""])[-1]


async def _token(scope: Scope, receive: Receive) -> tuple[bytes, Receive]:
    """The token of a change: in a header, or a field at the beginning of its form.

    Never in an address, which a browser would remember. Gives the form back, unread.
    """
    headers = Headers(scope=scope)
    if given := headers.get("x-csrf-token"):
        return given.encode("utf-8", "replace"), receive
    if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return b"", receive
    heard: list[Message] = []
    body, more = b"", True
    while more and len(body) < FIRST:
        message = await receive()
        heard.append(message)
        body += message.get("body", b"")
        more = message.get("more_body", False)
    pairs = (pair.partition(b"=") for pair in body[:FIRST].split(b"&"))
    found = next((value for name, _, value in pairs if name == b"csrf"), b"")

    async def again() -> Message:
        return heard.pop(0) if heard else await receive()

    return found, again


def _sealed(headers: Iterable[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    """Our headers on an answer; where it leads to a page of ours, below our path."""
    ours = {name.encode() for name in HEADERS} | {b"server"}
    kept = [
        (name, path.encode() + value if name.lower() in LEADING and value[:1] == b"/" else value)
        for name, value in headers
        if name.lower() not in ours
    ]
    return kept + [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _tell(error: BaseException) -> None:
    if os.environ.get("SHOAL_DEBUG"):
        traceback.print_exception(error)
    else:
        kind: Any = type(error).__name__
        print(f"shoal studio: an error of its own ({kind}); SHOAL_DEBUG=1 shows it",
              file=sys.stderr)  # fmt: skip
