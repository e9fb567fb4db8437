"""The pages of the studio by their addresses, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from shoal.errors import ShoalError
from shoal.studio.pages import Studio, TooLargeError, form_of, go, studio_of
from shoal.studio.security import Guard, Keys
from shoal.studio.session import Session
from shoal.studio.steps import (
    columns,
    data,
    explore,
    hierarchies,
    nodes,
    protection,
    release,
    risk,
)
from shoal.studio.texts import text

__all__ = ["UPLOAD_LIMIT", "make_app"]

UPLOAD_LIMIT = 8 << 30
STATIC = {
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
Page = Callable[[Request], Awaitable[Response]]

PAGES: dict[str, Page] = {
    "/data": data.data,
    "/data/reading": data.reading,
    "/columns": columns.columns,
    "/columns/unique": columns.unique,
    "/hierarchies": hierarchies.hierarchies,
    "/protection": protection.protection,
    "/protection/check": protection.check,
    "/explore": explore.explore,
    "/explore/runs": explore.runs,
    "/explore/classes": explore.browse,
    "/explore/pair": explore.pair,
    "/risk": risk.risk,
    "/risk/parts": risk.risk_parts,
    "/release": release.release,
    "/download/{run}/{kind}": release.download,
}
CHANGES: dict[str, Page] = {
    "/data/choose": data.choose,
    "/data/show": data.show,
    "/data/upload": data.upload,
    "/columns": columns.save_columns,
    "/columns/missing": columns.missing,
    "/hierarchies": hierarchies.save_tree,
    "/hierarchies/edit": nodes.edit_tree,
    "/protection": protection.save,
    "/protection/preset": protection.preset,
    "/protection/policy": protection.policy_text,
    "/explore/start": explore.start,
    "/explore/compare": explore.compare,
    "/explore/cancel": explore.cancel,
    "/explore/delete": explore.delete_run,
    "/explore/choose": explore.choose_run,
    "/risk/report": risk.make_report,
    "/risk/attack": risk.attack,
}


async def home(request: Request) -> Response:
    return go("data")


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        return PlainTextResponse(text("errors.nothing"), 404)
    return Response(_static(name), media_type=STATIC[name])


def _static(name: str) -> bytes:
    """The report's own styles come first: one look."""
    own = files("shoal.studio").joinpath("static").joinpath(name).read_bytes()
    if name != "studio.css":
        return own
    base = files("shoal.report").joinpath("templates").joinpath("report.css").read_bytes()
    return base + b"\n" + own


async def delete_all(request: Request) -> Response:
    """Remove everything that was ever brought or made."""
    studio = studio_of(request)
    await form_of(request)
    studio.close()
    studio.looking = None
    try:
        studio.session.start_anew()
    except ShoalError:
        return PlainTextResponse(text("errors.not_deleted"), 500)
    return go("data")


def make_app(
    session: Session, keys: Keys, *, upload_limit: int = UPLOAD_LIMIT,
    touched: Callable[[], None] = lambda: None,
) -> Guard:  # fmt: skip
    """The studio as an ASGI app; `touched` is told of every request that was let in."""
    studio = Studio(session, keys, upload_limit)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await studio.closed()

    def heard(page: Page) -> Page:
        async def answer(request: Request) -> Response:
            touched()
            return await page(request)

        return answer

    routes = [
        Route("/", heard(home)),
        Route("/static/{name}", heard(static)),
        Route("/delete", heard(delete_all), methods=["POST"]),
        *(Route(path, heard(page), methods=["GET"]) for path, page in PAGES.items()),
        *(Route(path, heard(page), methods=["POST"]) for path, page in CHANGES.items()),
    ]

    async def too_large(request: Request, error: Exception) -> Response:
        return PlainTextResponse(text("errors.too_large"), 413)

    async def nothing(request: Request, error: Exception) -> Response:
        return PlainTextResponse(text("errors.nothing"), getattr(error, "status_code", 404))

    handlers: dict[Any, Any] = {TooLargeError: too_large, 404: nothing, 405: nothing}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False  # it would name an address without our path
    app.state.studio = studio
    guard = Guard(app, keys)
    guard.studio = studio  # type: ignore[attr-defined]
    return guard
