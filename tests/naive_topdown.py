"""TopDown in plain Python, to be read beside paper 004, section 2.2, and Xu et al., KDD 2006."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from columns import columns_of
from naive_mondrian import loss
from shoal.encoding.table import EncodedTable

Rows = list[int]


def ncp(table: EncodedTable, rows: Iterable[int]) -> float:
    """Weighted NCP of a set of records."""
    rows = list(rows)
    total = 0.0
    for column in columns_of(table):
        # distinct values times weight before the division, as the kernel does: no rounding apart
        total += weighted(column, rows)
    return total


def apart(table: EncodedTable, u: int, v: int) -> float:
    """Weighted NCP of two records in the attributes in which they differ."""
    differing = (c for c in columns_of(table) if c.codes[u] != c.codes[v])
    total = 0.0
    for column in differing:
        total += weighted(column, [u, v])
    return total


def weighted(column, rows: Rows) -> float:
    if column.form == 2 and loss(column, rows) > 0:
        return column.weight * len({int(column.codes[r]) for r in rows}) / column.size
    return column.weight * loss(column, rows)


def topdown(
    table: EncodedTable, k: int, sample: int, join: str, seed: int, reach: int
) -> list[Rows]:
    """Groups in tree order: divide, then bring every group to k records."""
    rows = np.random.default_rng(seed).permutation(table.n).tolist()
    groups = divided(table, rows, k, sample, join)
    join_small(table, groups, k, reach)
    return [g for g in groups if g]


def divided(table: EncodedTable, rows: Rows, k: int, sample: int, join: str) -> list[Rows]:
    """Groups of fewer than 2k records, or all alike; some have fewer than k."""
    if len(rows) < 2 * k:
        return [rows]
    u, v = seeds(table, rows, sample)
    if u == v:
        return [rows]
    lefts, rights = [u], [v]  # as they grow; the seeds count from the start
    left, right = [], []  # in the order of the records
    for row in rows:
        if row in (u, v):
            to_left = row == u
        else:
            leaning = first_nonzero(criteria(table, u, v, lefts, rights, row, join))
            to_left = leaning < 0 or (leaning == 0 and len(left) <= len(right))
            (lefts if to_left else rights).append(row)
        (left if to_left else right).append(row)
    return divided(table, left, k, sample, join) + divided(table, right, k, sample, join)


def criteria(table, u, v, lefts, rights, row, join) -> list[float]:
    """Below 0: left. The nearer seed and the tighter group, the more important one first."""
    nearer = apart(table, u, row) - apart(table, v, row)
    tighter = ncp(table, [*lefts, row]) - ncp(table, [*rights, row])
    return [nearer, tighter] if join == "seed" else [tighter, nearer]


def first_nonzero(values: list[float]) -> float:
    return next((v for v in values if v != 0), 0.0)


def seeds(table: EncodedTable, rows: Rows, sample: int) -> tuple[int, int]:
    """From a random record to the farthest, and on from there, three times."""
    u = v = rows[0]
    far = 0.0
    pool = rows[:sample]
    for _ in range(3):
        if max(apart(table, u, r) for r in pool) == 0:
            pool = rows
        other = max(pool, key=lambda r: apart(table, u, r))  # max() takes the first of equals
        away = apart(table, u, other)
        if away <= far:
            break
        u, v, far = other, u, away
    return u, v


def join_small(table: EncodedTable, groups: list[Rows], k: int, reach: int) -> None:
    """Groups that are too small merge with, or borrow from, the cheapest group nearby."""
    for g, group in enumerate(groups):
        if not group or len(group) >= k:
            continue
        before = [h for h in range(g - 1, -1, -1) if groups[h]][:reach]
        after = [h for h in range(g + 1, len(groups)) if groups[h]][:reach]
        if not before + after:
            continue
        best, least = -1, math.inf
        for h in before + after:
            taken = wanted(table, group, groups[h], k)
            price = (len(group) + len(taken)) * ncp(table, group + taken)
            price -= len(group) * ncp(table, group) + len(taken) * ncp(table, groups[h])
            if price < least:
                best, least = h, price
        taken = wanted(table, group, groups[best], k)
        if len(taken) == len(groups[best]):
            groups[best] = groups[best] + group
            groups[g] = []
        else:
            groups[best] = [r for r in groups[best] if r not in taken]
            groups[g] = group + taken


def wanted(table: EncodedTable, group: Rows, other: Rows, k: int) -> Rows:
    """All of the other group if both are fewer than 2k; else the cheapest that are lacking."""
    if len(group) + len(other) < 2 * k:
        return other
    return sorted(other, key=lambda r: ncp(table, [*group, r]))[: k - len(group)]
