"""Hilbert curve of any dimension: where a record lies along it.

The key is the interleaved transpose of J. Skilling, "Programming the Hilbert
curve" (2004), worked on lanes of many records at once: every step is a handful
of bit operations without branches, so the compiler turns a row of lanes into
vector instructions. Keys are whole numbers of ``d * bits`` bits, cut into
64-bit words where they are longer; no float is involved.
"""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.threads import ALONE, on_threads

LANES = 992
"""Records worked on at once: d rows of them stay in the first-level cache."""
MOST_BITS = 16
"""Finest grid per attribute: what lies in one cell differs by a loss of 1.5e-5 at most."""


def key_words(dimensions, bits):
    """Number of 64-bit words of a key."""
    return (dimensions * bits + 63) // 64


@inner_kernel
def _turn(first, row, level, below):
    """Where the axis' bit is set invert the low bits of the first axis, else swap them."""
    for r in range(len(row)):
        a = first[r]
        b = row[r]
        on = np.uint32(0) - ((b >> np.uint32(level)) & np.uint32(1))
        swap = (a ^ b) & below & ~on
        first[r] = a ^ swap ^ (below & on)
        row[r] = b ^ swap


@inner_kernel
def _unwind(lanes, bits):
    """Turn coordinates into the transposed Hilbert index, in place; lanes is (d, L)."""
    first = lanes[0]
    for level in range(bits - 1, 0, -1):
        below = np.uint32((1 << level) - 1)
        for r in range(len(first)):
            first[r] ^= below & (np.uint32(0) - ((first[r] >> np.uint32(level)) & np.uint32(1)))
        for i in range(1, len(lanes)):
            _turn(first, lanes[i], level, below)
    for i in range(1, len(lanes)):
        for r in range(len(first)):
            lanes[i, r] ^= lanes[i - 1, r]


@inner_kernel
def _flips(last, flips, bits):
    """Bit j of a flip: parity of the bits above j of the last axis."""
    flips[:] = np.uint32(0)
    for level in range(bits - 1, 0, -1):
        below = np.uint32((1 << level) - 1)
        for r in range(len(flips)):
            flips[r] ^= below & (np.uint32(0) - ((last[r] >> np.uint32(level)) & np.uint32(1)))


@inner_kernel
def _interleave(lanes, flips, bits, words):
    """Write the bits of all axes, level by level, into the words of the keys, left-aligned."""
    for w in range(len(words)):
        words[w, :] = np.uint64(0)
    place = 0
    for level in range(bits - 1, -1, -1):
        for i in range(len(lanes)):
            word = words[place // 64]
            shift = np.uint64(63 - place % 64)
            row = lanes[i]
            for r in range(len(row)):
                bit = ((row[r] ^ flips[r]) >> np.uint32(level)) & np.uint32(1)
                word[r] |= np.uint64(bit) << shift
            place += 1


@kernel
def _keys(codes, axes, grid, start, bits, begin, end, words, lanes, flips, keys):
    """`hilbert_keys` with its scratch: lanes (d, LANES), flips (LANES,), keys (words, LANES)."""
    for at in range(begin, end, LANES):
        count = LANES if end - at > LANES else end - at
        for i in range(len(axes)):
            row, column, cells = lanes[i], codes[axes[i]], grid[start[i] :]
            for r in range(count):
                row[r] = cells[column[at + r]]
        # a short last chunk works on whole rows too: rows of known stride vectorise
        _unwind(lanes, bits)
        _flips(lanes[len(axes) - 1], flips, bits)
        _interleave(lanes, flips, bits, keys)
        for w in range(len(words)):
            for r in range(count):
                words[w, at + r] = keys[w, r]


def hilbert_keys(codes, axes, grid, start, bits, begin, end, words):
    """Keys of the records begin..end into ``words`` (words, n), most significant first.

    ``codes`` is int32 (d, n), of which the rows `axes` are used in that order;
    ``grid[start[i] + code]`` (uint32) is the cell of axis i's code among
    ``2**bits`` cells.
    """
    lanes = np.zeros((len(axes), LANES), dtype=np.uint32)
    flips = np.empty(LANES, dtype=np.uint32)
    keys = np.empty((len(words), LANES), dtype=np.uint64)
    _keys(codes, axes, grid, start, bits, begin, end, words, lanes, flips, keys)


def keys_along(codes, axes, places, bits):
    """Hilbert keys of the records of ``codes`` (attributes, n): (words, n), first word first.

    ``places[i]`` says where, from 0 to 1, the codes of attribute ``axes[i]`` stand on the grid.
    Two threads share the work on a long table.
    """
    top = (1 << bits) - 1
    cells = [np.rint(np.clip(place, 0.0, 1.0) * top).astype(np.uint32) for place in places]
    start = np.cumsum([0, *(len(c) for c in cells)])[:-1].astype(np.int64)
    grid = np.concatenate(cells)
    rows = np.array(axes, dtype=np.int64)
    n = codes.shape[1]
    words = np.empty((key_words(len(rows), bits), n), dtype=np.uint64)

    def fill(begin, end):
        hilbert_keys(codes, rows, grid, start, bits, begin, end, words)

    borders = [0, n] if n < ALONE else [0, n // 2, n]
    on_threads(fill, borders[:-1], borders[1:])
    return words
