"""How long a method takes to partition, in units of sorting the same number of keys.

    python benchmarks/partition.py [--records 1000000] [--repeat 7] [method ...]

A table like a census is given encoded; the time until its partition is there
is divided by that of ``np.argsort`` on as many random 64-bit keys, both as
medians of the same run, so that numbers from different machines compare.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from shoal.methods import METHODS, get_method
from shoal.methods.base import Run
from shoal.models import KAnonymity
from shoal.table import SPAN, EncodedTable, QIColumn

SIZES = (79, 2, 17, 6, 9, 10, 83)
"""Domains of age, gender, education, marital status, race, work class, country."""
KS = (5, 10, 50, 100)
VARIANTS: dict[str, list[dict[str, bool]]] = {"hilbert": [{}, {"fast": True}]}
"""Options to measure beside the defaults."""


def census_like(records: int, seed: int = 0) -> EncodedTable:
    """Independent attributes of census sizes; age and gender even, the rest skewed."""
    rng = np.random.default_rng(seed)
    columns = []
    for i, size in enumerate(SIZES):
        weights = np.ones(size) if i < 2 else np.arange(1, size + 1) ** -0.8
        codes = rng.choice(size, records, p=weights / weights.sum()).astype(np.int32)
        place = np.arange(size) / (size - 1)
        labels = [str(v) for v in range(size)]
        columns.append(QIColumn(f"q{i}", "ordinal", codes, labels, SPAN, place, place))
    return EncodedTable(records, tuple(columns))


def seconds(work: Callable[[], object], repeat: int) -> float:
    """Median time of the work; the first call, which may compile, is not counted."""
    work()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return median(times)


def method_ratio(
    name: str, table: EncodedTable, k: int, unit: float, repeat: int, **options: bool
) -> float:
    """Partition time of a registered method in units of the argsort."""
    method = get_method(name)
    chosen = method.options(**options)
    return seconds(lambda: method.run(table, [KAnonymity(k)], chosen, Run()), repeat) / unit


def hilbert_ratio(
    table: EncodedTable, k: int, unit: float, repeat: int = 7, fast: bool = False
) -> float:
    """Partition time of `hilbert` in units of the argsort."""
    return method_ratio("hilbert", table, k, unit, repeat, fast=fast)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=sorted(METHODS))
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    wanted = parser.parse_args()
    table = census_like(wanted.records)
    _ = table.matrix, table.costs  # part of the encoding, not of the method
    keys = np.random.default_rng(1).integers(0, 2**63, wanted.records).astype(np.uint64)
    unit = seconds(lambda: np.argsort(keys), wanted.repeat)
    print(f"{wanted.records:,} records, argsort {1000 * unit:.0f} ms; time / argsort:")
    print(f"{'method':<24}" + "".join(f"{f'k={k}':>9}" for k in KS))
    for name in wanted.methods:
        for options in VARIANTS.get(name, [{}]):
            title = " ".join([name, *(o for o, on in options.items() if on)])
            ratios = [method_ratio(name, table, k, unit, wanted.repeat, **options) for k in KS]
            print(f"{title:<24}" + "".join(f"{r:>9.2f}" for r in ratios))


if __name__ == "__main__":
    main()
