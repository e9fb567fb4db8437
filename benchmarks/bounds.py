"""Lower bounds on the loss (GCP): what no release can undercut, and the gap to a release.

``python -m benchmarks bounds`` prints all; ``--only=trees`` one part, ``--k=5,10`` and
``--effort=fast`` some of its rows. Each row is kept as soon as it is known, in the place of
the one before it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.best import DOCS, SHARED, TREES
from benchmarks.data import acs, adult
from benchmarks.keeping import keep, kept, written
from benchmarks.papers.figures import Figure
from shoal.bounds import lower_bound
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.metrics.loss import record_losses
from shoal.models import FrequencyL, KAnonymity, Model
from shoal.policy import Policy

HEAD = ["effort", "loss of best", "no release below", "rung", "gap", "seconds of processor"]
AXES = (
    "seconds of processor: means of efforts instant, fast and normal",
    "loss of the release / bound of the same effort",
)
ORDERED = "Adult, 8 QIs ordered: the gap by effort"
TREED = "Adult with ARX's hierarchies: the gap by effort"
LARGE = "ACS 2018, 7 QIs ordered: the gap by effort"
FEW = 500
"""Records on which everything is compiled before it is timed."""


def main() -> None:
    parts = {"ordered": ordered, "trees": adult_with_trees, "acs": large, "diverse": diverse}
    parts["picture"] = picture
    for name in _asked("only", list(parts)):
        parts[name]()


def _asked(name: str, usual: list[str]) -> list[str]:
    """What follows ``--name=``, if it was given."""
    given = [a.partition("=")[2].split(",") for a in sys.argv if a.startswith(f"--{name}=")]
    return given[0] if given else usual


class Gaps:
    """A table of gaps, row by row."""

    def __init__(self, title: str, *labels: str) -> None:
        self.title, self.labels = title, labels

    def measure(
        self, label: Sequence[str], table: EncodedTable, models: Sequence[Model], efforts: list[str]
    ) -> None:
        """Release and bound of each effort, the bound begun where the release is."""
        for effort in _asked("effort", efforts):
            few = table.take(np.arange(FEW))
            _row_of(few, models, "normal" if effort == "max" else effort)
            row = [*label, effort, *_row_of(table, models, effort)]
            print(" ".join(row), flush=True)
            self._keep(row)

    def _keep(self, row: list[str]) -> None:
        head, names = [*self.labels, *HEAD], len(self.labels) + 1
        before = kept("bounds").get(self.title, {"head": head, "rows": []})
        rows = [old for old in before["rows"] if old[:names] != row[:names]]
        if before["head"] != head:
            rows = []
        rows = sorted([*rows, row], key=_in_order)
        keep("bounds", {self.title: {"head": head, "form": "", "rows": rows}})

    def show(self) -> None:
        """All rows there are, also of earlier runs."""
        if (found := kept("bounds").get(self.title)) is not None:
            print(f"\n## {self.title}\n\n{written(found)}", flush=True)


def _in_order(row: list[str]) -> list[Any]:
    """Numbers as such, efforts as they rise."""
    efforts = ["instant", "fast", "normal", "max"]
    return [
        (0, efforts.index(cell), "") if cell in efforts
        else (1, int(cell), "") if cell.isdigit() else (2, 0, cell)
        for cell in row[:3]
    ]  # fmt: skip


def _row_of(table: EncodedTable, models: Sequence[Model], effort: str) -> list[str]:
    method = get_method("best")
    made = method.run(table, models, method.options(), Run(0, effort=effort)).recoding
    lost = record_losses(table, made)
    loss = float(lost.sum()) / (table.n * float(table.costs.weight.sum()))
    begin = time.process_time()
    bound = lower_bound(table, models, effort=effort, lost=lost)
    spent = time.process_time() - begin
    gap = f"{loss / bound.loss:.2f}" if bound.loss else ""
    return [f"{loss:.4f}", f"{bound.loss:.4f}", bound.rung, gap, f"{spent:.1f}"]


def _by_k(title: str, data: pa.Table, settings: dict[str, Any], sizes: Sequence[str]) -> None:
    gaps = Gaps(title, "k")
    for k in map(int, _asked("k", list(sizes))):
        table = encode(data, Policy.of(None, {**settings, "k": k}))
        gaps.measure([str(k)], table, [KAnonymity(k)], ["fast", "normal"])
    gaps.show()


def ordered() -> None:
    """By the dual over boxes."""
    if (found := adult()) is not None:
        _by_k(ORDERED, *found, ("5", "10", "50"))


def adult_with_trees() -> None:
    """By the dual over cells."""
    if (found := adult()) is not None:
        _by_k(TREED, found[0], _with_trees(), ("5", "10", "50"))


def large() -> None:
    """Ten times as many records, by the dual over boxes."""
    if (found := acs()) is not None:
        _by_k(LARGE, *found, ("10", "50"))


def picture() -> None:
    """The gap by effort, each at the mean time that its bounds take: docs/bounds.svg.

    Rows of fewer efforts than most are left out: lines end where their names are.
    """
    shown = {"Adult": ORDERED, "Adult, trees": TREED, "ACS": LARGE}
    gaps: dict[str, dict[str, float]] = {}
    seconds: dict[str, list[float]] = {}
    for name, title in shown.items():
        table = kept("bounds").get(title, {"head": [], "rows": []})
        for row in (dict(zip(table["head"], cells, strict=True)) for cells in table["rows"]):
            gaps.setdefault(f"{name}, k = {row['k']}", {})[row["effort"]] = float(row["gap"])
            seconds.setdefault(row["effort"], []).append(float(row["seconds of processor"]))
    figure = Figure("bounds", "How far from the optimum at most, by the time for the bound", *AXES)
    for label, found in gaps.items():
        for effort, gap in found.items():
            if set(found) >= {"instant", "fast", "normal"}:
                figure.add(label, round(fmean(seconds[effort]), 1), gap)
    figure.draw(DOCS)


def _with_trees() -> dict[str, Any]:
    folder = SHARED / "hierarchies" / "adult"
    trees = {name: str(folder / f"{file}.csv") for name, file in TREES.items()}
    return {"qi": ["age", *TREES], "hierarchy": trees}


def diverse() -> None:
    """Frequency l, for trees (Adult), ordered attributes and value sets (Adult, ACS)."""
    cases = [("Adult, trees", adult(), _with_trees(), "occupation")]
    for name, source, sensitive in (("Adult", adult(), "occupation"), ("ACS", acs(), "OccGroup")):
        if source is not None:
            kinds = {c: kind for c, kind in source[1]["kind"].items() if c != sensitive}
            qi = [q for q in source[1]["qi"] if q != sensitive]
            cases.append((f"{name}, ordered", source, {"qi": qi, "kind": kinds}, sensitive))
            cases.append((f"{name}, sets", source, {"qi": qi}, sensitive))
    gaps = Gaps("Frequency l of occupation: the gap by effort", "data", "l")
    for name, source, settings, sensitive in cases:
        if source is None or name not in _asked("data", [case[0] for case in cases]):
            continue
        for l in map(int, _asked("l", ["2", "5", "7"])):  # noqa: E741
            policy = Policy.of(None, {**settings, "sensitive": sensitive, "l": l})
            table = encode(source[0], policy)
            gaps.measure([name, str(l)], table, [FrequencyL(l)], ["fast", "normal"])
    gaps.show()


if __name__ == "__main__":
    main()
