"""Paper 001, section 4, in the open: all sets, all ways to be greedy, the true optimum."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

Row = Sequence[int]


def distance(a: Row, b: Row) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def open_attributes(rows: Sequence[Row]) -> int:
    """Attributes in which the rows are not all equal: stars per record of the group."""
    return sum(len(set(column)) > 1 for column in zip(*rows, strict=True))


def stars(rows: Sequence[Row], groups: Sequence[Sequence[int]]) -> int:
    return sum(len(g) * open_attributes([rows[i] for i in g]) for g in groups)


def diameter(rows: Sequence[Row], members: Sequence[int]) -> int:
    return max(distance(rows[a], rows[b]) for a in members for b in members)


def radius(rows: Sequence[Row], members: Sequence[int]) -> int:
    """Of the smallest ball around a record of the table that holds the members."""
    return min(max(distance(centre, rows[v]) for v in members) for centre in rows)


def pattern(rows: Sequence[Row], members: Sequence[int]) -> int:
    return open_attributes([rows[v] for v in members])


WEIGHTS = {"subsets": diameter, "balls": radius, "patterns": pattern}


def small_sets(n: int, k: int) -> list[tuple[int, ...]]:
    """All sets of k to 2k-1 of n records."""
    sizes = range(k, min(2 * k - 1, n) + 1)
    return [s for size in sizes for s in itertools.combinations(range(n), size)]


def greedy_weights(rows: Sequence[Row], k: int, family: str) -> set[int]:
    """Weight of the cover by every greedy choice: ties can be broken in many ways.

    A set of k to 2k-1 records weighs what the lightest set of the family around it does.
    """
    sets = [(frozenset(s), WEIGHTS[family](rows, s)) for s in small_sets(len(rows), k)]

    @functools.cache
    def reachable(covered: frozenset[int]) -> frozenset[int]:
        if len(covered) == len(rows):
            return frozenset([0])
        useful = [(s, w, len(s - covered)) for s, w in sets if s - covered]
        _, least, new = min(useful, key=lambda s: s[1] / s[2])
        best = [(s, w) for s, w, m in useful if w * new == least * m]
        return frozenset(w + rest for s, w in best for rest in reachable(covered | s))

    return set(reachable(frozenset()))


def fewest_stars(rows: Sequence[Row], k: int) -> int:
    """The optimum: over all partitions into groups of k to 2k-1 records."""
    groups = [(sum(1 << i for i in s), stars(rows, [s])) for s in small_sets(len(rows), k)]
    everyone = (1 << len(rows)) - 1

    @functools.cache
    def best(covered: int) -> float:
        if covered == everyone:
            return 0
        lowest = ~covered & (covered + 1)
        fits = (g for g in groups if g[0] & lowest and not g[0] & covered)
        return min((cost + best(covered | g) for g, cost in fits), default=float("inf"))

    return int(best(0))


def stars_one_by_one(rows: Sequence[Row], k: int) -> int:
    """What each record loses at least, in the cheapest set of k records around it."""
    others = range(len(rows))
    return sum(
        min(
            open_attributes([rows[i], *(rows[j] for j in s)])
            for s in itertools.combinations([j for j in others if j != i], k - 1)
        )
        for i in others
    )


def kth_nearest(rows: Sequence[Row], k: int) -> int:
    """Distance of each record to the k-th nearest, itself the first; all of them."""
    return sum(sorted(distance(a, b) for b in rows)[k - 1] for a in rows)
