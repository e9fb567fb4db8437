"""Attacks that knowing the method makes possible: what they learn, and what hiding costs.

Numbers go to ``benchmarks/results/minimality.json``; docs/attacks.md quotes them. With names of
its parts, ``python -m benchmarks.minimality twice tight_ends``, those alone anew.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.attackers import (
    Hits,
    beliefs,
    by_seeds,
    exactly_blind,
    in_both,
    paired_guesses,
    refused_guesses,
    surest,
)
from benchmarks.data import acs, adult, census
from benchmarks.keeping import keep
from benchmarks.timed import roles_for
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.models import FrequencyL, KAnonymity
from shoal.policy import Policy

AGES = [10, 10, 20, 20, 20, 20]
ILLNESSES = ["HIV", "HIV", "flu", "cold", "gout", "acne"]
BEFORE = ("hilbert", "mondrian", "best", "bsgi", "incognito", "optimal")
SEEDS = {"best": 1, "optimal": 1}
"""How many seeds stand for all; a few where a run takes long."""
PARTS = {"six_people", "four_values", "price", "twice", "tight_ends"}
SURE = 0.85
"""From here an attacker calls himself sure."""


def encoded(columns: dict[str, Any], **settings: Any) -> EncodedTable:
    return encode(pa.table(columns), Policy.of(None, settings))


def example() -> EncodedTable:
    """Six people, two of them ill."""
    return encoded(
        {"age": AGES, "illness": ILLNESSES}, qi=["age"], sensitive="illness", l=2, rest="drop"
    )


def groups(table: EncodedTable, name: str, model: Any, seed: int, **how: Any) -> Partition:
    method = get_method(name)
    outcome = method.run(table, [model], method.options(), Run(seed, **how))
    return outcome.recoding.partitions[0]


def six_people() -> list[dict[str, Any]]:
    """P(HIV) of the two aged 10, and the surest belief of all, over all 360 worlds."""
    table, model, found = example(), FrequencyL(2), []
    hiv = int(table.sensitive_codes[0][0])
    for name in (*BEFORE, "blind"):
        effort = "instant" if name == "best" else None
        chances = by_seeds(name, [model], SEEDS.get(name, 4), effort)
        if name == "blind":
            chances = exactly_blind([model])
        believed = beliefs(table, chances)
        true = chances(table)
        p = sum(chance * believed[seen][0].get(hiv, 0) for seen, chance in true.items())
        found.append(
            {"method": name, "p_hiv": float(p), "surest": float(surest(believed)), "promise": 0.5}
        )
    return found


def thousand(seed: int) -> EncodedTable:
    """1,000 records at random: two numbers, and one of four values."""
    rng = np.random.default_rng(seed)
    return encoded(
        {
            "x": rng.integers(0, 1000, 1000),
            "y": rng.integers(0, 1000, 1000),
            "value": [f"v{i}" for i in rng.integers(0, 4, 1000)],
        },
        qi=["x", "y"],
        sensitive="value",
        l=2,
        rest="drop",
    )


def four_values(
    tables: int = 5, methods: Sequence[str] = ("bsgi", "blind")
) -> list[dict[str, Any]]:
    """How often a guess of somebody's value is right; 1/l = 50% is promised."""
    model, found = FrequencyL(2), []
    for name in methods:
        right = of = sure_right = sure_of = 0
        for seed in range(tables):
            table = thousand(seed)
            partition = groups(table, name, model, seed)
            if name == "bsgi":
                guess, sure = paired_guesses(table, partition)
            else:
                guess, sure = refused_guesses(table, partition, [model])
            hit = guess == table.sensitive_codes[0]
            right, of = right + int(hit.sum()), of + table.n
            sure_right, sure_of = (
                sure_right + int(hit[sure >= SURE].sum()),
                sure_of + int((sure >= SURE).sum()),
            )
        found.append(
            {"method": name, **_told(Hits(right, of)), "sure": _told(Hits(sure_right, sure_of))}
        )
    return found


def _told(hits: Hits) -> dict[str, Any]:
    return {
        "right": hits.right,
        "of": hits.of,
        "share": hits.share if hits.of else None,
        "wilson": hits.interval,
    }


def price() -> list[dict[str, Any]]:
    """Loss with and without hiding."""
    found = []
    for name, source, sensitive in (
        ("Adult", adult(), "occupation"),
        ("ACS 2018", acs(), "OccGroup"),
    ):
        if source is None:
            continue
        table, roles = source
        roles = {**roles_for({"l": 2}, roles), "sensitive": sensitive}
        for l in (2, 5):  # noqa: E741
            for method in ("hilbert", "mondrian", "best", "blind"):
                how = {"effort": "instant", "bound": False} if method == "best" else {}
                seeds = range(3) if method == "blind" else range(1)
                losses = [
                    shoal.anonymize(
                        table, **roles, **how, l=l, method=method, seed=seed, rest="drop"
                    ).loss.gcp
                    for seed in seeds
                ]
                found.append(
                    {"data": name, "l": l, "method": method, "loss": float(np.mean(losses))}
                )
                print(f"  {found[-1]}", file=sys.stderr, flush=True)
    return found


def twice(n: int = 5000, k: int = 10) -> list[dict[str, Any]]:
    """Two releases of a table: people whose two classes share fewer than k."""
    data, roles = census(n)
    table = encode(data, Policy.of(None, {**roles, "k": k}))
    rows = np.random.default_rng(0).permutation(n)[: n * 9 // 10]
    found = []
    for name in ("hilbert", "mondrian", "best"):
        how = {"effort": "instant"} if name == "best" else {}
        first = groups(table, name, KAnonymity(k), 1, **how)
        again = groups(table, name, KAnonymity(k), 2, **how)
        later = groups(table.take(np.sort(rows)), name, KAnonymity(k), 2, **how)
        same = Partition.from_group_ids(first.group_ids()[np.sort(rows)])
        for what, common in (
            ("other seed", in_both(first, again)),
            ("a tenth left", in_both(same, later)),
        ):
            found.append(
                {
                    "method": name,
                    "what": what,
                    "below_k": float((common < k).mean()),
                    "alone": float((common == 1).mean()),
                }
            )
    return found


def tight_ends(n: int = 5000, k: int = 10) -> list[dict[str, Any]]:
    """Downcoding by tight intervals: classes in which one person alone has the least age."""
    data, roles = census(n)
    table = encode(data, Policy.of(None, {**roles, "k": k}))
    age = table.codes[[qi.name for qi in table.qi].index("age")]
    found = []
    for name in ("hilbert", "mondrian", "best", "blind"):
        how = {"effort": "instant"} if name == "best" else {}
        parts = groups(table, name, KAnonymity(k), 1, **how)
        ages = [
            age[parts.order[b:e]]
            for b, e in zip(parts.offsets[:-1], parts.offsets[1:], strict=True)
        ]
        wide = [a for a in ages if a.min() < a.max()]
        alone = sum(int((a == a.min()).sum() == 1) for a in wide)
        found.append({"method": name, "classes": len(ages), "isolated": alone / len(ages)})
    return found


def main() -> None:
    named = set(sys.argv[1:])
    for title, part in (
        ("Six people, 360 worlds, l = 2: promised 0.5", six_people),
        ("1,000 records, four values, l = 2: promised 50%", four_values),
        ("Loss (GCP) with and without hiding", price),
        ("Two releases of census(5,000), k = 10", twice),
        ("One person alone at the low end of a released age, census(5,000), k = 10", tight_ends),
    ):
        if named & PARTS and part.__name__ not in named:
            continue
        rows = part()
        keep("minimality", {part.__name__: rows})
        print(f"\n## {title}\n")
        print("| " + " | ".join(rows[0]) + " |")
        print("|" + "---|" * len(rows[0]))
        for row in rows:
            print("| " + " | ".join(_cell(v) for v in row.values()) + " |", flush=True)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['right']} of {value['of']}"
    if isinstance(value, tuple):
        return " to ".join(f"{v:.3f}" for v in value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
