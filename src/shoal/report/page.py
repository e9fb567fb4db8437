"""A report as one HTML page: no request leaves it, and it prints well.

Texts are escaped by the template; pictures are SVG that we drew ourselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from itertools import count
from typing import Any

from shoal.errors import OutputError
from shoal.report.blocks import Code, Fields, Figure, Listing, Report, Table, Terms, code_parts
from shoal.report.charts.theme import load_altair, svg
from shoal.report.wording import MEANINGS

__all__ = ["page_of", "sections_of"]

SHAPES = {Table: "table", Figure: "figure", Listing: "list", Code: "code", Fields: "fields",
          Terms: "terms"}  # fmt: skip


def page_of(report: Report) -> str:
    """The page as text."""
    load_altair()
    template, markup = _template()

    def drawn(figure: Figure) -> Any:
        return markup(svg(figure.draw(), figure.seen))

    text: str = template.render(
        report=report, shape=lambda block: SHAPES[type(block)], drawn=drawn,
        style=markup(_text("report.css")), fresh=partial(next, count(1)),
    )  # fmt: skip
    return text


def sections_of(report: Report, drawn: Callable[[Figure], str]) -> list[str]:
    """Each section by itself, for a page that has a look of its own; `drawn` gives pictures."""
    room, markup = _room()
    part = room.get_template("blocks.html").module.part
    shape = lambda block: SHAPES[type(block)]  # noqa: E731
    fresh = partial(next, count(1))
    return [
        str(part(section, shape, lambda figure: markup(drawn(figure)), fresh))
        for section in report.sections
    ]


def _template() -> tuple[Any, Any]:
    room, markup = _room()
    return room.get_template("report.html"), markup


@cache
def _room() -> tuple[Any, Any]:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise OutputError("pages need jinja2: pip install shoal[report]") from None
    room = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    room.globals["means"] = MEANINGS.get
    room.filters["code"] = lambda text: _with_code(text, Markup)
    return room, Markup


def _with_code(text: str, markup: Any) -> Any:
    """Our own words for a shell as code; everything is escaped."""
    parts = [
        markup("<code>{}</code>").format(part) if number % 2 else markup.escape(part)
        for number, part in enumerate(code_parts(text))
    ]
    return markup("").join(parts)


def _text(name: str) -> str:
    return files("shoal.report").joinpath("templates").joinpath(name).read_text(encoding="utf-8")
