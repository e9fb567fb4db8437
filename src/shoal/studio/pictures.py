"""Small pictures that change while one watches: the loss as it falls, and the frontier.

SVG by hand, in the colours of the report's charts, since a point of them is a button. The
server draws them at every look, so they cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

__all__ = ["frontier", "losses"]

WIDTH, HEIGHT = 160, 36
PLOT = (560, 260)
LEFT, TOP, RIGHT, BOTTOM = 52, 14, 110, 40
MOST_POINTS = 60


def losses(points: Sequence[tuple[float, float]]) -> str:
    """The corners of a line: how the loss fell; empty with fewer than two."""
    if len(points) < 2:
        return ""
    step = max(1, len(points) // MOST_POINTS)
    shown = [*points[::step], points[-1]]
    first = shown[0][0]
    most = (shown[-1][0] - first) or 1.0
    low, high = min(loss for _, loss in shown), max(loss for _, loss in shown)
    span = (high - low) or 1.0
    return " ".join(
        f"{2 + (WIDTH - 4) * (at - first) / most:.1f},{2 + (HEIGHT - 4) * (high - loss) / span:.1f}"
        for at, loss in shown
    )


def frontier(
    runs: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], chosen: str | None
) -> dict[str, Any] | None:
    """Where each run and each measured k stands: k to the right, loss upwards."""
    marks = [
        {"k": int(run["result"]["k"] or run["result"]["smallest"]), "loss": run["result"]["loss"],
         "label": f"#{run['number']}", "method": run["result"]["method"], "run": run["id"],
         "chosen": run["id"] == chosen}
        for run in runs
    ]  # fmt: skip
    lines = [
        {**row, "label": row["method"], "run": None, "chosen": False}
        for row in rows if row["loss"] is not None
    ]  # fmt: skip
    every = [*marks, *lines]
    if not every:
        return None
    ks = sorted({point["k"] for point in every})
    top = max(point["loss"] for point in every) * 1.1 or 1.0
    low, high = log(ks[0] / 1.15), log(ks[-1] * 1.15)

    def place(point: dict[str, Any]) -> dict[str, Any]:
        across = (log(point["k"]) - low) / (high - low)
        up = point["loss"] / top
        x = LEFT + across * (PLOT[0] - LEFT - RIGHT)
        y = PLOT[1] - BOTTOM - up * (PLOT[1] - TOP - BOTTOM)
        return {**point, "x": round(x, 1), "y": round(y, 1)}

    placed = [place(point) for point in lines]
    methods = list(dict.fromkeys(point["method"] for point in placed))
    curves: list[dict[str, Any]] = []
    for number, method in enumerate(methods):
        points = [p for p in placed if p["method"] == method]
        corners = " ".join(f"{p['x']},{p['y']}" for p in points)
        lower = 14 * number if _near(curves, points) else 0
        curves.append({"method": method, "corners": corners, "points": points,
                       "series": number + 1, "end": points[-1],
                       "label_y": points[-1]["y"] + 4 + lower})  # fmt: skip
    ticks = [{"x": place({"k": k, "loss": 0})["x"], "text": f"{k:,}"} for k in _apart(ks)]
    grid = [{"y": place({"k": ks[0], "loss": top * share})["y"], "text": f"{top * share:.2f}"}
            for share in (0, 0.25, 0.5, 0.75, 1)]  # fmt: skip
    return {"runs": [place(point) for point in marks], "curves": curves, "ticks": ticks,
            "grid": grid, "width": PLOT[0], "height": PLOT[1], "left": LEFT,
            "right": PLOT[0] - RIGHT, "bottom": PLOT[1] - BOTTOM}  # fmt: skip


def _near(curves: Sequence[dict[str, Any]], points: Sequence[dict[str, Any]]) -> bool:
    return any(abs(c["end"]["y"] - points[-1]["y"]) < 14 for c in curves)


def _apart(ks: Sequence[int]) -> list[int]:
    """Ticks that do not crowd."""
    kept: list[int] = []
    for k in ks:
        if not kept or k >= kept[-1] * 1.25:
            kept.append(k)
    return kept
