"""Questions to a release of 295,243 records, and a million records as plain values.

Wages are drawn, with cents, so that nearly all are different: the hardest column to sum up.
Seconds are of processors, the best of three; memory and time of reading the file count.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.data import real
from benchmarks.keeping import Table

QUESTIONS = [
    "SELECT count(*) FROM r WHERE Age BETWEEN 30 AND 40",
    "SELECT Age, count(*) FROM r GROUP BY Age",
    "SELECT avg(Age) FROM r WHERE Marital = 'Married'",
    "SELECT avg(Wage) FROM r WHERE Age BETWEEN 30 AND 40",
    "SELECT median(Wage) FROM r WHERE Age < 40",
    "SELECT Age, avg(Salary) FROM r GROUP BY Age",
    "SELECT Age, avg(Wage) FROM r GROUP BY Age",
    "SELECT Age, Gender, sum(Wage) FROM r GROUP BY Age, Gender",
    "SELECT Wage, count(*) FROM r GROUP BY Wage",
    "SELECT Wage, avg(Age) FROM r GROUP BY Wage",
]
QI = ["Age", "Gender", "Education", "Marital"]
MILLION = 1_000_000
FORMS = ("midpoint", "mean", "bounds", "shares", "samples")


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Of processors, and by the clock; the best of three."""
    found = []
    for _ in range(3):
        start, began = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - start, time.perf_counter() - began))
    return min(found)


def asked(path: Path) -> None:
    """Questions, one by one."""
    table = Table("querying", "Questions to a release of ACS", ["question", "CPU s", "s"], ".2f")
    for sql in QUESTIONS:
        table.add(f"`{sql}`", *seconds(lambda sql=sql: shoal.query(path, sql)))
    table.show()


def expanded(release: shoal.Release, people: int) -> None:
    """A million records, the release's several times over."""
    times = -(-MILLION // people)
    rows = pa.concat_tables([release.table] * times).slice(0, MILLION)
    table = Table("querying", "A million records as plain values", ["form", "CPU s", "s"], ".1f")
    known = {"manifest": None, "policy": release.policy}
    for form in FORMS:
        made = seconds(lambda form=form: shoal.expand(rows, form, samples=2, **known))
        table.add(form if form != "samples" else "samples, two of them", *made)
    table.show()


def main() -> None:
    """Print and write both."""
    warnings.simplefilter("ignore")
    found = real("acs2018_census9.csv.gz")
    if found is None:
        print("ACS is not there: nothing to measure")
        return
    people = found.select([*QI, "Salary"])
    wages = np.round(np.random.default_rng(1).lognormal(10, 1, people.num_rows), 2)
    people = people.append_column("Wage", pa.array(wages))
    release = shoal.anonymize(
        people, qi=QI, plain=["Salary", "Wage"], rest="drop", k=10, method="hilbert", seed=1
    )
    with tempfile.TemporaryDirectory() as folder:
        asked(Path(release.write(Path(folder) / "release.parquet")))
    expanded(release, people.num_rows)


if __name__ == "__main__":
    main()
