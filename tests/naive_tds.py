"""Top-down specialisation in plain Python: every step looks at everything anew."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from columns import Column, columns_of, sensitive_of
from naive_mondrian import loss
from shoal.encoding.codebook import SET, SPAN
from shoal.encoding.table import EncodedTable

Rows = list[int]
Blocks = list[tuple[int, int]]
"""First and last code of each block of one attribute."""
Allowed = Callable[[Rows], bool]


def tds(
    table: EncodedTable,
    allowed: Allowed,
    score: str,
    cautious: bool,
    sizes_only: bool,
    factors: Sequence[float],
) -> list[Blocks]:
    """Blocks of each attribute, where no step is left that all classes allow.

    ``factors`` are drawn: one for each code of all attributes, one after the other.
    """
    starts = [0, *accumulate(column.size for column in columns_of(table))]
    cut: list[Blocks] = [[(0, column.size - 1)] for column in columns_of(table)]
    while True:
        now = least(table, classes(table, cut), sizes_only)
        best, chosen = -1, cut
        for a, column in enumerate(columns_of(table)):
            for block in cut[a]:
                for parts in divisions(column, block):
                    then = [*cut[:a], sorted({*cut[a]} - {block} | {*parts}), *cut[a + 1 :]]
                    after = classes(table, then)
                    if not all(map(allowed, after)):
                        continue
                    gained = column.weight * max(0.0, gain(table, a, block, parts, score)) / table.n
                    anywhere = in_two(column, block)
                    gained *= factors[starts[a] + (parts[0][1] if anywhere else block[0])]
                    if cautious:
                        gained /= 1 + max(0.0, now - least(table, after, sizes_only))
                    if round(gained * 1e9) > best:
                        best, chosen = round(gained * 1e9), then
        if chosen is cut:
            return cut
        cut = chosen


def in_two(column: Column, block: tuple[int, int]) -> bool:
    """Whether a block may be divided at any code: its division is then known by that one."""
    low, high = block
    mixed = low < column.size - column.has_missing <= high
    return column.form != SET and column.hierarchy is None and not mixed


def classes(table: EncodedTable, cut: list[Blocks]) -> list[Rows]:
    found: dict[tuple[tuple[int, int], ...], Rows] = defaultdict(list)
    for row in range(table.n):
        key = tuple(
            next(b for b in blocks if b[0] <= column.codes[row] <= b[1])
            for column, blocks in zip(columns_of(table), cut, strict=True)
        )
        found[key].append(row)
    return list(found.values())


def divisions(column: Column, block: tuple[int, int]) -> Iterator[Blocks]:
    low, high = block
    present = column.size - column.has_missing
    if low == high:
        return
    if column.form == SET or (column.form == SPAN and column.hierarchy is not None):
        yield [(code, code) for code in range(low, high + 1)]
    elif low < present <= high:
        yield [(low, present - 1), (present, high)]
    elif column.hierarchy is None:
        for code in range(low, high):
            yield [(low, code), (code + 1, high)]
    else:  # below the lowest node above all: the highest level at which paths part
        paths = [row[::-1] for row in column.hierarchy.to_rows()]
        depth = next(i for i in range(len(paths[0])) if paths[low][i] != paths[high][i])
        nodes: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for code in range(low, high + 1):
            nodes[paths[code][: depth + 1]].append(code)
        yield [(min(codes), max(codes)) for codes in nodes.values()]


def rows_in(column: Column, block: tuple[int, int]) -> Rows:
    return [r for r, code in enumerate(column.codes) if block[0] <= code <= block[1]]


def gain(table: EncodedTable, a: int, block: tuple[int, int], parts: Blocks, score: str) -> float:
    column = columns_of(table)[a]
    if score == "loss" or (score == "information" and not sensitive_of(table)):

        def left(b: tuple[int, int]) -> float:
            rows = rows_in(column, b)
            return len(rows) * loss(column, rows)
    else:

        def left(b: tuple[int, int]) -> float:
            return sum(bits(table, column, b, values, score) for values in sensitive(table))

    return left(block) - sum(map(left, parts))


def sensitive(table: EncodedTable) -> list[list[int]]:
    return [s.codes.tolist() for s in sensitive_of(table)] or [[0] * table.n]


def bits(
    table: EncodedTable, column: Column, block: tuple[int, int], values: list[int], score: str
) -> float:
    """Bits that a block leaves open: which value, or which value and which code."""
    rows = rows_in(column, block)
    counts = Counter(values[r] for r in rows).values()
    if score == "information":
        return sum(-c * math.log2(c / len(rows)) for c in counts)
    return sum(-c * math.log2(c / (block[1] - block[0] + 1)) for c in counts)


def least(table: EncodedTable, found: list[Rows], sizes_only: bool) -> float:
    """The smallest k (or l: size over the count of the most frequent value) of a class."""
    if sizes_only:
        return min(map(len, found))
    return min(
        len(rows) / max(Counter(values[r] for r in rows).values())
        for rows in found
        for values in sensitive(table)
    )
