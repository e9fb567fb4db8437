"""Paper 001, section 3.1, by trying all sets of attributes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

Classes = list[list[int]]


def classes_on(rows: Sequence[Sequence[int]], kept: Sequence[int]) -> Classes:
    """Records by their values on the kept attributes."""
    classes = defaultdict(list)
    for i, row in enumerate(rows):
        classes[tuple(row[a] for a in kept)].append(i)
    return list(classes.values())


def best_kept(
    rows: Sequence[Sequence[int]],
    weights: Sequence[float],
    sizes: Sequence[int],
    passes: Callable[[Classes], bool],
) -> tuple[Fraction, int]:
    """Weight and number of values of the best set of attributes to keep."""
    exact = [Fraction(repr(w)) for w in weights]
    attributes = range(len(weights))
    subsets = (s for m in range(len(weights) + 1) for s in itertools.combinations(attributes, m))
    return max(
        (sum((exact[a] for a in kept), Fraction(0)), sum(sizes[a] for a in kept))
        for kept in subsets
        if passes(classes_on(rows, kept))
    )
