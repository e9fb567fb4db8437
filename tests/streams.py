"""Tables of a series for tests: streams of people who come and go, and their releases."""

from __future__ import annotations

import csv

import numpy as np

import shoal

QI, ID, SA = ["age", "zip"], "name", "disease"


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def release(path, rows, m=2, after=None, **more):
    source = write(path.with_suffix(".in.csv"), rows)
    before = None if after is None else f"{after}.record.json"
    return shoal.anonymize(source, qi=QI, identifier=ID, sensitive=SA, m=m, after=before,
                           out=path, **more)  # fmt: skip


def published(path, rows, groups):
    """The releases that the paper prints: intervals of groups."""
    by_name = {row[ID]: row for row in rows}
    cells = []
    for names in groups:
        members = [by_name[name] for name in names.split()]
        spans = {a: [min(r[a] for r in members), max(r[a] for r in members)] for a in QI}
        cells += [{**{a: f"[{s[0]},{s[1]}]" for a, s in spans.items()}, SA: r[SA]} for r in members]
    return write(path, cells)


def stream(seed, releases, start=60, leave=0.15, join=9, values=6):
    """Tables of a stream with people who come, go, and come back."""
    rng = np.random.default_rng(seed)
    drawn, gone, there, tables = 0, [], {}, []

    def somebody():
        nonlocal drawn
        drawn += 1
        value = min(values - 1, int(rng.exponential(values / 3)))
        return {ID: f"p{drawn}", "age": str(rng.integers(20, 70)),
                "zip": str(rng.integers(10, 40)), SA: f"v{value}"}  # fmt: skip

    for number in range(releases):
        leaving = [name for name in there if rng.random() < leave] if number else []
        gone += [there.pop(name) for name in leaving]
        if leave and gone and rng.random() < 0.3:
            back = gone.pop(int(rng.integers(len(gone))))
            there[back[ID]] = {**back, "age": str(rng.integers(20, 70))}
        while True:
            new = [somebody() for _ in range(join if number else start)]
            counts = [sum(r[SA] == v for r in new) for v in {r[SA] for r in new}]
            if (number and leave) or 2 * max(counts) <= len(new):
                break
        there.update((row[ID], row) for row in new)
        tables.append([dict(row) for row in there.values()])
    return tables


def chained(folder, tables, m=2, **more):
    paths = []
    for number, table in enumerate(tables, start=1):
        path = folder / f"r{number}.csv"
        release(path, table, m, paths[-1] if paths else None, seed=number, **more)
        paths.append(path)
    return paths
