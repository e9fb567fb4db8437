"""Slow twins of `shoal.encoding.cooccurrence`: one value, one record at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from naive_curve import hilbert_index

PRIOR = 20.0


def profile(
    value: int, codes: Sequence[int], other: Sequence[int], bins: int, ordered: bool
) -> list[float]:
    """How the records of one value are distributed over another column."""
    everyone = Counter(other)
    here = Counter(b for a, b in zip(codes, other, strict=True) if a == value)
    average = [everyone[b] / len(other) for b in range(bins)]
    total = sum(here.values()) + PRIOR
    shares = [(here[b] + PRIOR * average[b]) / total for b in range(bins)]
    if ordered:
        return [sum(shares[: b + 1]) * math.sqrt(3 / bins) for b in range(bins)]
    return [shares[b] / math.sqrt((average[b] or 1) * bins) for b in range(bins)]


def chain(rows: Sequence[Sequence[float]], weights: Sequence[int]) -> list[int]:
    """From the most frequent value on to the nearest, where frequent ones count as nearer."""
    left = sorted(range(len(rows)), key=lambda v: (-weights[v], v))
    links = [left.pop(0)]
    while left:
        last = rows[links[-1]]

        def distance(v: int, last: Sequence[float] = last) -> float:
            squares = sum((x - y) ** 2 for x, y in zip(rows[v], last, strict=True))
            return round(squares / math.sqrt(max(weights[v], 1)), 9)

        links.append(min(left, key=distance))
        left.remove(links[-1])
    return links


def runs_along_curve(
    places: Sequence[Sequence[float]], codes: Sequence[Sequence[int]], bits: int, run: int
) -> list[list[int]]:
    """Records in runs along the curve; what is left over joins the last run."""
    top = (1 << bits) - 1
    n = len(codes[0])

    def key(record: int) -> int:
        pairs = zip(places, codes, strict=True)
        return hilbert_index([round(place[c[record]] * top) for place, c in pairs], bits)

    order = sorted(range(n), key=key)
    starts = list(range(0, n - run + 1, run))
    return [order[a:b] for a, b in zip(starts, [*starts[1:], n], strict=True)]
