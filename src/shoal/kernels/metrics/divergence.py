"""KL divergence of a release: what is expected at each point, by look-up where that can be.

Where few of the things that boxes cover of an attribute overlap, they fall into
a few layers of disjoint ones: exact values and ``*`` are two layers, a coarser
domain is one, a hierarchy has one a level. A point lies in at most one thing a
layer, so that a choice of layers, one an attribute, leaves it at most one box,
which a hash table finds. (Overlapping boxes at large: `shoal.kernels.boxes`.)
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel


class Layers(NamedTuple):
    """Layers of all attributes, and the choices of layers that some box makes."""

    choices: np.ndarray  # int64 (choices, d): numbers of layers
    base: np.ndarray  # int64 (layers,): where a layer begins in `at`
    at: np.ndarray  # int64: row that covers a code in a layer, -1 if none does


@kernel
def split_layers(starts, first, last, order, layer, taken):
    """Put each row of runs into the first layer where all of its codes are free.

    Parameters
    ----------
    starts, first, last
        Row r covers the runs ``starts[r]..starts[r+1]-1``.
    order
        Rows as they are to be put; the narrowest first keeps the layers few.
    layer
        Filled with the layer of each row.
    taken : bool (layers, codes)
        Scratch, all False; its length is the number of layers there may be.

    Returns
    -------
    int
        How many layers there are, or -1: more than there may be.
    """
    count = 0
    for row in order:
        chosen = 0
        while chosen < len(taken) and _overlaps(starts, first, last, row, taken[chosen]):
            chosen += 1
        if chosen == len(taken):
            return -1
        for run in range(starts[row], starts[row + 1]):
            taken[chosen, first[run] : last[run] + 1] = True
        layer[row] = chosen
        count = max(count, chosen + 1)
    return count


@inner_kernel
def _overlaps(starts, first, last, row, taken):
    for run in range(starts[row], starts[row + 1]):
        for code in range(first[run], last[run] + 1):
            if taken[code]:
                return True
    return False


@kernel
def fill_layers(starts, first, last, layer, base, at):
    """Write the number of each row to the codes that it covers in its layer."""
    for row in range(len(layer)):
        begin = base[layer[row]]
        for run in range(starts[row], starts[row + 1]):
            at[begin + first[run] : begin + last[run] + 1] = row


@inner_kernel
def _mix(hashed, number):
    return (hashed ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)


@inner_kernel
def _slot(hashed, bits):
    return np.int64((hashed ^ (hashed >> np.uint64(29))) >> np.uint64(64 - bits))


@kernel
def hash_boxes(boxes, bits, slots):
    """Enter all boxes, which differ, into ``slots`` (1 << bits, filled with -1)."""
    mask = (1 << bits) - 1
    for value in range(len(boxes.starts) - 1):
        for box in range(boxes.starts[value], boxes.starts[value + 1]):
            hashed = _mix(np.uint64(1), value)
            for a in range(boxes.rows.shape[1]):
                hashed = _mix(hashed ^ (hashed >> np.uint64(32)), boxes.rows[box, a])
            slot = _slot(hashed, bits)
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = box


@inner_kernel
def _find(boxes, value, rows, bits, slots):
    """The box of a value that covers these rows, or -1."""
    mask = (1 << bits) - 1
    hashed = _mix(np.uint64(1), value)
    for a in range(len(rows)):
        hashed = _mix(hashed ^ (hashed >> np.uint64(32)), rows[a])
    slot = _slot(hashed, bits)
    while slots[slot] >= 0:
        box = slots[slot]
        if boxes.starts[value] <= box < boxes.starts[value + 1]:
            same = True
            for a in range(len(rows)):
                same &= boxes.rows[box, a] == rows[a]
            if same:
                return box
        slot = (slot + 1) & mask
    return -1


@kernel
def add_layered(begin, end, points, boxes, layers, bits, slots, expected):
    """Fill ``expected`` for the points begin..end-1."""
    d = points.codes.shape[1]
    rows = np.empty(d, dtype=np.int64)
    value = 0
    for point in range(begin, end):
        while points.starts[value + 1] <= point:
            value += 1
        total = 0.0
        for choice in range(len(layers.choices)):
            covered = True
            for a in range(d):
                base = layers.base[layers.choices[choice, a]]
                rows[a] = layers.at[base + points.codes[point, a]]
                covered &= rows[a] >= 0
            if covered:
                box = _find(boxes, value, rows, bits, slots)
                if box >= 0:
                    total += boxes.share[box]
        expected[point] = total


@kernel
def divergence(counts, expected):
    """Sum of ``count * ln(count / expected)``, compensated: terms of both signs cancel."""
    total = 0.0
    lost = 0.0
    for i in range(len(counts)):
        term = counts[i] * np.log(counts[i] / expected[i]) - lost
        raised = total + term
        lost = (raised - total) - term
        total = raised
    return total
