"""Attackers who replay the run: how often they are right, beside how often guessing is.

``python -m benchmarks replaying`` prints it and writes ``benchmarks/results/replaying.json``; with
names of `CASES`, ``python -m benchmarks.replaying "hilbert, k = 5"``, those alone anew, with
``--dropped`` what a dropped person and rare codes give away, with ``--anatomy`` that of anatomy,
with ``--runs=50`` fewer runs for every age. The
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
import pyarrow as pa

import shoal
from shoal.errors import ShoalWarning
from shoal.policy import Policy

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from attackers import Replay, Verdict, anatomy_guesses, attack, wilson

RESULTS = Path(__file__).parent / "results" / "replaying.json"
ROLES: dict[str, Any] = {"qi": ["age", "gender", "education"], "sensitive": "occupation"}
RECORDS, TARGETS = 200, 12
RUNS = 20
"""Tables with one person who is dropped."""
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


def dropped(found: dict[str, Any]) -> None:
    """The age of the one person who was dropped, solved from a loss; and from the k it allowed."""
    print(f"\n## One dropped person, {RUNS} tables of 60 and one of 100 to 999 years\n")
    print("| solved from | right | 95% |\n|---|---|---|")
    right = {"the exact loss (private; control)": 0, "the public loss": 0}
    levels: dict[str, set[int]] = {}
    for number in range(RUNS):
        draw = np.random.default_rng(number)
        ages, age = draw.integers(20, 60, 60).tolist(), int(draw.integers(100, 1000))
        release = _of_ages([*ages, age], k=5)
        exact, public = release.record["loss"]["ncp"]["age"], release.manifest["loss"]["ncp"]["age"]
        for name, told in zip(right, (exact, public), strict=True):
            right[name] += _ages_that_fit(told, release) == [age]
        if number < 5:
            tried = [_of_ages([*ages, each], max_loss=0.1) for each in range(150, 1000, 50)]
            levels[str(number)] = {each.manifest["method"]["budget"]["k"] for each in tried}
    for name, count in right.items():
        low, high = wilson(count, RUNS)
        print(f"| {name} | {count} of {RUNS} | {low:.1%} to {high:.1%} |")
        found[f"dropped: {name}"] = {"right": count, "of": RUNS, "wilson": [low, high]}
    most = max(map(len, levels.values()))
    print(f"\nwith max_loss, 17 ages, five tables: at most {most} different k for one table")
    found["dropped: k within max_loss"] = {"ages": 17, "tables": 5, "different": most}


def _of_ages(ages: list[int], **asked: Any) -> shoal.Release:
    settings: dict[str, Any] = {"qi": "age", "method": "hilbert", "max_suppressed": "2%", **asked}
    release = shoal.anonymize(pa.table({"age": ages}), **settings, seed=1)
    assert release.suppressed is not None
    assert release.suppressed.records == 1
    return release


def _ages_that_fit(told: float, release: shoal.Release) -> list[int]:
    """Ages of the dropped person with which the loss would be what was told."""
    cells = [str(cell).strip("[]").split(",") for cell in release.table["age"].to_pylist()]
    low, high = (np.array([float(cell[end]) for cell in cells]) for end in (0, -1))
    lost, everybody = float((high - low).sum()), len(cells) + 1
    ncp = {age: (lost / (age - low.min()) + 1) / everybody for age in range(100, 1000)}
    return [age for age, value in ncp.items() if abs(value - told) <= 1e-9]


def codes(found: dict[str, Any]) -> None:
    """Which of fifteen rare codes of a public tree occur: all their sets, by the tree's hash."""
    rare = [f"R{number:02}" for number in range(15)]
    tree = {"common": [f"C{number:02}" for number in range(8)], "rare": rare}
    there = rare[::2]
    release = shoal.anonymize(
        pa.table({"code": [*tree["common"] * 5, *there]}), qi="code", k=4, method="hilbert",
        hierarchy={"code": {"tree": tree}},
    )  # fmt: skip
    public, whole = json.dumps(release.manifest), shoal.Hierarchy.from_tree(tree, "*", "tree")
    sets = (
        [*tree["common"], *(code for at, code in enumerate(rare) if chosen >> at & 1)]
        for chosen in range(1 << len(rare))
    )
    confirmed = sum(whole.restrict(each, "code").digest() in public for each in sets)
    print(f"\nrare codes: of {1 << len(rare):,} sets {confirmed} are confirmed by the manifest")
    found["codes: sets confirmed"] = {"right": confirmed, "of": 1 << len(rare)}


def _rate(right: float, of: int) -> str:
    low, high = wilson(right, of)
    return f"{right / of:.2f} ({low:.2f} to {high:.2f})"


def replay(found: dict[str, Any], chosen: list[str], fewer: int | None) -> None:
    print(f"\n## All but one person's age is known, census({RECORDS}), {TARGETS} targets\n")
    print(HEADING)
    print("|---" * HEADING.count(" | ") + "|---|")
    people = shoal.datasets.census(RECORDS).select([*ROLES["qi"], ROLES["sensitive"]])
    for name, (asked, runs, before) in CASES.items():
        if chosen and name not in chosen:
            continue
        runs = fewer or runs
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
    parts = {"--dropped", "--anatomy"} & set(sys.argv)
    if chosen or parts:  # the others stay as they are
        found = json.loads(RESULTS.read_text(encoding="utf-8"))
    if not chosen and parts != {"--dropped"}:
        anatomy(found)
    if not chosen and parts != {"--anatomy"}:
        dropped(found)
        codes(found)
    _save(found)
    if not parts:
        fewer = [int(given[7:]) for given in sys.argv if given.startswith("--runs=")]
        replay(found, chosen, fewer[0] if fewer else None)


def _save(found: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
