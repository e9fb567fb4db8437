"""KL divergence in plain loops, to be read beside paper 000, section 6.2."""

from __future__ import annotations

import math
from collections import Counter

from columns import columns_of
from naive_queries import groups_of, meaning
from shoal.encoding.table import EncodedTable, Recoding

Box = tuple[frozenset[int], ...]


def boxes_of(table: EncodedTable, recoding: Recoding) -> list[Box]:
    """For each record what each of its released cells may mean."""
    cells: list[list[frozenset[int]]] = [[] for _ in range(table.n)]
    for a, (column, partition) in enumerate(
        zip(columns_of(table), recoding.partitions, strict=True)
    ):
        for members in groups_of(partition):
            codes = {int(column.codes[r]) for r in members}
            domain = recoding.domain(a)
            if domain is not None:
                codes = set(range(domain.low[min(codes)], domain.high[max(codes)] + 1))
            if recoding.stars:
                meant = frozenset(codes if len(codes) == 1 else range(column.size))
            else:
                meant = meaning(column, codes)
            for record in members:
                cells[record].append(meant)
    return [tuple(row) for row in cells]


def values_of(table: EncodedTable, sensitive: int | None) -> list[int]:
    return [0] * table.n if sensitive is None else table.sensitive_codes[sensitive].tolist()


def density(boxes: list[Box], values: list[int], point: tuple[int, ...], value: int) -> float:
    """f* at a point: every record spreads evenly over its box, with its own sensitive value."""
    return sum(
        1 / math.prod(map(len, box)) / len(boxes)
        for box, own in zip(boxes, values, strict=True)
        if own == value and all(code in cell for code, cell in zip(point, box, strict=True))
    )


def kl_divergence(table: EncodedTable, recoding: Recoding, sensitive: int | None = 0) -> float:
    boxes, values = boxes_of(table, recoding), values_of(table, sensitive)
    points = Counter(zip(map(tuple, table.codes.T.tolist()), values, strict=True))
    total = 0.0
    for (point, value), count in points.items():
        f = count / table.n
        total += f * math.log(f / density(boxes, values, point, value))
    return total
