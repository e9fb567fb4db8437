"""A frontier picture: what a stronger promise costs, one line a method."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log, log10
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.explore.comparison import Comparison, Row, check_target
from shoal.report.charts.theme import COLOURS, ENDINGS, PALE, load_altair, styled

__all__ = [
    "HEIGHT",
    "MEASURES",
    "WIDE_RATIO",
    "WIDTH",
    "YScale",
    "check_picture",
    "end_labels",
    "frontier",
]

MEASURES = {
    "gcp": "Loss (GCP)",
    "kl": "KL divergence of the data cube",
    "query": "Median error of COUNT queries",
    "seconds": "Seconds to partition",
}
"""What the y axis can show; the names are the command line's."""
POINTS = "point KL"
"""What ``kl`` is where the divergence of points was measured, not that of the cube."""
TITLES = {**MEASURES, POINTS: "KL divergence of the points"}
FIELDS = {"query": "query_median", "kl": "cube_divergence", POINTS: "point_divergence"}
PERCENT = ("query",)
PROMISES = {"k": "k (k-anonymity)", "l": "l (l-diversity)"}

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

WIDTH, HEIGHT = 520, 320
LABEL_GAP = 15
"""Pixels between the labels of two lines."""
WIDE_RATIO = 40
"""Values further apart than this get a logarithmic axis."""


def check_picture(path: Path, source: Path | None = None) -> None:
    """Refuse, before any work, a picture that cannot be drawn or written."""
    check_target(path, ENDINGS, source)
    load_altair()


def frontier(comparison: Comparison, measure: str = "gcp") -> Any:
    """Chart of a measure against k (or l), one line a method, one panel a value of the other.

    Parameters
    ----------
    comparison
        From `shoal.compare`. Rows without a release are left out, and counted
        under the title.
    measure
        One of `MEASURES`.

    Returns
    -------
    altair.Chart
        A notebook shows it as it is; `save` writes it to a file.
    """
    alt = load_altair()
    if measure not in MEASURES:
        raise InputError(f"measure: expected one of {', '.join(MEASURES)}; got {measure!r}")
    measure = POINTS if measure == "kl" and comparison.kl == "points" else measure
    field = _field(measure)
    rows = [row for row in comparison.rows if getattr(row, field) is not None]
    if not rows:
        raise InputError(f"no release to draw: {measure} is unknown for every combination")
    x, other = _roles(rows)
    scale_y = YScale([float(getattr(row, field)) for row in rows])
    panels = list(dict.fromkeys(getattr(row, other) for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    charts: list[Any] = []
    for value in panels:
        here = [row for row in rows if getattr(row, other) == value]
        frame = _frame(alt, f"{other} = {value}", len(panels))
        charts.append(_panel(alt, here, x, measure, methods, scale_y, frame, not charts))
    chart = charts[0] if len(charts) == 1 else alt.hconcat(*charts, spacing=28)
    return _titled(alt, chart, comparison, measure, x)


class YScale:
    """The y axis: from 0, or logarithmic where the values are far apart."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        self.log = low > 0 and high / low > WIDE_RATIO
        self.low = low / 1.5 if self.log else 0.0
        self.high = high * 1.5 if self.log else (high * 1.08 or 1.0)

    def round_values(self) -> list[float]:
        """1, 2, 5, 10, ... within a logarithmic axis; fewer where they would crowd."""
        decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        steps = (1, 2, 5) if len(decades) <= 4 else (1,)
        values = [step * 10.0**decade for decade in decades for step in steps]
        return [value for value in values if self.low <= value <= self.high]

    def pixel(self, value: float) -> float:
        """Height above the x axis."""
        if self.log:
            return HEIGHT * log(value / self.low) / log(self.high / self.low)
        return HEIGHT * (value - self.low) / (self.high - self.low)

    def value(self, pixel: float) -> float:
        """What lies at a height."""
        share = pixel / HEIGHT
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)


def _roles(rows: Sequence[Row]) -> tuple[str, str]:
    """Which of k and l is the x axis: the one with more values; and the other."""
    distinct = {name: {getattr(row, name) for row in rows} for name in ("k", "l")}
    by_l = len(distinct["l"]) > len(distinct["k"]) or distinct["k"] == {None}
    return ("l", "k") if by_l else ("k", "l")


def _frame(alt: Any, title: str, panels: int) -> dict[str, Any]:
    """Size of a panel, and its title if there are several."""
    if panels == 1:
        return {"width": WIDTH, "height": HEIGHT}
    heading = alt.Title(title, fontSize=13, fontWeight=400, color=PALE, anchor="start", offset=6)
    return {"width": max(220, WIDTH * 3 // 2 // panels), "height": HEIGHT, "title": heading}


def _panel(
    alt: Any,
    rows: Sequence[Row],
    x: str,
    measure: str,
    methods: Sequence[str],
    scale_y: YScale,
    frame: dict[str, Any],
    leftmost: bool,
) -> Any:
    """Lines, points and the labels at their right ends."""
    points = [
        {"x": getattr(row, x) or 0, "y": getattr(row, _field(measure)), "method": row.method}
        for row in rows
    ]
    axes = {
        "x": _axis_x(alt, x, sorted({point["x"] for point in points})),
        "y": _axis_y(alt, measure, scale_y, leftmost),
        "color": alt.Color("method:N", legend=None, scale=_by_method(alt, methods, COLOURS)),
    }
    base = alt.Chart(alt.Data(values=points)).encode(**axes)
    marked = base.mark_point(size=55, filled=True, opacity=1).encode(
        shape=alt.Shape("method:N", legend=None, scale=_by_method(alt, methods, SHAPES)),
        tooltip=[
            alt.Tooltip("method:N"),
            alt.Tooltip("x:Q", title=x),
            alt.Tooltip("y:Q", title=TITLES[measure], format=".4~g"),
        ],
    )
    labels = alt.Chart(alt.Data(values=end_labels(points, scale_y))).encode(**axes, text="method:N")
    named = labels.mark_text(align="left", dx=10, fontSize=13, fontWeight=600)
    return alt.layer(base.mark_line(strokeWidth=2.25), marked, named).properties(**frame)


def _field(measure: str) -> str:
    return FIELDS.get(measure, measure)


def _axis_x(alt: Any, x: str, ticks: Sequence[float]) -> Any:
    """A tick a value that was run; logarithmic where they lie far apart."""
    log_x = ticks[0] > 0 and ticks[-1] / ticks[0] >= 4
    spread = ticks[-1] - ticks[0] or 1
    left = ticks[0] * (ticks[0] / ticks[-1]) ** 0.06 if log_x else ticks[0] - 0.06 * spread
    # The plot ends with the last points: the labels stand outside, free of grid lines.
    domain = [left, ticks[-1]]
    return alt.X(
        "x:Q",
        title=PROMISES[x],
        scale=alt.Scale(type="log" if log_x else "linear", domain=domain, nice=False),
        axis=alt.Axis(
            values=list(ticks), format="~g", grid=False, labelOverlap=True, labelFlush=False
        ),
    )


def _axis_y(alt: Any, measure: str, scale_y: YScale, leftmost: bool) -> Any:
    """Grid lines and, in the first panel, their values."""
    kind = "log" if scale_y.log else "linear"
    domain = [scale_y.low, scale_y.high]
    return alt.Y(
        "y:Q",
        title=None,
        scale=alt.Scale(type=kind, domain=domain, nice=False),
        axis=alt.Axis(
            **({"values": scale_y.round_values()} if scale_y.log else {"tickCount": 6}),
            format="~%" if measure in PERCENT else "~g",
            domain=False,
            ticks=False,
            labels=leftmost,
        ),
    )


def _by_method(alt: Any, methods: Sequence[str], looks: Sequence[str]) -> Any:
    """The same colour and shape for a method in every panel."""
    chosen = [looks[i % len(looks)] for i in range(len(methods))]
    return alt.Scale(domain=list(methods), range=chosen)


def end_labels(points: Sequence[dict[str, Any]], scale_y: YScale) -> list[dict[str, Any]]:
    """One label a method, beside its last point, moved apart where they would overlap."""
    ends: dict[str, dict[str, Any]] = {}
    for point in sorted(points, key=lambda point: point["x"]):
        ends[point["method"]] = point
    labels = []
    for x in {end["x"] for end in ends.values()}:  # only labels of one column can overlap
        column = sorted((end for end in ends.values() if end["x"] == x), key=lambda e: e["y"])
        heights = _apart([scale_y.pixel(end["y"]) for end in column])
        over = max(0.0, heights[-1] - HEIGHT)
        labels += [
            {**end, "y": scale_y.value(max(0.0, height - over))}
            for end, height in zip(column, heights, strict=True)
        ]
    return labels


def _apart(heights: Sequence[float]) -> list[float]:
    """Ascending heights, moved as little as possible to be `LABEL_GAP` apart.

    The closest ascending line to ``height - gap * place`` (isotonic regression):
    neighbours that overlap share the mean of where they want to be.
    """
    blocks: list[tuple[float, int]] = []  # mean and number of labels
    for place, height in enumerate(heights):
        blocks.append((height - LABEL_GAP * place, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (low, m), (high, n) = blocks[-2:]
            blocks[-2:] = [((low * m + high * n) / (m + n), m + n)]
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + LABEL_GAP * place for place, mean in enumerate(means)]


def _titled(alt: Any, chart: Any, comparison: Comparison, measure: str, x: str) -> Any:
    missing = sum(not row.ok for row in comparison.rows)
    subtitle = [f"{comparison.records:,} records, {len(comparison.qi)} quasi-identifiers"]
    if missing:
        subtitle.append(f"{missing} of {len(comparison.rows)} combinations have no release")
    if measure == "kl":
        subtitle.insert(1, f"{comparison.sensitive}, level {comparison.level}")
    elif measure == POINTS:
        subtitle.insert(1, f"{comparison.sensitive}")
    other = "l" if x == "k" else "k"
    fixed = {getattr(row, other) for row in comparison.rows}
    if len(fixed) == 1 and fixed != {None}:
        subtitle.insert(1, f"{other} = {fixed.pop()}")
    return styled(alt, chart, f"{TITLES[measure]} by {x}", " · ".join(subtitle))
