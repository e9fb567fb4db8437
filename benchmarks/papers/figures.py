"""A figure of a paper: rows of (label, x, value), printed as a table, kept, drawn as lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.keeping import keep

NAMELESS = ("best", "bounds")
"""Pictures of our own, which no paper numbers."""


@dataclass
class Figure:
    """One panel of a figure."""

    name: str
    title: str
    x: str
    y: str
    rows: list[tuple[str, float, float]] = field(default_factory=list)

    def add(self, label: str, x: float, value: float) -> None:
        self.rows.append((label, x, value))

    def value(self, label: str, x: float) -> float:
        return next(value for name, at, value in self.rows if (name, at) == (label, x))

    def show(self, file: str) -> None:
        """Print the panel as a Markdown table, one row a line of the figure, and keep it."""
        lines: dict[str, dict[str, float]] = {}
        for label, x, value in self.rows:
            lines.setdefault(label, {})[f"{x:g}"] = float(f"{value:.6g}")
        panel = {"title": self.title, "x": self.x, "y": self.y, "lines": lines}
        print(f"\n### {self.name}: {self.title}\n\n{written(panel)}", flush=True)
        keep(file, {self.name: panel})

    def draw(self, folder: Path) -> None:
        """Save the panel as an SVG, in the look of all our charts."""
        from shoal.report.charts.lines import lines
        from shoal.report.charts.theme import save

        folder.mkdir(parents=True, exist_ok=True)
        named = self.title if self.name in NAMELESS else f"{self.name}: {self.title}"
        chart = lines(self.rows, self.x, self.y, named)
        save(chart, folder / f"{self.name.lower().replace(' ', '-')}.svg")


def written(panel: dict[str, Any]) -> str:
    """A kept panel as a Markdown table."""
    xs = list(dict.fromkeys(x for line in panel["lines"].values() for x in line))
    rows = [[panel["y"], *(f"{panel['x']} = {x}" for x in xs)]]
    rows += [
        [label, *(f"{line[x]:.4g}" if x in line else "" for x in xs)]
        for label, line in panel["lines"].items()
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows).replace("| --- ", "|---")
