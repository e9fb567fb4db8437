"""What a comparison of methods found: rows of numbers, as text, CSV, JSON or Markdown."""

# ruff: noqa: E741

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.errors import OutputError
from shoal.io.together import atomic_file

__all__ = ["BOUND", "DIVERGENCES", "Comparison", "Row", "check_target"]

BOUND = "no release below"
"""In the place of a method: what no release can undercut."""

Number = int | float


@dataclass(frozen=True)
class Row:
    """One method with one k and l: what its release cost and lost, or why there is none."""

    method: str
    k: int | None = None
    l: Number | None = None
    seconds: float | None = None
    """Time to partition the encoded table."""
    gcp: float | None = None
    stars: int | None = None
    """Suppressed cells, where the recoding suppresses."""
    dm: int | None = None
    c_avg: float | None = None
    cube_divergence: float | None = None
    """KL divergence of the data cube, where there is a sensitive column."""
    point_divergence: float | None = None
    """KL divergence of the table's points, where it was asked for instead."""
    query_median: float | None = None
    query_p95: float | None = None
    """Relative error of COUNT queries: median and 95th percentile."""
    groups: int | None = None
    reason: str | None = None
    """Why there is no release."""

    @property
    def ok(self) -> bool:
        """Whether there is a verified release."""
        return self.reason is None

    @property
    def asked(self) -> str:
        """The models' parameters in short: ``k=10 l=3``."""
        return " ".join(f"{n}={v}" for n, v in (("k", self.k), ("l", self.l)) if v is not None)


Show = Callable[[Any], str]
COLUMNS: dict[str, tuple[str, Show]] = {
    "method": ("method", str),
    "k": ("k", str),
    "l": ("l", str),
    "seconds": ("seconds", lambda x: f"{x:.3f}"),
    "gcp": ("loss", lambda x: f"{x:.4f}"),
    "stars": ("stars", lambda x: f"{x:,}"),
    "dm": ("DM", lambda x: f"{x:.3g}" if x >= 1e7 else f"{x:,}"),
    "c_avg": ("avg class", lambda x: f"{x:.1f}"),
    "cube_divergence": ("cube KL", lambda x: f"{x:.4f}"),
    "point_divergence": ("point KL", lambda x: f"{x:.4f}"),
    "query_median": ("query error", lambda x: f"{100 * x:.2f}%"),
    "query_p95": ("95th pct", lambda x: f"{100 * x:.2f}%"),
    "groups": ("groups", lambda x: f"{x:,}"),
}
"""Field of a row to its heading and how people read it."""
ASKED = ("method", "k", "l")
DIVERGENCES = {"cube": "cube_divergence", "points": "point_divergence"}
"""What ``kl`` can ask for, and the field of a row that holds it."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Rows in the order of methods, then k, then l."""

    rows: tuple[Row, ...]
    records: int
    qi: tuple[str, ...]
    sensitive: str | None
    level: int
    """Level of the data cube behind its divergence."""
    queries: int
    selectivity: float
    """Mean share of the records that the queries select."""
    kl: str = "cube"
    """Which divergence was measured: of the data ``cube``, or of the table's ``points``."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        about = {name: value for name, value in asdict(self).items() if name != "rows"}
        return {**about, "qi": list(self.qi), "rows": [asdict(row) for row in self.rows]}

    def headings(self) -> list[str]:
        """Headings of the columns that hold something."""
        return [COLUMNS[name][0] for name in self._used()]

    def cells(self) -> list[list[str]]:
        """Texts of each row under `headings`; a row without a release ends early."""
        used = self._used()
        return [[_text(row, name) for name in used if row.ok or name in ASKED] for row in self.rows]

    def _used(self) -> list[str]:
        return [
            name
            for name in COLUMNS
            if any(getattr(row, name) is not None for row in self.rows) or name == "method"
        ]

    def summary(self) -> str:
        """One line: on what, and what the columns mean."""
        level = f" at level {self.level}" if self.kl == "cube" else ""
        heading = COLUMNS[DIVERGENCES[self.kl]][0]
        about = f", {heading} of {self.sensitive}{level}" if self.sensitive else ""
        return (
            f"{self.records:,} records, {len(self.qi)} quasi-identifiers{about}, "
            f"{self.queries:,} queries that select {100 * self.selectivity:.1f}% on average"
        )

    def to_csv(self) -> str:
        """All fields of all rows, with full precision."""
        out = io.StringIO()
        fields = list(Row.__dataclass_fields__)
        writer = csv.DictWriter(out, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in self.rows)
        return out.getvalue()

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def to_markdown(self) -> str:
        """The table as people read it, for a page."""
        head = self.headings()
        numbers = "".join("---:|" for _ in head[1:])
        lines = [f"| {' | '.join(head)} |", f"|---|{numbers}"]
        for row, cells in zip(self.rows, self.cells(), strict=True):
            missing = len(head) - len(cells)
            rest = [row.reason or "", *[""] * (missing - 1)] if missing else []
            lines.append(f"| {' | '.join([*cells, *(c.replace('|', '/') for c in rest)])} |")
        return "\n".join([*lines, "", self.summary(), ""])

    def write(self, path: str | Path) -> Path:
        """Write the table as CSV, JSON or Markdown, by the ending of the name."""
        target = Path(path)
        check_target(target, FORMATS)
        with atomic_file(target) as temporary:
            temporary.write_text(FORMATS[target.suffix.lower()](self), encoding="utf-8")
        return target

    def __repr__(self) -> str:
        cells = self.cells()
        head = self.headings()
        widths = [
            max(len(line[i]) for line in [head, *cells] if i < len(line)) for i in range(len(head))
        ]
        lines = [_aligned(head, widths)]
        for row, texts in zip(self.rows, cells, strict=True):
            lines.append(_aligned([*texts, *([row.reason] if row.reason else [])], widths))
        return "\n".join([self.summary(), "", *lines])


FORMATS: dict[str, Callable[[Comparison], str]] = {
    ".csv": Comparison.to_csv,
    ".json": Comparison.to_json,
    ".md": Comparison.to_markdown,
}
"""Endings of files that a comparison can be written to."""


def check_target(path: Path, endings: Iterable[str], source: Path | None = None) -> None:
    """Refuse, before any work, a file that cannot or must not be written."""
    if source is not None and path.resolve() == source.resolve():
        raise OutputError(f"{path}: the output is the input; choose another name")
    if path.suffix.lower() not in endings:
        raise OutputError(f"{path}: expected a name that ends in {', '.join(endings)}")
    if path.is_dir():
        raise OutputError(f"{path}: is a directory; expected a file name")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {path.parent}")


def _text(row: Row, name: str) -> str:
    value = getattr(row, name)
    return "" if value is None else COLUMNS[name][1](value)


def _aligned(cells: list[str], widths: list[int]) -> str:
    """The method to the left, numbers to the right; a reason runs on."""
    last = len(widths) - 1
    texts = [
        cell.ljust(widths[i])
        if i == 0
        else cell.rjust(widths[i])
        if len(cell) <= widths[i]
        else cell
        for i, cell in enumerate(cells[: last + 1])
    ]
    return "  ".join([*texts, *cells[last + 1 :]]).rstrip()
