"""The join of several releases by plain loops over records, as docs/readers.md defines it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
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


def matches_all(edges: Sequence[set[int]]) -> bool:
    """Whether every row finds a partner of its own: by alternating paths."""
    partner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for other in edges[row] - tried:
            tried.add(other)
            if other not in partner or place(partner[other], tried):
                partner[other] = row
                return True
        return False

    return all(place(row, set()) for row in range(len(edges)))


def in_a_matching(one: Sequence[Row], other: Sequence[Row]) -> set[tuple[int, int]]:
    """Pairs of records that some matching of all records has: take the pair out, match the rest."""
    edges = [{j for j, b in enumerate(other) if all(a[n] & b[n] for n in a)} for a in one]
    return {
        (i, j)
        for i, near in enumerate(edges)
        for j in near
        if matches_all([edges[row] - {j} for row in range(len(one)) if row != i])
    }


def worlds(
    releases: Sequence[Sequence[Row]], taken: tuple[tuple[int, ...], ...] = ()
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way in which the records of all releases can belong together."""
    first = len(taken)
    if first == len(releases[0]):
        yield taken
        return
    free = [
        [r for r in range(len(release)) if all(r != chosen[i] for chosen in taken)]
        for i, release in enumerate(releases[1:], start=1)
    ]
    for others in itertools.product(*free):
        rows = [release[r] for release, r in zip(releases, (first, *others), strict=True)]
        if all(frozenset.intersection(*(row[name] for row in rows)) for name in rows[0]):
            yield from worlds(releases, (*taken, (first, *others)))


class Attack(NamedTuple):
    """What is the least that remains possible of a person whose values are known."""

    records: int
    """Fewest records of a release that the person can be."""
    share: Fraction
    """Largest share of one sensitive value among them."""
    values: int
    """Fewest sensitive values among them."""


def attack(
    releases: Sequence[Sequence[Row]],
    points: Sequence[Mapping[str, Any]],
    sensitive: str = "",
    shown: Sequence[int] | None = None,
) -> Attack:
    """Somebody with these values is in the table: which records can it be, in any world?

    Records are counted in the releases that are `shown`: all of them, or those that
    publish the sensitive column.
    """
    possible = {chosen for world in worlds(releases) for chosen in world}
    found = Attack(len(releases[0]), Fraction(0), len(releases[0]))
    for point in points:
        fits = [
            chosen
            for chosen in possible
            if all(
                value in release[r][name]
                for release, r in zip(releases, chosen, strict=True)
                for name, value in point.items()
            )
        ]
        for i in (range(len(releases)) if shown is None else shown) if fits else ():
            release = releases[i]
            rows = {chosen[i] for chosen in fits}
            cells = Counter(release[r][sensitive] for r in rows) if sensitive else Counter([0])
            found = Attack(
                min(found.records, len(rows)),
                max(found.share, Fraction(max(cells.values()), len(rows))),
                min(found.values, len(cells)),
            )
    return found


def join(releases: Sequence[Sequence[Row]], qi: Sequence[str], k: int) -> Counted | None:
    """Count by the definition; None if some record goes with none of another release."""
    together = []
    two = list(itertools.combinations(range(len(releases)), 2))
    matched = {(a, b): in_a_matching(releases[a], releases[b]) for a, b in two}
    for chosen in itertools.product(*(range(len(release)) for release in releases)):
        rows = [release[r] for release, r in zip(releases, chosen, strict=True)]
        common = {name: frozenset.intersection(*(row[name] for row in rows)) for name in rows[0]}
        if all(common.values()) and all((chosen[a], chosen[b]) in matched[a, b] for a, b in two):
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
