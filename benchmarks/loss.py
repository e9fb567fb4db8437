"""Loss (GCP) that README and docs quote, every release verified: ``python -m benchmarks loss``.

Give parts to choose: ``--only=by_k,by_l,by_effort,small``. One seed; seconds are CPU seconds.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import pyarrow as pa

import shoal
from benchmarks.data import SHARED, acs, adult, census
from benchmarks.keeping import Table, keep

SEED = 1
SIZES = (5, 10, 50, 100)
METHODS: dict[str, dict[str, Any]] = {
    "hilbert": {"method": "hilbert"},
    "hilbert fast": {"method": "hilbert", "option": {"fast": True}},
    "idistance": {"method": "idistance"},
    "topdown": {"method": "topdown"},
    "mondrian": {"method": "mondrian"},
}
FOR_L: dict[str, dict[str, Any]] = {
    "best, fast": {"method": "best", "effort": "fast", "bound": False},
    "bsgi": {"method": "bsgi"},
    "hilbert": {"method": "hilbert"},
    "hilbert frontier": {"method": "hilbert", "option": {"frontier": True}},
    "mondrian": {"method": "mondrian"},
}
NAMES = {"Adult, 8 QIs": adult, "ACS 2018, 7 QIs": acs}


def main() -> None:
    warnings.simplefilter("ignore")
    parts = {"by_k": by_k, "by_l": by_l, "by_effort": by_effort, "small": small}
    only = [a.removeprefix("--only=").split(",") for a in sys.argv if a.startswith("--only=")]
    for name in only[0] if only else parts:
        parts[name]()


def loss(table: pa.Table, settings: dict[str, Any], **more: Any) -> float:
    """Of one verified release."""
    release = shoal.anonymize(table, **{"rest": "drop", "seed": SEED, **settings, **more})
    assert release.verification.ok
    return release.loss.gcp


def by_k() -> None:
    """k-anonymity, the methods that take no time to speak of."""
    shown = Table("loss", "by k", ["data", "method", *(f"k = {k}" for k in SIZES)])
    found = {name: source() for name, source in NAMES.items()}
    found["census(200,000)"] = census(200_000)
    for name, source in found.items():
        if source is None:
            continue
        for label, chosen in METHODS.items():
            shown.add(name, label, *(loss(*source, k=k, **chosen) for k in SIZES))
    shown.show()


def by_l() -> None:
    """Frequency l-diversity, l = 5, occupation sensitive, 7 quasi-identifiers."""
    shown = Table("loss", "by l", ["method", "Adult, l = 5", "ACS, l = 5"])
    sources = [_diverse(adult(), "occupation"), _diverse(acs(), "OccGroup")]
    for label, chosen in FOR_L.items():
        shown.add(label, *(loss(*source, l=5, **chosen) if source else None for source in sources))
    shown.show()


def _diverse(found: Any, sensitive: str) -> tuple[pa.Table, dict[str, Any]] | None:
    if found is None:
        return None
    table, settings = found
    qi = [name for name in settings["qi"] if name != sensitive]
    kinds = {name: kind for name, kind in settings["kind"].items() if name in qi}
    return table, {"qi": qi, "kind": kinds, "sensitive": sensitive}


def by_effort() -> None:
    """`best` by effort; normal takes some minutes of CPU time, and only with --long."""
    sizes = (5, 10, 50)
    head = ["data", "method", *(f"k = {k}" for k in sizes), "CPU s"]
    shown = Table("loss", "by effort", head)
    cases = [(name, effort) for effort in ("instant", "fast") for name in NAMES]
    if "--long" in sys.argv:
        cases += [(name, "normal") for name in NAMES]
    for name, effort in cases:
        source = NAMES[name]()
        if source is None:
            continue
        begun = time.process_time()
        best = {"method": "best", "effort": effort, "bound": False}
        found = [loss(*source, k=k, **best) for k in sizes]
        shown.add(name, f"best, {effort}", *found, f"{time.process_time() - begun:.0f}")
        shown.show()


def small() -> None:
    """Single numbers of the docs, on tables that anybody can make."""
    people = shoal.datasets.census(5000, seed=0)
    four = {"qi": ["age", "gender", "education", "marital"], "sensitive": "occupation", "l": 4}
    trees = {"age": {"intervals": {"widths": [5, 10, 20]}}}
    starred = {}
    for label, coarsen in (("exact", {}), ("tens", {"age": 2}), ("auto", {"age": "auto"})):
        release = shoal.anonymize(
            people, **four, method="tp+", rest="drop", hierarchy=trees, seed=SEED,
            **({"coarsen": coarsen} if coarsen else {}),
        )  # fmt: skip
        level = release.policy.coarsen.get("age", 0)
        starred[label] = {
            "loss": release.loss.gcp,
            "suppressed": release.loss.suppressed_tuples,
            "level": level,
        }
    keep("loss", {"coarsen": starred, "demo": _demo(people)})
    print(starred)
    if (found := adult()) is not None:
        keep("loss", {"trees": _with_trees(found[0]), "cover": _cover(found[0])})


def _demo(people: pa.Table) -> dict[str, float]:
    """README's first release, by `best` and by hilbert."""
    asked = {
        "qi": ["age", "gender", "education", "marital", "country"],
        "sensitive": "occupation", "k": 10, "l": 3,
    }  # fmt: skip
    best = {"method": "best", "bound": False}
    found = {"best": loss(people, asked, **best), "hilbert": loss(people, asked, method="hilbert")}
    print(found)
    return found


def _cover(table: pa.Table) -> dict[str, dict[str, float]]:
    """Stars for k-anonymity on four quasi-identifiers of Adult."""
    roles = {
        "qi": ["age", "education-num", "marital-status", "sex"],
        "kind": {"marital-status": "ordinal", "sex": "ordinal"},
        "recoding": "suppress", "rest": "drop", "seed": SEED,
    }  # fmt: skip
    shown = Table(
        "loss", "cover table", ["k", "cover", "at most times the fewest", "tp+", "hilbert"], ".3f"
    )
    found = {}
    for k in (3, 5, 10):
        made = {
            method: shoal.anonymize(table, **roles, k=k, method=method)
            for method in ("cover", "tp+", "hilbert")
        }
        stars = {method: release.loss.stars for method, release in made.items()}
        factor = float(made["cover"].method.facts["factor"])
        shown.add(str(k), stars["cover"], factor, stars["tp+"], stars["hilbert"])
        found[str(k)] = {"factor": factor, **stars}
    shown.show()
    return found


def _with_trees(table: pa.Table) -> dict[str, dict[str, float]]:
    """Adult with its hierarchies: where the curve is not ahead."""
    folder = SHARED / "hierarchies" / "adult"
    files = ["marital-status", "native-country", "race", "sex", "workclass", "occupation"]
    roles = {
        "qi": ["age", "education-num", *files],
        "hierarchy": {name: str(folder / f"{name}.csv") for name in files},
    }
    found = {
        method: {str(k): loss(table, roles, k=k, method=method) for k in (10, 20)}
        for method in ("hilbert", "mondrian", "topdown")
    }
    print(found)
    return found


if __name__ == "__main__":
    main()
