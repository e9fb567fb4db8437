"""Round intervals against a guess: what one guess about an age isolates, and what rounding costs.

The attacker knows the method and a class, and says: exactly one person of this class has
this age. With tight intervals the smallest age of the interval is a good one to name. He is
right if exactly one person of the class has it; that person stands alone then. `best_guess`
is the same for whichever place in the intervals serves him best over all classes: the
smallest age, one more, two more, ...; it is found with the truth at hand, in his favour.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import shoal
from benchmarks.data import CENSUS_QI, census

RECORDS, K, STEP, SEEDS = 5_000, 10, 5, 5
RESULTS = Path(__file__).parent / "results" / "round.json"
METHODS: dict[str, dict[str, Any]] = {"hilbert": {}, "best": {"effort": "fast", "bound": False}}


def main() -> None:
    print(f"\n## One guess about the smallest age, census {RECORDS:,}, k = {K}\n")
    print("| method | quasi-identifiers | round | classes | smallest | best guess | loss |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for qi in (["age", "gender", "education"], CENSUS_QI):
        for method in METHODS:
            for step in (None, STEP, 2 * STEP):
                rows.append(row := _measured(method, qi, step))
                print(
                    f"| {method} | {len(qi)} | {step or ''} | {row['classes']:,.0f} | "
                    f"{row['smallest']:.1%} | {row['best_guess']:.1%} | {row['loss']:.4f} |",
                    flush=True,
                )
    RESULTS.parent.mkdir(exist_ok=True)
    about = {"data": f"census({RECORDS})", "k": K, "seeds": SEEDS}
    RESULTS.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def _measured(method: str, qi: list[str], step: int | None) -> dict[str, Any]:
    """Means over several secrets of the method."""
    source, settings = census(RECORDS)
    kinds = {name: kind for name, kind in settings["kind"].items() if name in qi}
    found: Counter[str] = Counter()
    for seed in range(SEEDS):
        release = shoal.anonymize(
            source, qi=qi, kind=kinds, rest="drop", k=K, method=method, seed=seed, keep_order=True,
            round={"age": step} if step else {}, **METHODS[method],
        )  # fmt: skip
        found.update(_guessed(source["age"].to_pylist(), release, qi))
        found["loss"] += release.loss.gcp
    means = {name: round(total / SEEDS, 6) for name, total in found.items()}
    return {"method": method, "qi": qi, "round": step, **means}


def _guessed(ages: list[int], release: shoal.Release, qi: list[str]) -> dict[str, float]:
    """Shares of the classes in which exactly one person has the age that was named."""
    classes: dict[tuple[str, ...], Counter[int]] = {}
    columns = [release.table[name].to_pylist() for name in qi]
    for age, cells in zip(ages, zip(*columns, strict=True), strict=True):
        classes.setdefault(cells, Counter())[age] += 1
    right: Counter[int] = Counter()
    for cells, there in classes.items():
        least, most = (int(end) for end in (cells[0].strip("[]").split(",") * 2)[:2])
        right.update(age - least for age in range(least, most + 1) if there[age] == 1)
    return {
        "classes": len(classes),
        "smallest": right[0] / len(classes),
        "best_guess": max(right.values(), default=0) / len(classes),
    }
