"""Times asked and taken: efforts and limits over sizes, attributes and models.

Wall seconds are what a user waits; CPU seconds are what remains comparable on a machine
that others use too. ``SHOAL_CLOCK=full`` runs the large sizes as well.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal

RESULTS = Path(__file__).parent / "results" / "clock.json"
OVER, MORE = 0.15, 5.0
"""A time may be exceeded by this part of it, and so many seconds."""
SIZES = {"reduced": (30_000, 300_000), "full": (30_000, 300_000, 1_000_000)}
ATTRIBUTES = (9, 20)
MODELS: dict[str, dict[str, Any]] = {
    "k = 10": {"k": 10},
    "k = 10, distinct l = 3, one value 50%": {"k": 10, "l": 3, "l_reading": "distinct"},
    "l = 5": {"l": 5},
    "entropy l = 3": {"l": 3, "l_reading": "entropy"},
    "k = 10, t = 0.2": {"k": 10, "t": 0.2},
}
ASKED: tuple[dict[str, Any], ...] = ({"effort": "instant"}, {"effort": "fast"}, {"time": 30})


def survey(records: int, attributes: int, crowded: bool) -> tuple[pa.Table, list[str]]:
    """A census with more attributes; in a crowded one half of the occupations are one value."""
    census = shoal.datasets.census(records)
    rng = np.random.default_rng(1)
    columns = {name: census[name] for name in census.column_names if name != "occupation"}
    columns["hours"] = pa.array(np.clip(rng.normal(40, 12, records), 0, 99).astype(np.int32))
    for number in range(attributes - len(columns)):
        values = rng.integers(0, 3 + 7 * (number % 3), records)
        columns[f"answer{number}"] = pa.array(values.astype(np.int32))
    names = list(columns)[:attributes]
    occupation = census["occupation"].cast(pa.string()).to_pandas().to_numpy().copy()
    if crowded:
        occupation[rng.permutation(records)[: int(0.495 * records)]] = "Not in universe"
    table = {name: columns[name] for name in names}
    return pa.table({**table, "occupation": pa.array(occupation.tolist())}), names


def taken(records: int, attributes: int, model: str, asked: dict[str, Any]) -> dict[str, Any]:
    """One run and what it took after reading."""
    crowded = "50%" in model
    settings = {**MODELS[model], **asked, "sensitive": "occupation", "seed": 1}
    few, names = survey(2_000, attributes, crowded)
    warm = {**settings, "time": 2} if "time" in asked else settings
    shoal.anonymize(few, qi=names, **warm)  # compiles what is not compiled yet
    table, names = survey(records, attributes, crowded)
    wall, cpu = time.perf_counter(), time.process_time()
    release = shoal.anonymize(table, qi=names, **settings)
    return {
        "records": records,
        "attributes": attributes,
        "model": model,
        **{"effort": None, "time": None, **asked},
        "seconds": round(time.perf_counter() - wall, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "start": release.method.facts["start"],
        "steps": release.method.facts["steps"],
        "loss": round(release.loss.gcp, 5),
        "bound": None if release.bound is None else round(release.bound.loss, 5),
    }


def cases() -> Iterator[tuple[int, int, str, dict[str, Any]]]:
    """What is run: everything, or the small sizes with every model once."""
    how = "full" if os.environ.get("SHOAL_CLOCK") == "full" else "reduced"
    for records in SIZES[how]:
        for attributes in ATTRIBUTES if how == "full" else ATTRIBUTES[:1]:
            for model in MODELS:
                for asked in ASKED:
                    if how == "full" or records < 100_000 or asked != {"effort": "fast"}:
                        yield records, attributes, model, asked


def main() -> None:
    """Print a row a case, and keep all of them."""
    rows = []
    print("\n## Time asked and taken\n")
    print("| records | QIs | models | asked | seconds | CPU | start | loss | within |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in cases():
        row = taken(*case)
        rows.append(row)
        limit = row["time"]
        within = (
            "" if limit is None else "yes" if row["seconds"] <= limit * (1 + OVER) + MORE else "NO"
        )
        asked = row["effort"] or f"{limit} s"
        print(
            f"| {row['records']:,} | {row['attributes']} | {row['model']} | {asked} | "
            f"{row['seconds']} | {row['cpu_seconds']} | {row['start']} | {row['loss']} | "
            f"{within} |",
            flush=True,
        )
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
