"""Ghinita et al., Fast data anonymization with low information loss: Figures 12 to 20.

ACS 2018 stands for the paper's CENSUS (same nine attributes, other people).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.papers.figures import Figure
from benchmarks.papers.runs import encoded, run
from shoal.encoding.table import EncodedTable

K_METHODS = ["hilbert", "idistance", "idistance by curve", "topdown", "mondrian"]
FAST = ["hilbert fast", "idistance fast"]
L_METHODS = ["hilbert", "hilbert frontier", "idistance", "mondrian"]
N = 200_000


def figure12(full: bool) -> Iterator[Figure]:
    """Adult, variable k."""
    loss = Figure("Figure 12a", "Adult, variable k", "k", "GCP")
    dm = Figure("Figure 12b", "Adult, variable k", "k", "DM")
    for k in (5, 10, 20, 30, 40, 50) if full else (5, 10, 25, 50):
        for label in K_METHODS + FAST:
            result = run(encoded("adult"), label, k=k)
            loss.add(label, k, result.gcp)
            dm.add(label, k, result.dm)
    yield from (loss, dm)


def figure13(full: bool) -> Iterator[Figure]:
    """Census, variable k."""
    sizes = (10, 20, 50, 70, 100) if full else (10, 50, 100)
    cases = [(k, encoded("acs", N), {"k": k}) for k in sizes]
    yield from _loss_and_time("Figure 13", "Census, variable k", "k", cases, _some(full) + FAST)


def figure14(full: bool) -> Iterator[Figure]:
    """Census, k = 50, variable size."""
    sizes = (50_000, 100_000, 200_000, 295_000) if full else (50_000, 200_000)
    cases = [(n, encoded("acs", n), {"k": 50}) for n in sizes]
    title = "Census, k = 50, variable size"
    yield from _loss_and_time("Figure 14", title, "N", cases, _some(full) + FAST)


def figure15(full: bool) -> Iterator[Figure]:
    """Census, k = 50, variable dimensionality."""
    dimensions = range(1, 8) if full else (2, 4, 7)
    cases = [(d, encoded("acs", N, d), {"k": 50}) for d in dimensions]
    title = "Census, k = 50, variable dimensionality"
    yield from _loss_and_time("Figure 15", title, "d", cases, _some(full))


def figure16(full: bool) -> Iterator[Figure]:
    """Variable l, on ACS by group of occupations and by occupation, and on Adult."""
    for title, (table, most) in _by_l().items():
        levels = range(2, most + 1) if full else (2, 3, 5, most)
        panels = _loss_and_time(
            "Figure 16",
            f"{title}, variable l",
            "l",
            [(m, table, {"l": m}) for m in levels],
            L_METHODS,
        )
        for panel in panels:
            panel.name += f" {title}"
            yield panel


def figure17(full: bool) -> Iterator[Figure]:
    """Census, l = 5, variable size."""
    sizes = (50_000, 100_000, 200_000, 295_000) if full else (50_000, 200_000)
    cases = [(n, encoded("acs", n, diverse=True), {"l": 5}) for n in sizes]
    yield from _loss_and_time("Figure 17", "Census, l = 5, variable size", "N", cases, L_METHODS)


def figure18(full: bool) -> Iterator[Figure]:
    """Census, l = 5, variable dimensionality."""
    cases = [
        (d, encoded("acs", N, d, diverse=True), {"l": 5})
        for d in ((1, 2, 3, 4, 5, 6, 7) if full else (2, 4, 7))
    ]
    yield from _loss_and_time("Figure 18", "Census, l = 5, variable d", "d", cases, L_METHODS)


def figure19(full: bool) -> Iterator[Figure]:
    """Census, l = 3, variable number of sensitive values.

    The paper has l = 5 on 50 values; ACS has 25 groups, which aggregate less evenly.
    """
    cases = [
        (m, encoded("acs", N, diverse=True, values=m), {"l": 3})
        for m in ((8, 10, 15, 20, 25) if full else (10, 25))
    ]
    yield from _loss_and_time("Figure 19", "Census, l = 3, variable m", "m", cases, L_METHODS)


def figure20(full: bool) -> Iterator[Figure]:
    """Accuracy of cube queries."""
    methods = [*L_METHODS, "anatomy"]
    for title, (table, most) in _by_l().items():
        panel = Figure(f"Figure 20a {title}", f"{title}, level 2, variable l", "l", "KL")
        for m in range(2, most + 1) if full else (2, 5, most):
            for label in methods:
                panel.add(label, m, run(table, label, l=m).kl())
        yield panel
    panel = Figure("Figure 20b", "query accuracy, l = 5, variable level", "level", "KL")
    for label in methods:
        result = run(encoded("acs", N, diverse=True), label, l=5)
        for level in (1, 2, 3) if full else (1, 2):
            panel.add(label, level, result.kl(level))
    yield panel
    panel = Figure("Figure 20c", "query accuracy at level 2, l = 5, variable d", "d", "KL")
    for d in range(2, 8) if full else (4, 7):
        for label in methods:
            panel.add(label, d, run(encoded("acs", N, d, diverse=True), label, l=5).kl())
    yield panel
    panel = Figure("Figure 20d", "query accuracy at level 2, l = 5, variable N", "N", "KL")
    for n in (50_000, 100_000, 200_000, 295_000) if full else (50_000, 200_000):
        for label in methods:
            panel.add(label, n, run(encoded("acs", n, diverse=True), label, l=5).kl())
    yield panel


def figure_trees(full: bool) -> Iterator[Figure]:
    """Figures 13a and 16a with the trees of the paper's Table 1."""
    methods = [label for label in _some(full) if label != "idistance by curve"]
    for figure, diverse, levels in (
        ("13", False, (10, 20, 50, 70, 100)),
        ("16", True, range(2, 9)),
    ):
        x, labels = ("l", L_METHODS) if diverse else ("k", methods)
        panel = Figure(f"Figure {figure}a trees", f"Census with trees, variable {x}", x, "GCP")
        table = encoded("acs", N, diverse=diverse, trees=True)
        for at in levels:
            for label in labels:
                panel.add(label, at, run(table, label, **{x: at}).gcp)
        yield panel


def _by_l() -> dict[str, tuple[EncodedTable, int]]:
    """Tables for l-diversity, and the largest l to draw: groups of occupations allow 8."""
    return {
        "Census": (encoded("acs", N, diverse=True), 8),
        "Census by occupation": (encoded("acs", N, diverse=True, about="Occupation"), 10),
        "Adult": (encoded("adult", diverse=True), 7),
    }


def _some(full: bool) -> list[str]:
    """The methods for k; topdown takes its time and comes with --full only."""
    return K_METHODS if full else [label for label in K_METHODS if label != "topdown"]


def _loss_and_time(name, title, x, cases, methods) -> Iterator[Figure]:
    """Two panels over the same runs; each method runs once before the clock, to compile."""
    loss = Figure(f"{name}a", title, x, "GCP")
    seconds = Figure(f"{name}b", title, x, "CPU seconds")
    for label in methods:
        run(encoded("adult", 2000, diverse="l" in cases[0][2]), label, **cases[0][2])
    for at, table, models in cases:
        for label in methods:
            result = run(table, label, **models)
            loss.add(label, at, result.gcp)
            seconds.add(label, at, result.seconds)
    yield from (loss, seconds)


FIGURES = {
    "12": figure12, "13": figure13, "14": figure14, "15": figure15, "16": figure16,
    "17": figure17, "18": figure18, "19": figure19, "20": figure20,
    "trees": figure_trees,
}  # fmt: skip
