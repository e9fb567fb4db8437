"""The lattice of kept attributes, as one flag for each of its 2**d sets.

Keeping more attributes only divides classes further. So a record whose class is
too small on a set is witness against all its supersets, and one pass over the
lattice finds every set it speaks against.
"""

import numpy as np

from shoal.kernels.jit import kernel


@kernel
def agreements(columns, witness, weight, masks, counts):
    """Add the weight of every row to the set of attributes on which it equals the witness.

    Column by column, so that the processor compares many rows at once.
    """
    masks[:] = 0
    for j in range(len(columns)):
        column = columns[j]
        value = column[witness]
        bit = np.int32(1 << j)
        for x in range(len(column)):
            masks[x] |= bit if column[x] == value else np.int32(0)
    counts[:] = 0
    for x in range(len(masks)):
        counts[masks[x]] += weight[x]


@kernel
def forbid_small(counts, k, allowed):
    """Forbid the sets on which the rows that equal the witness weigh less than k.

    On a set, those are the rows that equal it on the set or a superset: the
    counts are summed over supersets, attribute by attribute, in place.
    """
    bit = 1
    while bit < len(counts):
        for begin in range(0, len(counts), 2 * bit):
            lower, upper = counts[begin : begin + bit], counts[begin + bit : begin + 2 * bit]
            for i in range(bit):
                lower[i] += upper[i]
        bit *= 2
    for mask in range(len(counts)):
        allowed[mask] &= counts[mask] >= k


@kernel
def forbid_supersets(conflict, allowed):
    """Forbid all sets that contain this one."""
    for mask in range(len(allowed)):
        if mask & conflict == conflict:
            allowed[mask] = False


@kernel
def next_allowed(order, allowed, place):
    """First place from here on whose set is allowed."""
    while place < len(order) and not allowed[order[place]]:
        place += 1
    return place


def subset_sums(values):
    """Sum of the values of every set of positions, by bits."""
    sums = np.zeros(1, dtype=np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
