"""What drawing from the seed costs: mean loss over seeds, against another checkout.

``python -m benchmarks.seeds FOLDER [methods]`` with a checkout of the commit to compare with:
Adult and ACS, k = 5, 10, 50 and l = 5. A method's effort may follow its name: ``best:instant``.
``adult:`` or ``acs:`` before a method measures it on that table alone; ``--first=101`` takes
seeds from 101 on, ``--seeds=24`` so many, ``--asked="l = 5"`` these models alone,
``--records=20000`` so many records drawn from the table. Several readers' methods get two
readers who know all attributes but one, ``optimal`` many tables of 12 records. What is measured
is put into ``benchmarks/results/seeds.json``, beside what is there of others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parents[1]
RESULTS = HERE / "benchmarks" / "results" / "seeds.json"
METHODS = ["hilbert", "mondrian", "bsgi", "idistance", "topdown", "tds", "best:instant"]
ASKED: list[dict[str, int]] = [{"k": 5}, {"k": 10}, {"k": 50}, {"l": 5}]
SENSITIVE = {"adult": "occupation", "acs": "Occupation"}
SEEDS = 4
READERS = ("butterfly", "union")
SMALL = 12
TABLES = 40


def asked_of(method: str) -> list[dict[str, int]]:
    """Models a method is asked for here."""
    if method == "optimal":
        return [{"k": 2}, {"k": 3}]
    return [asked for asked in ASKED if method not in READERS or "k" in asked]


class Case(NamedTuple):
    """One cell of the table: what is released how. `records` 0: all."""

    data: str
    method: str
    asked: dict[str, int]
    records: int = 0


def losses(case: Case, seeds: list[int]) -> list[float]:
    """Loss of every seed; in a process of one checkout."""
    import shoal
    from benchmarks import data as sources

    warnings.simplefilter("ignore")
    data, method, asked, records = case
    source = getattr(sources, data)()
    if source is None:
        return []
    (table, roles), hidden = source, SENSITIVE[data]
    name, _, effort = method.partition(":")
    more: dict[str, Any] = {"effort": effort, "bound": False} if effort else {}
    if name in READERS:
        readers = {"first": roles["qi"][:-1], "second": roles["qi"][1:]}
        kinds = {a: kind for a, kind in roles["kind"].items() if a in roles["qi"]}
        roles = {"reader": readers, "kind": kinds}
        more["option"] = {"inner": "hilbert"}
    if "l" in asked:
        kinds = {a: kind for a, kind in roles["kind"].items() if a != hidden}
        qi = [a for a in roles["qi"] if a != hidden]
        roles = {"qi": qi, "kind": kinds, "sensitive": hidden}
    run = {**roles, **asked, **more, "method": name, "rest": "drop"}
    if records:
        table = table.take(np.random.default_rng(0).permutation(table.num_rows)[:records])
    tables = [table]
    if name == "optimal":
        rows = np.random.default_rng(0).permutation(table.num_rows)[: SMALL * TABLES]
        tables = [table.take(some) for some in rows.reshape(TABLES, SMALL)]
    return [
        sum(shoal.anonymize(some, **run, seed=seed).loss.gcp for some in tables) / len(tables)
        for seed in seeds
    ]


def measured(folder: Path, case: Case, seeds: list[int]) -> list[float]:
    """`losses` with the source of a checkout."""
    told = json.dumps([case, seeds])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.seeds", "--losses", told],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(HERE)])},
        cwd=HERE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _before(folder: Path, case: Case, seeds: list[int]) -> list[float]:
    """`measured`, of two seeds only where both lose the same."""
    found = measured(folder, case, seeds[:2])
    if len(set(found)) > 1:
        found += measured(folder, case, seeds[2:])
    return found


def _within(now: list[float], old: list[float]) -> float:
    """Half the 95% interval of the ratio of two means; 0 where nothing varies."""
    parts = [
        float(np.var(each, ddof=1)) / len(each) / float(np.mean(each)) ** 2
        for each in (now, old)
        if len(each) > 1
    ]
    return 1.96 * float(np.mean(now) / np.mean(old)) * float(np.sqrt(sum(parts)))


def _wanted(methods: list[str]) -> list[tuple[str, str]]:
    """Tables and methods; a table may stand before a method."""
    found = []
    for each in methods:
        first, _, rest = each.partition(":")
        found += [(first, rest)] if first in SENSITIVE else [(data, each) for data in SENSITIVE]
    return found


def _saved(case: Case, seeds: list[int], now: list[float], old: list[float]) -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    row: dict[str, Any] = {"first": seeds[0], "now": now, "before": old}
    row |= {"ratio": round(_ratio(now, old), 4), "within": round(_within(now, old), 4)}
    if case.records:
        row["records"] = case.records
    kept.setdefault(case.data, {}).setdefault(case.method, {})[_what(case.asked)] = row
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _what(asked: dict[str, int]) -> str:
    return " ".join(f"{key} = {value}" for key, value in asked.items())


def _ratio(now: list[float], old: list[float]) -> float:
    return (sum(now) / len(now)) / (sum(old) / len(old))


def main() -> None:
    if sys.argv[1:2] == ["--losses"]:
        case, seeds = json.loads(sys.argv[2])
        print(json.dumps(losses(Case(*case), seeds)))
        return
    named = [text for text in sys.argv[1:] if not text.startswith("--")]
    how = dict(text[2:].split("=", 1) for text in sys.argv[1:] if text.startswith("--"))
    if not named:
        raise SystemExit("benchmarks.seeds: give the folder of a checkout to compare with")
    before, first = Path(named[0]).resolve(), int(how.get("first", 1))
    seeds = list(range(first, first + int(how.get("seeds", SEEDS))))
    print("| data | method | asked | now (lowest to highest) | before | ratio | ± (95%) |")
    print("|---|---|---|---|---|---|---|")
    for data, method in _wanted(named[1:] or METHODS):
        for asked in asked_of(method):
            if how.get("asked", _what(asked)) != _what(asked):
                continue
            case = Case(data, method, asked, int(how.get("records", 0)))
            now, old = measured(HERE, case, seeds), _before(before, case, seeds)
            span = f"{sum(now) / len(now):.5f} ({min(now):.5f} to {max(now):.5f})"
            row = f"| {data} | {method} | {_what(asked)} | {span} | {sum(old) / len(old):.5f} |"
            print(f"{row} {_ratio(now, old):.4f} | {_within(now, old):.4f} |", flush=True)
            _saved(case, seeds, now, old)


if __name__ == "__main__":
    main()
