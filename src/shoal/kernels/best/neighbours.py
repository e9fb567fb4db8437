"""Near records of every record, from their places along several curves.

Records that are near in space are near along most of several different
space-filling curves: of the few before and after it on each, a record keeps the
cheapest to be grouped with.
"""

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.pricing import pair_price

NOBODY = -1


@kernel
def note_neighbours(prices, records, order, reach, begin, end, near, distance):
    """Improve ``near[r]`` by the records within `reach` of r along `order`.

    ``near`` (n, size) holds records by ascending ``distance``, NOBODY where there is none yet;
    only the records ``order[begin:end]`` are served, so that threads can share the work.
    """
    n = len(order)
    size = near.shape[1]
    for i in range(begin, end):
        record = order[i]
        for j in range(max(0, i - reach), min(n, i + reach + 1)):
            if j == i:
                continue
            other = order[j]
            limit = distance[record, size - 1]
            price = pair_price(prices, records[record], records[other], limit)
            if price >= limit:
                continue
            known = False
            for s in range(size):
                if near[record, s] == other:
                    known = True
                    break
            if known:
                continue
            s = size - 1
            while s > 0 and distance[record, s - 1] > price:
                distance[record, s] = distance[record, s - 1]
                near[record, s] = near[record, s - 1]
                s -= 1
            distance[record, s] = price
            near[record, s] = other


def no_neighbours(n, size):
    """Empty lists for `note_neighbours`."""
    return np.full((n, size), NOBODY, dtype=np.int32), np.full((n, size), np.inf)
