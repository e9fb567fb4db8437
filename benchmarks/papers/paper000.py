"""Xiao, Yi and Tao, The hardness and approximation algorithms for l-diversity: Figures 2 to 8.

ACS 2018 stands for the paper's SAL (Salary is sensitive) and OCC (OccGroup is),
295,243 records instead of 600,000. Every number is an average over the
projections to d of the seven quasi-identifiers: all of them with --full, else
every seventh.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from benchmarks.papers.figures import Figure
from benchmarks.papers.runs import Result, encoded, projections, run
from shoal.encoding.table import EncodedTable

TABLES = {"SAL": "Salary", "OCC": "OccGroup"}
FINE = {"OCC by occupation": "Occupation"}
"""OccGroup is 8-diverse at most; single occupations (529) allow the paper's l = 9 and 10."""
WITH_STARS = ["hilbert with stars", "tp", "tp+"]
OF_THE_PAPER = ["hilbert frontier with stars", "tp+ of the paper"]
STEP = 7
"""Without --full, so many projections are passed over for one that is run."""


def table_of(name: str, n: int | None = None) -> EncodedTable:
    """SAL or OCC with seven quasi-identifiers."""
    return encoded("acs", n, diverse=True, about={**TABLES, **FINE}[name])


def average(
    tables: Iterable[EncodedTable], label: str, m: int, measure: Callable[[Result], float]
) -> float:
    """Mean of a measure over the tables at l = m."""
    return float(np.mean([measure(run(table, label, l=m)) for table in tables]))


def over_l(
    figure: int, what: str, labels: list[str], measure: Callable[[Result], float], full: bool
) -> Iterator[Figure]:
    """A panel a table: a measure against l on four quasi-identifiers."""
    for name in (*TABLES, *FINE):
        panel = Figure(f"Figure {figure} {name}", f"{name}-4, variable l", "l", what)
        tables = projections(table_of(name), 4, 1 if full else STEP)
        for m in range(2, 9 if name == "OCC" else 11):
            for label in labels:
                panel.add(label, m, average(tables, label, m, measure))
        yield panel


def over_d(
    figure: int, what: str, labels: list[str], measure: Callable[[Result], float], full: bool
) -> Iterator[Figure]:
    """A panel a table: a measure against the number of quasi-identifiers at l = 6."""
    for name in TABLES:
        panel = Figure(f"Figure {figure} {name}", f"{name}-d, l = 6", "d", what)
        for d in range(1, 8) if full else (1, 3, 5, 7):
            tables = projections(table_of(name), d, 1 if full else STEP)
            for label in labels:
                panel.add(label, d, average(tables, label, 6, measure))
        yield panel


def stars(result: Result) -> float:
    return result.stars


def seconds(result: Result) -> float:
    return result.seconds


def divergence(result: Result) -> float:
    return result.divergence


def warm(labels: list[str]) -> None:
    """Compile before times are taken."""
    for label in labels:
        run(table_of("SAL", 5000), label, l=2)


def figure2(full: bool) -> Iterator[Figure]:
    """Stars against l; and the phases that TP ended in, over every projection and l."""
    yield from over_l(2, "stars", [*WITH_STARS, *OF_THE_PAPER], stars, full)
    panel = Figure("Phases", "runs of tp that ended in each phase, all d", "phase", "runs")
    for name in TABLES:
        ended: Counter[int] = Counter()
        for d in range(1, 8) if full else (2, 4, 6):
            for table in projections(table_of(name), d, 1 if full else STEP):
                for m in range(2, 9):
                    ended[run(table, "tp", l=m).outcome.facts["phase"]] += 1
        for phase in (1, 2, 3):
            panel.add(name, phase, ended[phase])
    yield panel


def figure3(full: bool) -> Iterator[Figure]:
    """Stars against d."""
    yield from over_d(3, "stars", WITH_STARS, stars, full)


def figure4(full: bool) -> Iterator[Figure]:
    """Time against l."""
    warm(WITH_STARS)
    yield from over_l(4, "CPU seconds", WITH_STARS, seconds, full)


def figure5(full: bool) -> Iterator[Figure]:
    """Time against d (the paper's caption says l = 4, its text l = 6)."""
    warm(WITH_STARS)
    yield from over_d(5, "CPU seconds", WITH_STARS, seconds, full)


def figure6(full: bool) -> Iterator[Figure]:
    """Time against n, on the generated census: ACS does not have 600,000 records."""
    warm(WITH_STARS)
    panel = Figure("Figure 6", "census, 4 quasi-identifiers, l = 6", "n", "CPU seconds")
    for n in range(100_000, 600_001, 100_000) if full else (100_000, 300_000, 600_000):
        tables = projections(encoded("census", n, diverse=True), 4, STEP)
        for label in WITH_STARS:
            panel.add(label, n, average(tables, label, 6, seconds))
    yield panel


def figure7(full: bool) -> Iterator[Figure]:
    """KL divergence against l."""
    yield from over_l(7, "KL", ["tp+", "tds", "hilbert"], divergence, full)


def figure8(full: bool) -> Iterator[Figure]:
    """KL divergence against d."""
    yield from over_d(8, "KL", ["tp+", "tds", "hilbert"], divergence, full)


FIGURES = {
    "2": figure2,
    "3": figure3,
    "4": figure4,
    "5": figure5,
    "6": figure6,
    "7": figure7,
    "8": figure8,
}
