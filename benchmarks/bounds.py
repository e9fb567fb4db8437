"""Lower bounds on the loss (GCP): what no release can undercut, and the gap to a release.

``python -m benchmarks bounds`` prints all; ``--only=trees`` one part.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import shoal
from benchmarks.best import SHARED, TREES
from benchmarks.data import acs, adult
from shoal.bounds import lower_bound
from shoal.effort import EFFORTS
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.metrics.loss import record_losses
from shoal.models import FrequencyL, KAnonymity, Model
from shoal.policy import Policy

CASES = (("Adult, 8 QIs", adult, (3, 5, 10, 50)), ("ACS 2018, 7 QIs", acs, (10,)))
LIMIT = 60.0
"""Seconds after which a bound stops with what it has."""


def main() -> None:
    parts = {"ordered": by_effort, "trees": adult_with_trees, "diverse": diverse}
    only = [a.removeprefix("--only=").split(",") for a in sys.argv if a.startswith("--only=")]
    for name in only[0] if only else parts:
        parts[name]()


def adult_with_trees() -> None:
    """Release and bound of one effort, the bound begun where the release is."""
    if (found := adult()) is None:
        return
    folder = SHARED / "hierarchies" / "adult"
    trees = {name: str(folder / f"{file}.csv") for name, file in TREES.items()}
    settings = {"qi": ["age", *TREES], "hierarchy": trees}
    _head("Adult with ARX's hierarchies: the gap by effort", "k")
    for k in (5, 10, 50):
        table = encode(found[0], Policy.of(None, {**settings, "k": k}))
        for effort in ("fast", "normal"):
            _row(str(k), table, [KAnonymity(k)], effort)


def diverse() -> None:
    """The same under frequency l, for trees (Adult) and ordered attributes (Adult, ACS)."""
    folder = SHARED / "hierarchies" / "adult"
    trees = {name: str(folder / f"{file}.csv") for name, file in TREES.items()}
    cases = [("Adult, trees", adult(), {"qi": ["age", *TREES], "hierarchy": trees}, "occupation")]
    for name, source, sensitive in (("Adult", adult(), "occupation"), ("ACS", acs(), "OccGroup")):
        if source is not None:
            kinds = {c: kind for c, kind in source[1]["kind"].items() if c != sensitive}
            own = {"qi": [q for q in source[1]["qi"] if q != sensitive], "kind": kinds}
            cases.append((f"{name}, ordered", source, own, sensitive))
    _head("Frequency l of occupation: the gap by effort", "data | l")
    for name, source, settings, sensitive in cases:
        if source is None:
            continue
        for l in (2, 5, 7):  # noqa: E741
            policy = Policy.of(None, {**settings, "sensitive": sensitive, "l": l})
            table = encode(source[0], policy)
            for effort in ("fast", "normal"):
                _row(f"{name} | {l}", table, [FrequencyL(l)], effort)


def _head(title: str, first: str) -> None:
    print(f"\n## {title}\n")
    columns = f"{first} | effort | loss of best | no release below | rung | gap"
    columns += " | seconds of processor"
    print(f"| {columns} |\n|{'---|' * (columns.count('|') + 1)}")


def _row(label: str, table: EncodedTable, models: Sequence[Model], effort: str) -> None:
    method = get_method("best")
    made = method.run(table, models, method.options(), Run(0, effort=effort)).recoding
    lost = record_losses(table, made)
    loss = float(lost.sum()) / (table.n * float(table.costs.weight.sum()))
    begin = time.process_time()
    bound = lower_bound(table, models, effort=effort, lost=lost)
    spent = time.process_time() - begin
    print(
        f"| {label} | {effort} | {loss:.4f} | {bound.loss:.4f} | {bound.rung} "
        f"| {loss / bound.loss:.2f} | {spent:.1f} |",
        flush=True,
    )


def by_effort() -> None:
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
