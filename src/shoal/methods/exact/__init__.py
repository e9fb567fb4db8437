"""Exact minima: what the three solvers of the method `optimal` share.

A *problem* is a table and models; a *minimum* is a partition of it that no
other partition under the models undercuts. The loss of a partition is the sum,
over its groups, of records times weighted NCP (DESIGN section 2). NCP only grows with
the group, whatever the form of the attribute, so a group that splits into
groups which satisfy the models may be split: no solver need look at such groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.clock import now
from shoal.encoding.table import EncodedTable, Partition, extents
from shoal.errors import PolicyError
from shoal.kernels.costs import attribute_losses

__all__ = ["INSTEAD", "Deadline", "Minimum", "floors", "group_losses"]

INSTEAD = "use tp+, cover or hilbert, which are not exact but fast, or take a sample"
"""How to go on where the exact minimum is out of reach."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """The partition with the least loss."""

    partition: Partition
    facts: dict[str, Any] = field(default_factory=dict)
    """How it was found, for the manifest."""


class Deadline:
    """A point in time after which the search gives up, with an error and no result."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = now() + seconds

    @property
    def left(self) -> float:
        """Seconds that remain."""
        return self.end - now()

    def steps(self, a_second: float, most: float = math.inf) -> int:
        """Steps that fit into what is left, at so many a second; at most so many, 1 at least."""
        return int(max(1.0, min(most, self.left * a_second)))

    def check(self, foreseen: float = 0.0) -> None:
        """Raise if the time is up: nothing is returned as optimal that is not proven to be.

        What cannot be stopped is not begun either if it is `foreseen` to take longer.
        """
        if self.left <= foreseen:
            raise PolicyError(
                f"method optimal: no proven minimum within time_limit = {self.seconds:g} seconds; "
                f"raise time_limit, or {INSTEAD}"
            )


def floors(table: EncodedTable) -> NDArray[np.float64]:
    """NCP of every code that is alone in its group, laid out as ``table.costs.position``.

    It is above 0 where values were coarsened before or are rounded; a star is a star all the same.
    """
    parts = [np.zeros(c.size) if c.floor is None or c.suppressed else c.floor for c in table.qi]
    joined: NDArray[np.float64] = np.concatenate([np.zeros(0), *parts])
    return joined


def group_losses(table: EncodedTable, partition: Partition) -> NDArray[np.float64]:
    """Records times weighted NCP of each group."""
    total = np.zeros(partition.groups)
    for a, column in enumerate(table.qi):
        losses = np.empty(partition.groups)
        parts = (table.codes[a], partition.order, partition.offsets)
        attribute_losses(table.costs, a, *parts, losses)
        if column.floor is not None and not column.suppressed:
            low, high = extents(table.codes[a], partition)
            losses = np.where(low == high, column.floor[low], losses)
        total += column.weight * losses
    return total * partition.sizes
