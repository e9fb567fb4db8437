"""Loss of a release: NCP, GCP, stars, suppressed tuples, DM, C_avg (DESIGN section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import Domain, EncodedTable, Partition, Recoding, extents
from shoal.kernels.costs import attribute_losses, range_losses
from shoal.kernels.threads import on_threads

__all__ = ["Loss", "attribute_ncp", "gcp", "measure", "with_suppressed"]


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


def attribute_ncp(
    table: EncodedTable, attribute: int, partition: Partition, domain: Domain | None = None
) -> float:
    """NCP of one attribute, averaged over the records."""
    codes, floor = table.codes[attribute], table.qi[attribute].floor
    losses = np.empty(partition.groups, dtype=np.float64)
    if domain is None:
        parts = (codes, partition.order, partition.offsets)
        attribute_losses(table.costs, attribute, *parts, losses)
    else:
        range_losses(table.costs, attribute, *extents(codes, partition, domain), losses)
    if floor is not None:  # what coarsening took is lost, mixed or not
        low, high = extents(codes, partition, domain)
        losses = np.where(low == high, floor[low], losses)
    return float(losses @ partition.sizes) / table.n


def gcp(table: EncodedTable, recoding: Recoding) -> float:
    """Global certainty penalty of a recoding."""
    return _mean(_all_ncp(table, recoding), table)


def _all_ncp(table: EncodedTable, recoding: Recoding) -> tuple[float, ...]:
    attributes = range(len(recoding.partitions))
    seen = recoding.seen(table)
    return on_threads(
        lambda a, partition: attribute_ncp(seen, a, partition, recoding.domain(a)),
        attributes,
        recoding.partitions,
    )


def _mean(ncp: Sequence[float], table: EncodedTable) -> float:
    weights = table.costs.weight
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
    """All loss measures of a release.

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
    ncp = [with_suppressed(n, table.n, suppressed) for n in _all_ncp(table, recoding)]
    released = int(class_sizes.sum())
    any_star = np.zeros(released, dtype=bool)
    for stars in starred:
        any_star |= stars
    return Loss(
        ncp={column.name: value for column, value in zip(table.qi, ncp, strict=True)},
        gcp=_mean(ncp, table),
        stars=sum(int(stars.sum()) for stars in starred),
        suppressed_tuples=int(any_star.sum()),
        dm=int((class_sizes**2).sum()),
        c_avg=released / max(1, len(class_sizes)),
        suppressed_records=suppressed,
    )
