"""Suppression: tp and tp+ against a sort, cover, attributes, the exact optimum and KL.

Times of tp and tp+ are in units of ``np.argsort`` on as many random 64-bit keys,
medians of the same run; the others are seconds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.data import acs, adult, census
from benchmarks.partition import argsort_seconds, partition_seconds
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.partition import partition
from shoal.methods.base import Outcome
from shoal.metrics.divergence import kl_divergence
from shoal.metrics.loss import gcp
from shoal.plan import Plan
from shoal.policy import Policy

SIZES = (100_000, 200_000, 300_000, 400_000, 500_000, 600_000)
FOUR = ["age", "gender", "education", "marital"]


def main() -> None:
    growth_of_tp()
    cover_on_adult()
    attributes_at_twenty()
    optimum_of_small_tables()
    divergence_of_a_release()


def growth_of_tp() -> None:
    print("\n## tp and tp+, census, 4 QIs, l = 6: milliseconds (time / argsort)\n")
    print(f"| method | {' | '.join(f'{n:,}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    tables = {n: _encoded(census(n)[0], FOUR, "occupation").suppressing() for n in SIZES}
    units = {n: argsort_seconds(n) for n in SIZES}
    for table in tables.values():
        _ = table.costs  # part of the encoding, not of the method
    for name in ("tp", "tp+", "hilbert"):
        cells = []
        for n, table in tables.items():
            taken = partition_seconds(table, (name, {}), l=6)
            cells.append(f"{1000 * taken:.0f} ({taken / units[n]:.2f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def cover_on_adult() -> None:
    found = adult()
    if found is None:
        return
    print("\n## cover on Adult: age, education-num, marital-status, sex\n")
    print("| k | method | stars | at most times the fewest | seconds |\n|---|---|---|---|---|")
    table = _encoded(found[0], ["age", "education-num", "marital-status", "sex"])
    for k in (3, 5, 10):
        for name in ("cover", "tp+", "hilbert"):
            outcome, seconds = _timed(table, name, k=k, recoding="suppress")
            factor = outcome.facts.get("factor", "")
            print(f"| {k} | {name} | {_stars(table, outcome):,} | {factor} | {seconds:.2f} |")


def attributes_at_twenty() -> None:
    print("\n## attributes, 20 QIs on 300,000 rows\n")
    print("| k | suppressed | subsets tested | seconds |\n|---|---|---|---|")
    table = twenty_columns(300_000)
    for k in (2, 5, 10, 50):
        outcome, seconds = _timed(table, "attributes", k=k)
        facts = outcome.facts
        print(f"| {k} | {len(facts['suppressed'])} | {facts['tests']:,} | {seconds:.2f} |")


def twenty_columns(n: int) -> EncodedTable:
    """Census columns, and coarser or mixed ones made of them, until there are twenty."""
    columns: dict[str, Any] = dict(
        zip(census(n)[0].column_names, census(n)[0].columns, strict=True)
    )
    rng = np.random.default_rng(0)
    ages = np.asarray(columns["age"].to_pylist())
    for width in (2, 5, 10, 20):
        columns[f"age by {width}"] = pa.array(ages // width)
    while len(columns) < 20:
        values = int(rng.integers(2, 9))
        columns[f"made up {len(columns)}"] = pa.array(rng.integers(0, values, n))
    names = list(columns)[:20]
    return _encoded(pa.table({name: columns[name] for name in names}), names)


def optimum_of_small_tables() -> None:
    print("\n## optimal: census, 4 QIs, seconds by number of records\n")
    sizes = (10, 15, 20, 30, 40, 60)
    print(f"| asked | {' | '.join(str(n) for n in sizes)} |\n|---|{'---|' * len(sizes)}")
    whole = _encoded(census(1000)[0], FOUR, "occupation")
    for models in ({"k": 2}, {"k": 3}, {"k": 5}, {"l": 2}, {"l": 3}):
        cells = []
        for n in sizes:
            try:
                _, seconds = _timed(whole.take(np.arange(n)), "optimal", **models)
                cells.append(f"{seconds:.2f}")
            except Exception as error:  # too large: the refusal is the result
                cells.append(type(error).__name__)
        asked = ", ".join(f"{name} = {value}" for name, value in models.items())
        print(f"| {asked} | {' | '.join(cells)} |", flush=True)


def divergence_of_a_release() -> None:
    found = acs()
    if found is None:
        return
    print("\n## KL of a release of ACS (295,243 records), OccGroup, l = 6: seconds\n")
    print("| release | 4 QIs | 7 QIs |\n|---|---|---|")
    table, settings = found
    whole = encode(table, Policy.parse(**settings, sensitive="OccGroup"))
    for name, recoding in (("tp+", "suppress"), ("tds", None), ("hilbert", None)):
        cells = []
        for d in (4, 7):
            few = whole.select(range(d))
            outcome, _ = _timed(few, name, l=6, recoding=recoding)
            kl_divergence(few.take(np.arange(2000)), _small(few, outcome))  # compile
            begin = time.perf_counter()
            kl = kl_divergence(few, outcome.recoding)
            cells.append(f"{time.perf_counter() - begin:.2f} (KL {kl:.3f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _small(table: EncodedTable, outcome: Outcome) -> Any:
    few = table.take(np.arange(2000))
    policy = _policy(few, "hilbert", {"l": 2, "recoding": "suppress"})
    return partition(few, Plan.of(policy)).recoding


def _encoded(table: pa.Table, qi: list[str], sensitive: str | None = None) -> EncodedTable:
    roles = {"sensitive": sensitive} if sensitive else {}
    return encode(table, Policy.parse(qi=qi, **roles))


def _policy(table: EncodedTable, method: str, settings: dict[str, Any]) -> Policy:
    return Policy.parse(
        qi=[c.name for c in table.qi],
        sensitive=[c.name for c in table.sensitive],
        method=method,
        **settings,
    )


def _timed(table: EncodedTable, method: str, **settings: Any) -> tuple[Outcome, float]:
    """Partition once, after a small run that compiles."""
    policy = _policy(table, method, settings)
    if table.n > 5000:
        partition(table.take(np.arange(0, table.n, table.n // 2000)), Plan.of(policy))
    begin = time.perf_counter()
    outcome = partition(table, Plan.of(policy))
    return outcome, time.perf_counter() - begin


def _stars(table: EncodedTable, outcome: Outcome) -> int:
    return round(gcp(table, outcome.recoding) * table.n * len(table.qi))
