"""Which values keep the same company: an order for categories that have none.

The text order of a value set says nothing about which values go together, yet
the curves that sort records walk along it. Here the values of such a column
are put into a chain by what they occur with in the other quasi-identifiers
(never in a sensitive column), and the chain is kept if a sample of the records
loses less along it. Codes stay as they are; only `Attribute.coordinate` changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SET, Attribute
from shoal.encoding.sketch import Sketch
from shoal.encoding.table import EncodedTable
from shoal.kernels.costs import attribute_losses
from shoal.kernels.curve import MOST_BITS, keys_along
from shoal.kernels.sorting import order_of_keys

__all__ = [
    "Company", "arranged", "arranged_by", "chain", "company", "profiles", "worth_arranging",
]  # fmt: skip

Floats = NDArray[np.float64]

SAMPLE = 16_384
"""Records that are looked at; more change an order hardly ever."""
RUN = 8
"""Records in each group of the trial cut of the curve."""
BINS = 64
"""Values of another column that a profile tells apart."""
PRIOR = 20.0
"""Records of the average kind that every value is given: few records prove little."""
CHAINED = 256
"""Values of a column that are chained; rarer ones are put behind the most similar of them."""


def arranged(table: EncodedTable) -> EncodedTable:
    """The table with value sets that lie along [0, 1] by co-occurrence, where that lowers the loss.

    The outcome does not depend on the order of the records.
    """
    if not worth_arranging(table.qi, table.n):
        return table
    return table.with_attributes(arranged_by(table.sketch, table.qi, table.counts))


def worth_arranging(attributes: Sequence[Attribute], records: int) -> bool:
    """Whether there is a value set whose order can matter."""
    return records >= 2 * RUN and len(attributes) > 1 and bool(_unordered(attributes))


def arranged_by(
    sketch: Sketch, attributes: Sequence[Attribute], counts: Sequence[NDArray[np.int64]]
) -> tuple[Attribute, ...]:
    """The attributes of a table, of which a sketch and the counts of all codes are known.

    One column after the other, the largest first, is tried on a sample of the
    records, its chain either way round: along a Hilbert curve cut into runs of
    equal length. What does not lose less there stays in text order.
    """
    nothing = np.zeros((0, 0), dtype=np.int32)
    sample = EncodedTable(tuple(attributes), sketch.sample(SAMPLE), (), nothing)
    companies = [
        company(codes, c.size, c.form != SET)
        for c, codes in zip(sample.qi, sample.codes, strict=True)
    ]
    trial = Trial(sample)
    found = [c.coordinate for c in attributes]
    least = trial.loss(found)
    for a in sorted(_unordered(attributes), key=lambda a: (-attributes[a].size, a)):
        others = [known for b, known in enumerate(companies) if b != a]
        order = chain(profiles(sample.codes[a], attributes[a].size, others), counts[a])
        for candidate in (order, order[::-1]):
            attempt = [*found]
            attempt[a] = _spread(candidate)
            loss = trial.loss(attempt)
            if loss < least:
                found, least = attempt, loss
    return tuple(replace(c, coordinate=line) for c, line in zip(attributes, found, strict=True))


def _unordered(attributes: Sequence[Attribute]) -> list[int]:
    return [a for a, c in enumerate(attributes) if c.form == SET and c.size > 2]


def _spread(order: NDArray[np.int64]) -> Floats:
    """Coordinates at equal distances for codes in the given order."""
    coordinate = np.empty(len(order))
    coordinate[order] = np.arange(len(order)) / (len(order) - 1)
    return coordinate


class Company(NamedTuple):
    """A column as what the values of another one are compared by."""

    codes: NDArray[np.int64]
    """Bin of each record."""
    bins: int
    ordered: bool
    """Neighbouring bins are similar."""


def company(codes: NDArray[np.integer[Any]], size: int, ordered: bool) -> Company:
    """A column of codes 0..size-1 in at most `BINS` bins.

    Codes with an order go into bins of about equal counts; of codes without
    one the most frequent stay and the others become one bin.
    """
    counts = np.bincount(codes, minlength=size)
    if size <= BINS:
        bins = np.arange(size)
    elif ordered:
        middle = np.cumsum(counts) - (counts + 1) / 2
        bins = (middle / max(1, counts.sum()) * BINS).astype(np.int64)
    else:
        frequent = np.argsort(-counts, kind="stable")[: BINS - 1]
        bins = np.full(size, BINS - 1)
        bins[frequent] = np.arange(BINS - 1)
    return Company(bins[codes], min(size, BINS), ordered)


def profiles(codes: NDArray[np.integer[Any]], size: int, companies: Sequence[Company]) -> Floats:
    """How each value's records are distributed over other columns, one row a value.

    Squared distances between rows are mean chi-square distances over the bins
    of a column without order, as in correspondence analysis, and mean squared
    differences of the cumulative shares of a column with one, so that small
    shifts count little. Every column counts the same.
    """
    wide = codes.astype(np.int64)
    blocks = [np.zeros((size, 1))]
    for other in companies:
        cells = np.bincount(wide * other.bins + other.codes, minlength=size * other.bins)
        counts = cells.reshape(size, other.bins)
        average = counts.sum(axis=0) / max(1, counts.sum())
        shrunk = counts + PRIOR * average
        shares = shrunk / np.maximum(shrunk.sum(axis=1, keepdims=True), 1e-300)
        if other.ordered:
            blocks.append(np.cumsum(shares, axis=1) * np.sqrt(3.0 / other.bins))
        else:
            blocks.append(shares / np.sqrt(np.where(average > 0, average, 1.0) * other.bins))
    return np.hstack(blocks)


def squared_distances(rows: Floats, targets: Floats) -> Floats:
    """Squared Euclidean distances of every row to every target."""
    lengths = (rows**2).sum(axis=1)[:, None] + (targets**2).sum(axis=1)[None, :]
    distances: Floats = np.maximum(lengths - 2.0 * rows @ targets.T, 0.0)
    return distances


def chain(rows: Floats, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Values in an order that begins at the most frequent and goes on to the nearest each time.

    A frequent value counts as nearer: what is left for the end of the chain,
    far from where most records are, should be rare.
    """
    by_weight = np.argsort(-weights, kind="stable")
    core, rest = by_weight[:CHAINED], by_weight[CHAINED:]
    pull = np.sqrt(np.maximum(weights[core], 1))
    # Rounded: the last digits of a product of matrices differ between machines.
    distances = np.round(squared_distances(rows[core], rows[core]) / pull, 9)
    left = np.ones(len(core), dtype=np.bool_)
    links = np.zeros(len(core), dtype=np.int64)
    for link in range(len(core)):
        if link:
            links[link] = np.argmin(np.where(left, distances[links[link - 1]], np.inf))
        left[links[link]] = False
    if not len(rest):
        return core[links]
    return _with_rest(core[links], rest, rows)


def _with_rest(
    chained: NDArray[np.int64], rest: NDArray[np.int64], rows: Floats
) -> NDArray[np.int64]:
    """Each rare value behind the most similar one of the chain, frequent ones first."""
    nearest = np.argmin(np.round(squared_distances(rows[rest], rows[chained]), 9), axis=1)
    spots = np.concatenate([np.arange(len(chained)), nearest])
    return np.concatenate([chained, rest])[np.argsort(spots, kind="stable")]


class Trial:
    """Records that are sorted along a Hilbert curve and cut into runs, to see what it costs."""

    def __init__(self, table: EncodedTable) -> None:
        varying = [a for a, count in enumerate(table.counts) if np.count_nonzero(count) > 1]
        self.table = table
        self.axes = sorted(varying, key=lambda a: (_entropy(table.counts[a]), a))
        self.offsets = np.append(np.arange(0, table.n - RUN + 1, RUN, dtype=np.int64), table.n)
        self.sizes = np.diff(self.offsets)

    def loss(self, coordinates: Sequence[Floats]) -> float:
        """Weighted loss of the runs, for codes that stand at the given coordinates."""
        if not self.axes:
            return 0.0
        order = self._along_curve([coordinates[a] for a in self.axes])
        losses, total = np.empty(len(self.sizes)), 0.0
        for a in self.axes:
            codes = self.table.codes[a]
            attribute_losses(self.table.costs, a, codes, order, self.offsets, losses)
            total += self.table.qi[a].weight * float(losses @ self.sizes)
        return total

    def _along_curve(self, coordinates: Sequence[Floats]) -> NDArray[np.int64]:
        """Records in their order along the curve, whose grid is fine enough for value sets."""
        bits = min(MOST_BITS, max(len(each).bit_length() for each in coordinates))
        words = keys_along(self.table.codes, self.axes, coordinates, bits)
        order: NDArray[np.int64] = order_of_keys(words)
        return order


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
