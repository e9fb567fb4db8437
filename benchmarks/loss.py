"""Loss (GCP) of every method on Adult, ACS and the generated census, releases verified."""

from __future__ import annotations

import shoal
from benchmarks.data import acs, adult, census
from shoal.methods import methods_where

SIZES = (5, 10, 50, 100)


def main() -> None:
    print("\n## Loss (GCP) by k, k-anonymity, every release verified\n")
    print(f"| data | method | {' | '.join(f'k = {k}' for k in SIZES)} |")
    print(f"|---|---|{'---|' * len(SIZES)}")
    sources = {
        "Adult, 8 QIs": adult(),
        "ACS 2018, 7 QIs": acs(),
        "census(200,000)": census(200_000),
    }
    for name, source in sources.items():
        if source is None:
            continue
        table, settings = source
        for method in methods_where(lambda method: not method.publishes_apart):
            for option in ({}, {"fast": True}) if method == "hilbert" else ({},):
                losses = [
                    shoal.anonymize(
                        table, **settings, k=k, method=method, option=option, rest="drop"
                    ).loss.gcp
                    for k in SIZES
                ]
                label = f"{method} fast" if option else method
                print(f"| {name} | {label} | {' | '.join(f'{x:.4f}' for x in losses)} |")
