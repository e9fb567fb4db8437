"""Charts of one release: its classes, its columns, its losses, its risk.

Each takes plain numbers and gives an altair chart that is narrow enough for a
phone; `theme.svg` makes it a picture for a page, `theme.styled` one by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal.report.charts.theme import ACCENT, BEHIND, COLOURS, INK, PALE, load_altair
from shoal.report.charts.treemap import tiles
from shoal.report.fitting import apart, shortened

__all__ = ["cells", "class_sizes", "distribution", "ladder", "line", "losses"]

WIDTH = 330
"""Pixels of a plot: with its labels it fits on a phone without being made smaller."""
ROW = 26
"""Pixels of a horizontal bar and the space around it."""
NEAR = 28
"""Pixels that the label of a threshold takes."""
SOFT = COLOURS[7]
WARM = COLOURS[1]
LETTERS = 20
"""Letters of a value beside its bar."""
LETTER = 7.3
"""Pixels of a letter on a bar."""
NAMED = {ACCENT: "blue", SOFT: "light blue", COLOURS[2]: "green", WARM: "orange"}
PLAIN_ZERO = "datum.value == 0 ? '0' : datum.label"
ON_LIGHT = "#111111"
"""Text on a light bar, whatever the page's own colours are."""


def class_sizes(bins: Sequence[tuple[int, int, int]], k: int | None) -> Any:
    """How many records are in classes of each size; `bins` are from, to and records."""
    alt = load_altair()
    rows = [
        {"size": f"{a}" if a == b else f"{a}-{b}", "records": records, "place": place}
        for place, (a, b, records) in enumerate(bins)
    ]
    x = alt.X(
        "size:N",
        sort=[row["size"] for row in rows],
        title="records in the class",
        axis=alt.Axis(labelAngle=-40 if len(rows) > 7 else 0, ticks=False, grid=False),
    )
    y = alt.Y(
        "records:Q",
        title=None,
        axis=alt.Axis(tickCount=4, format="~s", labelExpr=PLAIN_ZERO, domain=False, ticks=False),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    layers = [base.mark_bar(color=ACCENT, size=max(6, WIDTH // len(rows) - 6))]
    if k is not None:
        line = alt.Chart(alt.Data(values=[{}]))
        layers += [
            line.mark_rule(color=WARM, strokeWidth=2).encode(x=alt.value(0)),
            line.mark_text(
                text=f"k = {k}: none is smaller", color=WARM, align="left", dx=6, fontSize=12,
                fontWeight=600,
            ).encode(x=alt.value(0), y=alt.value(-8)),
        ]  # fmt: skip
    return alt.layer(*layers).properties(width=WIDTH, height=170)


def cells(columns: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> Any:
    """What share of each column's cells is what; a column is its name and named shares."""
    alt = load_altair()
    sorts = list(dict.fromkeys(sort for _, parts in columns for sort, _ in parts))
    looks = {"unchanged": ACCENT, "generalised": SOFT, "values or groups": COLOURS[2],
             "starred": WARM, "missing": PALE}  # fmt: skip
    width = WIDTH - 90
    rows, labels, named = [], [], set()
    for name, parts in columns:
        at = 0.0
        for sort, share in parts:
            rows.append({"column": name, "sort": sort, "from": at, "to": at + share})
            text = f"{sort} {_percent(share)}"
            if fits := share * width >= LETTER * len(text):
                named.add(sort)
            if share >= 0.16:
                text = text if fits else _percent(share)
                ink = ON_LIGHT if looks.get(sort) == SOFT else "white"
                labels.append({"column": name, "at": at + share / 2, "text": text, "ink": ink})
            at += share
    thin = [f"{NAMED.get(looks.get(s, PALE), 'grey')}: {s}" for s in sorts if s not in named]
    y = alt.Y(
        "column:N",
        sort=[name for name, _ in columns],
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=110, labelColor=INK),
    )
    x = alt.X("from:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False), axis=None)
    colour = alt.Color(
        "sort:N",
        scale=alt.Scale(domain=sorts, range=[looks.get(sort, PALE) for sort in sorts]),
        legend=None,
    )
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(height=ROW - 8)
        .encode(x=x, x2="to:Q", y=y, color=colour)
    )
    texts = (
        alt.Chart(alt.Data(values=labels))
        .mark_text(fontSize=11, fontWeight=600)
        .encode(x=alt.X("at:Q"), y=y, text="text:N", color=alt.Color("ink:N", scale=None))
    )
    layers = [bars, texts]
    if thin:  # no bar has room for their names
        note = alt.Chart(alt.Data(values=[{}]))
        layers.append(
            note.mark_text(
                text=", ".join(thin), align="left", fontSize=12, color=INK, baseline="bottom"
            ).encode(x=alt.value(0), y=alt.value(-6))
        )
    return alt.layer(*layers).properties(width=width, height=ROW * len(columns))


def losses(parts: Sequence[tuple[str, float]]) -> Any:
    """A map of the loss: each column's area is its part of it."""
    alt = load_altair()
    height = 190
    shown = [(name, value) for name, value in parts if value > 0]
    total = sum(value for _, value in shown)
    placed = tiles([value for _, value in shown], WIDTH + 20, height)
    rows = [
        {"name": name, "x": x, "x2": x + w - 2, "y": height - y, "y2": height - y - h + 2,
         "xm": x + 6, "ym": height - y - 15, "share": value / total,
         "text": _fitting(name, (w - 10) / 7.8) if h > 20 else "",
         "number": f"{100 * value / total:.0f}%" if w > 40 and h > 38 else ""}
        for (name, value), (x, y, w, h) in zip(shown, placed, strict=True)
    ]  # fmt: skip
    none = {"axis": None, "title": None}
    scale_x = alt.Scale(domain=[0, WIDTH + 20], nice=False)
    scale_y = alt.Scale(domain=[0, height], nice=False)
    shades = alt.Scale(domain=[0, 1], range=[0.88, 1])
    base = alt.Chart(alt.Data(values=rows))
    boxes = base.mark_rect(cornerRadius=2, color=ACCENT).encode(
        x=alt.X("x:Q", scale=scale_x, **none),
        x2="x2:Q",
        y=alt.Y("y:Q", scale=scale_y, **none),
        y2="y2:Q",
        opacity=alt.Opacity("share:Q", scale=shades, legend=None),
    )
    text = {"align": "left", "color": "white"}
    names = base.mark_text(**text, fontSize=12, fontWeight=600).encode(
        x=alt.X("xm:Q", scale=scale_x), y=alt.Y("ym:Q", scale=scale_y), text="text:N"
    )
    numbers = base.mark_text(**text, fontSize=11, dy=16).encode(
        x=alt.X("xm:Q", scale=scale_x), y=alt.Y("ym:Q", scale=scale_y), text="number:N"
    )
    return alt.layer(boxes, names, numbers).properties(width=WIDTH + 20, height=height)


def ladder(
    risks: Sequence[tuple[str, float]], thresholds: Sequence[tuple[str, float]]
) -> Any:  # fmt: skip
    """Chances on a logarithmic ladder: thresholds as lines, what was found as points."""
    alt = load_altair()
    low = min([value for _, value in (*risks, *thresholds) if value > 0], default=0.001)
    bottom = 10 ** math.floor(math.log10(low) - 0.02)
    scale = alt.Scale(type="log", domain=[bottom, 1], nice=False)
    ticks = [v for d in range(-6, 1) for v in (1 * 10.0**d, 2 * 10.0**d, 5 * 10.0**d)]
    axis = alt.Axis(
        values=[v for v in ticks if bottom <= v <= 1], format="~%", grid=True, domain=False,
        ticks=False, labelOverlap=True,
    )  # fmt: skip
    rows = [{"name": name, "value": max(value, bottom), "text": _percent(value)}
            for name, value in risks]  # fmt: skip
    width = WIDTH - 130
    apart = -math.log10(bottom) * NEAR / width  # labels that are nearer than this overlap
    lines: list[dict[str, Any]] = []
    for name, value in sorted(thresholds, key=lambda one: one[1]):
        last = lines[-1] if lines else {"value": bottom / 10, "high": False}
        near = math.log10(value / last["value"]) < apart
        lines.append({"name": name, "value": value, "high": near and not last["high"]})
    order = [name for name, _ in risks]
    x = alt.X("value:Q", scale=scale, axis=axis, title=None)
    y = alt.Y(
        "name:N",
        sort=order,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=150, labelColor=INK, grid=False),
    )
    marks = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    rules = alt.Chart(alt.Data(values=lines)).mark_rule(color=WARM, strokeDash=[4, 3]).encode(x=x)
    named = [
        alt.Chart(alt.Data(values=[line for line in lines if line["high"] is high]))
        .mark_text(color=WARM, fontSize=11, align="center", baseline="bottom")
        .encode(x=x, y=alt.value(-17 if high else -4), text="name:N")
        for high in (False, True)
    ]
    points = marks.mark_point(filled=True, size=90, color=ACCENT, opacity=1)
    texts = _over(marks, align="left", dx=9, fontSize=12, fontWeight=600)
    return alt.layer(rules, *named, points, *texts).properties(
        width=width, height=ROW * len(rows) + 8
    )


def distribution(bars: Sequence[tuple[str, float, float | None]]) -> Any:
    """Values of one column: expected records after, and a mark where they were before."""
    alt = load_altair()
    labels = apart([label for label, _, _ in bars], LETTERS)
    rows = [{"label": label, "after": after}
            for label, (_, after, _) in zip(labels, bars, strict=True)]  # fmt: skip
    marks = [{"label": label, "before": before}
             for label, (_, _, before) in zip(labels, bars, strict=True)
             if before is not None]  # fmt: skip
    y = alt.Y(
        "label:N",
        sort=labels,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=150, grid=False),
    )
    x = alt.X(
        "after:Q",
        title=None,
        axis=alt.Axis(
            tickCount=3, format="~s", labelExpr=PLAIN_ZERO, domain=False, ticks=False,
            labelFlush=False, labelOverlap="greedy", labelSeparation=8,
        ),
    )  # fmt: skip
    layers = [alt.Chart(alt.Data(values=rows)).mark_bar(color=ACCENT, height=12).encode(x=x, y=y)]
    if marks:
        layers.append(
            alt.Chart(alt.Data(values=marks))
            .mark_tick(color=WARM, thickness=3, size=18)
            .encode(x=alt.X("before:Q"), y=y)
        )
    return alt.layer(*layers).properties(width=WIDTH - 140, height=20 * len(rows))


def line(
    points: Sequence[tuple[float, float, str]], across: str, *, logarithmic: bool = False
) -> Any:
    """A loss along something, with a label at each point that has one."""
    alt = load_altair()
    few = len(points) <= 5
    rows = [{"at": at, "loss": loss, "text": text} for at, loss, text in points]
    most = max(loss for _, loss, _ in points)
    scale = alt.Scale(type="log", nice=False, padding=46) if logarithmic else alt.Scale(zero=True)
    x = alt.X(
        "at:Q", title=across, scale=scale,
        axis=alt.Axis(
            tickCount=5, grid=False, ticks=False,
            **({"values": [at for at, _, _ in points], "format": "~g"} if logarithmic else {}),
        ),
    )  # fmt: skip
    y = alt.Y(
        "loss:Q", title=None, scale=alt.Scale(domain=[0, most * 1.2]),
        axis=alt.Axis(tickCount=4, domain=False, ticks=False),
    )  # fmt: skip
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    path = base.mark_line(
        color=ACCENT, strokeWidth=2, interpolate="linear" if few else "step-after"
    )
    named = [row for row in rows if row["text"]]
    labelled = alt.Chart(alt.Data(values=named)).encode(x=x, y=y)
    dots = labelled.mark_point(filled=True, size=70, color=ACCENT, opacity=1)
    texts = _over(labelled, dy=-13, fontSize=11, fontWeight=600)
    return alt.layer(path, dots, *texts).properties(width=WIDTH - 50, height=150)


def _over(base: Any, **look: Any) -> list[Any]:
    """Texts that lines behind them do not run through."""
    paints = ({"color": BEHIND, "stroke": BEHIND, "strokeWidth": 5}, {"color": INK})
    return [base.mark_text(**look, **paint).encode(text="text:N") for paint in paints]


def _fitting(text: str, most: float) -> str:
    """A text, or its beginning, in a place for so many letters; nothing where that is too few."""
    return text if len(text) <= most else shortened(text, int(most)) if most >= 4 else ""


def _percent(share: float) -> str:
    if share >= 0.1 or share == 0:
        return f"{100 * share:.0f}%"
    return f"{100 * share:.1f}%" if share >= 0.001 else "< 0.1%"
