"""Pei et al., Butterfly: publishing on multiple quasi-identifiers: Figures 5 to 14.

ACS 2018 (295,243 records) stands for the paper's 300,000; OccGroup is its
Occupation and Country its Birthplace; Salary is numeric, the other categories
ordinal by sorted value. Loss is the uncertainty penalty: the sum of NCP over
all cells, GCP without its denominator. k' (collusion) is 2 unless a figure
varies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data import acs, census
from benchmarks.papers.figures import Figure
from benchmarks.papers.runs import SEED, Result, timed
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.canonical import canonical
from shoal.metrics.loss import attribute_ncp
from shoal.policy import Policy

FIRST = ["Age", "OccGroup", "Country"]
SECOND = ["Salary", "WorkClass", "Race"]
COMMON = ["Education", "Marital", "Gender"]
CENSUS_NAMES = {
    "Age": "age", "OccGroup": "occupation", "Country": "country", "Salary": "income",
    "WorkClass": "workclass", "Race": "race", "Education": "education", "Marital": "marital",
    "Gender": "gender",
}  # fmt: skip
LINES: dict[str, dict[str, Any]] = {
    "union by mondrian": {"method": "union", "option": {"inner": "mondrian"}},
    "union by hilbert": {"method": "union"},
    "butterfly of the paper": {
        "method": "butterfly", "option": {"strategy": "paper", "inner": "mondrian"},
    },
    "butterfly": {"method": "butterfly", "option": {"inner": "hilbert"}},
}  # fmt: skip


@dataclass(frozen=True)
class Readers:
    """Two sets of quasi-identifiers."""

    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def common(self) -> set[str]:
        return {*self.first} & {*self.second}


def readers(first: Sequence[str], second: Sequence[str]) -> Readers:
    return Readers(tuple(first), tuple(second))


BOTH = readers([*FIRST, *COMMON], [*COMMON, *SECOND])
"""Section 6.4."""


@cache
def table_of(who: Readers, n: int | None = None) -> EncodedTable:
    """The table on what either reader knows, sampled to n records."""
    found = acs()
    source = found[0] if found is not None else census(300_000)[0]
    if n is not None and n < source.num_rows:
        rows = np.sort(np.random.default_rng(0).permutation(source.num_rows)[:n])
        source = source.take(rows)
    if found is None:
        source = source.rename_columns(
            [{v: k for k, v in CENSUS_NAMES.items()}.get(c, c) for c in source.column_names]
        )
    names = list(dict.fromkeys([*who.first, *who.second]))
    kinds = {name: "ordinal" for name in names if name not in {"Age", "Salary"}}
    return canonical(encode(source, Policy.parse(qi=names, kind=kinds)), SEED).table


@cache
def release(label: str, who: Readers, k: int, collusion_k: int | None, n: int | None) -> Result:
    """One release for both readers; several figures are of the same ones."""
    table = table_of(who, n)
    policy = Policy.parse(
        reader={"first": list(who.first), "second": list(who.second)},
        k=k,
        seed=SEED,
        **({"collusion_k": collusion_k} if collusion_k and collusion_k > 1 else {}),
        **LINES[label],
    )
    return timed(table, policy)


def penalty(result: Result, attributes: Callable[[str], bool] = lambda name: True) -> float:
    """Uncertainty penalty of some attributes."""
    parts = zip(result.table.qi, result.outcome.recoding.partitions, strict=True)
    return result.table.n * sum(
        attribute_ncp(result.table, a, partition)
        for a, (column, partition) in enumerate(parts)
        if attributes(column.name)
    )


Case = tuple[float, Readers, int, int | None, int | None]
"""x, readers, k, k' and number of records."""


def panel(
    name: str, title: str, x: str, y: str, cases: Sequence[Case],
    measure: Callable[[Result], float], labels: Sequence[str] = tuple(LINES),
) -> Figure:  # fmt: skip
    _warm()
    figure = Figure(name, title, x, y)
    for at, who, k, together, n in cases:
        for label in labels:
            figure.add(label, at, measure(release(label, who, k, together, n)))
    return figure


def _ks(full: bool) -> tuple[int, ...]:
    return (20, 40, 60, 80, 100) if full else (20, 50, 100)


def _about(result: Result) -> dict[str, Any]:
    """What the method says about its butterflies."""
    facts = result.outcome.facts
    about: dict[str, Any] = facts.get("paper") or facts["body"]
    return about


def _in_butterflies(result: Result) -> float:
    """Of what is published: where the union lost less there are none."""
    if result.outcome.facts["won"] == "union":
        return 0.0
    return float(_about(result)["share_in_butterflies"])


def _success(result: Result) -> float:
    return float(_about(result)["success_rate"])


def figure5(full: bool) -> Iterator[Figure]:
    """Share of records in butterflies that are not classes of the union."""
    for common in (2, 3):
        who = readers([*FIRST, *COMMON[:common]], [*COMMON[:common], *SECOND])
        cases = [(k, who, k, 2, None) for k in _ks(full)]
        yield panel(
            f"Figure 5 {common} common", "records in butterflies", "k", "share", cases,
            _in_butterflies, ["butterfly of the paper", "butterfly"],
        )  # fmt: skip


def figure6(full: bool) -> Iterator[Figure]:
    """Share of butterflies tried that paid."""
    cases = [(k, BOTH, k, 2, None) for k in _ks(full)]
    yield panel(
        "Figure 6", "butterflies that paid", "k", "share", cases, _success,
        ["butterfly of the paper"],
    )  # fmt: skip


def _split(name: str, title: str, x: str, cases: list[Case]) -> Iterator[Figure]:
    """Loss on common and on other attributes."""
    for part in ("common", "other"):
        figure = Figure(f"{name} {part}", f"{title}: {part} attributes", x, "penalty")
        for at, who, k, together, n in cases:
            for label in LINES:
                result = release(label, who, k, together, n)
                chosen = who.common
                wanted = part == "common"
                figure.add(label, at, penalty(result, lambda a, c=chosen, w=wanted: (a in c) == w))
        yield figure


def figure7(full: bool) -> Iterator[Figure]:
    """Education in common, one to four other attributes each."""
    first, second = [*FIRST, "Marital"], [*SECOND, "Gender"]
    cases: list[Case] = [
        (d, readers(["Education", *first[:d]], ["Education", *second[:d]]), 50, 2, None)
        for d in (1, 2, 3, 4)
    ]
    yield from _split("Figure 7", "diversity of the quasi-identifiers, k = 50", "d", cases)


def figure8(full: bool) -> Iterator[Figure]:
    """One to three attributes in common."""
    cases: list[Case] = [
        (c, readers([*FIRST, *COMMON[:c]], [*COMMON[:c], *SECOND]), 50, 2, None) for c in (1, 2, 3)
    ]
    yield from _split("Figure 8", "number of common attributes, k = 50", "common", cases)


def figure9(full: bool) -> Iterator[Figure]:
    """Loss against k, with k' = 2 and without."""
    for together, name in ((2, "Figure 9"), (None, "Figure 9 without collusion")):
        cases: list[Case] = [(k, BOTH, k, together, None) for k in _ks(full)]
        yield panel(name, "variable k", "k", "penalty", cases, penalty)


def _sizes(full: bool) -> tuple[int, ...]:
    return (100_000, 150_000, 200_000, 250_000, 295_000) if full else (100_000, 295_000)


def figure10(full: bool) -> Iterator[Figure]:
    """Loss against the number of records."""
    cases: list[Case] = [(n, BOTH, 50, 2, n) for n in _sizes(full)]
    yield panel("Figure 10", "k = 50, variable size", "n", "penalty", cases, penalty)


def _seconds(result: Result) -> float:
    return result.seconds


@cache
def _warm() -> None:
    """Compile before times are taken."""
    for label in LINES:
        for together in (None, 2):
            release(label, BOTH, 20, together, 3000)


def figure11(full: bool) -> Iterator[Figure]:
    """Time against k, without collusion and with k' = 2."""
    for together, name in ((2, "Figure 11"), (None, "Figure 11 without collusion")):
        cases: list[Case] = [(k, BOTH, k, together, None) for k in _ks(full)]
        yield panel(name, "variable k", "k", "CPU seconds", cases, _seconds)


def figure12(full: bool) -> Iterator[Figure]:
    """Time against the number of records."""
    cases: list[Case] = [(n, BOTH, 50, 2, n) for n in _sizes(full)]
    yield panel("Figure 12", "k = 50, variable size", "n", "CPU seconds", cases, _seconds)


LEVELS = readers([*FIRST, "Marital", "Education"], ["Education", "Gender", *SECOND])
"""Section 6.7."""


def _levels(full: bool) -> list[Case]:
    return [(t, LEVELS, 100, t, None) for t in ((1, 2, 5, 10, 30, 60, 90) if full else (1, 10, 60))]


def figure13(full: bool) -> Iterator[Figure]:
    """Loss against k'."""
    yield panel("Figure 13", "k = 100, variable k'", "k'", "penalty", _levels(full), penalty)


def figure14(full: bool) -> Iterator[Figure]:
    """Share of records in butterflies against k'."""
    labels = ["butterfly of the paper", "butterfly"]
    title = "records in butterflies, k = 100, variable k'"
    yield panel("Figure 14", title, "k'", "share", _levels(full), _in_butterflies, labels)


FIGURES = {
    str(number): figure
    for number, figure in enumerate(
        (figure5, figure6, figure7, figure8, figure9, figure10, figure11, figure12, figure13,
         figure14),
        start=5,
    )
}  # fmt: skip
