"""Attacks by whoever reads a release, method by method: which withstands best at equal loss?

Each release is of 4,000 people; 1,000 like them are the control. A release is *ahead* if no
other of the same people and models loses less and gives an attacker less by linking and by
inference; equal within what the attack can tell counts as equal.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.data import acs, adult, census
from benchmarks.timed import roles_for
from shoal.attacks import Attacked, attack
from shoal.errors import ShoalError

PEOPLE, CONTROL = 4000, 1000
METHODS = ("best", "hilbert", "mondrian", "bsgi", "blind", "tp+", "incognito",
           "idistance", "topdown", "tds")  # fmt: skip
ASKED: tuple[dict[str, int], ...] = ({"k": 5}, {"k": 10}, {"k": 50}, {"l": 3})
SENSITIVE = {"Adult": "occupation", "ACS": "OccGroup", "census": "occupation"}
ATTACKS = ("linking", "singling-out", "inference", "membership", "downcoding")


@dataclass(frozen=True)
class Row:
    data: str
    asked: str
    method: str
    loss: float
    linking: float
    inference: float
    control: float
    noise: float
    """Half the width of what main and control are known to, together."""
    ends: float
    membership: float

    @property
    def told(self) -> float:
        """What inference gets beyond the control."""
        return max(0.0, self.inference - self.control)


def people(name: str) -> tuple[pa.Table, pa.Table, dict[str, Any]] | None:
    source = {"Adult": adult, "ACS": acs, "census": lambda: census(PEOPLE + CONTROL)}[name]()
    if source is None:
        return None
    table, roles = source
    rows = np.random.default_rng(0).permutation(table.num_rows)[: PEOPLE + CONTROL]
    roles = {**roles_for({"l": 3}, roles), "sensitive": SENSITIVE[name]}
    return table.take(pa.array(rows[:PEOPLE])), table.take(pa.array(rows[PEOPLE:])), roles


def tried(name: str, asked: dict[str, int], method: str, found: Attacked, loss: float) -> Row:
    by = {one.about: one for one in found.found}
    guesses = [one for one in found.found if one.attack == "inference"]
    worst = max(guesses, key=lambda one: one.main.share - one.control.share)
    noise = sum((r.interval[1] - r.interval[0]) / 2 for r in (worst.main, worst.control))
    ends = by.get("ends of intervals")
    return Row(
        name, ", ".join(f"{key} = {value}" for key, value in asked.items()), method, loss,
        by["knows all"].main.share, worst.main.share, worst.control.share, noise,
        0.0 if ends is None else ends.main.share, by["fits a class"].main.share,
    )  # fmt: skip


def ahead(row: Row, rows: list[Row]) -> bool:
    """Whether none of the others is better in one way and no worse in the others."""
    return not any(
        other.loss < row.loss * 0.995
        and other.linking <= row.linking * 1.02
        and other.told <= row.told + row.noise / 4
        for other in rows
        if other is not row
    )


def main() -> None:
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    for name in SENSITIVE:
        scene = people(name)
        if scene is None:
            continue
        table, control, roles = scene
        for asked in ASKED:
            for method in METHODS:
                how = {"effort": "instant", "bound": False} if method == "best" else {}
                try:
                    release = shoal.anonymize(
                        table, **roles, **asked, **how, method=method, seed=1, rest="drop"
                    )
                    found = attack(release, table, control, attacks=ATTACKS)
                except ShoalError as error:
                    print(f"  {name} {asked} {method}: {type(error).__name__}", file=sys.stderr)
                    continue
                rows.append(tried(name, asked, method, found, release.loss.gcp))
                print(f"  {rows[-1]}", file=sys.stderr, flush=True)
    print("\n## Attacks by method, 4,000 people and 1,000 others\n")
    print(
        "| data, models | method | loss | linking | inference | outsiders | beyond them "
        "| interval ends | membership | ahead |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        same = [other for other in rows if (other.data, other.asked) == (row.data, row.asked)]
        print(
            f"| {row.data}, {row.asked} | {row.method} | {row.loss:.4f} | {row.linking:.2%} "
            f"| {row.inference:.1%} | {row.control:.1%} | {row.told:.1%} | {row.ends:.0%} "
            f"| {row.membership:.1%} | {'yes' if ahead(row, same) else ''} |"
        )
    print("\n## How often each method is ahead\n")
    print("| method | ahead | of |")
    print("|---|---|---|")
    for method in METHODS:
        mine = [row for row in rows if row.method == method]
        won = sum(
            ahead(row, [o for o in rows if (o.data, o.asked) == (row.data, row.asked)])
            for row in mine
        )
        print(f"| {method} | {won} | {len(mine)} |")


if __name__ == "__main__":
    main()
