"""`blind` in plain Python: which cut promises most."""

from __future__ import annotations

import math

from columns import columns_of
from naive_mondrian import loss


def best_gain(table, rows, least, weights, chances):
    """Gain times chance of the best cut of some records; 0 if there is none."""
    best = 0.0
    for column, weight in zip(columns_of(table), weights, strict=True):
        for code in sorted({int(column.codes[r]) for r in rows})[:-1]:
            best = max(best, gain(table, rows, column, code, least, weight, chances))
    return best


def gain(table, rows, column, code, least, weight, chances):
    """What a cut saves in its own attribute, times the chance that it is allowed."""
    left = [r for r in rows if column.codes[r] <= code]
    right = [r for r in rows if column.codes[r] > code]
    if min(len(left), len(right)) < least:
        return 0.0
    saved = len(rows) * loss(column, rows)
    saved -= len(left) * loss(column, left) + len(right) * loss(column, right)
    return weight * column.weight * saved * chance(chances, len(rows), len(left))


def chance(chances, n, left):
    if chances.balanced:
        return 2 * min(left, n - left) / n
    found = 1.0
    spread = max(chances.steady, min(left, n - left) // chances.parts)
    for side in (left, n - left):
        for share, frequent in zip(chances.share, chances.frequent, strict=True):
            room = math.floor(side * share)
            if frequent[0] <= room:
                continue
            if chances.sure_only:
                return 0.0
            for count in frequent:
                p = count / n
                sd = math.sqrt(side * p * (1 - p) * (n - side) / max(1, n - 1))
                z = (room + 0.5 - side * p - spread / 2) / (sd + spread + 1e-9)
                found *= 0.5 * math.erfc(-z / math.sqrt(2))
    return found
