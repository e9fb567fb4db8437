"""The minimum for l = 2 and two sensitive values, by minimum-weight perfect matching.

Paper 000, section 4. Two values that may each have at most half of a group
have exactly half of it. Any such group splits into pairs of one record of each
value, and as NCP only grows with the group, the pairs lose no more than the
group does: pairs suffice. The cheapest pairs are a minimum-weight perfect
matching between the records of one value and those of the other, in which the
weight of a pair is its loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shoal.clock import seconds_for
from shoal.encoding.table import EncodedTable, Partition
from shoal.kernels.exact.subsets import pair_losses
from shoal.methods.exact import Deadline, Minimum, floors

__all__ = ["MOST_RECORDS", "least_pairs"]

MOST_RECORDS = 10_000
"""Then a matrix of 25 million losses takes 200 MB, and the matching half a minute."""


SAMPLE, POWER = 5, 3
"""A matching cannot be stopped: one in so many records tells how long it takes, by this power."""
LONG = 2_000
"""Up to here it takes no time."""


def least_pairs(table: EncodedTable, deadline: Deadline) -> Minimum:
    """The cheapest pairs of unlike records of a table whose one sensitive column has two values.

    The values are equally frequent, or the table could not be 2-diverse.
    """
    one, other = _sides(table.sensitive_codes[0])
    losses = np.empty((len(one), len(other)))
    pair_losses(table.costs, floors(table), table.codes, one, other, losses)
    if table.n > LONG:
        few = losses[::SAMPLE, ::SAMPLE]
        deadline.check(SAMPLE**POWER * seconds_for(lambda: linear_sum_assignment(few)))
    rows, columns = linear_sum_assignment(losses)
    ids = np.empty(table.n, dtype=np.int64)
    ids[one[rows]] = rows
    ids[other[columns]] = rows
    return Minimum(Partition.from_group_ids(ids), {"solver": "matching", "pairs": len(one)})


def _sides(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records of either value."""
    first = codes == codes[0]
    one, other = np.flatnonzero(first), np.flatnonzero(~first)
    assert len(one) == len(other), "two values, each at most half: each exactly half"
    return one, other
