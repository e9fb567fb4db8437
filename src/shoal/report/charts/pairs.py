"""Two columns together, before and after: two fields of squares, the fuller the darker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal.report.charts.theme import ACCENT, INK, PALE, load_altair
from shoal.report.fitting import apart, middle

__all__ = ["pair_fields"]

SIDE = 20
"""Pixels of a square."""
LONGEST = 18


def pair_fields(
    names: tuple[str, str],
    labels: tuple[Sequence[str], Sequence[str]],
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
) -> Any:
    """Shares of records in each pair of bars, in the original and in the release.

    Squares of the original that are not a number hold too few to be shown: they have a dot.
    """
    alt = load_altair()
    places = [apart(side, LONGEST) for side in labels]
    values = [share for side in (before, after) for row in side for share in row]
    most = max((share for share in values if not math.isnan(share)), default=0.0) or 1.0
    panels: list[Any] = []
    for title, side in (("before", before), ("after", after)):
        rows = [
            {"a": places[0][i], "b": places[1][j], "share": 0.0 if math.isnan(share) else share,
             "few": math.isnan(share)}
            for i, row in enumerate(side)
            for j, share in enumerate(row)
        ]  # fmt: skip
        axes = {"ticks": False, "domain": False, "grid": False, "labelLimit": 120}
        y = alt.Y("a:N", sort=places[0], title=None,
                  axis=alt.Axis(**axes) if not panels else None)  # fmt: skip
        x = alt.X("b:N", sort=places[1], title=None, axis=alt.Axis(labelAngle=-40, **axes))
        # How full a square is goes by its opacity: one colour serves light and dark pages.
        full = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, most], range=[0.04, 1]),
                           legend=None)  # fmt: skip
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
        layers = [base.mark_rect(color=ACCENT).encode(opacity=full)]
        if any(row["few"] for row in rows):
            layers.append(base.mark_point(color=PALE, size=8, filled=True)
                          .transform_filter("datum.few"))  # fmt: skip
        layers.append(
            alt.Chart(alt.Data(values=[{}]))
            .mark_text(
                text=_heading(title, names), align="left", fontSize=12, fontWeight=600, color=INK
            )
            .encode(x=alt.value(0), y=alt.value(-8))
        )
        size = {"width": SIDE * len(places[1]), "height": SIDE * len(places[0])}
        panels.append(alt.layer(*layers).properties(**size))
    return alt.hconcat(*panels, spacing=14)


def _heading(title: str, names: tuple[str, str]) -> str:
    """What a panel shows, in one line: titles beside axes would meet their labels."""
    down, across = (middle(name, LONGEST) for name in names)
    return f"{title}: {down} by {across}"
