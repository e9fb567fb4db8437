"""Several readers: what the default loses beside the curve's butterflies and the union.

Writes `results/readers.json`. Seconds are CPU seconds of one run, kernels compiled before.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from benchmarks.data import ADULT_NUMERIC, ADULT_ORDINAL, adult

RESULTS = Path(__file__).parent / "results" / "readers.json"
SEED = 1
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("butterfly inner=hilbert", {"method": "butterfly", "option": {"inner": "hilbert"}}),
    ("union inner=best", {"method": "union", "option": {"inner": "best"}}),
    ("butterfly", {"method": "butterfly"}),
]


def demo_case() -> tuple[pa.Table, dict[str, Any]]:
    """The readers of the README, on the census that its demo table is made of."""
    readers = {
        "insurer": ["age", "country", "marital"],
        "employer": ["education", "age", "marital"],
    }
    return shoal.datasets.census(5000), {"reader": readers, "collusion_k": 2}


def adult_case() -> tuple[pa.Table, dict[str, Any]] | None:
    """Adult: two numbers and five categories; both readers know all but one of them."""
    found = adult()
    if found is None:
        return None
    names = [*ADULT_NUMERIC, *ADULT_ORDINAL[:5]]
    kinds = dict.fromkeys(ADULT_ORDINAL[:5], "ordinal")
    return found[0], {"reader": {"first": names[:-1], "second": names[1:]}, "kind": kinds}


def main() -> None:
    """Print and write all of it."""
    rows = []
    for data, case in (("census(5000)", demo_case()), ("Adult", adult_case())):
        if case is None:
            continue
        table, asked = case
        for label, chosen in VARIANTS:
            efforts = [None] if "hilbert" in label else ["instant", "fast"]
            for effort in efforts:
                rows.append({"data": data, **_row(table, asked, label, chosen, effort)})
                print(rows[-1], flush=True)
    RESULTS.write_text(json.dumps({"k": 20, "seed": SEED, "rows": rows}, indent=1) + "\n")


def _row(
    table: pa.Table, asked: dict[str, Any], label: str, chosen: dict[str, Any], effort: str | None
) -> dict[str, Any]:
    settings = {**asked, **chosen, "k": 20, "seed": SEED, "rest": "drop"}
    if effort is not None:
        settings["effort"] = effort
    begun = time.process_time()
    release = shoal.anonymize(table, **settings)
    seconds = time.process_time() - begun
    assert release.verification.ok
    return {
        "method": label,
        "effort": effort,
        "loss": round(release.loss.gcp, 6),
        "bound": None if release.bound is None else round(release.bound.loss, 6),
        "cpu_seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
