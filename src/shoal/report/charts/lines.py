"""Lines along a measured thing, each with its name at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.report.charts.frontier import HEIGHT, WIDE_RATIO, WIDTH, YScale, end_labels
from shoal.report.charts.theme import COLOURS, load_altair, styled

__all__ = ["lines"]


def lines(rows: Sequence[tuple[str, float, float]], across: str, up: str, title: str) -> Any:
    """A chart of rows of (name, x, y), one line a name."""
    alt = load_altair()
    points = [{"method": name, "x": x, "y": y} for name, x, y in rows]
    names = list(dict.fromkeys(name for name, _, _ in rows))
    xs = sorted({x for _, x, _ in rows})
    scale_y = YScale([y for _, _, y in rows])
    wide = xs[0] > 0 and xs[-1] / xs[0] >= WIDE_RATIO / 2
    x = alt.X(
        "x:Q", title=across,
        scale=alt.Scale(type="log" if wide else "linear", domain=[xs[0], xs[-1]], nice=False),
        axis=alt.Axis(values=xs, format="~g", grid=False, labelOverlap=True, labelFlush=False),
    )  # fmt: skip
    y = alt.Y(
        "y:Q", title=None,
        scale=alt.Scale(
            type="log" if scale_y.log else "linear", domain=[scale_y.low, scale_y.high], nice=False
        ),
        axis=alt.Axis(
            **({"values": scale_y.round_values()} if scale_y.log else {"tickCount": 6}),
            format="~g", domain=False, ticks=False,
        ),
    )  # fmt: skip
    looks = [COLOURS[number % len(COLOURS)] for number in range(len(names))]
    colour = alt.Color("method:N", legend=None, scale=alt.Scale(domain=names, range=looks))
    base = alt.Chart(alt.Data(values=points)).encode(x=x, y=y, color=colour)
    ends = alt.Chart(alt.Data(values=end_labels(points, scale_y)))
    named = ends.mark_text(align="left", dx=10, fontSize=13, fontWeight=600).encode(
        x=x, y=y, color=colour, text="method:N"
    )
    dots = base.mark_point(size=45, filled=True, opacity=1)
    chart = alt.layer(base.mark_line(strokeWidth=2.25), dots, named)
    return styled(alt, chart.properties(width=WIDTH, height=HEIGHT), title, up)
