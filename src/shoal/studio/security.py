"""Who may talk to the studio: this browser, on this machine, and no page but our own.

A page on the web can make a browser send requests to 127.0.0.1, and with a name of its own
that resolves there (DNS rebinding) read the answers. So: the Host must be ours to the letter,
requests from other sites are refused, every change carries a token that only our pages have,
and nobody gets in without the secret of the address that the terminal showed, used once.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
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


@dataclass
class Keys:
    """The secrets of one server, new at every start."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """In the address that opens the studio; used up by the first who comes with it."""
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    used: bool = False

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
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def renew(self) -> str:
        """A new address for another browser; the one before is void."""
        self.token, self.used = secrets.token_urlsafe(32), False
        return self.address

    def take(self, given: str) -> bool:
        """Whether this is the token, for the first time."""
        right = not self.used and hmac.compare_digest(given.encode(), self.token.encode())
        self.used = self.used or right
        return right

    def knows(self, cookies: Iterable[str]) -> bool:
        """Whether one of the Cookie headers holds ours."""
        for header in cookies:
            jar: SimpleCookie = SimpleCookie()
            try:
                jar.load(header)
            except CookieError:
                continue
            morsel = jar.get(self.cookie_name)
            if morsel and hmac.compare_digest(morsel.value.encode(), self.cookie.encode()):
                return True
        return False


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
                message = {**message, "headers": _sealed(message["headers"])}
            await send(message)

        answer = self._refusal(scope) or self._entry(scope)
        try:
            await (answer or self.app)(scope, receive, sealed)
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
        if site is not None and site not in OPEN:
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
            token = headers.get("x-csrf-token") or _query(scope, "csrf")
            if not hmac.compare_digest(token.encode(), self.keys.csrf.encode()):
                return PlainTextResponse(text("errors.csrf"), 403)
        return None

    def _entry(self, scope: Scope) -> Response | None:
        """The door: a token becomes a cookie, and without a cookie nobody comes in."""
        headers = Headers(scope=scope)
        known = self.keys.knows(headers.getlist("cookie"))
        if scope["method"] == "GET" and scope["path"] == "/":
            given = _query(scope, "token")
            if given and self.keys.take(given):
                answer = RedirectResponse("/data", 303)
                answer.set_cookie(
                    self.keys.cookie_name, self.keys.cookie, httponly=True, samesite="strict",
                    path="/",
                )  # fmt: skip
                return answer
            if given and not known:
                return PlainTextResponse(text("errors.token"), 403)
        return None if known else PlainTextResponse(text("errors.cookie"), 403)


def _query(scope: Scope, name: str) -> str:
    raw: bytes = scope.get("query_string", b"")
    return parse_qs(raw.decode("latin-1")).get(name, [""])[-1]


def _sealed(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    ours = {name.encode() for name in HEADERS} | {b"server"}
    kept = [(name, value) for name, value in headers if name.lower() not in ours]
    return kept + [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _tell(error: BaseException) -> None:
    if os.environ.get("SHOAL_DEBUG"):
        traceback.print_exception(error)
    else:
        kind: Any = type(error).__name__
        print(f"shoal studio: an error of its own ({kind}); SHOAL_DEBUG=1 shows it",
              file=sys.stderr)  # fmt: skip
