"""Attacks by whoever reads a release, method by method: which withstands best at equal loss?

Each release is of 4,000 people; 1,000 like them are the control. Twice it is asked for: by what
is promised (k = 5, 10, 50, l = 3), and by what may be lost, so that every method takes the
largest k (or l) that loses no more. ``python -m benchmarks attacks`` does all;
``python -m benchmarks.attacks Adult "k = 5"`` the releases of these names anew, by the methods
named, if any are. Every release is kept as soon as it was attacked; ``--missing`` does those
only that results lack, and so goes on where a run ended. Attackers who run the method
themselves are in ``benchmarks.replaying`` and ``benchmarks.minimality``.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import groupby, product
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.data import acs, adult, census
from benchmarks.keeping import RESULTS, Table, keep
from benchmarks.timed import roles_for
from shoal.attacks import Found, Skipped, attack
from shoal.attacks.boosting import boosted
from shoal.attacks.definetti import learnt
from shoal.attacks.inference import majority
from shoal.attacks.scene import scene_of
from shoal.attacks.secret import Secret, secrets_of
from shoal.errors import ShoalError
from shoal.policy import Policy

PEOPLE, CONTROL = 4000, 1000
METHODS = ("best", "butterfly", "bsgi", "hilbert", "idistance", "topdown", "mondrian", "blind",
           "cover", "tp+", "tp", "tds", "incognito", "attributes")  # fmt: skip
"""All that release rows of one table; `union` is `hilbert` where there is one reader."""
TWO_TABLES = "anatomy"
"""Promises l only, and loses nothing: it is in no ranking at equal loss."""
ALL_METHODS = (*METHODS, TWO_TABLES)
PROMISED: dict[str, dict[str, Any]] = {
    **{f"k = {k}": {"k": k} for k in (5, 10, 50)},
    "l = 3": {"l": 3},
}
LOSING: dict[str, dict[str, Any]] = {
    **{f"loss {loss}": {"max_loss": loss} for loss in (0.1, 0.2)},
    "loss 0.1 by l": {"max_loss": 0.1, "search": "l"},
}
ASKED = {**PROMISED, **LOSING}
SENSITIVE = {"Adult": "occupation", "ACS": "OccGroup", "census": "occupation"}
READING = {"knows all": "linking", "fits a class": "membership", "ends of intervals": "ends"}
GUESSES: dict[str, Callable[[Secret], Found | Skipped]] = {
    "majority": majority,
    "learnt": learnt,
    "boosted": partial(boosted, left_out=False),
}
CLASSIFIED = {"Adult": True}
"""Where a classifier is tried as well: trees for each of many values take minutes."""
Row = dict[str, Any]


def people(name: str) -> tuple[pa.Table, pa.Table, dict[str, Any]] | None:
    """People to release, people who are not in the release, and the roles of columns."""
    source = {"Adult": adult, "ACS": acs, "census": lambda: census(PEOPLE + CONTROL)}[name]()
    if source is None:
        return None
    table, roles = source
    rows = np.random.default_rng(0).permutation(table.num_rows)[: PEOPLE + CONTROL]
    roles = {**roles_for({"l": 3}, roles), "sensitive": SENSITIVE[name]}
    return table.take(pa.array(rows[:PEOPLE])), table.take(pa.array(rows[PEOPLE:])), roles


def tried(
    name: str, asked: str, method: str, scene: tuple[pa.Table, pa.Table, dict[str, Any]]
) -> Row:
    """What all attacks get of one release; why there is none, where there is none."""
    table, control, roles = scene
    settings = {**roles, **ASKED[asked], "method": method, "rest": "drop"}
    settings |= {"effort": "instant", "bound": False} if method == "best" else {}
    row: Row = {"data": name, "asked": asked, "method": method}
    try:
        release = shoal.anonymize(table, **settings, seed=1)
        found = by_reading(release, table, control, CLASSIFIED.get(name, False))
    except ShoalError as error:
        return {**row, "refused": f"{type(error).__name__}: {error}".partition("\n")[0]}
    assert release.loss is not None
    row |= {"loss": release.loss.gcp, "level": _level(release), **found}
    if asked in LOSING:
        return row
    try:
        again = shoal.anonymize(table, **settings, seed=2)
        both = attack(release, table, others=[again], attacks=["composition"])
        row["composition"] = {one.about.split()[0]: _rates(one) for one in both.found}
    except ShoalError as error:
        row["composition"] = {"refused": str(error)}
    return row


def _level(release: shoal.Release) -> int | None:
    """The k or l that a budget of loss allowed."""
    budget = release.manifest["method"].get("budget") or {}
    return budget.get("k") or budget.get("l")


def by_reading(release: shoal.Release, table: pa.Table, control: pa.Table, classified: bool) -> Row:
    """Rates of the attacks, with what each gets of people who are not in the release.

    The classifier is not tried without the target as well: a control says more.
    """
    attacks = ("linking", "membership", "downcoding")
    row: Row = {}
    for one in attack(release, table, control, attacks=attacks).found:
        if (name := READING.get(one.about)) is not None:
            row[name] = _rates(one)
    for secret in secrets_of(scene_of(release, table, control, Policy.parse())):
        for name, guesses in GUESSES.items():
            if name == "boosted" and not classified:
                continue
            if isinstance(one := guesses(secret), Found):
                row[name] = _rates(one)
    return row


def _rates(found: Any) -> dict[str, Any]:
    control = None if found.control is None else found.control.share
    return {"main": found.main.share, "control": control, "guessing": found.baseline,
            "wilson": list(found.main.interval)}  # fmt: skip


def guess(row: Row) -> Row:
    """The inference that gets most beyond what it gets of outsiders."""
    found: Row = max((row[name] for name in GUESSES if name in row), key=beyond)
    return found


def beyond(rates: Row) -> float:
    return max(0.0, float(rates["main"] - rates["control"]))


def names(row: Row) -> tuple[str, str, str]:
    return row["data"], row["asked"], row["method"]


def rows_of(file: str, name: str) -> list[Row]:
    """What is known of earlier pieces."""
    path = RESULTS / f"{file}.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    rows: list[Row] = known.get(name, [])
    return rows


def by_promise(rows: list[Row]) -> None:
    table = Table("attacks", "Attack by method", [
        "data, promise", "method", "loss", "linking", "inference", "of outsiders", "beyond them",
        "interval ends", "membership", "two releases",
    ])  # fmt: skip
    for row in rows:
        if row["asked"] in PROMISED and "loss" in row:
            worst, joined = guess(row), row["composition"].get("among")
            table.add(
                f"{row['data']}, {row['asked']}", row["method"], f"{row['loss']:.3f}",
                f"{row['linking']['main']:.2%}", f"{worst['main']:.1%}",
                f"{worst['control']:.1%}", f"{beyond(worst):.1%}",
                f"{row['ends']['main']:.0%}" if "ends" in row else "-",
                f"{row['membership']['main']:.1%}", f"{joined['main']:.0%}" if joined else "-",
            )  # fmt: skip
    table.show()


def at_equal_loss(rows: list[Row]) -> None:
    """Largest k and what is linked, and largest l and what is inferred, within equal loss.

    A method's place is one more than the number of methods that withstand better; behind all
    of them where it releases nothing within that loss. Methods stand in the order of the mean.
    """
    by = {names(row): row for row in rows if "loss" in row}
    done = {(data, asked) for data, asked, _ in by}
    cases = [(data, asked) for data in SENSITIVE for asked in LOSING if (data, asked) in done]
    places = {method: [_place(by, case, method) for case in cases] for method in METHODS}
    order = sorted(METHODS, key=lambda method: float(np.mean(places[method])))
    for data in SENSITIVE:
        here = [asked for asked in LOSING if (data, asked) in done]
        if not here:
            continue
        table = Table("attacks", f"At equal loss, {data}", ["method", *here])
        for method in order:
            table.add(method, *(_within(by.get((data, asked, method))) for asked in here))
        table.show()
    table = Table("attacks", "Places at equal loss", [
        "method", *(f"{data}, {asked}" for data, asked in cases), "mean place",
    ])  # fmt: skip
    for method in order:
        table.add(method, *places[method], f"{np.mean(places[method]):.1f}")
    table.show()


def _place(by: dict[tuple[str, str, str], Row], case: tuple[str, str], method: str) -> int:
    got = {m: withstood(by[(*case, m)]) for m in METHODS if (*case, m) in by}
    if method not in got:
        return 1 + len(got)
    return 1 + sum(other < got[method] for other in got.values())


def withstood(row: Row) -> float:
    """What counts at equal loss: linking where k was searched, inference where l was."""
    return beyond(guess(row)) if row["asked"].endswith("by l") else float(row["linking"]["main"])


def _within(row: Row | None) -> str:
    if row is None:
        return "-"
    name = "l" if row["asked"].endswith("by l") else "k"
    return f"{name} = {row['level']}: {withstood(row):.2%}"


def wanted(named: list[str], done: set[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The releases to make: of all that is named, or of all; without those that are done."""
    chosen = [
        [one for one in family if one in named] or list(family)
        for family in (SENSITIVE, ASKED, ALL_METHODS)
    ]
    possible = (key for key in product(*chosen) if key[2] != TWO_TABLES or "l" in ASKED[key[1]])
    return [key for key in possible if key not in done]


def main() -> None:
    warnings.simplefilter("ignore")
    named = sys.argv[1:] if sys.argv[0].endswith("attacks.py") else []
    done = {names(row): row for row in rows_of("attacks", "releases")}
    todo = wanted(named, set(done) if "--missing" in sys.argv else set())
    for data, keys in groupby(todo, lambda key: key[0]):
        if (scene := people(data)) is None:
            continue
        for key in keys:
            begun = time.process_time()
            done[key] = tried(*key, scene)
            seconds = time.process_time() - begun
            print(f"  {seconds:.1f} s: {done[key]}", file=sys.stderr, flush=True)
            keep("attacks", {"releases": in_order(done)})
    rows = in_order(done)
    keep("attacks", {"releases": rows})
    by_promise(rows)
    at_equal_loss(rows)


def in_order(done: dict[tuple[str, str, str], Row]) -> list[Row]:
    return [done[key] for key in product(SENSITIVE, ASKED, ALL_METHODS) if key in done]


if __name__ == "__main__":
    main()
