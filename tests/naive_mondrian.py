"""Mondrian in plain Python, to be read beside papers 003 (section 3.1) and 004 (2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import naive_round
from columns import Column, columns_of, sensitive_of
from shoal.encoding.table import EncodedTable
from shoal.kernels.costs import ROUND, SPAN, TREE

Rows = list[int]
Allowed = Callable[[Rows], bool]


def mondrian(table: EncodedTable, allowed: Allowed, relaxed: bool = False) -> list[Rows]:
    """Groups in tree order, left before right; rows of a group in record order."""

    def split(rows: Rows) -> list[Rows]:
        # sorted() is stable: of equally wide attributes the earlier one comes first
        by_width = sorted(columns_of(table), key=lambda c: -width(c, rows))
        wide = [c for c in by_width if width(c, rows) > 0]
        for cuts in (strict_cuts, halves) if relaxed else (strict_cuts,):
            for column in wide:
                for left, right in cuts(column, rows):
                    if left and right and allowed(left) and allowed(right):
                        return split(left) + split(right)
        return [rows]

    return split(list(range(table.n)))


def strict_cuts(column: Column, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """At most the median and above it; then below the median and at least it."""
    below, equal, above = around_median(column, rows)
    yield sorted(below + equal), above
    yield below, sorted(equal + above)


def halves(column: Column, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """The records at the median divided so that the left side has floor(n/2)."""
    below, equal, above = around_median(column, rows)
    needed = len(rows) // 2 - len(below)
    yield sorted(below + equal[:needed]), sorted(equal[needed:] + above)


def around_median(column: Column, rows: Rows) -> tuple[Rows, Rows, Rows]:
    """Records below, at and above the floor(n/2)-th smallest code."""
    median = sorted(column.codes[r] for r in rows)[len(rows) // 2 - 1]
    below = [r for r in rows if column.codes[r] < median]
    equal = [r for r in rows if column.codes[r] == median]
    above = [r for r in rows if column.codes[r] > median]
    return below, equal, above


def loss(column: Column, rows: Rows) -> float:
    """NCP of DESIGN section 2."""
    codes = {int(column.codes[r]) for r in rows}
    lo, hi = min(codes), max(codes)
    if column.form == ROUND:
        return naive_round.loss(column, codes)
    if lo == hi:
        return 0.0
    if column.form == SPAN:
        return min(1.0, float(column.position[hi] - column.position[lo]))
    if column.form == TREE:
        return float(max(column.climb[lo:hi]))
    return len(codes) / column.size


def width(column: Column, rows: Rows) -> float:
    """What there is to cut: nothing where all have one value, whatever that loses."""
    return loss(column, rows) if len({int(column.codes[r]) for r in rows}) > 1 else 0.0


def k_and_l(table: EncodedTable, k: int, ell: int = 1) -> Allowed:
    """k-anonymity and frequency l-diversity in every sensitive column, counting persons."""

    def allowed(rows: Rows) -> bool:
        person = rows if table.person is None else [int(table.person[r]) for r in rows]
        persons = len(set(person))
        if persons < k:
            return False
        for column in sensitive_of(table):
            pairs = {(p, int(column.codes[r])) for p, r in zip(person, rows, strict=True)}
            if ell * max(Counter(value for _, value in pairs).values()) > persons:
                return False
        return True

    return allowed
