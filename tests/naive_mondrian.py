"""Mondrian in plain Python, to be read beside papers 003 (section 3.1) and 004 (2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from shoal.kernels.costs import SPAN, TREE
from shoal.table import EncodedTable, QIColumn

Rows = list[int]
Allowed = Callable[[Rows], bool]


def mondrian(table: EncodedTable, allowed: Allowed, relaxed: bool = False) -> list[Rows]:
    """Groups in tree order, left before right; rows of a group in record order."""

    def split(rows: Rows) -> list[Rows]:
        # sorted() is stable: of equally wide attributes the earlier one comes first
        for column in sorted(table.qi, key=lambda c: -loss(c, rows)):
            if loss(column, rows) == 0:
                break
            for left, right in cuts(column, rows, relaxed):
                if left and right and allowed(left) and allowed(right):
                    return split(left) + split(right)
        return [rows]

    return split(list(range(table.n)))


def cuts(column: QIColumn, rows: Rows, relaxed: bool) -> Iterator[tuple[Rows, Rows]]:
    """The cuts of one attribute around its median, in the order they are tried."""
    median = sorted(column.codes[r] for r in rows)[len(rows) // 2 - 1]
    below = [r for r in rows if column.codes[r] < median]
    equal = [r for r in rows if column.codes[r] == median]
    above = [r for r in rows if column.codes[r] > median]
    if relaxed:
        half = len(rows) // 2 - len(below)
        yield sorted(below + equal[:half]), sorted(equal[half:] + above)
    yield sorted(below + equal), above
    yield below, sorted(equal + above)


def loss(column: QIColumn, rows: Rows) -> float:
    """NCP of DESIGN section 2."""
    codes = {int(column.codes[r]) for r in rows}
    lo, hi = min(codes), max(codes)
    if lo == hi:
        return 0.0
    if column.form == SPAN:
        return min(1.0, float(column.position[hi] - column.position[lo]))
    if column.form == TREE:
        return float(max(column.climb[lo:hi]))
    return len(codes) / column.size


def k_and_l(table: EncodedTable, k: int, l: int = 1) -> Allowed:
    """k-anonymity and frequency l-diversity in every sensitive column, counting persons."""

    def allowed(rows: Rows) -> bool:
        person = rows if table.person is None else [int(table.person[r]) for r in rows]
        persons = len(set(person))
        if persons < k:
            return False
        for column in table.sensitive:
            pairs = {(p, int(column.codes[r])) for p, r in zip(person, rows, strict=True)}
            if l * max(Counter(value for _, value in pairs).values()) > persons:
                return False
        return True

    return allowed
