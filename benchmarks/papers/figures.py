"""A figure of a paper: rows of (label, x, value), printed as a table, drawn as lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


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

    def show(self) -> None:
        """Print the panel as a Markdown table, one row a line of the figure."""
        xs = list(dict.fromkeys(x for _, x, _ in self.rows))
        labels = list(dict.fromkeys(label for label, _, _ in self.rows))
        print(f"\n### {self.name}: {self.title}\n")
        print(f"| {self.y} | {' | '.join(f'{self.x} = {x:g}' for x in xs)} |")
        print(f"|---|{'---|' * len(xs)}")
        for label in labels:
            cells = [
                next((f"{v:.4g}" for name, at, v in self.rows if (name, at) == (label, x)), "")
                for x in xs
            ]
            print(f"| {label} | {' | '.join(cells)} |", flush=True)

    def draw(self, folder: Path) -> None:
        """Save the panel as an SVG, with a logarithmic y axis where values differ widely."""
        import altair

        data = [{"method": m, "x": x, "y": v} for m, x, v in self.rows]
        values = [v for _, _, v in self.rows if v > 0]
        wide = bool(values) and max(values) > 30 * min(values)
        scale = altair.Scale(type="log") if wide else altair.Scale()
        chart = (
            altair.Chart(altair.Data(values=data), title=f"{self.name}: {self.title}")
            .mark_line(point=True)
            .encode(
                x=altair.X("x:Q", title=self.x),
                y=altair.Y("y:Q", title=self.y, scale=scale),
                color="method:N",
            )
            .properties(width=420, height=280)
        )
        folder.mkdir(parents=True, exist_ok=True)
        chart.save(str(folder / f"{self.name.lower().replace(' ', '-')}.svg"))
