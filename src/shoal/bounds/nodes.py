"""What a group can be published as, attribute by attribute: the nodes of cells, with their prices.

Prices are whole numbers of a small unit, rounded down. An attribute with a tree, or of which
only single values and a star are published, has few nodes. So has a short one whose ranges
are all listed. Of a set of values all small sets are nodes, and one more stands for all larger
ones, at the price of the smallest of these. The widest attribute of ranges needs no nodes: it
is scanned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.bounds.cells import Nodes
from shoal.kernels.bounds.cells_dual import Scanned
from shoal.kernels.costs import SET, TREE, Costs

__all__ = ["Units", "nodes_of", "scanned_of", "to_be_scanned"]

SAFE = 1 - 1e-12
"""Prices are taken lower by this part: more than all rounding of floats on the way."""
LONGEST = 1024
"""Codes of an attribute with nodes, at most: a table has every pair of codes."""
MOST_SETS = 160
"""Sets of values of an attribute that are listed, at most."""
LONGEST_LISTED = 40
"""Codes of an attribute whose ranges are all listed, at most."""
SET_BITS = 64

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """How many units a loss of 1 in an attribute of weight 1 is."""

    scale: int

    def down(self, loss: Floats | float) -> Ints:
        """Losses in units, never more than they are."""
        units: Ints = np.floor(np.asarray(loss) * (self.scale * SAFE)).astype(np.int64)
        return np.maximum(units, 0)

    def up(self, loss: Floats) -> Ints:
        """Losses in units, never less than they are."""
        units: Ints = np.ceil(loss * self.scale / SAFE).astype(np.int64)
        return units


@dataclass(frozen=True, eq=False)
class _Listed:
    """Nodes of one attribute."""

    price: Floats
    low: Ints
    high: Ints
    mask: NDArray[np.uint64]
    closed: NDArray[np.bool_]
    size: int
    """Of the table `closure`; 0 where nodes are sets."""
    closure: NDArray[np.int32]
    codes: int


def to_be_scanned(costs: Costs) -> int | None:
    """The attribute of ranges with the most codes; None if all have nodes of few values."""
    ranges = [a for a in range(len(costs.form)) if not _is_laminar(costs, a)]
    ranges = [a for a in ranges if costs.form[a] != SET]
    return max(ranges, key=lambda a: int(costs.size[a]), default=None)


def scanned_of(costs: Costs, floor: Floats, attribute: int | None, units: Units) -> Scanned:
    """Prices of the ranges of the scanned attribute; of none, one code that costs nothing."""
    if attribute is None:
        nothing = np.zeros(1, dtype=np.int64)
        return Scanned(nothing, nothing, nothing, 0)
    own = _own(costs, attribute)
    weight = float(costs.weight[attribute])
    begin = units.up(costs.position[own] * weight)
    end = units.down(costs.end[own] * weight)
    alone = units.down(floor[own] * weight)
    most = int(units.down(weight))
    # so that no range costs less than a part of it, whatever was rounded
    pair = np.minimum(most, np.maximum(0, end[1:] - begin[:-1]))
    alone = np.minimum(alone, np.minimum(np.append(pair, most), np.append(most, pair)))
    return Scanned(begin, end, alone, most)


def nodes_of(costs: Costs, floor: Floats, attributes: Sequence[int], units: Units) -> Nodes | None:
    """The nodes of these attributes; None where one has too many codes."""
    listed = [_listed(costs, floor, a) for a in attributes]
    if any(one is None for one in listed):
        return None
    found = [one for one in listed if one is not None]
    start = np.cumsum([0, *(len(one.price) for one in found)])
    pairs = [_with_code(one) for one in found]
    empty = np.zeros(0, dtype=np.int64)
    shift = zip(pairs, start[:-1], strict=True)
    lengths = np.concatenate(
        [
            empty,
            *(
                np.bincount(c, minlength=one.codes)
                for (c, _), one in zip(pairs, found, strict=True)
            ),
        ]
    )
    weights = [float(costs.weight[a]) for a in attributes]
    prices = zip(found, weights, strict=True)
    return Nodes(
        start=start.astype(np.int64),
        price=np.concatenate([empty, *(units.down(one.price * w) for one, w in prices)]),
        low=np.concatenate([empty, *(one.low for one in found)]).astype(np.int32),
        high=np.concatenate([empty, *(one.high for one in found)]).astype(np.int32),
        mask=np.concatenate([empty.astype(np.uint64), *(one.mask for one in found)]),
        closed=np.concatenate([empty, *(one.closed for one in found)]).astype(np.int8),
        gap_start=np.cumsum([0, *(len(one.closure) for one in found)]).astype(np.int64),
        size=np.array([one.size for one in found], dtype=np.int64),
        closure=np.concatenate(
            [empty, *(one.closure + s for one, s in zip(found, start[:-1], strict=True))]
        ).astype(np.int32),
        code_start=np.cumsum([0, *(one.codes for one in found)]).astype(np.int64),
        of_code=np.append(0, np.cumsum(lengths)).astype(np.int64),
        with_code=np.concatenate([empty, *(n + s for (_, n), s in shift)]).astype(np.int32),
    )  # fmt: skip


def _with_code(one: _Listed) -> tuple[Ints, Ints]:
    """Codes and the nodes they are in, by code and node."""
    nodes = np.arange(len(one.price))
    code = np.arange(one.codes)[:, None]
    inside = (one.low[None, :] <= code) & (code <= one.high[None, :])
    if one.mask.any():
        inside = (one.mask[None, :] >> code.astype(np.uint64)) & np.uint64(1) == 1
    codes, which = np.nonzero(inside)
    return codes, nodes[which]


def _own(costs: Costs, a: int) -> slice:
    return slice(int(costs.start[a]), int(costs.start[a] + costs.size[a]))


def _gaps(costs: Costs, a: int) -> Floats:
    """Loss of each two neighbouring codes together."""
    own, size = _own(costs, a), int(costs.size[a])
    if costs.form[a] == TREE:
        begin = int(costs.peak_start[a])
        climb: Floats = costs.peak[begin : begin + size - 1]
        return climb
    gaps: Floats = costs.end[own][1:] - costs.position[own][:-1]
    return np.minimum(1.0, gaps)


def _is_laminar(costs: Costs, a: int) -> bool:
    """Whether two codes lose as much as the dearest two neighbours between them."""
    if costs.form[a] == TREE:
        return True
    return costs.form[a] != SET and (costs.size[a] <= 2 or bool((_gaps(costs, a) >= 1).all()))


def _listed(costs: Costs, floor: Floats, a: int) -> _Listed | None:
    own, size = _own(costs, a), int(costs.size[a])
    if size > LONGEST:
        return None
    if costs.form[a] == SET:
        return _sets(floor[own], size)
    if _is_laminar(costs, a):
        return _ranges(floor[own], size, _levels(_gaps(costs, a), size))
    if size > LONGEST_LISTED:
        return None
    position, end = costs.position[own], costs.end[own]
    every = [
        (low, high, float(min(1.0, end[high] - position[low])))
        for low in range(size)
        for high in range(low + 1, size)
    ]
    within = [one for one in every if one[2] < 1.0]
    return _ranges(
        floor[own], size, [*within, (0, size - 1, 1.0)] if len(within) < len(every) else every
    )


def _levels(gaps: Floats, size: int) -> list[tuple[int, int, float]]:
    """Nodes of a tree with more than one code: all runs whose gaps are no larger than one."""
    found: dict[tuple[int, int], float] = {}
    for level in np.unique(gaps):
        cut = np.flatnonzero(gaps > level)
        lows, highs = np.append(0, cut + 1), np.append(cut, size - 1)
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
            if high > low:
                found.setdefault((low, high), float(level))
    return [(low, high, price) for (low, high), price in found.items()]


def _ranges(floor: Floats, size: int, several: list[tuple[int, int, float]]) -> _Listed:
    """Single codes and these ranges, the dearest last; the closure is the cheapest around."""
    several = sorted(several, key=lambda one: (one[2], one[1] - one[0]))
    low = np.array([*range(size), *(one[0] for one in several)], dtype=np.int64)
    high = np.array([*range(size), *(one[1] for one in several)], dtype=np.int64)
    price = np.concatenate([floor, [one[2] for one in several]])
    closure = np.full((size, size), -1, dtype=np.int32)
    for node in range(len(low) - 1, size - 1, -1):
        part = closure[low[node] : high[node] + 1, low[node] : high[node] + 1]
        part[:] = node
    np.fill_diagonal(closure, np.arange(size))
    return _Listed(
        price, low, high, np.zeros(len(low), dtype=np.uint64), np.ones(len(low), dtype=np.bool_),
        size, closure.ravel(), size,
    )  # fmt: skip


def _sets(floor: Floats, size: int) -> _Listed:
    """Single values, all small sets, and all values at the price of the smallest larger set."""
    if size > SET_BITS:
        return _ranges(floor, size, [(0, size - 1, min(1.0, 2 / size))])
    sets: list[tuple[int, ...]] = [(code,) for code in range(size)]
    price = list(floor)
    largest = 1
    while largest < size:
        more = list(combinations(range(size), largest + 1))
        if (len(sets) + len(more) > MOST_SETS and largest > 1) or len(more) > 10 * MOST_SETS:
            break
        largest += 1
        sets += more
        price += [largest / size] * len(more)
    mask = [sum(1 << code for code in one) for one in sets]
    closed = [True] * len(sets)
    if largest < size:
        mask.append((1 << size) - 1)
        closed.append(False)
        price.append((largest + 1) / size)
    return _Listed(
        np.array(price), np.zeros(len(mask), dtype=np.int64), np.zeros(len(mask), dtype=np.int64),
        np.array(mask, dtype=np.uint64), np.array(closed), 0, np.zeros(0, dtype=np.int32), size,
    )  # fmt: skip
