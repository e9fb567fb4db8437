"""Results that README and docs quote: benchmarks write them, `benchmarks.quote` reads them.

Every file of `results/` is a table of named results. A run replaces the results that it
computed and leaves the others as they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
Cell = str | int | float | None


def keep(name: str, found: dict[str, Any]) -> None:
    """Put results into a file, in place of those of the same names."""
    text = json.dumps({**kept(name), **found}, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", "utf-8")


def kept(name: str) -> dict[str, Any]:
    """The results of a file, by their names."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def tables_in(text: str) -> dict[str, Any]:
    """The Markdown tables of what was printed, by the headings above them; cells as texts."""
    found: dict[str, Any] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
        elif line.startswith("|") and title:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            table = found.setdefault(title, {"head": cells, "form": "", "rows": []})
            if table["head"] is not cells and not set(line) <= set("|-"):
                table["rows"].append(cells)
    return found


@dataclass
class Table:
    """Rows with names in front and numbers behind, printed as Markdown."""

    file: str
    name: str
    head: list[str]
    form: str = ".4f"
    """How numbers are written that are not whole."""
    rows: list[list[Cell]] = field(default_factory=list)

    def add(self, *cells: Cell) -> None:
        self.rows.append([float(f"{c:.9g}") if isinstance(c, float) else c for c in cells])

    def show(self) -> None:
        """Print it, and keep it."""
        print(f"\n{self.name}\n\n{written(self.kept())}", flush=True)
        keep(self.file, {self.name: self.kept()})

    def known(self) -> list[list[Cell]]:
        """Rows that were kept before under this name."""
        path = RESULTS / f"{self.file}.json"
        before = json.loads(path.read_text("utf-8")) if path.exists() else {}
        rows: list[list[Cell]] = before.get(self.name, {}).get("rows", [])
        return rows

    def kept(self) -> dict[str, Any]:
        return {"head": self.head, "form": self.form, "rows": self.rows}


def written(table: dict[str, Any]) -> str:
    """A kept table as Markdown."""
    head, form = table["head"], table["form"]
    lines = [head, ["---"] * len(head)]
    lines += [[_text(cell, form) for cell in row] for row in table["rows"]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines).replace("| --- ", "|---")


def _text(cell: Cell, form: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return format(cell, form)
    return f"{cell:,}" if isinstance(cell, int) else cell
