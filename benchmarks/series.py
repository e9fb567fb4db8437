"""Releases over time: what safety together costs beside the same releases made alone.

ACS in 20 releases of 10% churn, and diabetes130 as a stream of patients in 10 releases. The
loss of each release is compared with one of the same table that knows of no other (method
bsgi, l for m). Writes `results/series.json` and `docs/series.svg`. Seconds are CPU seconds;
who leaves and who comes is drawn by a fixed seed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.data import acs, real
from shoal.io.write import decoded

RESULTS = Path(__file__).parent / "results" / "series.json"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "series.svg"
SEED, CHURN, ID, M = 1, 0.1, "person", 3
SOME = 100_000
"""Persons at a time of the ACS stream: with those who come, all of ACS."""
MANY = 300_000
"""Of synthetic census, since ACS has not so many."""


def churning(table: pa.Table, alive: int, releases: int) -> Iterator[pa.Table]:
    """So many persons at a time, of whom a tenth goes and is replaced by others."""
    rng = np.random.default_rng(SEED)
    waiting = rng.permutation(table.num_rows).tolist()
    there = [waiting.pop() for _ in range(alive)]
    table = table.append_column(ID, pa.array(np.arange(table.num_rows)))
    for number in range(releases):
        if number:
            leaving = set(rng.choice(alive, int(CHURN * alive), replace=False).tolist())
            there = [one for place, one in enumerate(there) if place not in leaving]
            there += [waiting.pop() for _ in leaving]
        yield table.take(pa.array(there))


def growing(table: pa.Table, releases: int) -> Iterator[pa.Table]:
    """The first tenth, the first two tenths, ...: nobody leaves."""
    for number in range(1, releases + 1):
        yield table.slice(0, table.num_rows * number // releases)


def diabetes() -> tuple[pa.Table, dict[str, Any]] | None:
    """Patients by their first encounter, in the order of encounters."""
    table = real("diabetes130.csv.gz")
    if table is None:
        return None
    table = decoded(table)
    encounter = np.asarray(table.column("encounter_id"), dtype=np.int64)
    table = table.take(pa.array(np.argsort(encounter, kind="stable")))
    _, first = np.unique(np.asarray(table.column("patient_nbr")), return_index=True)
    names = ["race", "gender", "age", "admission_type_id", "admission_source_id"]
    rows = table.take(pa.array(np.sort(first))).select([*names, "diag_1"])
    return rows.append_column(ID, pa.array(np.arange(rows.num_rows))), {"qi": names}


def main() -> None:
    """Print and write all of it."""
    found: dict[str, Any] = {"seed": SEED, "churn": CHURN, "streams": {}}
    if RESULTS.exists():
        found["streams"] = json.loads(RESULTS.read_text(encoding="utf-8")).get("streams", {})
        found.update({k: v for k, v in json.loads(RESULTS.read_text()).items() if k == "large"})
    streams = ["acs", "diabetes130", "large"]
    chosen = [name for name in sys.argv[1:] if name in streams] or streams
    people = acs()
    if people is not None and "acs" in chosen:
        table, asked = people
        asked = {**asked, "sensitive": "OccGroup", "m": M}
        found["streams"]["acs"] = _stream(churning(kept(table, asked), SOME, 20), asked)
    if (patients := diabetes()) is not None and "diabetes130" in chosen:
        table, asked = patients
        asked = {**asked, "sensitive": "diag_1", "m": M}
        found["streams"]["diabetes130"] = _stream(growing(table, 10), asked)
    if "large" in chosen:
        qi = ["age", "gender", "education", "marital", "race", "workclass", "country"]
        asked = {"qi": qi, "sensitive": "occupation", "m": M}
        people = shoal.datasets.census(MANY + int(CHURN * MANY))
        found["large"] = _large(kept(people, asked), asked)
    for name, stream in found["streams"].items():
        ratio = np.mean([r["ratio"] for r in stream["releases"]])
        stream["ratio_mean"] = round(float(ratio), 3)
        stream["ratio_last"] = stream["releases"][-1]["ratio"]
        stream["ratio_most"] = max(r["ratio"] for r in stream["releases"])
        stream["counterfeits"] = sum(r["counterfeits"] for r in stream["releases"])
        stream["counterfeits_percent"] = round(
            100 * stream["counterfeits"] / sum(r["persons"] for r in stream["releases"]), 3
        )
        print(name, {k: v for k, v in stream.items() if k != "releases"})
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    _draw(found["streams"])


def kept(table: pa.Table, asked: dict[str, Any]) -> pa.Table:
    return table.select([*asked["qi"], asked["sensitive"]])


def _stream(tables: Iterator[pa.Table], asked: dict[str, Any]) -> dict[str, Any]:
    """Every release after the one before, and alone."""
    rows, after = [], None
    with tempfile.TemporaryDirectory() as folder:
        for number, table in enumerate(tables, start=1):
            out = Path(folder) / f"r{number}.csv"
            began = time.process_time()
            made = shoal.anonymize(table, **asked, person=ID, after=after, out=out, seed=number)
            seconds = time.process_time() - began
            after = f"{out}.record.json"
            alone = {name: value for name, value in asked.items() if name != "m"}
            began = time.process_time()
            other = shoal.anonymize(table, **alone, l=asked["m"], identifier=ID, method="bsgi",
                                    seed=number)  # fmt: skip
            rows.append({
                "release": number, "persons": table.num_rows,
                "counterfeits": made.series.public["counterfeits"],
                "loss": round(made.loss.gcp, 5), "alone": round(other.loss.gcp, 5),
                "ratio": round(made.loss.gcp / other.loss.gcp, 3),
                "cpu_seconds": round(seconds, 2),
                "cpu_seconds_alone": round(time.process_time() - began, 2),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return {"m": asked["m"], "sensitive": asked["sensitive"], "releases": rows}


def _large(table: pa.Table, asked: dict[str, Any]) -> dict[str, Any]:
    """The second release of 300,000 persons, a tenth of whom are others."""
    with tempfile.TemporaryDirectory() as folder:
        after = None
        for number, part in enumerate(churning(table, MANY, 2), start=1):
            out = Path(folder) / f"r{number}.csv"
            cpu, wall = time.process_time(), time.perf_counter()
            shoal.anonymize(part, **asked, person=ID, after=after, out=out, seed=number)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            after = f"{out}.record.json"
    found = {"persons": MANY, "cpu_seconds": round(cpu, 1), "seconds": round(wall, 1)}
    print(found, flush=True)
    return found


def _draw(streams: dict[str, Any]) -> None:
    """Loss of every release beside the same table alone."""
    import altair as alt
    import vl_convert

    values = [
        {"stream": name, "release": row["release"], "ratio": row["ratio"]}
        for name, stream in streams.items()
        for row in stream["releases"]
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("release:Q", title="release", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("ratio:Q", title="times the loss alone", scale=alt.Scale(zero=False)),
        color=alt.Color("stream:N", legend=None, scale=alt.Scale(range=["#0072B2", "#D55E00"])),
    )
    last = alt.Data(values=[max((v for v in values if v["stream"] == name),
                                key=lambda v: v["release"]) for name in streams])  # fmt: skip
    named = alt.Chart(last).mark_text(align="right", dx=-4, dy=-10).encode(
        x="release:Q", y="ratio:Q", text="stream:N",
        color=alt.Color("stream:N", legend=None),
    )  # fmt: skip
    title = alt.Title(
        "What safety over time costs",
        subtitle="loss of each release of a series beside the same table released alone (bsgi)",
    )
    chart = (base.mark_line(point=True) + named).properties(width=560, height=260, title=title)
    PICTURE.write_text(vl_convert.vegalite_to_svg(chart.to_json()), encoding="utf-8")


if __name__ == "__main__":
    main()
