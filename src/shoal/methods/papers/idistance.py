"""Sort around cluster centres, then cut the line into the cheapest groups.

Paper 004 (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007), section 5: a sample of
the records is clustered, the centres are put in order along the Hilbert curve,
every record joins its nearest centre, and the line runs from centre to centre,
within a cluster outwards. What follows is the same as for `hilbert`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.curve import hilbert_keys, key_words
from shoal.kernels.papers.idistance import first_of_runs, nearest_centres, pack_cells, padded
from shoal.kernels.sorting import order_of_keys, radix_sort
from shoal.kernels.threads import on_threads
from shoal.methods.base import Method, Outcome, Run
from shoal.methods.curve import Curve, drawn_curve
from shoal.methods.line import LineOptions, group_line
from shoal.models.base import Model

__all__ = [
    "Cells",
    "IDistance",
    "IDistanceOptions",
    "Space",
    "centres_of",
    "drawn_line",
    "line_of",
    "space_of",
]

RECORDS_PER_CENTRE = 16
"""A table has at most one centre for so many records."""
LEAST_SAMPLE, MOST_SAMPLE = 8, 32
"""Sampled records per centre; twice the most lower the loss by one or two percent."""
ROUNDS = 5
"""Rounds of k-means; twice as many lower the loss by one or two percent."""
CENTRE_BITS = 10
"""Grid of the curve through the centres: cells per axis are 2**CENTRE_BITS."""
DISTANCE_BITS = 24
"""Distances are compared in whole numbers of so many bits, as fine as their float32."""
CHUNK = 1 << 16
"""Records that one task finds the nearest centres of."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class IDistanceOptions(LineOptions):
    """Options of `idistance`."""

    centres: int = Field(default=512, ge=1, le=1 << 16)
    """Cluster centres; a small table has fewer, one for 16 records."""
    sample: float = Field(default=0.1, gt=0, le=1)
    """Share of the records that the centres are found from; 8 to 32 records a centre."""
    whole_sample: bool = False
    """Take that share however many records a centre it is: slow where the
    table is long."""
    within: Literal["curve", "distance"] = "distance"
    """Order inside a cluster: along the Hilbert curve, or by distance to the centre."""


@dataclass(frozen=True, eq=False)
class Space:
    """Where codes stand: an axis for each attribute, as long as the attribute weighs."""

    grid: Floats
    """``grid[start[a] + code]`` is the coordinate of a code of attribute a."""
    start: Ints
    length: Floats
    """Length of each axis: 1 for the heaviest attribute."""

    def points(self, matrix: NDArray[np.int32], rows: Ints) -> Floats:
        """Coordinates of some records, shape (rows, d)."""
        return self.grid[self.start[:, None] + matrix[:, rows]].T.copy()


@dataclass(frozen=True, eq=False)
class Cells:
    """Records in their order along the line through the centres."""

    curve: Curve
    position: Ints
    """Where on the Hilbert curve each record of the line stands."""
    key: NDArray[np.uint64]
    """Rank of the centre, then the distance to it in `bits` bits, of each record of the line."""
    bits: int

    @property
    def order(self) -> Ints:
        """Records along the line."""
        return self.curve.order[self.position]

    def spots(self) -> NDArray[np.float64]:
        """Place on the line: clusters, each of length 1, are stretched to stand 1 apart."""
        rank = self.key >> np.uint64(self.bits)
        if self.bits == 0:
            return 2.0 * rank + self.curve.spots()[self.position]
        top = (1 << self.bits) - 1
        return 2.0 * rank + (self.key & np.uint64(top)) / top


class IDistance(Method[IDistanceOptions]):
    """Order around cluster centres and the optimal cut of that line."""

    name = "idistance"
    summary = "Sorts around cluster centres and cuts the line at the least loss."
    promise = (
        "Every model holds in every group. For k-anonymity alone the cut is the cheapest "
        "of all cuts of the line; the same seed gives the same groups."
    )
    options = IDistanceOptions
    takes_parts = True
    baseline = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: IDistanceOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        curve, centres, space = drawn_line(table, models, options, run.seed)
        run.progress(1, 3)
        line = line_of(table, curve, space, centres, options.within)
        run.progress(2, 3)
        partition = group_line(line, table, models, options)
        run.progress(3, 3)
        return Outcome(Recoding.single(partition, len(table.qi)), {"centres": len(centres)})


def drawn_line(
    table: EncodedTable, models: Sequence[Model], options: IDistanceOptions, seed: int
) -> tuple[Curve, Floats, Space]:
    """The curve, the centres and the space they stand in: what the seed decides.

    A drawn curve is as good as the line through the centres that follows it.
    """
    space = space_of(table)
    near: dict[int, tuple[NDArray[np.int32], Floats]] = {}
    centres = centres_of(table, space, range(len(table.qi)), options, seed)

    def judge(curve: Curve, some: EncodedTable) -> Partition:
        if some.n not in near:  # the same for all curves
            near[some.n] = _nearest(some, space, centres, np.arange(some.n))
        along = _along_curve(centres, space, curve.axes)
        rank, (cell, away) = np.argsort(along).astype(np.int32), near[some.n]
        line = line_of(some, curve, space, centres[along], options.within, (rank[cell], away))
        return group_line(line, some, models, options)

    curve = drawn_curve(table, seed, judge)
    return curve, centres[_along_curve(centres, space, curve.axes)], space


def space_of(table: EncodedTable) -> Space:
    """Axes of the quasi-identifiers: the coordinate of a code, times the attribute's weight."""
    heaviest = max([c.weight for c in table.qi], default=1.0) or 1.0
    length = np.array([c.weight / heaviest for c in table.qi], dtype=np.float32)
    axes = [c.coordinate * scale for c, scale in zip(table.qi, length, strict=True)]
    grid = np.concatenate([np.zeros(0), *axes]).astype(np.float32)
    return Space(grid, table.costs.start, length)


def centres_of(
    table: EncodedTable,
    space: Space,
    axes: Sequence[int],
    options: IDistanceOptions,
    seed: int,
) -> Floats:
    """Centres of a sample's clusters along the Hilbert curve, shape (c, d).

    k-means begins at records of the sample, no two alike. (Centres drawn from
    a normal distribution around the table's mean, a common default, leave many
    clusters empty: the loss by distance is a fifth higher on ACS.)
    """
    wanted = min(options.centres, -(-table.n // RECORDS_PER_CENTRE))
    share = int(np.ceil(options.sample * table.n))
    most = share if options.whole_sample else MOST_SAMPLE * wanted
    size = min(table.n, max(LEAST_SAMPLE * wanted, min(share, most)))
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(table.n, size, replace=False, shuffle=False))
    sample = space.points(table.codes, rows)
    different = np.unique(sample, axis=0) if len(table.qi) else sample[:1]
    if len(different) > wanted:
        begin = different[rng.choice(len(different), wanted, replace=False)]
        different = np.unique(_clustered(sample, begin), axis=0)
    return different[_along_curve(different, space, axes)]


def _clustered(sample: Floats, begin: Floats) -> Floats:
    """k-means from given centres; a centre that no record is nearest to stays where it is."""
    from scipy.cluster.vq import kmeans2

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")
        centres, _ = kmeans2(sample, begin, iter=ROUNDS, minit="matrix")
    clustered: Floats = centres.astype(np.float32)
    return clustered


def _along_curve(points: Floats, space: Space, axes: Sequence[int]) -> Ints:
    """Order of points along the Hilbert curve through the same axes as the records'."""
    used = [a for a in axes if space.length[a] > 0]
    if not used:
        return np.arange(len(points))
    top = (1 << CENTRE_BITS) - 1
    scaled = np.clip(points[:, used] / space.length[used], 0.0, 1.0)
    cells = np.ascontiguousarray(np.rint(scaled.T * top).astype(np.int32))
    rows = np.arange(len(used), dtype=np.int64)
    grid = np.arange(1 << CENTRE_BITS, dtype=np.uint32)  # one for all axes
    words = np.empty((key_words(len(used), CENTRE_BITS), len(points)), dtype=np.uint64)
    hilbert_keys(cells, rows, grid, 0 * rows, CENTRE_BITS, 0, len(points), words)
    order: Ints = order_of_keys(words)
    return order


def line_of(
    table: EncodedTable,
    curve: Curve,
    space: Space,
    centres: Floats,
    within: Literal["curve", "distance"] = "distance",
    near: tuple[NDArray[np.int32], Floats] | None = None,
) -> Cells:
    """Records by rank of their nearest centre, then by distance if asked for, then by curve.

    Records with equal keys are neighbours on the curve and share one search for the nearest
    centre and the distance to it; or that is given as `near`, for every record.
    """
    first = np.empty(table.n, dtype=np.int64)
    first = first[: first_of_runs(curve.words, curve.order, first)]
    rows = curve.order[first]
    cell, away = _nearest(table, space, centres, rows) if near is None else (n[rows] for n in near)
    number_bits = max(1, (table.n - 1).bit_length())
    cell_bits = max(1, (len(centres) - 1).bit_length())
    bits = min(DISTANCE_BITS, 64 - number_bits - cell_bits) if within == "distance" else 0
    scale = (2.0**bits - 1.0) / max(float(away.max()), 1e-30)
    ring = (away.astype(np.float64) * scale).astype(np.int64)
    packed = np.empty(table.n, dtype=np.uint64)
    pack_cells(first, len(first), cell, ring, bits, number_bits, packed)
    packed = radix_sort(packed, number_bits)
    position = (packed & np.uint64((1 << number_bits) - 1)).astype(np.int64)
    return Cells(curve, position, packed >> np.uint64(number_bits), bits)


def _nearest(
    table: EncodedTable, space: Space, centres: Floats, rows: Ints
) -> tuple[NDArray[np.int32], Floats]:
    """Nearest centre and distance of some records, the work shared by all cores."""
    wide = np.zeros((len(centres), padded(len(table.qi))), dtype=np.float32)
    wide[:, : len(table.qi)] = centres
    cell, away = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.float32)
    begins = range(0, len(rows), CHUNK)

    def look(begin: int) -> None:
        part = slice(begin, begin + CHUNK)
        nearest_centres(
            table.codes, space.grid, space.start, rows[part], wide, cell[part], away[part]
        )

    on_threads(look, begins)
    return cell, away
