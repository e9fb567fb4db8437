"""What the figures of the papers are made of: encoded tables, timed partitions, rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.data import SHARED, acs, adult, census
from shoal.encoding.classes import class_sizes
from shoal.encoding.encode import encode
from shoal.encoding.recode import recode
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.canonical import canonical
from shoal.engines.memory.partition import partition
from shoal.methods.base import Outcome
from shoal.metrics.divergence import kl_divergence
from shoal.metrics.loss import gcp
from shoal.metrics.queries import anatomy_divergence, cube_divergence
from shoal.plan import Plan
from shoal.policy import Policy

LABELS: dict[str, dict[str, Any]] = {
    "hilbert": {"method": "hilbert"},
    "hilbert fast": {"method": "hilbert", "option": {"fast": True}},
    "hilbert frontier": {"method": "hilbert", "option": {"frontier": True}},
    "hilbert with stars": {"method": "hilbert", "recoding": "suppress"},
    "hilbert frontier with stars": {
        "method": "hilbert", "option": {"frontier": True}, "recoding": "suppress",
    },
    "idistance": {"method": "idistance"},
    "idistance fast": {"method": "idistance", "option": {"fast": True}},
    "idistance by curve": {"method": "idistance", "option": {"within": "curve"}},
    "topdown": {"method": "topdown"},
    "mondrian": {"method": "mondrian"},
    "anatomy": {"method": "anatomy"},
    "bsgi": {"method": "bsgi"},
    "bsgi of the paper": {
        "method": "bsgi", "option": {"select": "largest", "first": "random", "swaps": 0},
    },
    "incognito": {"method": "incognito"},
    "tp": {"method": "tp"},
    "tp+": {"method": "tp+"},
    "tp+ of the paper": {"method": "tp+", "option": {"frontier": True}},
    "tds": {"method": "tds"},
}  # fmt: skip
"""Lines of the figures, and the settings behind each."""
SEED = 1
"""Curves, medians and ties are drawn from it: the same figures again."""

PRIVATE = "Employee of a private"
TREES: dict[str, Any] = {
    "Gender": "flat",
    "Race": "flat",
    "Marital": {"tree": {
        "has been married": ["Married", "Divorced", "Widowed", "Separated"],
        "never": ["Never married or under 15 years old"],
    }},
    "WorkClass": {"tree": {
        "employed": {
            "by a company": [
                f"{PRIVATE} for-profit company or business, or of an individual, for wages, "
                "salary, or commissions",
                f"{PRIVATE} not-for-profit, tax-exempt, or charitable organization",
            ],
            "by a government": [
                "Local government employee (city, county, etc.)", "State government employee",
                "Federal government employee",
            ],
        },
        "own business": {
            "self-employed": [
                "Self-employed in own not incorporated business, professional practice, or farm",
                "Self-employed in own incorporated business, professional practice or farm",
            ],
            "family": ["Working without pay in family business or farm"],
        },
    }},
    "Country": str(SHARED / "hierarchies" / "acs2018" / "Country.csv"),
}  # fmt: skip
"""Table 1 of paper 004: the levels of its trees, with the values of ACS."""


@dataclass(frozen=True)
class Result:
    """One release of one table by one method."""

    seconds: float
    table: EncodedTable
    outcome: Outcome

    @property
    def gcp(self) -> float:
        return gcp(self.table, self.outcome.recoding)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Sizes of the classes that readers see: groups published alike are one class."""
        if self.outcome.separated is not None:  # exact quasi-identifiers
            return class_sizes(self.table.columns(), self.table.n)
        recoded = recode(self.table, self.outcome.recoding)
        return class_sizes([(column.index, len(column.texts)) for column in recoded], self.table.n)

    @property
    def dm(self) -> float:
        return float((self.classes.astype(float) ** 2).sum())

    @property
    def c_avg(self) -> float:
        return self.table.n / len(self.classes)

    @property
    def stars(self) -> int:
        """Suppressed cells: the loss of a recoding that suppresses is their share."""
        assert self.outcome.recoding.stars
        return round(self.gcp * self.table.n * len(self.table.qi))

    @property
    def divergence(self) -> float:
        """KL divergence of the points of the table, as paper 000 has it."""
        return kl_divergence(self.table, self.outcome.recoding)

    def kl(self, level: int = 2) -> float:
        """KL divergence of the cubes of a level, as paper 004 has it."""
        if self.outcome.separated is not None:
            return anatomy_divergence(self.table, self.outcome.separated, level, 0)
        return cube_divergence(self.table, self.outcome.recoding, level, 0)


@cache
def source(name: str) -> tuple[pa.Table, dict[str, Any], str]:
    """A table, its settings and its sensitive column; the census stands in where data is absent."""
    found = None if name == "census" else {"adult": adult, "acs": acs}[name]()
    if found is None:
        table, settings = census(600_000 if name == "census" else 200_000)
        return table, settings, "occupation"
    table, settings = found
    if name == "adult":  # the paper's eight attributes less the sensitive one
        return table, settings, "occupation"
    return table, settings, "OccGroup"


@cache
def encoded(
    name: str, n: int | None = None, d: int | None = None, diverse: bool = False,
    values: int | None = None, about: str | None = None, trees: bool = False,
) -> EncodedTable:  # fmt: skip
    """A table, sampled to n records and projected to d quasi-identifiers.

    `diverse` declares the sensitive column, or the one it is `about` (and takes
    it out of the quasi-identifiers); `values` aggregates it to so many values,
    as Figure 19 of paper 004; `trees` gives ACS the hierarchies of its Table 1.
    """
    table, settings, sensitive = source(name)
    sensitive = about if about in table.column_names else sensitive
    if n is not None and n < table.num_rows:
        rows = np.sort(np.random.default_rng(0).permutation(table.num_rows)[:n])
        table = table.take(pa.array(rows)).combine_chunks()
    qi = [column for column in settings["qi"] if not (diverse and column == sensitive)][:d]
    kinds = {column: kind for column, kind in settings["kind"].items() if column in qi}
    if values is not None:
        table = _aggregated(table, sensitive, values)
    roles: dict[str, Any] = {"sensitive": sensitive} if diverse else {}
    if trees:
        roles["hierarchy"] = {column: TREES[column] for column in qi if column in TREES}
        kinds = {column: kind for column, kind in kinds.items() if column not in TREES}
    encoded = encode(table, Policy.parse(qi=qi, kind=kinds, **roles))
    return canonical(encoded, SEED).table


def projections(table: EncodedTable, d: int, step: int = 1) -> list[EncodedTable]:
    """The table on every choice of d quasi-identifiers, or on every so many of them."""
    return [table.select(chosen) for chosen in list(combinations(range(len(table.qi)), d))[::step]]


def _aggregated(table: pa.Table, column: str, values: int) -> pa.Table:
    """Runs of sorted sensitive values under one name, so that `values` are left."""
    cells = table.column(column).to_pylist()
    names = sorted(set(cells))
    merged = {name: f"{i * values // len(names):03d}" for i, name in enumerate(names)}
    index = table.column_names.index(column)
    return table.set_column(index, column, pa.array([merged[cell] for cell in cells]))


def run(table: EncodedTable, label: str, **models: Any) -> Result:
    """Partition a table by the method behind a label; the first call of each compiles."""
    policy = Policy.parse(
        qi=[c.name for c in table.qi],
        sensitive=[c.name for c in table.sensitive],
        **LABELS[label],
        **models,
        seed=SEED,
    )
    return timed(table, policy)


def timed(table: EncodedTable, policy: Policy) -> Result:
    """Partition a table under a policy; CPU seconds, as other work may share the machine."""
    begin = time.process_time()
    outcome = partition(table, Plan.of(policy))
    return Result(time.process_time() - begin, table, outcome)
