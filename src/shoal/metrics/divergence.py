"""How far a release's distribution is from the table's: KL divergence (DESIGN section 2).

Paper 000, section 6.2, equation 2. A reader of a release takes each record to
be spread evenly over the values that its released cells cover. What a point of
the space can expect comes from all groups that cover it, its own or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.table import EncodedTable, Recoding
from shoal.kernels.boxes import Boxes, Points, add_overlapping, new_tree
from shoal.kernels.grouping import set_ids, sort_by_id
from shoal.kernels.metrics.divergence import (
    Layers,
    add_layered,
    divergence,
    fill_layers,
    hash_boxes,
    split_layers,
)
from shoal.kernels.metrics.queries import join_covers
from shoal.kernels.threads import on_threads
from shoal.metrics.coverage import Cover, Covered, covered
from shoal.metrics.workload import sensitive_column, starts_of

__all__ = ["kl_divergence"]

MOST_LAYERS = 32
"""Layers of one attribute beyond which boxes are taken to overlap at large."""
LOOKUPS = 1000
"""About so many look-ups take the time of one box in the tree of points."""
PARTS = 16
"""Pieces of the work, for the threads to share."""


def kl_divergence(table: EncodedTable, recoding: Recoding, sensitive: int | None = 0) -> float:
    """KL divergence between the distributions of the table and of its release.

    The sum of ``f(p) ln(f(p) / f*(p))`` over the distinct points p of the table,
    f being the share of its records at p and f* the share that a reader of the
    release expects there. 0 where nothing is lost. Exact for every recoding.

    Parameters
    ----------
    table, recoding
        The encoded table and how its records are published.
    sensitive
        Which sensitive column is an axis of the space; None for the
        quasi-identifiers alone.
    """
    values, size = np.zeros(table.n, dtype=np.int32), 1
    if sensitive is not None:
        values, size = sensitive_column(table, sensitive)
    points, counts = _points(table, values, size)
    covers, boxes = _boxes(covered(table, recoding), values, size)
    expected = _expected(points, boxes, covers, [column.size for column in table.qi])
    # Rounding can leave a hair below 0 where f and f* are the same.
    return max(0.0, float(divergence(counts, expected)) / table.n)


def _points(
    table: EncodedTable, values: NDArray[np.int32], size: int
) -> tuple[Points, NDArray[np.int64]]:
    """Distinct points of the table, ordered by sensitive value, and how often each occurs."""
    columns = [(values, size), *table.columns()]
    firsts, ids, starts = _distinct(columns, values, size)
    counts = np.bincount(ids, minlength=len(firsts))
    return Points(np.ascontiguousarray(table.codes[:, firsts].T), starts), counts


def _distinct(
    columns: list[tuple[NDArray[Any], int]], values: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct tuples, ordered by value: a record of each, each record's one, starts by value."""
    ids, count = class_ids(columns, len(values))
    firsts = first_of_each(ids, count)
    starts = np.empty(size + 1, dtype=np.int64)
    order = np.empty(count, dtype=np.int64)
    sort_by_id(values[firsts].astype(np.int64), starts, order)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    return firsts[order], place[ids], starts


def _boxes(
    release: Covered, values: NDArray[np.int32], size: int
) -> tuple[tuple[Cover, ...], Boxes]:
    """What there is to cover of each attribute, and the distinct boxes with their values."""
    partition = release.partition
    covers = on_threads(_merged, release.covers)
    same, count = class_ids([(c.row, len(c.width)) for c in covers], partition.groups)
    groups = partition.group_ids()
    firsts, ids, starts = _distinct([(same[groups], count), (values, size)], values, size)
    joined = join_covers(covers, partition.groups)
    rows = np.ascontiguousarray(joined.row[:, groups[firsts]].T)
    volume = joined.width[rows].prod(axis=1, dtype=np.float64)
    share = np.bincount(ids, minlength=len(firsts)) / volume
    return covers, Boxes(rows, share, starts, joined.starts, joined.first, joined.last)


def _merged(cover: Cover) -> Cover:
    """The same cover, in which groups that cover the same codes share a row."""
    ends = np.stack([cover.first, cover.last], axis=1).reshape(-1)
    ids, firsts = np.empty((2, len(cover.width)), dtype=np.int64)
    chosen = firsts[: set_ids(2 * cover.starts, ends, ids, firsts)]
    runs = np.diff(cover.starts)[chosen]
    starts = starts_of(runs)
    kept = np.repeat(cover.starts[chosen] - starts[:-1], runs) + np.arange(starts[-1])
    return Cover(ids[cover.row], starts, cover.first[kept], cover.last[kept], cover.width[chosen])


def _expected(
    points: Points, boxes: Boxes, covers: Sequence[Cover], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Records that a reader expects at each point, by whichever way is cheaper."""
    layers = _layers(boxes, covers, sizes)
    work = LOOKUPS * (len(points.codes) + len(boxes.share))
    if layers is None or len(layers.choices) * len(points.codes) > work:
        return _overlapping(points, boxes)
    return _layered(points, boxes, layers)


def _overlapping(points: Points, boxes: Boxes) -> NDArray[np.float64]:
    expected = np.zeros(len(points.codes))
    tree = new_tree(points)
    values = np.arange(len(points.starts) - 1)
    parts = [values[part::PARTS] for part in range(PARTS)]
    on_threads(lambda part: add_overlapping(part, tree, points, boxes, expected), parts)
    return expected


def _layered(points: Points, boxes: Boxes, layers: Layers) -> NDArray[np.float64]:
    expected = np.zeros(len(points.codes))
    bits = max(4, (2 * len(boxes.share)).bit_length())
    slots = np.full(1 << bits, -1, dtype=np.int64)
    hash_boxes(boxes, bits, slots)
    ends = np.linspace(0, len(expected), PARTS + 1, dtype=np.int64).tolist()
    on_threads(
        lambda begin, end: add_layered(begin, end, points, boxes, layers, bits, slots, expected),
        ends[:-1],
        ends[1:],
    )
    return expected


def _layers(boxes: Boxes, covers: Sequence[Cover], sizes: Sequence[int]) -> Layers | None:
    """Layers of things that do not overlap; None where there would be too many."""
    found = on_threads(_layer, covers, sizes)
    counts = [count for count, _ in found]
    if min(counts) < 0:
        return None
    above = starts_of(counts)
    layer = np.concatenate([above[a] + layer for a, (_, layer) in enumerate(found)])
    base = starts_of(np.repeat(np.array(sizes), counts))
    at = np.full(base[-1], -1, dtype=np.int64)
    fill_layers(boxes.run_starts, boxes.first, boxes.last, layer, base, at)
    chosen = layer[boxes.rows]
    ids, count = class_ids([(column, int(above[-1])) for column in chosen.T], len(chosen))
    choices = np.empty((count, len(covers)), dtype=np.int64)
    choices[ids] = chosen
    return Layers(choices, base, at)


def _layer(cover: Cover, size: int) -> tuple[int, NDArray[np.int64]]:
    """How many layers what is covered of an attribute falls into, and which row in which."""
    layer = np.zeros(len(cover.width), dtype=np.int64)
    taken = np.zeros((MOST_LAYERS, size), dtype=np.bool_)
    narrow_first = np.argsort(cover.width, kind="stable")
    count = split_layers(cover.starts, cover.first, cover.last, narrow_first, layer, taken)
    return int(count), layer
