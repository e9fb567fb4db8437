"""Which values keep the same company: an order for categories that have none.

The text order of a value set says nothing about which values go together, yet
the curves that sort records walk along it. Here the values of such a column
are put into a chain by what they occur with in the other quasi-identifiers
(never in a sensitive column), and the chain is kept if a sample of the records
loses less along it. Codes stay as they are; only `QIColumn.place` changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import SET, EncodedTable, QIColumn
from shoal.kernels.costs import attribute_losses
from shoal.kernels.curve import MOST_BITS, keys_along
from shoal.kernels.sorting import order_of_keys

__all__ = ["Company", "arranged", "chain", "company", "profiles"]

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


def arranged(columns: Sequence[QIColumn], n: int) -> tuple[QIColumn, ...]:
    """Columns whose value sets lie along [0, 1] by co-occurrence, where that lowers the loss.

    One column after the other, the largest first, is tried on a sample of the
    records, its chain either way round: along a Hilbert curve cut into runs of
    equal length. What does not lose less there stays in text order. The outcome
    does not depend on the order of the records.
    """
    unordered = [a for a, c in enumerate(columns) if c.form == SET and c.size > 2]
    if not unordered or len(columns) == 1 or n < 2 * RUN:
        return tuple(columns)
    table = EncodedTable(n, tuple(columns))
    sample = table.take(sampled(table))
    companies = [company(c.codes, c.size, c.form != SET) for c in sample.qi]
    trial = Trial(sample)
    places = [c.place for c in columns]
    least = trial.loss(places)
    for a in sorted(unordered, key=lambda a: (-columns[a].size, a)):
        others = [known for b, known in enumerate(companies) if b != a]
        weights = np.bincount(columns[a].codes, minlength=columns[a].size)
        order = chain(profiles(sample.qi[a].codes, columns[a].size, others), weights)
        for candidate in (order, order[::-1]):
            attempt = [*places]
            attempt[a] = _spread(candidate)
            loss = trial.loss(attempt)
            if loss < least:
                places, least = attempt, loss
    return tuple(replace(c, place=place) for c, place in zip(columns, places, strict=True))


def _spread(order: NDArray[np.int64]) -> Floats:
    """Places at equal distances for codes in the given order."""
    place = np.empty(len(order))
    place[order] = np.arange(len(order)) / (len(order) - 1)
    return place


def sampled(table: EncodedTable) -> NDArray[np.int64]:
    """Up to `SAMPLE` records in proportion to the whole, whatever order they come in.

    Equal records have equal hashes, so that every so-and-so-many-th along the
    hashes takes its share of each of them.
    """
    mixed = np.zeros(table.n, dtype=np.uint64)
    for column in table.qi:
        mixed += column.codes.astype(np.uint64) + np.uint64(1)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    order: NDArray[np.int64] = order_of_keys(mixed.reshape(1, -1))
    size = min(SAMPLE, table.n)
    return order.take(np.arange(size, dtype=np.int64) * table.n // size)


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
        counts = [np.bincount(c.codes, minlength=c.size) for c in table.qi]
        varying = [a for a, count in enumerate(counts) if np.count_nonzero(count) > 1]
        self.table = table
        self.axes = sorted(varying, key=lambda a: (_entropy(counts[a]), a))
        self.offsets = np.append(np.arange(0, table.n - RUN + 1, RUN, dtype=np.int64), table.n)
        self.sizes = np.diff(self.offsets)

    def loss(self, places: Sequence[Floats]) -> float:
        """Weighted loss of the runs, for codes that stand at the given places."""
        if not self.axes:
            return 0.0
        order = self._along_curve([places[a] for a in self.axes])
        losses, total = np.empty(len(self.sizes)), 0.0
        for a in self.axes:
            column = self.table.qi[a]
            attribute_losses(self.table.costs, a, column.codes, order, self.offsets, losses)
            total += column.weight * float(losses @ self.sizes)
        return total

    def _along_curve(self, places: Sequence[Floats]) -> NDArray[np.int64]:
        """Records in their order along the curve, whose grid is fine enough for value sets."""
        bits = min(MOST_BITS, max(len(place).bit_length() for place in places))
        words = keys_along(self.table.matrix, self.axes, places, bits)
        order: NDArray[np.int64] = order_of_keys(words)
        return order


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
