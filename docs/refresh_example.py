"""Draw docs/example-class.svg: one class of the demo's release, before and after.

The demo's people are made up: cells of real people belong in no picture.

    python docs/refresh_example.py
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import shoal
from shoal.cli.demo import QI, SENSITIVE, _people, _write_policy
from shoal.report.charts.example import example_class
from shoal.report.charts.theme import save

TARGET = Path(__file__).with_name("example-class.svg")
SHOWN = 6


def main() -> None:
    """Take the class that shows most: nothing starred, much changed, and no longer than a line."""
    people = _people()
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "shoal.toml")
        _write_policy(policy)
        # In the order of the input, to know who is where; such a release is not published.
        release = shoal.anonymize(people, policy, method="hilbert", seed=1, keep_order=True)
    before, after = (
        [tuple(map(str, row)) for row in zip(*(t.column(n).to_pylist() for n in QI), strict=True)]
        for t in (people, release.table)
    )
    alone, sizes = Counter(before), Counter(after)
    starred = {cells for cells in sizes if "*" in cells or sum(map(len, cells)) > 62}
    different = Counter[tuple[str, ...]]()
    for was, cells in zip(before, after, strict=True):
        different[cells] += alone[was] == 1 and sum(a != b for a, b in zip(was, cells, strict=True))
    chosen = max(sizes.keys() - starred, key=lambda cells: (different[cells] / sizes[cells], cells))
    rows = [row for row, cells in enumerate(after) if cells == chosen]
    names, jobs = (people.column(name).to_pylist() for name in ("name", SENSITIVE))
    secret = release.table.column(SENSITIVE).to_pylist()
    shown = rows[:SHOWN]
    picture = example_class(
        ("name", *QI, SENSITIVE),
        [(names[row], *before[row], jobs[row]) for row in shown],
        sorted(("", *after[row], secret[row]) for row in shown),
        f"One class of the demo: {SHOWN} of its {len(rows)} people",
        f"k = {release.policy.k}, l = {release.policy.l}. Blue: as it was. Orange: generalised. "
        "Names and order are gone. All people are made up.",
    )
    save(picture, TARGET)


if __name__ == "__main__":
    main()
