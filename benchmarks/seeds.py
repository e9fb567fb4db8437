"""What drawing from the seed costs: mean loss over seeds, against another checkout.

``python -m benchmarks.seeds FOLDER [methods]`` with a checkout of the commit to compare with:
Adult and ACS, k = 5, 10, 50 and l = 5. A method's effort may follow its name: ``best:instant``.
``adult:`` or ``acs:`` before a method measures it on that table alone. What is measured is put
into ``benchmarks/results/seeds.json``, beside what is there of others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
RESULTS = HERE / "benchmarks" / "results" / "seeds.json"
METHODS = ["hilbert", "mondrian", "bsgi", "idistance", "topdown", "tds", "best:instant"]
ASKED: list[dict[str, int]] = [{"k": 5}, {"k": 10}, {"k": 50}, {"l": 5}]
SENSITIVE = {"adult": "occupation", "acs": "Occupation"}
SEEDS = 4


def losses(data: str, method: str) -> list[list[float]]:
    """Loss of every seed, for each of `ASKED`; in a process of one checkout."""
    import shoal
    from benchmarks import data as sources

    warnings.simplefilter("ignore")
    source = getattr(sources, data)()
    if source is None:
        return []
    (table, settings), hidden = source, SENSITIVE[data]
    name, _, effort = method.partition(":")
    more: dict[str, Any] = {"effort": effort, "bound": False} if effort else {}
    found = []
    for asked in ASKED:
        roles = settings
        if "l" in asked:
            kinds = {a: kind for a, kind in settings["kind"].items() if a != hidden}
            qi = [a for a in settings["qi"] if a != hidden]
            roles = {"qi": qi, "kind": kinds, "sensitive": hidden}
        run = {**roles, **asked, **more, "method": name, "rest": "drop"}
        found.append(
            [shoal.anonymize(table, **run, seed=seed).loss.gcp for seed in range(1, SEEDS + 1)]
        )
    return found


def measured(folder: Path, data: str, method: str) -> list[list[float]]:
    """`losses` with the source of a checkout."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.seeds", "--losses", data, method],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(HERE)])},
        cwd=HERE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _wanted(methods: list[str]) -> list[tuple[str, str]]:
    """Tables and methods; a table may stand before a method."""
    found = []
    for each in methods:
        first, _, rest = each.partition(":")
        found += [(first, rest)] if first in SENSITIVE else [(data, each) for data in SENSITIVE]
    return found


def _saved(data: str, method: str, what: str, now: list[float], old: list[float]) -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    ratio = (sum(now) / len(now)) / (sum(old) / len(old))
    row = {"now": now, "before": old, "ratio": round(ratio, 4)}
    kept.setdefault(data, {}).setdefault(method, {})[what] = row
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--losses"]:
        print(json.dumps(losses(*sys.argv[2:4])))
        return
    if len(sys.argv) < 2:
        raise SystemExit("benchmarks.seeds: give the folder of a checkout to compare with")
    before = Path(sys.argv[1]).resolve()
    print(f"| data | method | asked | now (lowest to highest of {SEEDS}) | before | ratio |")
    print("|---|---|---|---|---|---|")
    for data, method in _wanted(sys.argv[2:] or METHODS):
        sides = (measured(HERE, data, method), measured(before, data, method))
        for asked, now, old in zip(ASKED, *sides, strict=True):
            mean, was = sum(now) / len(now), sum(old) / len(old)
            what = " ".join(f"{key} = {value}" for key, value in asked.items())
            span = f"{mean:.5f} ({min(now):.5f} to {max(now):.5f})"
            row = f"| {data} | {method} | {what} | {span} | {was:.5f} | {mean / was:.4f} |"
            print(row, flush=True)
            _saved(data, method, what, now, old)


if __name__ == "__main__":
    main()
