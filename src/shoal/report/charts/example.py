"""A few people before, and the class that they became: a picture for docs and talks.

It shows cells: for made-up data only. No report uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.report.charts.theme import ACCENT, COLOURS, GRID, INK, PALE, load_altair, styled

__all__ = ["example_class"]

LINE = 24
LETTER = 7.0
"""Pixels of a letter."""
GAP = 18

Rows = Sequence[Sequence[str]]


def example_class(
    headings: Sequence[str], before: Rows, after: Rows, title: str, subtitle: str
) -> Any:
    """Rows of texts below each other: people as they were, and as they are released.

    A cell is blue if it is released as somebody's was, orange if it is not.
    """
    alt = load_altair()
    widths = [
        GAP + LETTER * max(len(text) for text in texts)
        for texts in zip(headings, *before, *after, strict=True)
    ]
    lefts = [sum(widths[:number]) for number in range(len(widths))]
    parts = (("before", before, 0.0), ("after", after, LINE * (len(before) + 2.2)))
    texts: list[dict[str, Any]] = []
    rules = []
    for name, rows, top in parts:
        texts.append(_text(name, 0, top, INK, 700))
        texts += [
            _text(heading, left, top + LINE, PALE, 500)
            for heading, left in zip(headings, lefts, strict=True)
        ]
        rules.append({"y": top + 1.5 * LINE})
        for number, row in enumerate(rows):
            for column, (cell, left) in enumerate(zip(row, lefts, strict=True)):
                same = any(cell == person[column] for person in before)
                colour = INK if name == "before" else ACCENT if same else COLOURS[1]
                down = top + (number + 2) * LINE
                texts.append(_text(cell, left, down, colour, 400 if name == "before" else 600))
    width, height = sum(widths), LINE * (len(before) + len(after) + 4.2)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, -LINE / 2], nice=False))
    layers = [
        alt.Chart(alt.Data(values=[text for text in texts if text["weight"] == weight]))
        .mark_text(align="left", fontSize=13, fontWeight=weight)
        .encode(x=x, y=y, text="text:N", color=alt.Color("colour:N", scale=None))
        for weight in (400, 500, 600, 700)
    ]
    lines = alt.Chart(alt.Data(values=rules)).mark_rule(color=GRID).encode(y=y)
    chart = alt.layer(lines, *layers).properties(width=width, height=height)
    return styled(alt, chart, title, subtitle)


def _text(text: str, x: float, y: float, colour: str, weight: int) -> dict[str, Any]:
    return {"text": text, "x": x, "y": y, "colour": colour, "weight": weight}
