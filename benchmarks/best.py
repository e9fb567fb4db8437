"""What `best` loses, against hilbert and others, by effort; every release judged by `verify`.

``python -m benchmarks best`` takes about half an hour; give names of parts to
choose: ``python -m benchmarks best --only=adult,time``.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

import shoal
from benchmarks.data import SHARED, acs, adult, census
from benchmarks.papers.figures import Figure

SIZES = (5, 10, 50)
DOCS = Path(__file__).parents[1] / "docs"
TREES = {
    "sex": "sex", "race": "race", "marital-status": "marital-status", "education": "education",
    "native-country": "native-country", "workclass": "workclass", "income": "salary-class",
}  # fmt: skip
ARX = {5: 0.0340, 10: 0.0505, 50: 0.1059}
PYTHON = {5: 0.0216, 10: 0.0409, 50: 0.1096}


class Made(NamedTuple):
    """A verified release, in numbers."""

    loss: float
    stars: int
    seconds: float


def main() -> None:
    parts = {
        "adult": adult_by_effort,
        "trees": adult_with_trees,
        "sets": adult_as_sets,
        "large": large_tables,
        "diverse": diversity,
        "bsgi": against_bsgi,
        "stars": stars,
        "time": loss_against_time,
    }
    only = [a.removeprefix("--only=").split(",") for a in sys.argv if a.startswith("--only=")]
    for name in only[0] if only else parts:
        parts[name]()


def release(table: pa.Table, settings: dict[str, Any], **more: Any) -> Made:
    """Anonymize, verify, and say what it cost."""
    begun = time.perf_counter()
    made = shoal.anonymize(table, **{"rest": "drop", **settings, **more})
    taken = time.perf_counter() - begun
    assert made.verify().ok
    return Made(made.loss.gcp, made.loss.stars, taken)


def _row(label: str, cells: list[str]) -> None:
    print(f"| {label} | {' | '.join(cells)} |", flush=True)


def _head(title: str, *columns: str) -> None:
    print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def _by_effort(
    table: pa.Table, settings: dict[str, Any], values: dict[str, tuple[int, ...]],
    efforts: tuple[str, ...],
) -> None:  # fmt: skip
    """Loss of best by effort, with its ratio to hilbert and the seconds it took."""
    ((model, sizes),) = values.items()
    release(table, settings, **{model: sizes[0]}, effort="instant")  # compile
    plain = {x: release(table, settings, **{model: x}, method="hilbert") for x in sizes}
    _row("hilbert", [f"{made.loss:.4f} ({made.seconds:.1f} s)" for made in plain.values()])
    for effort in efforts:
        cells = []
        for x in sizes:
            made = release(table, settings, **{model: x}, effort=effort, bound=False)
            ratio = made.loss / plain[x].loss
            cells.append(f"{made.loss:.4f} = {ratio:.3f} x ({made.seconds:.1f} s)")
        _row(f"best, {effort}", cells)


def adult_by_effort() -> None:
    if (found := adult()) is None:
        return
    _head("Adult, 8 QIs: loss by effort", "method", *(f"k = {k}" for k in SIZES))
    _by_effort(*found, {"k": SIZES}, ("instant", "fast", "normal"))


def adult_with_trees() -> None:
    if (found := adult()) is None:
        return
    folder = SHARED / "hierarchies" / "adult"
    trees = {name: str(folder / f"{file}.csv") for name, file in TREES.items()}
    settings = {"qi": ["age", *TREES], "hierarchy": trees}
    _against(found[0], settings, "Adult with ARX's hierarchies", "ARX 3.9.2", ARX)


def adult_as_sets() -> None:
    if (found := adult()) is None:
        return
    named = ["sex", "race", "marital-status", "workclass", "native-country"]
    settings = {"qi": ["age", "education-num", *named]}
    _against(found[0], settings, "Adult, 7 QIs, value sets", "best public Python code", PYTHON)


def _against(
    table: pa.Table, settings: dict[str, Any], title: str, rival: str, losses: dict[int, float]
) -> None:
    _head(title, "method", *(f"k = {k}" for k in losses))
    _row(rival, [f"{loss:.4f}" for loss in losses.values()])
    for effort in ("fast", "normal"):
        made = {k: release(table, settings, k=k, effort=effort, bound=False) for k in losses}
        cells = [
            f"{m.loss:.4f} = {m.loss / losses[k]:.3f} x ({m.seconds:.0f} s)"
            for k, m in made.items()
        ]
        _row(f"best, {effort}", cells)


def large_tables() -> None:
    if (found := acs()) is not None:
        _head("ACS 2018, 7 QIs, 295,000 records", "method", "k = 10", "k = 50")
        _by_effort(*found, {"k": (10, 50)}, ("fast", "normal"))
    _head("census(1,000,000)", "method", "k = 10")
    _by_effort(*census(1_000_000), {"k": (10,)}, ("fast", "normal"))


def diversity() -> None:
    if (found := adult()) is not None:
        table, settings = found
        settings = {**settings, "qi": [q for q in settings["qi"] if q != "occupation"]}
        settings |= {"sensitive": "occupation", "kind": {**settings["kind"]}}
        settings["kind"].pop("occupation")
        _head("Adult, 7 QIs, frequency l of occupation", "method", "l = 2", "l = 5", "l = 7")
        _by_effort(table, settings, {"l": (2, 5, 7)}, ("fast", "normal"))
    if (found := acs()) is not None:
        table, settings = found
        _head("ACS 2018, frequency l of OccGroup", "method", "l = 5")
        _by_effort(table, {**settings, "sensitive": "OccGroup"}, {"l": (5,)}, ("fast", "normal"))


def against_bsgi() -> None:
    """The quickest methods for l = 5, on the tables of `diversity`."""
    _head("l = 5 by quick methods", "data", "hilbert", "bsgi")
    for name, source, sensitive in (("Adult", adult, "occupation"), ("ACS", acs, "OccGroup")):
        if (found := source()) is None:
            continue
        table, settings = found
        kinds = {column: kind for column, kind in settings["kind"].items() if column != sensitive}
        asked = {**settings, "qi": [q for q in settings["qi"] if q != sensitive], "kind": kinds}
        asked |= {"sensitive": sensitive, "l": 5}
        made = [release(table, asked, method=method) for method in ("hilbert", "bsgi")]
        _row(name, [f"{each.loss:.4f}" for each in made])


def stars() -> None:
    """Stars of best and tp+ on all projections of ACS to four quasi-identifiers."""
    if (found := acs()) is None:
        return
    table, settings = found
    projections = list(combinations(settings["qi"], 4))
    columns = ("l", "stars of best", "stars of tp+", "ratio", "of single projections", "seconds")
    for sensitive in ("OccGroup", "Salary"):
        title = (
            f"ACS, the {len(projections)} projections to four QIs, l of {sensitive}, effort fast"
        )
        _head(title, *columns)
        for l in (2, 5, 8):  # noqa: E741
            pairs = []
            for qi in projections:
                kinds = {name: kind for name, kind in settings["kind"].items() if name in qi}
                asked = {"qi": list(qi), "kind": kinds, "sensitive": sensitive, "l": l}
                asked["recoding"] = "suppress"
                best = release(table, asked, bound=False)
                pairs.append((best, release(table, asked, method="tp+")))
            total = sum(best.stars for best, _ in pairs)
            rival = sum(plus.stars for _, plus in pairs)
            ratios = [best.stars / plus.stars for best, plus in pairs if plus.stars]
            longest = max(best.seconds for best, _ in pairs)
            cells = [f"{total:,}", f"{rival:,}", f"{total / rival:.3f}"]
            _row(str(l), [*cells, f"{min(ratios):.2f}-{max(ratios):.2f}", f"up to {longest:.0f}"])


def loss_against_time() -> None:
    """Loss against time, also as the picture docs/best.svg."""
    if (found := adult()) is None:
        return
    table, settings = found
    seconds = (0.5, 1, 2, 4, 8, 16)
    figure = Figure("best", "Adult, 8 QIs: loss against time", "seconds", "loss / hilbert's")
    for k in SIZES:
        plain = release(table, settings, k=k, method="hilbert").loss
        for s in seconds:
            made = release(table, settings, k=k, time=s, bound=False)
            figure.add(f"k = {k}", s, made.loss / plain)
    figure.show("best")
    figure.draw(DOCS)
