"""How often the true number of the original lies in the interval that samples give.

`RELEASES` tables are drawn from the census, released, expanded into samples and pooled; 95% is
promised. Writes `results/pooling.json`. The tables' seeds start at `FIRST`: on no table from there
on has anything been chosen (how intervals are made was, on those from 10,000).
"""

from __future__ import annotations

import warnings

import numpy as np

import shoal
from benchmarks.keeping import Table

RELEASES, RECORDS, SAMPLES = 200, 2_000, 10
FIRST = 40_000
QI = ["age", "gender", "education", "marital"]
BY = ["age", "education"]


def truth(people: dict[str, np.ndarray]) -> dict[str, float]:
    """The numbers of the original."""
    x = np.column_stack([np.ones(RECORDS), *(people[name].astype(float) for name in BY)])
    coefficients = np.linalg.lstsq(x, people["salary"].astype(float), rcond=None)[0]
    return {
        "mean of age": float(people["age"].mean()),
        "share of women": float((people["gender"] == "Female").mean()),
        "salary by age": float(coefficients[1]),
        "salary by education": float(coefficients[2]),
    }


def intervals(release: shoal.Release, number: int) -> dict[str, shoal.recipient.Estimate]:
    """The same from samples."""
    samples = shoal.expand(release, "samples", samples=SAMPLES, seed=number)
    middle = [shoal.expand(release, "mean"), shoal.expand(release)]
    slopes = shoal.pool(samples, regression=("salary", BY), middle=middle)
    return {
        "mean of age": shoal.pool(samples, mean="age", middle=middle),
        "share of women": shoal.pool(samples, share=("gender", "Female"), middle=middle),
        "salary by age": slopes["age"],
        "salary by education": slopes["education"],
    }


def main() -> None:
    """Print and write it."""
    warnings.simplefilter("ignore")
    head = ["k", "question", "true in interval"]
    table = Table("pooling", "Intervals from samples", head, form=".3f")
    for k in (5, 10, 50):
        hits: dict[str, list[bool]] = {}
        for number in range(FIRST, FIRST + RELEASES):
            people = shoal.datasets.census(RECORDS, seed=number)
            release = shoal.anonymize(
                people, qi=QI, plain="salary", rest="drop", k=k, method="hilbert", seed=number
            )
            plain = {name: np.array(people[name].to_pylist()) for name in [*QI, "salary"]}
            true = truth(plain)
            for name, estimate in intervals(release, number).items():
                hits.setdefault(name, []).append(estimate.low <= true[name] <= estimate.high)
        for name, found in hits.items():
            table.add(k, name, float(np.mean(found)))
    table.show()


if __name__ == "__main__":
    main()
