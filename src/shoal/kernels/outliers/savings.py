"""What a group would save without one of its records."""

import numpy as np

from shoal.kernels.costs import SET, group_extent, range_loss
from shoal.kernels.jit import inner_kernel, kernel


@kernel
def removal_savings(costs, matrix, order, offsets, savings):
    """Fill ``savings[r]`` with ``|g| * NCP(g) - (|g| - 1) * NCP(g without r)``, g the group of r.

    NCP is the weighted mean over the attributes, so that a suppressed record
    costs 1. ``matrix`` holds the codes, shape (d, n); ``order``/``offsets`` is
    the partition.
    """
    whole = costs.weight.sum()
    counts = np.zeros(costs.size.max(), dtype=np.int64)
    for g in range(len(offsets) - 1):
        begin, end = offsets[g], offsets[g + 1]
        for i in range(begin, end):
            savings[order[i]] = 0.0
        loss = 0.0
        for a in range(len(matrix)):
            if costs.form[a] == SET:
                loss += _without_each_value(costs, a, matrix[a], order, begin, end, counts, savings)
            else:
                loss += _without_each_end(costs, a, matrix[a], order, begin, end, savings)
        for i in range(begin, end):
            savings[order[i]] = (loss + (end - begin - 1) * savings[order[i]]) / whole


@inner_kernel
def _without_each_value(costs, attribute, codes, order, begin, end, counts, savings):
    """Add what the loss of a SET falls by to the records that alone have their value.

    Gives the weighted loss of the group; `counts` is scratch of zeros, left so.
    """
    distinct = 0
    for i in range(begin, end):
        distinct += counts[codes[order[i]]] == 0
        counts[codes[order[i]]] += 1
    share = costs.weight[attribute] / costs.size[attribute]
    loss = share * distinct if distinct > 1 else 0.0
    fall = share if distinct > 2 else loss  # a single value costs nothing
    for i in range(begin, end):
        if counts[codes[order[i]]] == 1:
            savings[order[i]] += fall
    for i in range(begin, end):
        counts[codes[order[i]]] = 0
    return loss


@inner_kernel
def _without_each_end(costs, attribute, codes, order, begin, end, savings):
    """Add what the loss of a range falls by to the record that alone is its lowest or highest.

    Gives the weighted loss of the group.
    """
    low, high = group_extent(codes, order, begin, end)
    loss = range_loss(costs, attribute, low, high)
    if loss == 0.0:
        return loss
    lowest, highest = 0, 0
    next_low, next_high = high, low
    for i in range(begin, end):
        code = codes[order[i]]
        lowest += code == low
        highest += code == high
        if code > low:
            next_low = min(next_low, code)
        if code < high:
            next_high = max(next_high, code)
    weight = costs.weight[attribute]
    for i in range(begin, end):
        code = codes[order[i]]
        if code == low and lowest == 1:
            savings[order[i]] += weight * (loss - range_loss(costs, attribute, next_low, high))
        elif code == high and highest == 1:
            savings[order[i]] += weight * (loss - range_loss(costs, attribute, low, next_high))
    return weight * loss
