"""What risk and attacks take: CPU seconds of one process, kernels compiled before.

``python -m benchmarks risks`` does all; with words of `CASES`, ``python -m benchmarks.risks suda``,
those alone anew. CPU seconds are of all threads; on a busy machine they count, wall seconds not.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.data import adult
from benchmarks.keeping import RESULTS, Table, keep

NINE = ["age", "gender", "education", "marital", "race", "workclass", "country", "occupation",
        "salary"]  # fmt: skip
LONG, LONGER = 300_000, 1_000_000


def seconds_of(work: Callable[[int], Any]) -> float:
    """CPU seconds of the second run: the first compiles, on fewer records."""
    work(2_000)
    begun = time.process_time()
    work(0)
    return time.process_time() - begun


def simple(records: int) -> float:
    """Prosecutor, journalist, marketer and individual risk by a fraction."""
    people = shoal.datasets.census(records)

    def measured(few: int) -> None:
        shoal.risk(people.slice(0, few or records), qi=NINE, fraction=0.05)

    return seconds_of(measured)


def suda(records: int) -> float:
    """Minimal sample uniques of up to three columns, and their scores."""
    people = shoal.datasets.census(records)
    return seconds_of(lambda few: shoal.risk(people.slice(0, few or records), qi=NINE, suda=3))


def release(records: int) -> float:
    """A release with overlapping classes, and the population that it is a part of."""
    people = shoal.datasets.census(records)

    def released(rows: pa.Table) -> shoal.Release:
        return shoal.anonymize(rows, qi=NINE, k=10, method="hilbert", rest="drop", seed=1)

    made = {few: released(people.slice(0, few or records)) for few in (2_000, 0)}
    return seconds_of(lambda few: shoal.risk(made[few], population=people.slice(0, few or records)))


def suite(_: int) -> float:
    """The usual attacks on Adult, against people who are not in the release."""
    found = adult()
    assert found is not None
    rows = np.random.default_rng(0).permutation(found[0].num_rows)
    roles = {**found[1], "qi": [name for name in found[1]["qi"] if name != "occupation"]}
    roles["kind"] = {name: kind for name, kind in roles["kind"].items() if name in roles["qi"]}

    def attacked(few: int) -> None:
        held = (few or len(rows)) // 5
        others, people = (found[0].take(pa.array(part))
                          for part in (rows[:held], rows[held : few or len(rows)]))  # fmt: skip
        released = shoal.anonymize(
            people, **roles, sensitive="occupation", k=10, l=3, method="hilbert", rest="drop",
            seed=1,
        )  # fmt: skip
        shoal.attack(released, people, others)

    return seconds_of(attacked)


CASES: dict[str, tuple[str, Callable[[int], float], int, str]] = {
    "simple": ("prosecutor, journalist, marketer, individual risk", simple, LONG, "20"),
    "longer": ("the same", simple, LONGER, "seconds"),
    "suda": ("minimal sample uniques of up to 3 columns", suda, LONG, "60"),
    "release": ("a release by hilbert, k = 10, with a population of as many", release, LONG, "20"),
    "suite": ("the usual attacks on Adult, release included", suite, 30_162, "120"),
}
"""What is done, by what, of how many records, and the seconds that were asked for."""


def main() -> None:
    warnings.simplefilter("ignore")
    path = RESULTS / "risks.json"
    seconds = json.loads(path.read_text("utf-8"))["seconds"] if path.exists() else {}
    for name in [case for case in CASES if case in sys.argv] or CASES:
        _, work, records, _ = CASES[name]
        seconds[name] = round(work(records), 2)
        keep("risks", {"seconds": seconds})
    table = Table("risks", "CPU seconds", ["what", "records", "CPU seconds", "asked for"], ".1f")
    for name, (what, _, records, asked) in CASES.items():
        if name in seconds:
            table.add(what, records, float(seconds[name]), asked)
    table.show()


if __name__ == "__main__":
    main()
