"""Which centre each record is nearest to, and how far away it is.

The nearest of c centres has the least ``|c|^2 / 2 - x.c``: one product and one
addition per attribute. A block of records stands in rows, one row an attribute;
every centre in turn is held against the whole block, four attributes a pass, so
that each pass is one vector loop over records. All arithmetic is float32 in a
fixed order: the answer does not depend on blocks, threads or machines.
"""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

BLOCK = 1024
"""Records worked on at once: a row of them for each attribute stays in the cache."""
GROUP = 4
"""Attributes a pass; rows of zeros fill up the last one."""


def padded(attributes):
    """Rows of a block, or coordinates of a centre: a whole number of passes."""
    return max(1, -(-attributes // GROUP)) * GROUP


@kernel
def first_of_runs(words, order, first):
    """Where a record of the order has another key than the one before; returns how many.

    ``words`` is uint64 (words, n), ``first`` int64 (n,): positions in the order.
    """
    count = 0
    for i in range(len(order)):
        differs = i == 0
        for w in range(len(words)):
            differs = differs or words[w, order[i]] != words[w, order[i - 1]]
        if differs:
            first[count] = i
            count += 1
    return count


@inner_kernel
def _fill_block(matrix, grid, start, rows, block):
    """Coordinates of some records: attribute a of record r at ``a * BLOCK + r``."""
    for a in range(len(start)):
        codes, places = matrix[a], grid[start[a] :]
        for r in range(len(rows)):
            block[a * BLOCK + r] = places[codes[rows[r]]]


@inner_kernel
def _pass(x, c0, c1, c2, c3, state):
    """Take four attributes off the scores, which are the first half of the state."""
    for r in range(BLOCK):
        product = x[r] * c0 + x[BLOCK + r] * c1
        product += x[2 * BLOCK + r] * c2
        product += x[3 * BLOCK + r] * c3
        state[r] -= product


@inner_kernel
def _last_pass(x, c0, c1, c2, c3, number, state, which):
    """The last four attributes of a centre: keep it where its score is the best so far."""
    for r in range(BLOCK):
        product = x[r] * c0 + x[BLOCK + r] * c1
        product += x[2 * BLOCK + r] * c2
        product += x[3 * BLOCK + r] * c3
        score = state[r] - product
        best = state[BLOCK + r]
        better = score < best
        state[BLOCK + r] = score if better else best
        which[r] = number if better else which[r]


@inner_kernel
def _nearest_in_block(block, centres, half, state, which):
    """Best centre of each record of a block: scores and best scores share one array.

    Few arrays with fixed distances inside: the compiler can then prove, or
    check in a few comparisons, that no write disturbs a read, and vectorises.
    """
    last = centres.shape[1] - GROUP
    state[BLOCK:] = np.inf
    for c in range(len(centres)):
        state[:BLOCK] = half[c]
        centre = centres[c]
        for a in range(0, last, GROUP):
            x = block[a * BLOCK : (a + GROUP) * BLOCK]
            _pass(x, centre[a], centre[a + 1], centre[a + 2], centre[a + 3], state)
        c0, c1, c2, c3 = centre[last], centre[last + 1], centre[last + 2], centre[last + 3]
        _last_pass(block[last * BLOCK :], c0, c1, c2, c3, np.int32(c), state, which)


@kernel
def _nearest(matrix, grid, start, rows, centres, half, block, state, which, cell, away):
    """`nearest_centres` with its scratch."""
    for at in range(0, len(rows), BLOCK):
        count = min(BLOCK, len(rows) - at)
        _fill_block(matrix, grid, start, rows[at : at + count], block)
        _nearest_in_block(block, centres, half, state, which)
        for r in range(count):
            square = np.float32(0.0)
            for a in range(len(start)):
                gap = block[a * BLOCK + r] - centres[which[r], a]
                square += gap * gap
            cell[at + r] = which[r]
            away[at + r] = np.sqrt(square)


def nearest_centres(matrix, grid, start, rows, centres, cell, away):
    """Nearest centre of each record in `rows`, and the Euclidean distance to it.

    Of equally near centres the first counts.

    Parameters
    ----------
    matrix : int32 array (d, n)
        Codes of the records.
    grid, start : float32 array, int64 array (d,)
        ``grid[start[a] + code]`` is the coordinate of a code of attribute a.
    rows : int64 array
        Records to look at.
    centres : float32 array (c, padded(d))
        Zeros beyond coordinate d.
    cell, away : int32 array, float32 array
        What is found: number of the centre and distance, one for each of `rows`.
    """
    half = half_squares(centres)
    block = np.zeros(centres.shape[1] * BLOCK, dtype=np.float32)
    state = np.empty(2 * BLOCK, dtype=np.float32)
    which = np.zeros(BLOCK, dtype=np.int32)
    _nearest(matrix, grid, start, rows, centres, half, block, state, which, cell, away)


@kernel
def _half_squares(centres, half):
    for c in range(len(centres)):
        total = np.float32(0.0)
        for a in range(centres.shape[1]):
            total += centres[c, a] * centres[c, a]
        half[c] = total * np.float32(0.5)


def half_squares(centres):
    """Half the squared length of each centre."""
    half = np.empty(len(centres), dtype=np.float32)
    _half_squares(centres, half)
    return half


@kernel
def pack_cells(first, count, rank, ring, ring_bits, number_bits, packed):
    """Cell, ring and position along the curve in one word for every record.

    Run j of equal records is ``first[j]..first[j + 1]`` along the curve; its
    centre is ``rank[j]``-th along the line, its ring ``ring[j]``.
    """
    for j in range(count):
        end = first[j + 1] if j + 1 < count else len(packed)
        head = (np.uint64(rank[j]) << np.uint64(ring_bits)) | np.uint64(ring[j])
        for i in range(first[j], end):
            packed[i] = (head << np.uint64(number_bits)) | np.uint64(i)
