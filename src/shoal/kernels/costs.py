"""What a range of codes of one attribute costs: the NCP of DESIGN section 2.

Four forms serve all kinds of attributes, because codes are numbered in value,
rank or leaf order and a missing value is the last code:

SPAN  numeric, date, ordinal, flat: ``min(1, position[hi] - position[lo])``.
      A missing value, and every value of a flat attribute, stands at least 1
      away from all others, so that mixing it in costs 1.
TREE  hierarchies: the largest ``climb`` between neighbouring leaves in the
      range, which is the cost of their lowest common ancestor; answered in
      constant time from a sparse table of range maxima.
SET   categorical without hierarchy: distinct values in the group / size.
ROUND numeric and date whose intervals begin and end on round values:
      ``min(1, end[hi] - position[lo])``, the round values around lo and hi. One
      value alone has a loss too, unless it is round itself.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

SPAN = 0
TREE = 1
SET = 2
ROUND = 3


class Costs(NamedTuple):
    """The loss of every attribute, flattened for the kernels."""

    form: np.ndarray  # int64 (d,): SPAN, TREE, SET or ROUND
    weight: np.ndarray  # float64 (d,)
    size: np.ndarray  # int64 (d,): number of codes
    start: np.ndarray  # int64 (d,): where the attribute begins in `position`
    position: np.ndarray  # float64 (sum of sizes,): SPAN, and where ROUND begins; else zeros
    end: np.ndarray  # float64 (sum of sizes,): where ROUND ends; else as `position`
    peak_start: np.ndarray  # int64 (d,): where it begins in `peak`
    peak: np.ndarray  # float64: TREE only: sparse table of range maxima of `climb`


def range_maxima(climb):
    """Sparse table: row j holds the maxima of all windows of length 2**j."""
    rows = [np.asarray(climb, dtype=np.float64)]
    width = 1
    while 2 * width <= len(climb):
        last = rows[-1]
        row = np.zeros(len(climb))
        row[: len(climb) - 2 * width + 1] = np.maximum(
            last[: len(climb) - 2 * width + 1], last[width : len(climb) - width + 1]
        )
        rows.append(row)
        width *= 2
    return np.concatenate(rows) if len(climb) else np.zeros(0)


@inner_kernel
def range_loss(costs, attribute, lo, hi):
    """Unweighted loss of a group whose codes span lo..hi; not of a SET, unless lo is hi."""
    form = costs.form[attribute]
    if form == SPAN:
        start = costs.start[attribute]
        return min(1.0, costs.position[start + hi] - costs.position[start + lo])
    if form == ROUND:
        start = costs.start[attribute]
        return min(1.0, costs.end[start + hi] - costs.position[start + lo])
    if lo == hi:
        return 0.0
    # TREE: maximum of climb[lo..hi-1] from two overlapping windows of length 2**level
    length = hi - lo
    level = 0
    while (2 << level) <= length:
        level += 1
    row = costs.peak_start[attribute] + level * (costs.size[attribute] - 1)
    return max(costs.peak[row + lo], costs.peak[row + hi - (1 << level)])


@inner_kernel
def range_width(costs, attribute, lo, hi):
    """The same for who looks for something to cut: one value has no width."""
    return 0.0 if lo == hi else range_loss(costs, attribute, lo, hi)


@inner_kernel
def group_loss(costs, group):
    """Weighted loss of a group by its `low` and `high` codes and its `distinct` values."""
    loss = 0.0
    for a in range(len(group.low)):
        if costs.form[a] != SET:
            loss += costs.weight[a] * range_loss(costs, a, group.low[a], group.high[a])
        elif group.distinct[a] > 1:
            loss += costs.weight[a] * group.distinct[a] / costs.size[a]
    return loss


@inner_kernel
def group_extent(codes, order, begin, end):
    """Smallest and largest code of the records order[begin:end]."""
    lo = codes[order[begin]]
    hi = lo
    for i in range(begin + 1, end):
        code = codes[order[i]]
        lo = min(lo, code)
        hi = max(hi, code)
    return lo, hi


@inner_kernel
def group_distinct(codes, order, begin, end, seen, stamp):
    """Number of distinct codes; `seen` is scratch of the attribute's size."""
    distinct = 0
    for i in range(begin, end):
        code = codes[order[i]]
        if seen[code] != stamp:
            seen[code] = stamp
            distinct += 1
    return distinct


@kernel
def attribute_losses(costs, attribute, codes, order, offsets, losses):
    """Fill ``losses[g]`` with the unweighted NCP of one attribute in each group.

    ``codes`` is the attribute's int32 column, ``order``/``offsets`` the CSR
    partition of the records.
    """
    seen = np.full(costs.size[attribute], -1, dtype=np.int64)
    for g in range(len(offsets) - 1):
        begin, end = offsets[g], offsets[g + 1]
        if costs.form[attribute] == SET:
            distinct = group_distinct(codes, order, begin, end, seen, g)
            losses[g] = distinct / costs.size[attribute] if distinct > 1 else 0.0
        else:
            lo, hi = group_extent(codes, order, begin, end)
            losses[g] = range_loss(costs, attribute, lo, hi)


@kernel
def range_losses(costs, attribute, low, high, losses):
    """Fill ``losses[g]`` with the unweighted NCP of publishing all codes low[g]..high[g]."""
    for g in range(len(low)):
        if costs.form[attribute] == SET and low[g] != high[g]:
            losses[g] = (high[g] - low[g] + 1) / costs.size[attribute]
        else:
            losses[g] = range_loss(costs, attribute, low[g], high[g])
