"""Tables on which the least loss is NP-hard to find, with the answer known.

The reductions of papers 000 (section 4) and 001 (sections 3 and 3.1) turn a
matching problem into a table whose optimum tells whether a perfect matching
exists. With `planted_points` and `planted_edges` the answer is known beforehand, with
`has_perfect_matching` it is found; so a method's claim to be optimal can be put to the test.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from shoal.errors import InputError

__all__ = [
    "Instance",
    "as_edges",
    "from_3dm",
    "from_ldm",
    "from_matching",
    "from_matching_attributes",
    "has_perfect_matching",
    "planted_edges",
    "planted_points",
]

Tuples = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Instance:
    """A table, and what its optimum says about the matching problem it was made from."""

    table: pa.Table
    qi: tuple[str, ...]
    """Names of the quasi-identifiers."""
    sensitive: str | None
    """Name of the sensitive column, where l-diversity is asked for."""
    strength: int
    """The k or l to ask for."""
    threshold: int
    """The optimum (stars, or attributes) if a perfect matching exists; more if none does."""
    answer: bool | None = None
    """Whether a perfect matching exists, where it is known."""


def from_3dm(points: Tuples, n: int, m: int, answer: bool | None = None) -> Instance:
    """3-dimensional matching as star minimisation under 3-diversity (000, section 4).

    Parameters
    ----------
    points
        Different triples of coordinates 0..n-1: A1 is the first, and so on.
    n
        Values in each of the three domains.
    m
        Distinct sensitive values, 3..3n.
    answer
        Whether n of the points share no coordinate in any dimension, if known.

    Returns
    -------
    Instance
        3n rows, one for each value of each domain, with quasi-identifiers
        A1..Ad and the sensitive column B. The optimal 3-diverse table has
        ``3 * n * (d - 1)`` stars if a matching exists, and more if not.
    """
    if any(len(point) != 3 for point in points):
        raise InputError("points: expected three coordinates each; use from_ldm for others")
    return from_ldm(points, n, m, answer)


def from_ldm(points: Tuples, n: int, m: int, answer: bool | None = None) -> Instance:
    """l-dimensional matching as star minimisation under l-diversity, for any l >= 2.

    The extension that 000 calls straightforward: a row for each value of each of the l
    domains, with 0 in the columns of the points it is a coordinate of, and its
    sensitive value in all others. A group that keeps a value in a column keeps a 0 (any
    other means one sensitive value for all), so it is among the l
    coordinates of a point; l-diversity asks for all of them, which are of l domains and so
    of l sensitive values; and no other column is kept, as points are different. So every
    row has at least d - 1 stars, and exactly that many everywhere if and
    only if the groups are a perfect matching.

    Parameters
    ----------
    points, n, m, answer
        As in `from_3dm`, with l coordinates each; m is l..l*n.
    """
    size = _common_size(points, "points", n)
    if size < 2:
        raise InputError(f"points: expected at least 2 coordinates each; got {size}")
    if not size <= m <= size * n:
        raise InputError(f"m: expected {size} to {size * n}, the number of rows; got {m}")
    values = _sensitive_values(size, n, m)
    rows_of = [set(edge) for edge in as_edges(points, n)]
    columns = _columns("A", rows_of, values)
    table = pa.table({**columns, "B": values})
    return Instance(table, tuple(columns), "B", size, size * n * (len(points) - 1), answer)


def _sensitive_values(size: int, n: int, m: int) -> list[int]:
    """M values for the rows of `size` domains, none of them in two domains (000's choice of u).

    The rows of the first domains get a value each, those of the last ones one
    value for the whole domain, and one domain in between has what remains. Where
    that is the last domain, the paper repeats the last value but one.
    """
    split = min(size - 1, (m - size) // (n - 1)) if n > 1 else 0  # domains with n values
    several = m - split * n - (size - split - 1)  # values of the domain in between
    values: list[int] = []
    for domain in range(size):
        first = len(set(values)) + 1
        count = n if domain < split else several if domain == split else 1
        own = [first + min(row, count - 1) for row in range(n)]
        if domain == size - 1 and count > 1:
            own = [*(min(value, m - 1) for value in own[:-1]), m]
        values.extend(own)
    return values


def from_matching(edges: Tuples, n: int, answer: bool | None = None) -> Instance:
    """k-dimensional perfect matching as star minimisation under k-anonymity (001, section 3).

    Parameters
    ----------
    edges
        Different sets of k vertices 0..n-1 each.
    n
        Vertices.
    answer
        Whether some of the edges hold every vertex exactly once, if known.

    Returns
    -------
    Instance
        n rows and the quasi-identifiers E1..Em: row i has 0 where its vertex is in the
        edge, else i. The optimal k-anonymous table has ``n * (m - 1)`` stars if a
        perfect matching exists, and more if not.
    """
    k = _edge_size(edges, n)
    columns = _columns("E", [set(edge) for edge in edges], range(1, n + 1))
    threshold = n * (len(edges) - 1)
    return Instance(pa.table(columns), tuple(columns), None, k, threshold, answer)


def from_matching_attributes(edges: Tuples, n: int, answer: bool | None = None) -> Instance:
    """k-dimensional perfect matching as k-anonymity by whole attributes (001, section 3.1).

    Parameters
    ----------
    edges, n, answer
        As in `from_matching`; k divides n.

    Returns
    -------
    Instance
        n rows and the quasi-identifiers E1..Em: row i has 1 where its vertex is in the
        edge, else 0. The fewest attributes whose suppression makes the table
        k-anonymous are ``m - n / k`` if a perfect matching exists, and more if not.
    """
    k = _edge_size(edges, n)
    if n % k:
        raise InputError(f"n: expected a multiple of k = {k}; got {n}")
    columns = {
        f"E{j}": [int(vertex in edge) for vertex in range(n)] for j, edge in enumerate(edges, 1)
    }
    return Instance(pa.table(columns), tuple(columns), None, k, len(edges) - n // k, answer)


def as_edges(points: Tuples, n: int) -> list[tuple[int, ...]]:
    """Points of an l-dimensional matching as edges over the ``l * n`` values of all domains."""
    return [tuple(axis * n + value for axis, value in enumerate(point)) for point in points]


def has_perfect_matching(edges: Tuples, n: int) -> bool:
    """Whether some of the edges hold each of the vertices 0..n-1 exactly once.

    Backtracking on the vertex with the fewest edges left (Knuth's Algorithm X):
    exact, and exponential in the worst case.
    """
    return _covers(frozenset(range(n)), [frozenset(edge) for edge in edges])


def _covers(vertices: frozenset[int], edges: Sequence[frozenset[int]]) -> bool:
    if not vertices:
        return True
    through = {vertex: [edge for edge in edges if vertex in edge] for vertex in vertices}
    tightest = min(sorted(vertices), key=lambda vertex: len(through[vertex]))
    return any(
        _covers(vertices - edge, [other for other in edges if not other & edge])
        for edge in through[tightest]
    )


def planted_points(
    n: int, extra: int, dimensions: int = 3, answer: bool = True, seed: int = 0
) -> list[tuple[int, ...]]:
    """Random points for `from_3dm` and `from_ldm`, with a matching among them or without one.

    With one, n points that share no coordinate are hidden among `extra` random
    ones. Without one, all points on the values 0 or 1 of the first domain have the value
    0 of the second: two that a matching needs, of which it can have one.

    Parameters
    ----------
    n
        Values in each domain; at least 2 for an instance without a matching.
    extra
        Points besides n.
    dimensions
        Coordinates of each point, the l of `from_ldm`.
    answer
        Whether a matching exists.
    seed
        Equal seeds, equal points.
    """
    rng = random.Random(seed)
    planted: list[tuple[int, ...]] = []
    possible: int = n**dimensions
    if answer:
        shuffled = [rng.sample(range(n), n) for _ in range(dimensions)]
        planted = list(zip(*shuffled, strict=True))
    elif n < 2:
        raise InputError(f"n: expected at least 2 for an instance without a matching; got {n}")
    else:
        possible = (n - 2) * n ** (dimensions - 1) + 2 * n ** (dimensions - 2)

    def draw() -> tuple[int, ...]:
        return tuple(rng.randrange(n) for _ in range(dimensions))

    def allowed(point: tuple[int, ...]) -> bool:
        return answer or point[0] > 1 or point[1] == 0

    return _filled(planted, n + extra, possible, draw, allowed, rng)


def planted_edges(
    n: int, k: int, extra: int, answer: bool = True, seed: int = 0
) -> list[tuple[int, ...]]:
    """Random edges for `from_matching`, with a perfect matching among them or without one.

    With one, the edges of a matching are hidden among `extra` random ones. Without
    one, no edge holds both vertices 0 and 1, and those with one of them
    hold vertex 2 as well: two that a matching needs, of which it can have one.

    Parameters
    ----------
    n
        Vertices, a multiple of k; at least 2 k for an instance without a matching.
    k
        Vertices of an edge, at least 2.
    extra
        Edges besides n / k.
    answer
        Whether a perfect matching exists.
    seed
        Equal seeds, equal edges.
    """
    if n % k or (not answer and (n < 2 * k or k < 2)):
        raise InputError(f"n: expected a multiple of k = {k} (without matching 2 k); got {n}")
    rng = random.Random(seed)
    planted: list[tuple[int, ...]] = []
    possible = math.comb(n, k)
    if answer:
        shuffled = rng.sample(range(n), n)
        planted = [tuple(sorted(shuffled[i : i + k])) for i in range(0, n, k)]
    else:
        possible = math.comb(n - 2, k) + 2 * math.comb(n - 3, k - 2)

    def draw() -> tuple[int, ...]:
        return tuple(sorted(rng.sample(range(n), k)))

    def allowed(edge: tuple[int, ...]) -> bool:
        ends = (0 in edge) + (1 in edge)
        return answer or ends == 0 or (ends == 1 and 2 in edge)

    return _filled(planted, n // k + extra, possible, draw, allowed, rng)


def _filled(
    planted: list[tuple[int, ...]],
    count: int,
    possible: int,
    draw: Callable[[], tuple[int, ...]],
    allowed: Callable[[tuple[int, ...]], bool],
    rng: random.Random,
) -> list[tuple[int, ...]]:
    """`count` different tuples that are allowed, the planted ones among them, in random order."""
    if count > possible:
        raise InputError(f"extra: expected {count - possible} fewer: no more than {possible} exist")
    chosen = dict.fromkeys(planted)
    while len(chosen) < count:
        drawn = draw()
        if allowed(drawn):
            chosen[drawn] = None
    return rng.sample(list(chosen), count)


def _columns(letter: str, edges: Sequence[set[int]], values: Sequence[int]) -> dict[str, list[int]]:
    """A column for each edge: 0 in the rows it holds, in the others a value of their own."""
    return {
        f"{letter}{j}": [0 if row in edge else value for row, value in enumerate(values)]
        for j, edge in enumerate(edges, 1)
    }


def _edge_size(edges: Tuples, n: int) -> int:
    size = _common_size(edges, "edges", n)
    if any(len(set(edge)) != size for edge in edges):
        raise InputError("edges: expected different vertices in each; some edge repeats one")
    if len({frozenset(edge) for edge in edges}) != len(edges):
        raise InputError("edges: expected each once; some edge is given twice")
    return size


def _common_size(tuples: Tuples, name: str, n: int) -> int:
    """Coordinates of each tuple; all numbers are 0..n-1 and no tuple occurs twice."""
    sizes = {len(each) for each in tuples}
    if len(sizes) != 1:
        raise InputError(f"{name}: expected at least one, all of one length; got {sorted(sizes)}")
    if not all(0 <= number < n for each in tuples for number in each):
        raise InputError(f"{name}: expected numbers from 0 to {n - 1}, n - 1")
    if len({tuple(each) for each in tuples}) != len(tuples):
        raise InputError(f"{name}: expected each once; some is given twice")
    return sizes.pop()
