"""Lower bounds on the loss (GCP): what no release can undercut, and the gap to a release.

``python -m benchmarks bounds`` prints all; ``--only=trees`` one part.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from benchmarks.best import SHARED, TREES
from benchmarks.data import acs, adult
from shoal.bounds import lower_bound
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.metrics.loss import record_losses
from shoal.models import FrequencyL, KAnonymity, Model
from shoal.policy import Policy


def main() -> None:
    parts = {"ordered": ordered, "trees": adult_with_trees, "diverse": diverse}
    only = [a.removeprefix("--only=").split(",") for a in sys.argv if a.startswith("--only=")]
    for name in only[0] if only else parts:
        parts[name]()


def ordered() -> None:
    """Release and bound of one effort, by the dual over boxes."""
    if (found := adult()) is None:
        return
    data, settings = found
    _head("Adult, 8 QIs ordered: the gap by effort", "k")
    for k in (5, 10, 50):
        table = encode(data, Policy.of(None, {**settings, "k": k}))
        for effort in ("fast", "normal"):
            _row(str(k), table, [KAnonymity(k)], effort)


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


if __name__ == "__main__":
    main()
