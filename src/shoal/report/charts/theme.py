"""The one look of all charts, and how a chart becomes a picture.

Charts are Vega-Lite, made with altair and rendered by vl-convert, which needs
neither a browser nor the network. Direct labels instead of legends, a grey
grid, one accent a series, a title that says what is seen.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from shoal.errors import OutputError
from shoal.explore.comparison import check_target
from shoal.io.together import atomic_file

__all__ = ["ACCENT", "BEHIND", "COLOURS", "ENDINGS", "GRID", "INK", "PALE", "load_altair", "save",
           "styled", "svg"]  # fmt: skip

ENDINGS = (".svg", ".html", ".png")
OPTIONS: dict[str, dict[str, Any]] = {"html": {"inline": True}, "png": {"scale_factor": 2}}

# Okabe & Ito's colours that are dark enough for text: told apart by all kinds of eyes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#882255", "#444444", "#56B4E9")
ACCENT = COLOURS[0]
INK, PALE, GRID, AXIS, PAPER = "#222222", "#6B6B6B", "#E6E6E6", "#999999", "#FFFFFF"
BEHIND = "#F4F6F7"
"""What a page has behind a picture."""
FONT = "Helvetica Neue, Helvetica, Arial, sans-serif"

SLACK = 24
"""Pixels beside a picture for labels in a wider font than they were measured in."""
LARGER = 1.15
"""How much larger than it was drawn a picture may be shown where there is room."""

VARIABLES = {
    **{INK: "ink", PALE: "pale", GRID: "grid", AXIS: "axis", PAPER: "paper", BEHIND: "behind"},
    **{colour: f"series-{number}" for number, colour in enumerate(COLOURS)},
}
"""Colours that a page may set anew, for a dark screen: the names of their CSS variables."""


def load_altair() -> ModuleType:
    """The module altair, or one line that says what to install."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        raise OutputError(
            "pictures need altair and vl-convert: pip install shoal[report]"
        ) from None
    return altair


def styled(alt: Any, chart: Any, title: str, subtitle: str = "") -> Any:
    """A chart in the look of the house."""
    heading = alt.Title(
        title,
        subtitle=subtitle,
        anchor="start",
        offset=16,
        fontSize=16,
        fontWeight=600,
        color=INK,
        subtitleColor=PALE,
        subtitleFontSize=12,
        subtitlePadding=5,
    )
    return _configured(chart.properties(title=heading, background="white", padding=18))


def bare(chart: Any) -> Any:
    """A chart for a page that gives the title itself and has a colour of its own behind it."""
    return _configured(chart.properties(background="transparent", padding=4))


def _configured(chart: Any) -> Any:
    return (
        chart.configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=PALE,
            labelFontSize=12,
            titleColor=INK,
            titleFontSize=13,
            titleFontWeight=500,
            gridColor=GRID,
            domainColor=AXIS,
            tickColor=AXIS,
            labelPadding=6,
        )
    )


def svg(chart: Any, description: str) -> str:
    """A chart as SVG for a page: as wide as its place at most, with a text alternative."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(bare(chart).to_dict())
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', text)
    width, height = (float(size[1]), float(size[2])) if size else (0.0, 0.0)
    text = re.sub(r' width="[\d.]+" height="[\d.]+"', "", text, count=1)
    # Told apart from what a page has besides: vl-convert counts its ids from 0 in each picture.
    text = re.sub(r'\b(?:aria-\w+|role)="[^"]*"\s?', "", text)
    for colour, name in VARIABLES.items():
        text = re.sub(f'"{colour}"', f'"var(--chart-{name}, {colour})"', text, flags=re.I)
    # Labels were measured in a font that the reader may not have: wider ones need room.
    text = re.sub(
        r'viewBox="[^"]*"',
        f'viewBox="{-SLACK} 0 {width + 1.5 * SLACK:g} {height:g}"',
        text,
        count=1,
    )
    width = (width + 1.5 * SLACK) * LARGER
    label = escape(description, quote=True)
    look = f'style="width:100%;max-width:{width:.0f}px;height:auto"'
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" {look} ', 1)


def save(chart: Any, path: str | Path) -> Path:
    """Write a chart as SVG, PNG or a self-contained HTML page, by the ending of the name."""
    target = Path(path)
    check_target(target, ENDINGS)
    kind = target.suffix.lower().removeprefix(".")
    with atomic_file(target) as temporary:
        chart.save(str(temporary), format=kind, **OPTIONS.get(kind, {}))
    return target
