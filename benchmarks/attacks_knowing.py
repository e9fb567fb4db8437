"""Attackers who know the method and run it: replay and minimality, method by method.

They run it for every guess, so of few people: 150 of Adult (age, sex, education-num; the
occupation is sensitive). `benchmarks/minimality.py` has tables so small that all worlds can be
gone through. The seeds of the releases are none of those that the attackers try. ``python -m
benchmarks.attacks_knowing hilbert`` does the methods named anew.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.attacks import METHODS, Row, rows_of
from benchmarks.data import adult
from benchmarks.keeping import Table, keep
from shoal.attacks import Found, attack
from shoal.errors import ShoalError

PEOPLE = 150
SEED = 0x9F1C_27B4_55E0_8D3A
FIRST = ("hilbert", "mondrian", "bsgi", "blind", "best")
"""Of which the docs speak; others when they are named."""
QI = ["age", "sex", "education-num"]


def tried(table: pa.Table, attacks: list[str], **settings: Any) -> dict[str, Any]:
    """What these attacks get of a release, by what they are about; or why they get nothing."""
    if settings["method"] == "best":
        settings |= {"effort": "instant", "bound": False}
    try:
        release = shoal.anonymize(table, **settings, rest="drop", seed=SEED)
        told = attack(release, table, attacks=attacks)
    except ShoalError as error:
        return {"refused": f"{type(error).__name__}: {error}".partition("\n")[0]}
    rates = {one.about: _rates(one) for one in told.found}
    return {**rates, **({"skipped": str(told.skipped[0])} if told.skipped else {})}


def _rates(found: Found) -> Row:
    return {
        "right": float(found.main.right),
        "of": int(found.main.of),
        "main": float(found.main.share),
        "guessing": float(found.baseline),
        "coverage": float(found.coverage),
        "flagged": bool(found.flagged),
        "wilson": list(found.main.interval),
    }


def row_of(method: str, people: pa.Table) -> Row:
    roles = {"qi": QI, "sensitive": "occupation", "kind": {"sex": "ordinal"}, "method": method}
    return {
        "method": method,
        "replay k = 5": tried(people, ["replay"], **roles, k=5),
        "drawn worlds": tried(people, ["minimality"], **roles, l=3),
    }


def _found(row: Row, case: str, words: str) -> Row | None:
    return next((rates for about, rates in row[case].items() if words in about), None)


def _share(found: Row | None, digits: int = 0) -> str:
    return "-" if found is None else f"{found['main']:.{digits}%}"


def show(rows: list[Row]) -> None:
    table = Table("attacks_knowing", "Attackers who run the method", [
        "method", "replay: same release", "same classes", "guessing", "minimality",
        "at its word", "coverage",
    ])  # fmt: skip
    for row in rows:
        replays = [
            _found(row, case, words)
            for case in ("replay k = 5",)
            for words in ("same release", "same classes")
        ]
        known = next((found for found in replays if found), None)
        drawn = _found(row, "drawn worlds", "worlds")
        table.add(
            row["method"], *map(_share, replays),
            "-" if known is None else f"{known['guessing']:.0%}",
            _share(drawn),
            "-" if drawn is None else f"{drawn['guessing']:.0%}",
            "-" if drawn is None else f"{drawn['coverage']:.0%}",
        )  # fmt: skip
    table.show()


def main() -> None:
    warnings.simplefilter("ignore")
    source = adult()
    if source is None:
        return
    drawn = np.random.default_rng(0).permutation(source[0].num_rows)[:PEOPLE]
    people = source[0].take(pa.array(drawn)).select([*QI, "occupation"])
    named = set(sys.argv[1:]) & set(METHODS) or set(FIRST)
    done = {row["method"]: row for row in rows_of("attacks_knowing", "methods")}
    for method in dict.fromkeys((*FIRST, *METHODS)):
        if method in named:
            done[method] = row_of(method, people)
            print(f"  {done[method]}", file=sys.stderr, flush=True)
            keep("attacks_knowing", {"methods": list(done.values())})
    show([done[method] for method in METHODS if method in done])


if __name__ == "__main__":
    main()
