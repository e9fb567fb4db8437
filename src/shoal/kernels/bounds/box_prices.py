"""What boxes cost, from tables where attributes are short."""

from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_loss
from shoal.kernels.jit import inner_borrowed, kernel


class BoxPrices(NamedTuple):
    """What ranges of codes cost, weights included, and never more than any group in them."""

    listed: np.ndarray  # bool (d,): in `table`, and in the rows of a node
    start: np.ndarray  # int64 (d,): where the attribute begins in `table`
    size: np.ndarray  # int64 (d,)
    place: np.ndarray  # int64 (d,): where it begins in a row
    table: np.ndarray  # float64: price of lo..hi at start + lo * size + hi
    costs: tuple  # Costs


@inner_borrowed
def box_price(prices, a, lo, hi):
    """Price of the codes lo..hi of one attribute."""
    if prices.listed[a]:
        return prices.table[prices.start[a] + lo * prices.size[a] + hi]
    costs = prices.costs
    if costs.form[a] == SET:
        return 0.0 if lo == hi else costs.weight[a] * 2.0 / costs.size[a]
    return costs.weight[a] * range_loss(costs, a, lo, hi)


@kernel
def list_box_prices(prices, floor):
    """Fill the table; `floor` is the loss of a code alone, laid out as ``costs.position``."""
    costs = prices.costs
    for a in range(len(prices.listed)):
        if not prices.listed[a]:
            continue
        size = prices.size[a]
        for lo in range(size):
            for hi in range(lo, size):
                if lo == hi:
                    loss = floor[costs.start[a] + lo]
                elif costs.form[a] == SET:
                    loss = 2.0 / size
                else:
                    loss = range_loss(costs, a, lo, hi)
                prices.table[prices.start[a] + lo * size + hi] = costs.weight[a] * loss
