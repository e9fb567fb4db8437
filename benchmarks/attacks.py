"""Attackers who replay the run: how often they are right, beside how often guessing is.

``python -m benchmarks attacks`` prints it and writes ``benchmarks/results/attacks.json``; with
names of `CASES`, ``python -m benchmarks.attacks "hilbert, k = 5"``, those alone anew. The
attackers are those of ``tests/attackers.py``. Secret seeds are drawn anew in every run.
"""

from __future__ import annotations

import json
import secrets
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.errors import ShoalWarning
from shoal.policy import Policy

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from attackers import Replay, Verdict, anatomy_guesses, attack, wilson

RESULTS = Path(__file__).parent / "results" / "attacks.json"
ROLES: dict[str, Any] = {"qi": ["age", "gender", "education"], "sensitive": "occupation"}
RECORDS, TARGETS = 200, 12
REPEATS = 5
"""Anatomy releases, each under a secret seed of its own."""
BEST: dict[str, Any] = {"method": "best", "effort": "instant", "bound": False}
CASES: dict[str, tuple[dict[str, Any], int, str]] = {
    "hilbert, k = 5": ({"method": "hilbert", "k": 5}, 200, "2 of 12"),
    "hilbert, l = 3": ({"method": "hilbert", "l": 3}, 200, "8 of 12"),
    "mondrian, k = 5": ({"method": "mondrian", "k": 5}, 200, "-"),
    "bsgi, l = 3": ({"method": "bsgi", "l": 3}, 200, "-"),
    "best, k = 5": ({**BEST, "k": 5}, 200, "12 of 12"),
}
"""What is asked, runs of the attacker for every age, and how many he pinned without a seed."""
HEADING = (
    "| release | runs an age | pinned | before | by whole release | by class, replayed | "
    "release alone | tight interval | guessing |"
)


def anatomy(found: dict[str, Any]) -> None:
    print("\n## Anatomy, l = 3, 3,000 records: right sensitive values (promise: 33.3%)\n")
    print("| attacker | right | 95% |\n|---|---|---|")
    for name, how in {
        "the seed is known (control)": {"seed": 0, "known": True},
        "knows the rows' order, replays with seed 0": {"seed": None},
        "guesses 'sorted by age', replays with seed 0": {"seed": None, "sort": "age"},
    }.items():
        seed = secrets.randbits(127) if how["seed"] is None else 0
        sort, known = how.get("sort"), bool(how.get("known"))
        seeds = [seed] if known else range(seed, seed + REPEATS)
        runs = [anatomy_guesses(3000, 3, each, sort=sort, known=known) for each in seeds]
        right, of = (sum(numbers) for numbers in zip(*runs, strict=True))
        low, high = wilson(right, of)
        print(f"| {name} | {right / of:.1%} | {low:.1%} to {high:.1%} |", flush=True)
        found[f"anatomy: {name}"] = {"right": right, "of": of, "wilson": [low, high]}


def _rate(right: float, of: int) -> str:
    low, high = wilson(right, of)
    return f"{right / of:.2f} ({low:.2f} to {high:.2f})"


def replay(found: dict[str, Any], chosen: list[str]) -> None:
    print(f"\n## All but one person's age is known, census({RECORDS}), {TARGETS} targets\n")
    print(HEADING)
    print("|---" * HEADING.count(" | ") + "|---|")
    people = shoal.datasets.census(RECORDS).select([*ROLES["qi"], ROLES["sensitive"]])
    for name, (asked, runs, before) in CASES.items():
        if chosen and name not in chosen:
            continue
        attacked = Replay(people, Policy.parse(**ROLES, **asked))
        verdicts: list[Verdict] = []
        for target in np.random.default_rng(7).permutation(RECORDS).tolist():
            verdict = attack(attacked, target, secrets.randbits(128), range(runs))
            verdicts += [] if verdict is None else [verdict]
            if len(verdicts) == TARGETS:
                break
        of = len(verdicts)
        rates = {key: sum(getattr(v, key) for v in verdicts) for key in Verdict._fields}
        row = [_rate(rates[key], of) for key in ("exact", "scored", "filled", "tight", "guess")]
        pinned = f"{rates['pinned']} of {of}"
        print(f"| {name} | {runs} | {pinned} | {before} | {' | '.join(row)} |", flush=True)
        intervals = {
            f"{key}_wilson": wilson(rates[key], of) for key in ("scored", "filled", "tight")
        }
        found[f"replay: {name}"] = {**rates, "of": of, "runs": runs, **intervals}
        _save(found)


def main() -> None:
    warnings.simplefilter("ignore", ShoalWarning)
    chosen = [name for name in sys.argv[1:] if name in CASES]
    found: dict[str, Any] = {}
    if chosen:  # the others stay as they are
        found = json.loads(RESULTS.read_text(encoding="utf-8"))
    else:
        anatomy(found)
    replay(found, chosen)


def _save(found: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
