"""Slow twins of the Hilbert method: readable beside the definitions, never fast.

The curve follows J. Skilling, "Programming the Hilbert curve" (2004), one
point at a time; the dynamic programme is paper 004, Figure 3; the loss is
DESIGN section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import naive_round
from columns import Column, columns_of
from shoal.encoding.codebook import ROUND, SET, SPAN
from shoal.encoding.table import EncodedTable


def hilbert_index(point: Sequence[int], bits: int) -> int:
    """Where a grid point of 2**bits cells per axis lies along the curve."""
    x = list(point)
    d = len(x)
    q = 1 << (bits - 1)
    while q > 1:
        for i in range(d):
            if x[i] & q:
                x[0] ^= q - 1
            else:
                swap = (x[0] ^ x[i]) & (q - 1)
                x[0] ^= swap
                x[i] ^= swap
        q >>= 1
    for i in range(1, d):
        x[i] ^= x[i - 1]
    flip = 0
    q = 1 << (bits - 1)
    while q > 1:
        if x[d - 1] & q:
            flip ^= q - 1
        q >>= 1
    index = 0
    for level in reversed(range(bits)):
        for i in range(d):
            index = index << 1 | ((x[i] ^ flip) >> level & 1)
    return index


def ncp(column: Column, records: Sequence[int]) -> float:
    """Loss of one attribute in a group, from the definition."""
    values = {int(column.codes[r]) for r in records}
    if column.form == ROUND:
        return naive_round.loss(column, values)
    if len(values) == 1:
        return 0.0
    if column.form == SET:
        return len(values) / column.size
    low, high = min(values), max(values)
    if column.form == SPAN:
        return min(1.0, float(column.position[high] - column.position[low]))
    return float(max(column.climb[low:high]))


def group_cost(table: EncodedTable, records: Sequence[int]) -> float:
    """|G| times the weighted loss of a group."""
    return len(records) * sum(c.weight * ncp(c, records) for c in columns_of(table))


def best_cut(n: int, k: int, cost: Callable[[int, int], float]) -> tuple[float, list[int]]:
    """Least total cost of all cuts of 0..n into consecutive groups of at least k."""
    least = [0.0] + [math.inf] * n
    begin = [0] * (n + 1)
    for end in range(k, n + 1):
        for start in range(end - k + 1):
            total = least[start] + cost(start, end) if least[start] < math.inf else math.inf
            if total < least[end]:
                least[end], begin[end] = total, start
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(begin[cuts[-1]])
    return least[n], cuts[::-1]
