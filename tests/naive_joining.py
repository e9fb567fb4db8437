"""The join of several releases by plain loops over records, as docs/readers.md defines it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MISSING = None
Cell = str | int | None
Row = Mapping[str, frozenset[Any]]


class Counted(NamedTuple):
    """Records exposed for certain, records that may be, and the smallest joined class."""

    exposed: int
    possible: int
    smallest: int


def covered(cell: Cell, universe: frozenset[Any], nodes: Mapping[str, Sequence[Any]]) -> frozenset:
    """The values a released cell can hide; values are plain, without commas or brackets."""
    if cell is MISSING:
        return frozenset({MISSING})
    if cell == "*":
        return universe
    if cell in nodes:
        return frozenset(nodes[str(cell)])
    text = str(cell)
    if text.startswith("["):
        low, high = map(int, text[1:-1].split(","))
        return frozenset(v for v in universe if v is not MISSING and low <= v <= high)
    members = text[1:-1].split(",") if text.startswith("{") else [text]
    numeric = all(isinstance(v, int) or v is MISSING for v in universe)
    return frozenset(MISSING if m == "" else int(m) if numeric else m for m in members)


def rows_of(
    releases: Sequence[Sequence[Mapping[str, Cell]]],
    universes: Mapping[str, frozenset[Any]],
    nodes: Mapping[str, Mapping[str, Sequence[Any]]],
) -> list[list[Row]]:
    """Every record of every release: what it can be, and anything where it is not published."""
    return [
        [
            {
                name: covered(row[name], universe, nodes.get(name, {})) if name in row else universe
                for name, universe in universes.items()
            }
            for row in release
        ]
        for release in releases
    ]


def join(releases: Sequence[Sequence[Row]], qi: Sequence[str], k: int) -> Counted | None:
    """Count by the definition; None if some record goes with none of another release."""
    together = []
    for chosen in itertools.product(*(range(len(release)) for release in releases)):
        rows = [release[r] for release, r in zip(releases, chosen, strict=True)]
        common = {name: frozenset.intersection(*(row[name] for row in rows)) for name in rows[0]}
        if all(common.values()):
            together.append((chosen, {name: common[name] for name in qi}))
    crowds = {chosen: crowd(learnt, together, releases) for chosen, learnt in together}
    exposed, possible = [], []
    for i, release in enumerate(releases):
        mine = [[crowds[c] for c in crowds if c[i] == r] for r in range(len(release))]
        if not all(mine):
            return None
        exposed.append(sum(max(sizes) < k for sizes in mine))
        possible.append(sum(min(sizes) < k for sizes in mine))
    return Counted(max(exposed), min(possible), min(crowds.values()))


def crowd(
    learnt: Row,
    together: Sequence[tuple[tuple[int, ...], Row]],
    releases: Sequence[Sequence[Row]],
) -> int:
    """Fewest records of a release that a person of whom this is known can be."""
    fits = [
        chosen for chosen, other in together if all(learnt[name] <= other[name] for name in learnt)
    ]
    return min(len({chosen[i] for chosen in fits}) for i in range(len(releases)))
