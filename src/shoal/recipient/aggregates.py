"""Sums, averages and quantiles of numbers that are known within bounds.

Three kinds of records: those that certainly count, with a number between two ends; those that
can count; and all others. What follows for every world at once:

- a sum is least if every number is as small as it can be, and of the records that can count
  those do that are negative;
- an average is least with the smallest numbers, and some of the smallest of those that can
  count (which, is found by trying: none, the smallest, the two smallest, ...);
- a quantile likewise.

What is largest is the least of the opposite numbers, with the sign changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_NUMBERS", "Aggregate", "bounds", "likely_quantile"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_NUMBERS = 20_000_000
"""Records whose numbers are laid out one by one for a quantile."""


@dataclass(frozen=True)
class Aggregate:
    """What is asked about a column."""

    function: str
    """``count``, ``sum``, ``avg`` or ``quantile``."""
    column: str = ""
    share: float = 0.5
    """Of a quantile."""
    between: bool = True
    """A quantile between two numbers lies between them (``quantile_cont``), or is the lower."""


class Members(NamedTuple):
    """Records of one group that count or can count, equal ones together."""

    value: Floats
    """The end that matters: lowest for the least, highest with a changed sign for the largest."""
    certain: NDArray[np.bool_]
    records: Integers


def bounds(
    asked: Aggregate, low: Floats, high: Floats, certain: NDArray[np.bool_], records: Integers
) -> tuple[float, float]:
    """What a sum, average or quantile is at least and at most, in worlds where it is of something.

    Records have a number from `low` to `high`; they count for `certain`, or can.
    """
    least = _least(asked, Members(low, certain, records), False)
    if certain.all() and np.array_equal(low, high):
        return least, least
    most = -_least(asked, Members(-high, certain, records), True)
    return min(least, most), max(least, most)


def _least(asked: Aggregate, members: Members, mirrored: bool) -> float:
    """The least; `mirrored` says that the numbers' signs were changed."""
    value, certain, records = members
    if asked.function == "sum":
        counted = certain | (value < 0)
        return float(np.sum(value[counted] * records[counted]))
    if np.isneginf(value).any():
        return float("-inf")
    sure = Members(value[certain], certain[certain], records[certain])
    order = np.flatnonzero(~certain)
    order = order[np.argsort(value[order], kind="stable")]
    perhaps = Members(value[order], certain[order], records[order])
    if asked.function == "avg":
        return _least_average(sure, perhaps)
    return _least_quantile(asked, sure, perhaps, mirrored)


def _least_average(sure: Members, perhaps: Members) -> float:
    total = np.sum(sure.value * sure.records) + np.concatenate(
        [[0.0], np.cumsum(perhaps.value * perhaps.records)]
    )
    count = np.sum(sure.records) + np.concatenate([[0], np.cumsum(perhaps.records)])
    some = count > 0
    return float(np.min(total[some] / count[some]))


def _least_quantile(asked: Aggregate, sure: Members, perhaps: Members, mirrored: bool) -> float:
    """The least over all numbers of records that join, the smallest first."""
    known = np.sort(np.repeat(sure.value, sure.records))
    joining = np.repeat(perhaps.value, perhaps.records)
    joined = np.arange(len(joining) + 1)
    sizes = len(known) + joined
    joined, sizes = joined[sizes > 0], sizes[sizes > 0]
    if asked.between:
        place = asked.share * (sizes - 1)
    else:  # the first number up to which there are that many
        place = np.maximum(np.ceil(asked.share * sizes) - 1, 0)
    if mirrored:
        place = sizes - 1 - place
    below = np.floor(place).astype(np.int64)
    found, after = _smallest(known, joining, joined, below)
    part = place - below
    return float(np.min(np.where(part > 0, found + part * (after - found), found)))


def _smallest(known: Floats, joining: Floats, joined: Integers, k: Integers) -> tuple[Floats, ...]:
    """The k-th smallest (from 0) of all `known` and the first of `joining`, and the next one.

    `joined` says how many are first; it and `k` are arrays of equal length. Both lists are
    sorted, so how many of the k + 1 smallest are known is found by halving.
    """
    a = np.append(known, np.inf)
    b = np.append(joining, np.inf)
    take = k + 1
    low = np.maximum(0, take - joined)
    high = np.minimum(take, len(known))
    while (low < high).any():
        middle = (low + high) // 2
        # Enough of them are known once the last that is not is no larger than the next known.
        enough = (take - middle == 0) | (b[np.maximum(take - middle - 1, 0)] <= a[middle])
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    i, j = low, take - low
    last = np.maximum(
        np.where(i > 0, a[np.maximum(i - 1, 0)], -np.inf),
        np.where(j > 0, b[np.maximum(j - 1, 0)], -np.inf),
    )
    after = np.minimum(a[i], np.where(j < joined, b[np.minimum(j, len(joining))], np.inf))
    return last, np.where(np.isfinite(after), after, last)


def likely_quantile(
    share: float, first: Floats, last: Floats, weight: Floats, whole: bool
) -> float:
    """The number that has a share of all weight up to it; pieces are spread evenly.

    A piece of whole numbers from a to b has a (b - a + 1)-th of its weight at each.
    """
    if share == 0:
        return float(first.min())
    start = first - 1 if whole else first
    total = float(weight.sum())
    width = last - start
    points = np.concatenate([start, last])
    wide = width > 0
    rate = np.divide(weight, width, out=np.zeros(len(weight)), where=wide)
    slope = np.concatenate([rate, -rate])
    jump = np.concatenate([np.zeros(len(weight)), np.where(wide, 0.0, weight)])
    order = np.argsort(points, kind="stable")
    points, slope, jump = points[order], slope[order], jump[order]
    rates = np.cumsum(slope)
    before = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(points))])
    jumps = np.cumsum(jump)
    reached = before + jumps  # weight up to and with each point
    goal = share * total * (1 - 1e-12)
    at = int(np.searchsorted(np.maximum.accumulate(reached), goal))
    if at >= len(points):
        return float(last.max())
    left = before[at] + (jumps[at - 1] if at else 0.0)  # up to the point, without it
    found = float(points[at])
    if at and left > goal and rates[at - 1] > 0:
        found -= (left - goal) / float(rates[at - 1])
    return float(np.ceil(found - 1e-9)) + 0.0 if whole else found
