"""Loss of a release: NCP, GCP, stars, suppressed tuples, DM, C_avg (DESIGN section 2).

`LossSums` holds the same for a part of a release: exact sums and counts. Parts that hold
whole groups and whole classes add up to exactly the loss of the whole, in whatever order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SET
from shoal.encoding.table import (
    Domain,
    EncodedTable,
    Partition,
    Recoding,
    extents,
    known_distinct,
)
from shoal.kernels.costs import attribute_losses, range_losses
from shoal.kernels.threads import ALONE, on_threads

__all__ = [
    "Loss",
    "LossSums",
    "attribute_ncp",
    "exact_total",
    "gcp",
    "group_ncp",
    "measure",
    "record_losses",
    "sums_of",
    "with_suppressed",
]

MANTISSA, HALF = 53, 26
"""Bits of a float's mantissa, and those of its lower half: halves can be summed as integers."""


@dataclass(frozen=True)
class Loss:
    """What a release lost; all zero would be the original table."""

    ncp: dict[str, float]
    """Normalised certainty penalty per attribute, averaged over records."""
    gcp: float
    """Global certainty penalty: weighted mean of `ncp`; 0 nothing lost, 1 everything."""
    stars: int
    """Released QI cells that are ``*``."""
    suppressed_tuples: int
    """Records with at least one star."""
    dm: int
    """Discernibility: sum of squared class sizes."""
    c_avg: float
    """Average class size."""
    suppressed_records: int = 0
    """Records suppressed whole, as outliers: each counts as 1 in every attribute."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a manifest."""
        return {
            "gcp": round(self.gcp, 9),
            "ncp": {name: round(value, 9) for name, value in self.ncp.items()},
            "stars": self.stars,
            "suppressed_tuples": self.suppressed_tuples,
            "dm": self.dm,
            "c_avg": round(self.c_avg, 6),
            "suppressed_records": self.suppressed_records,
        }


@dataclass(frozen=True)
class LossSums:
    """Loss of a part of a release, as sums that can be added to those of other parts."""

    names: tuple[str, ...]
    """Attributes, with `weights` in the loss and what is `lost` of each over all records."""
    weights: tuple[float, ...]
    lost: tuple[Fraction, ...]
    records: int
    """Records that are kept."""
    suppressed: int
    """Records suppressed whole: each lost 1 in every attribute."""
    stars: int
    starred_records: int
    released: int
    """Records in the released table."""
    classes: int
    squares: int
    """Sum of squared class sizes."""

    def __add__(self, other: LossSums) -> LossSums:
        """Sums of both parts."""
        assert (self.names, self.weights) == (other.names, other.weights)
        return LossSums(
            self.names,
            self.weights,
            tuple(mine + theirs for mine, theirs in zip(self.lost, other.lost, strict=True)),
            self.records + other.records,
            self.suppressed + other.suppressed,
            self.stars + other.stars,
            self.starred_records + other.starred_records,
            self.released + other.released,
            self.classes + other.classes,
            self.squares + other.squares,
        )

    def in_classes(self, sizes: NDArray[np.int64]) -> LossSums:
        """The same with the classes that the whole release has: those of parts can be one."""
        return replace(self, classes=len(sizes), squares=int((sizes**2).sum()))

    def loss(self) -> Loss:
        """The loss of the records that are in these sums."""
        everybody = max(1, self.records + self.suppressed)
        ncp = [float((lost + self.suppressed) / everybody) for lost in self.lost]
        return Loss(
            ncp=dict(zip(self.names, ncp, strict=True)),
            gcp=_mean(ncp, np.array(self.weights)),
            stars=self.stars,
            suppressed_tuples=self.starred_records,
            dm=self.squares,
            c_avg=self.released / max(1, self.classes),
            suppressed_records=self.suppressed,
        )


def attribute_ncp(
    table: EncodedTable, attribute: int, partition: Partition, domain: Domain | None = None
) -> float:
    """NCP of one attribute, averaged over the records."""
    return float(group_ncp(table, attribute, partition, domain) @ partition.sizes) / table.n


def group_ncp(
    table: EncodedTable, attribute: int, partition: Partition, domain: Domain | None
) -> NDArray[np.float64]:
    """NCP of one attribute in each group."""
    codes, floor = table.codes[attribute], table.qi[attribute].floor
    losses = np.empty(partition.groups, dtype=np.float64)
    distinct = known_distinct(codes, partition)
    if domain is None and table.qi[attribute].form == SET and distinct is not None:
        losses = np.where(distinct > 1, distinct / table.qi[attribute].size, 0.0)
    elif domain is None and table.qi[attribute].form == SET:
        parts = (codes, partition.order, partition.offsets)
        attribute_losses(table.costs, attribute, *parts, losses)
    else:
        range_losses(table.costs, attribute, *extents(codes, partition, domain), losses)
    if floor is not None:  # what coarsening or rounding took is lost, mixed or not
        low, high = extents(codes, partition, domain)
        losses = np.where(low == high, floor[low], losses)
    return losses


def record_losses(table: EncodedTable, recoding: Recoding) -> NDArray[np.float64]:
    """Weighted loss of each record, all attributes together."""
    seen = recoding.seen(table)
    total = np.zeros(table.n)
    for a, partition in enumerate(recoding.partitions):
        losses = group_ncp(seen, a, partition, recoding.domain(a))
        total += table.qi[a].weight * losses[partition.group_ids()]
    return total


def exact_total(losses: NDArray[np.float64], sizes: NDArray[np.int64]) -> Fraction:
    """The sum of ``losses[g] * sizes[g]`` without any rounding.

    A float is an integer mantissa times a power of 2: mantissas of one power are summed
    as integers, in two halves, which cannot overflow below 2**36 records.
    """
    shares, powers = np.frexp(losses)
    mantissas = (shares * 2.0**MANTISSA).astype(np.int64)
    high, low = mantissas >> HALF, mantissas & ((1 << HALF) - 1)
    total, least = Fraction(0), int(powers.min(initial=0))
    for power in np.flatnonzero(np.bincount(powers - least)) + least:
        here = powers == power
        whole = (int(high[here] @ sizes[here]) << HALF) + int(low[here] @ sizes[here])
        total += whole * Fraction(2) ** (int(power) - MANTISSA)
    return total


def gcp(table: EncodedTable, recoding: Recoding) -> float:
    """Global certainty penalty of a recoding."""
    seen = recoding.seen(table)

    def ncp_of(a: int, partition: Partition) -> float:
        return attribute_ncp(seen, a, partition, recoding.domain(a))

    each = (range(len(recoding.partitions)), recoding.partitions)
    ncp = tuple(map(ncp_of, *each)) if table.n < ALONE else on_threads(ncp_of, *each)
    return _mean(ncp, table.costs.weight)


def _mean(ncp: Sequence[float], weights: NDArray[np.float64]) -> float:
    return float(np.dot(ncp, weights) / weights.sum()) if len(ncp) else 0.0


def with_suppressed(loss: float, kept: int, suppressed: int) -> float:
    """A mean loss of the records kept, with a loss of 1 for each one suppressed."""
    return (loss * kept + suppressed) / (kept + suppressed) if suppressed else loss


def measure(
    table: EncodedTable,
    recoding: Recoding,
    class_sizes: NDArray[np.int64],
    starred: Sequence[NDArray[np.bool_]],
    suppressed: int = 0,
) -> Loss:
    """All loss measures of a release; `sums_of` has the parameters."""
    return sums_of(table, recoding, class_sizes, starred, suppressed).loss()


def sums_of(
    table: EncodedTable,
    recoding: Recoding,
    class_sizes: NDArray[np.int64],
    starred: Sequence[NDArray[np.bool_]],
    suppressed: int = 0,
) -> LossSums:
    """What a release, or a part of it that holds whole classes, adds to the loss.

    Parameters
    ----------
    table, recoding
        The encoded table, without suppressed records, and the partitions that
        govern its attributes.
    class_sizes
        Records in each equivalence class of the released table.
    starred
        For each attribute, which released records carry a star.
    suppressed
        Records that were suppressed whole, whether released as stars or not.
    """
    seen = recoding.seen(table)
    lost = on_threads(
        lambda a, partition: exact_total(
            group_ncp(seen, a, partition, recoding.domain(a)), partition.sizes
        ),
        range(len(recoding.partitions)),
        recoding.partitions,
    )
    released = int(class_sizes.sum())
    any_star = np.zeros(released, dtype=bool)
    for stars in starred:
        any_star |= stars
    return LossSums(
        names=tuple(column.name for column in table.qi),
        weights=tuple(table.costs.weight.tolist()),
        lost=lost,
        records=table.n,
        suppressed=suppressed,
        stars=sum(int(stars.sum()) for stars in starred),
        starred_records=int(any_star.sum()),
        released=released,
        classes=len(class_sizes),
        squares=int((class_sizes**2).sum()),
    )
