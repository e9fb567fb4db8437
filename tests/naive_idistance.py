"""iDistance in plain Python, to be read beside paper 004, section 5."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from columns import columns_of
from naive_curve import hilbert_index
from shoal.encoding.table import EncodedTable
from shoal.methods.curve import Curve

Point = Sequence[float]


def coordinates(table: EncodedTable, row: int) -> list[float]:
    """Place of every attribute, times its weight relative to the heaviest."""
    heaviest = max((c.weight for c in columns_of(table)), default=1.0)
    return [float(c.coordinate[c.codes[row]]) * c.weight / heaviest for c in columns_of(table)]


def distance(p: Point, q: Point) -> float:
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)))


def nearest(point: Point, centres: Sequence[Point]) -> tuple[int, float]:
    """Number of the nearest centre, the first of equals, and the distance to it."""
    away = [distance(point, c) for c in centres]
    return away.index(min(away)), min(away)


def curve_key(table: EncodedTable, curve: Curve, row: int) -> int:
    if not curve.axes:
        return 0
    top = (1 << curve.bits) - 1
    cells = [
        int(np.rint(place[columns_of(table)[a].codes[row]] * top))
        for a, place in zip(curve.axes, curve.places, strict=True)
    ]
    return hilbert_index(cells, curve.bits)


def line(
    table: EncodedTable, curve: Curve, centres: Sequence[Point], by_distance: bool, bits: int
) -> list[int]:
    """Records by centre, then by distance in steps of 2**bits to the farthest, then by curve."""
    found = [nearest(coordinates(table, row), centres) for row in range(table.n)]
    farthest = max(np.float32(away) for _, away in found)

    def key(row: int) -> tuple[int, int, int, int]:
        rank, away = found[row]
        ring = 0
        if by_distance and farthest > 0:
            ring = int(float(np.float32(away)) * ((2.0**bits - 1.0) / float(farthest)))
        return rank, ring, curve_key(table, curve, row), row

    return sorted(range(table.n), key=key)
