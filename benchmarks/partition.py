"""How long a method takes to partition, in units of sorting the same number of keys.

The table is given encoded; the time until its partition is there is divided by
that of ``np.argsort`` on as many random 64-bit keys, both as medians of the
same run, so that numbers from different machines compare.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import log
from statistics import median
from typing import Any

import numpy as np

from benchmarks.data import census
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.methods import METHODS, get_method
from shoal.methods.base import Run
from shoal.models import build_models
from shoal.policy import Policy

RECORDS = 1_000_000
GROWTH = (100_000, 300_000, 1_000_000, 3_000_000)
Variant = tuple[str, dict[str, Any]]
FOR_K: list[Variant] = [
    ("hilbert", {}), ("hilbert", {"fast": True}), ("idistance", {}),
    ("idistance", {"within": "curve"}), ("mondrian", {}),
]  # fmt: skip
FOR_L: list[Variant] = [
    ("hilbert", {}), ("hilbert", {"frontier": True}), ("idistance", {}), ("mondrian", {}),
    ("anatomy", {}), ("bsgi", {}),
]  # fmt: skip


def encoded(records: int) -> EncodedTable:
    """The generated census with seven quasi-identifiers and occupation sensitive."""
    table, settings = census(records)
    found = encode(table, Policy.parse(**settings, sensitive="occupation"))
    _ = found.costs  # part of the encoding, not of the method
    return found


def seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """Median time of the work; the first call, which may compile, is not counted."""
    work()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return median(times)


def partition_seconds(table: EncodedTable, variant: Variant, **models: int) -> float:
    name, options = variant
    method = get_method(name)
    chosen, wanted = method.options(**options), build_models(**models)
    return seconds(lambda: method.run(table, wanted, chosen, Run()))


def argsort_seconds(records: int) -> float:
    keys = np.random.default_rng(1).integers(0, 2**63, records).astype(np.uint64)
    return seconds(lambda: np.argsort(keys))


def title(variant: Variant) -> str:
    return " ".join([variant[0], *(f"{k}={v}".lower() for k, v in variant[1].items())])


def main() -> None:
    table, unit = encoded(RECORDS), argsort_seconds(RECORDS)
    ks = (5, 10, 50, 100)
    print(f"\n## Partition only, census({RECORDS:,}), 7 QIs: time / argsort ({unit:.3f} s)\n")
    print(f"| method | {' | '.join(f'k = {k}' for k in ks)} |\n|---|{'---|' * len(ks)}")
    for variant in (v for v in FOR_K if v[0] in METHODS):
        ratios = [partition_seconds(table, variant, k=k) / unit for k in ks]
        print(f"| {title(variant)} | {' | '.join(f'{r:.2f}' for r in ratios)} |", flush=True)

    k10 = partition_seconds(table, ("hilbert", {}), k=10)
    print("\n## The same for l = 5, in units of hilbert with k = 10\n")
    print("| method | time / hilbert k = 10 |\n|---|---|")
    for variant in (v for v in FOR_L if v[0] in METHODS):
        print(f"| {title(variant)} | {partition_seconds(table, variant, l=5) / k10:.2f} |")

    print("\n## Growth: seconds, and nanoseconds a record and log2 N\n")
    print(f"| method | {' | '.join(f'{n:,}' for n in GROWTH)} |\n|---|{'---|' * len(GROWTH)}")
    tables = {n: encoded(n) for n in GROWTH}
    for variant, models in (
        (("hilbert", {}), {"k": 10}),
        (("hilbert", {}), {"l": 5}),
        (("bsgi", {}), {"l": 5}),
        (("idistance", {}), {"k": 10}),
        (("mondrian", {}), {"k": 10}),
    ):
        taken = [(n, partition_seconds(tables[n], variant, **models)) for n in GROWTH]
        cells = [f"{t:.3f} ({1e9 * t / n / log(n, 2):.1f})" for n, t in taken]
        asked = ", ".join(f"{name} = {value}" for name, value in models.items())
        print(f"| {title(variant)}, {asked} | {' | '.join(cells)} |", flush=True)
