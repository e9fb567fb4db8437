"""Which records carry equal values, and what the groups of a partition span."""

import numpy as np

from shoal.kernels.jit import kernel


@kernel
def dense_ids(keys, ids):
    """Number equal keys alike, in order of first appearance; returns how many there are.

    A hash table with open addressing: one pass, no sort.
    """
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int32)
    firsts = np.empty(len(keys), dtype=np.int64)
    count = 0
    for i in range(len(keys)):
        key = keys[i]
        slot = np.int64(np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits))
        while slots[slot] >= 0 and firsts[slots[slot]] != key:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = count
            firsts[count] = key
            count += 1
        ids[i] = slots[slot]
    return count


@kernel
def group_extents(codes, order, offsets, low, high):
    """Smallest and largest code of every group of a partition."""
    for g in range(len(offsets) - 1):
        lo = codes[order[offsets[g]]]
        hi = lo
        for i in range(offsets[g] + 1, offsets[g + 1]):
            code = codes[order[i]]
            lo = min(lo, code)
            hi = max(hi, code)
        low[g] = lo
        high[g] = hi


@kernel
def group_sets(codes, order, offsets, size, starts, members):
    """Distinct codes of every group as CSR: starts (groups + 1) and members, unsorted.

    `members` must have room for one code a record.
    """
    seen = np.full(size, -1, dtype=np.int64)
    filled = 0
    for g in range(len(offsets) - 1):
        starts[g] = filled
        for i in range(offsets[g], offsets[g + 1]):
            code = codes[order[i]]
            if seen[code] != g:
                seen[code] = g
                members[filled] = code
                filled += 1
    starts[len(offsets) - 1] = filled
