"""Ye et al., BSGI: an effective algorithm towards stronger l-diversity: Table 5, Figures 4 to 6.

Adult with age, fnlwgt, education-num and hours-per-week numeric, marital-status,
race and sex categorical (value sets), and occupation sensitive: the paper says
WorkClass, but its most frequent value is one of Occupation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from benchmarks.data import adult, census
from benchmarks.papers.figures import Figure
from benchmarks.papers.runs import SEED, Result, run
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.canonical import canonical
from shoal.policy import Policy

NUMERIC = ["age", "fnlwgt", "education-num", "hours-per-week"]
CATEGORICAL = ["marital-status", "race", "sex"]
METHODS = [
    "bsgi",
    "bsgi of the paper",
    "hilbert",
    "mondrian",
    "mondrian, distinct l",
    "incognito",
    "incognito, distinct l",
]


@cache
def table() -> EncodedTable:
    """The paper's table, or a census where Adult is not at hand."""
    found = adult()
    if found is None:
        source, settings = census(30_000)
        return canonical(
            encode(source, Policy.parse(**settings, sensitive="occupation")), SEED
        ).table
    kinds = dict.fromkeys(CATEGORICAL, "categorical")
    roles = {"qi": NUMERIC + CATEGORICAL, "kind": kinds, "sensitive": "occupation"}
    return canonical(encode(found[0], Policy.parse(**roles)), SEED).table


@cache
def result(label: str, m: int) -> Result:
    """A release; all figures are of the same ones."""
    reading = {"l_reading": "distinct"} if "distinct" in label else {}
    return run(table(), label.split(",", maxsplit=1)[0], l=m, **reading)


def over_l(name: str, what: str, measure: Callable[[Result], float]) -> Iterator[Figure]:
    """A measure of every method for l = 2..7."""
    panel = Figure(name, "Adult, variable l", "l", what)
    for label in METHODS:
        result.__wrapped__(label, 2)  # compile before times are taken
        for m in range(2, 8):
            panel.add(label, m, measure(result(label, m)))
    yield panel


def table5(full: bool) -> Iterator[Figure]:
    """Average group size."""
    yield from over_l("Table 5", "records a group", lambda r: r.c_avg)


def figure4(full: bool) -> Iterator[Figure]:
    """Time."""
    yield from over_l("Figure 4", "CPU seconds", lambda r: r.seconds)


def figure5(full: bool) -> Iterator[Figure]:
    """Information loss."""
    yield from over_l("Figure 5", "GCP", lambda r: r.gcp)


def figure6(full: bool) -> Iterator[Figure]:
    """Discernibility."""
    yield from over_l("Figure 6", "DM", lambda r: r.dm)


FIGURES = {"t5": table5, "4": figure4, "5": figure5, "6": figure6}
