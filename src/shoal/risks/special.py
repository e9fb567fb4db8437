"""Why records stand out: minimal sample uniques and SUDA scores (Elliot et al. 2005).

A set of columns is a minimal sample unique of a record if no other record has its values there,
and every column is needed for that. Whoever is unique by few columns stands out by chance
least. Each of s of A columns scores ``(A - s) * (A - s - 1) * ... * 1``.

A set is unique for a record if it is for any part of the set: so a set is minimal iff no set
of one column fewer is unique, and sets are gone through by their size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.errors import PolicyError

__all__ = ["MOST_COLUMNS", "SpecialUniques", "special_uniques"]

MOST_COLUMNS = 170
"""Scores grow like factorials: of more columns they are no number of a computer."""

Codes = Sequence[tuple[NDArray[Any], int]]


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques up to a size."""

    size: int
    """The most columns that were looked at together."""
    records: int
    """Records that have some."""
    by_size: dict[int, int]
    """How many there are of each size."""
    columns: dict[str, float]
    """Share of the sum of all scores that sets with a column make up."""
    pairs: dict[tuple[str, str], float]
    """The same of pairs of columns, the largest first."""
    scores: NDArray[Any]
    """SUDA score of each record, for the custodian only: whole numbers, or the nearest floats
    where they do not fit into 64 bits (from 22 columns on)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the records."""
        pairs = {f"{a}, {b}": round(share, 4) for (a, b), share in self.pairs.items()}
        return {
            "up_to": self.size,
            "records": self.records,
            "by_size": {str(size): count for size, count in self.by_size.items()},
            "columns": {name: round(share, 4) for name, share in self.columns.items()},
            "pairs": pairs,
        }


def special_uniques(
    names: Sequence[str],
    columns: Codes,
    size: int = 3,
    report: Callable[[float, float], None] | None = None,
) -> SpecialUniques:
    """All minimal sample uniques of up to `size` columns.

    Parameters
    ----------
    names, columns
        Names of the columns, and of each the code of every record and how many codes there are.
    size
        The most columns to look at together.
    report
        Called as ``report(done, total)``, in sets of columns.
    """
    if not size >= 1:
        raise PolicyError(f"suda: expected a whole number of at least 1; got {size}")
    if len(columns) > MOST_COLUMNS:
        raise PolicyError(f"suda: expected at most {MOST_COLUMNS} columns; got {len(columns)}")
    attributes, size = len(columns), min(size, len(columns))
    n = len(columns[0][0]) if columns else 0
    total = sum(math.comb(attributes, s) for s in range(1, size + 1))
    # Factorials outgrow 64 bits: sets are counted in arrays, scores added up as Python's integers.
    sets_of = {s: np.zeros(n, dtype=np.int64) for s in range(1, size + 1)}
    by_size = dict.fromkeys(range(1, size + 1), 0)
    by_column = [0] * attributes
    by_pair = dict.fromkeys(combinations(range(attributes), 2), 0)
    smaller: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    done = 0
    for s in range(1, size + 1):
        found = {}
        score = math.factorial(attributes - s)
        for chosen in combinations(range(attributes), s):
            parts = [smaller[part] for part in combinations(chosen, s - 1) if part]
            unique, minimal = _uniques([columns[a] for a in chosen], n, parts)
            found[chosen] = unique
            count = len(minimal)
            sets_of[s][minimal] += 1
            by_size[s] += count
            for a in chosen:
                by_column[a] += count * score
            for pair in combinations(chosen, 2):
                by_pair[pair] += count * score
            done += 1
            if report is not None:
                report(done, total)
        smaller = found
    every = max(1, sum(count * math.factorial(attributes - s) for s, count in by_size.items()))
    ranked = sorted(by_pair, key=lambda pair: -by_pair[pair])
    scores = _scores(sets_of, attributes, n)
    return SpecialUniques(
        size,
        int(np.count_nonzero(scores)),
        by_size,
        {name: by_column[a] / every for a, name in enumerate(names)},
        {(names[a], names[b]): by_pair[a, b] / every for a, b in ranked if by_pair[a, b]},
        scores,
    )


def _scores(sets_of: dict[int, NDArray[np.int64]], attributes: int, n: int) -> NDArray[Any]:
    """The score of each record, from how many sets of each size it has."""
    points = {s: math.factorial(attributes - s) for s in sets_of}
    most = sum(int(sets.max(initial=0)) * points[s] for s, sets in sets_of.items())
    kind = np.int64 if most <= np.iinfo(np.int64).max else np.float64
    scores: NDArray[Any] = np.zeros(n, dtype=kind)
    for s, sets in sets_of.items():
        if sets.any():  # a factorial without a set may fit nowhere
            scores += sets * scores.dtype.type(points[s])
    return scores


def _uniques(
    columns: Codes, n: int, parts: Sequence[NDArray[np.bool_]]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which records are unique in these columns, and those that are in no part of them."""
    before = np.zeros(n, dtype=np.bool_)
    for part in parts:
        before |= part
    ids, count = class_ids(columns, n)
    unique = np.bincount(ids, minlength=count)[ids] == 1
    return unique, np.flatnonzero(unique & ~before)
