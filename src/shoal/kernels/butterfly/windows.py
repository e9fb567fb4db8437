"""`shoal.kernels.butterfly.units` for many ends of groups at once.

The same optimum where no attribute is a set and units are of similar weight:
what windows of units lose is worked out for a row of ends in one vector loop,
as in `shoal.kernels.dp`. Losses are float32, their sums float64.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import TREE, range_loss
from shoal.kernels.jit import inner_kernel, kernel

LANES = 256
"""Ends worked on at once: the costs of their windows stay in the second-level cache."""


class Rows(NamedTuple):
    """Units along the line, shifted by ``pad`` so that a window may begin before it.

    A group loses ``high - low`` of its units in a row, `cap` at most. A tree's
    loss is the largest between neighbours, which is the same with low ends 0;
    it begins with what a unit loses alone.
    """

    low: np.ndarray  # float32 (rows, pad + U)
    high: np.ndarray  # float32 (rows, pad + U)
    alone: np.ndarray  # float32 (rows, pad + U): high ends of a group that is one unit
    cap: np.ndarray  # float32 (rows,)
    weight: np.ndarray  # float32 (pad + U,): records
    pad: int


def rows_of(costs, units, pad):
    """`Rows` of units, with one more row that makes groups across nodes too dear."""
    count, p = units.low.shape
    arrays = [np.zeros((p + 1, pad + count), dtype=np.float32) for _ in range(3)]
    price = 4.0 * units.weight.sum() * costs.weight.sum() + 1.0
    cap = np.append(costs.weight, price).astype(np.float32)
    weight = np.ones(pad + count, dtype=np.float32)
    weight[pad:] = units.weight
    rows = Rows(*arrays, cap, weight, pad)
    node = np.cumsum(units.node_begin == np.arange(count)) % 2
    for fence in (rows.low[p], rows.high[p], rows.alone[p]):
        fence[pad:] = node * price
    fill_rows(costs, units, rows)
    return rows


@kernel
def fill_rows(costs, units, rows):
    """Where the units lie in every attribute."""
    count, p = units.low.shape
    for a in range(p):
        start, weight = costs.start[a], costs.weight[a]
        for u in range(count):
            lo, hi = units.low[u, a], units.high[u, a]
            if costs.form[a] == TREE:
                rows.alone[a, rows.pad + u] = weight * range_loss(costs, a, lo, hi)
                if u + 1 < count:
                    lo, hi = min(lo, units.low[u + 1, a]), max(hi, units.high[u + 1, a])
                rows.high[a, rows.pad + u] = weight * range_loss(costs, a, lo, hi)
            else:
                rows.low[a, rows.pad + u] = weight * costs.position[start + lo]
                rows.high[a, rows.pad + u] = weight * costs.end[start + hi]
                rows.alone[a, rows.pad + u] = weight * costs.end[start + hi]


@inner_kernel
def _widen(low, high, lo, hi, cost, cap):
    """Take one more unit into the windows and add what they cost now."""
    for r in range(len(cost)):
        h = hi[r] if hi[r] > high[r] else high[r]
        w = lo[r] if lo[r] < low[r] else low[r]
        hi[r] = h
        lo[r] = w
        loss = h - w
        cost[r] += loss if loss < cap else cap


@inner_kernel
def _window_costs(rows, at, cost, weight, spare):
    """``cost[s, r]``, ``weight[s, r]``: of the s + 1 units that end with unit at + r."""
    steps, lanes = cost.shape
    cost[:, :] = 0.0
    end = rows.pad + at
    lo, hi = spare[0], spare[1]
    for row in range(len(rows.cap)):
        lo[:] = rows.low[row, end : end + lanes]
        hi[:] = rows.alone[row, end : end + lanes]
        _widen(lo, hi, lo, hi, cost[0], rows.cap[row])
        for s in range(1, steps):
            low = rows.low[row, end - s : end - s + lanes]
            high = rows.high[row, end - s : end - s + lanes]
            _widen(low, high, lo, hi, cost[s], rows.cap[row])
    weight[0] = rows.weight[end : end + lanes]
    for s in range(1, steps):
        more = rows.weight[end - s : end - s + lanes]
        for r in range(lanes):
            weight[s, r] = weight[s - 1, r] + more[r]


@inner_kernel
def _extend(cost, weight, k, opt, at, fewest, best, choice):
    """Optima of the prefixes that end with units at..at+len(best), which are at most `fewest`."""
    best[:] = np.inf
    for s in range(fewest - 1, len(cost)):
        before = opt[at - s : at - s + len(best)]
        row, records = cost[s], weight[s]
        for r in range(len(best)):
            total = before[r] + np.float64(records[r]) * np.float64(row[r])
            if total < best[r] and records[r] >= k:
                best[r] = total
                choice[r] = s + 1


@kernel
def cheapest_in_lanes(rows, k, fewest, cost, weight, spare, opt, size):
    """Least loss of the first 0..U units, and how many units the last group of each has.

    ``fewest`` units at least make a group. ``opt`` is float64 (pad + U + 1,),
    ``size`` float64 (U + 1,); ``cost`` and ``weight`` (pad, lanes) and ``spare``
    (2, lanes) are scratch, lanes <= U.
    """
    lanes = cost.shape[1]
    count = len(size) - 1
    opt[: rows.pad] = np.inf
    opt[rows.pad] = 0.0
    for begin in range(0, count, lanes):
        at = begin if begin < count - lanes else count - lanes
        _window_costs(rows, at, cost, weight, spare)
        for block in range(0, lanes, fewest):
            first = at + block
            ends = min(fewest, lanes - block)
            best = opt[rows.pad + first + 1 : rows.pad + first + 1 + ends]
            choice = size[first + 1 : first + 1 + ends]
            _extend(
                cost[:, block : block + ends], weight[:, block : block + ends],
                k, opt, rows.pad + first, fewest, best, choice,
            )  # fmt: skip


def cheapest_sizes(costs, units, k):
    """Units in the last group of every prefix of the cheapest cut, or None where lanes do not pay.

    Parameters
    ----------
    costs, units
        Loss and units of the attributes, none of which is a set.
    k : int
        Fewest records of a group.
    """
    lightest, heaviest = int(units.weight.min()), int(units.weight.max())
    fewest = -(-k // heaviest)
    most = -(-(2 * k + heaviest) // lightest)
    if fewest < 4 or most > 8 * fewest:
        return None
    count = len(units.weight)
    lanes = min(LANES, count)
    rows = rows_of(costs, units, most)
    scratch = [np.empty((most, lanes), dtype=np.float32) for _ in range(2)]
    opt, size = np.empty(most + count + 1), np.zeros(count + 1)
    spare = np.empty((2, lanes), dtype=np.float32)
    cheapest_in_lanes(rows, k, fewest, *scratch, spare, opt, size)
    return opt[-1], size
