"""Lower bounds on the loss (GCP): what no release can undercut, and the gap to a release."""

from __future__ import annotations

import time

import shoal
from benchmarks.data import acs, adult
from shoal.bounds import lower_bound
from shoal.effort import EFFORTS
from shoal.encoding.encode import encode
from shoal.models import KAnonymity
from shoal.policy import Policy

CASES = (("Adult, 8 QIs", adult, (3, 5, 10, 50)), ("ACS 2018, 7 QIs", acs, (10,)))
LIMIT = 60.0
"""Seconds after which a bound stops with what it has."""


def main() -> None:
    print("\n## Lower bounds on the loss (GCP), and the gap to `best` at effort normal\n")
    print("| data | k | effort | no release below | rung | resolved | seconds | gap |")
    print("|---|---|---|---|---|---|---|---|")
    for name, load, sizes in CASES:
        source = load()
        if source is None:
            continue
        data, settings = source
        for k in sizes:
            table = encode(data, Policy.of(None, {**settings, "k": k}))
            loss = shoal.anonymize(
                data, **settings, k=k, method="best", effort="normal", bound=False, rest="drop"
            ).loss.gcp
            for effort in EFFORTS:
                begin = time.perf_counter()
                bound = lower_bound(table, [KAnonymity(k)], effort=effort, seconds=LIMIT)
                spent = time.perf_counter() - begin
                gap = f"{loss / bound.loss:.2f}" if bound.loss else "-"
                print(
                    f"| {name} | {k} | {effort} | {bound.loss:.4f} | {bound.rung} "
                    f"| {bound.resolved:.0%} | {spent:.1f} | {gap} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
