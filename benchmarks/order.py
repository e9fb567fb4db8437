"""Value sets in text order and by co-occurrence; suggested trees and hand-made ones."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from unittest import mock

import shoal
from benchmarks.data import ACS_ORDINAL, SHARED, acs, adult, real
from shoal.encoding.cooccurrence import arranged
from shoal.encoding.encode import encode
from shoal.explore.suggestion import suggest
from shoal.policy import Policy

SIZES = (5, 10, 50)
SETS = ["sex", "race", "marital-status", "workclass", "native-country"]
TREES = ["sex", "race", "marital-status", "education", "native-country", "workclass"]


def main() -> None:
    _orders()
    _trees()


def _orders() -> None:
    print("\n## Loss (GCP): value sets in text order / by co-occurrence, every release verified\n")
    print(f"| data | method | {' | '.join(f'k = {k}' for k in SIZES)} | l = 5 |")
    print(f"|---|---|{'---|' * (len(SIZES) + 1)}")
    for name, table, qi, sensitive in _sources():
        diverse = {"sensitive": sensitive, "l": 5} if sensitive else None
        for method in ("hilbert", "idistance", "mondrian", "bsgi"):
            asked = [{"k": k} for k in SIZES] if method != "bsgi" else [None] * len(SIZES)
            cells = [_both(table, qi, method, a) for a in (*asked, diverse)]
            print(f"| {name} | {method} | {' | '.join(cells)} |", flush=True)
    for name, table, qi, _ in _sources():
        encoded = encode(table, Policy.of(None, {"qi": qi, "k": 5}))
        begun = perf_counter()
        arranged(encoded.qi, encoded.n)
        print(f"\n{name}: {1000 * (perf_counter() - begun):.0f} ms for {encoded.n:,} records")


def _sources():
    if (source := adult()) is not None:
        table, settings = source
        yield "Adult, 7 QIs", table, ["age", "education-num", *SETS], "occupation"
        yield "Adult, 8 QIs", table, settings["qi"], None
    if (source := acs()) is not None:
        yield "ACS, 7 QIs", source[0], ["Age", *ACS_ORDINAL], "OccGroup"


def _both(table, qi, method, asked) -> str:
    if asked is None:
        return ""

    def loss() -> float:
        return shoal.anonymize(table, qi=qi, method=method, rest="drop", **asked).loss.gcp

    with mock.patch("shoal.encoding.encode.arranged", lambda table: table):
        before = loss()
    after = loss()
    return f"{before:.4f} / {after:.4f} ({after / before:.2f})"


def _trees() -> None:
    folder = SHARED / "hierarchies" / "adult"
    table = real("adult.csv")
    if table is None or not folder.exists():
        return
    print("\n## Loss (GCP) of hilbert on Adult: ARX's hierarchies, suggested ones, value sets\n")
    print("Not one measure: a tree with finer groups has cheaper nodes.\n")
    print(f"| hierarchies | {' | '.join(f'k = {k}' for k in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    qi = ["age", *TREES]
    with TemporaryDirectory() as place:
        for name in TREES:
            suggest(table, name, qi=qi).tree.to_arx_csv(Path(place) / f"{name}.csv")
        for label, source in {"ARX": folder, "suggested": Path(place), "none": None}.items():
            trees = {n: str(source / f"{n}.csv") for n in TREES} if source else {}
            losses = [
                shoal.anonymize(
                    table, qi=qi, k=k, hierarchy=trees, method="hilbert", rest="drop"
                ).loss.gcp
                for k in SIZES
            ]
            print(f"| {label} | {' | '.join(f'{x:.4f}' for x in losses)} |", flush=True)


if __name__ == "__main__":
    main()
