"""Which records carry equal values, and what the groups of a partition span."""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel


@inner_kernel
def _slot(slots, firsts, key, bits):
    """Where a key stands in the table, or the empty place where it belongs."""
    mask = (1 << bits) - 1
    slot = np.int64(np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits))
    while slots[slot] >= 0 and firsts[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def dense_ids(keys, ids):
    """Number equal keys alike, in order of first appearance; returns how many there are.

    A hash table with open addressing: one pass, no sort. It grows with what is in it, since
    a small one stays in the cache. ``ids`` may be ``keys``.
    """
    bits = 12
    slots = np.full(1 << bits, -1, dtype=np.int32)
    firsts = np.empty(len(keys), dtype=np.int64)
    count = 0
    for i in range(len(keys)):
        key = keys[i]
        slot = _slot(slots, firsts, key, bits)
        if slots[slot] < 0:
            if 2 * (count + 1) > len(slots):
                bits += 2
                slots = np.full(1 << bits, -1, dtype=np.int32)
                for known in range(count):
                    slots[_slot(slots, firsts, firsts[known], bits)] = known
                slot = _slot(slots, firsts, key, bits)
            slots[slot] = count
            firsts[count] = key
            count += 1
        ids[i] = slots[slot]
    return count


@kernel
def sort_by_id(ids, offsets, order):
    """Counting sort: records of id g end up in ``order[offsets[g]:offsets[g+1]]``, stably."""
    offsets[:] = 0
    for i in range(len(ids)):
        offsets[ids[i] + 1] += 1
    for g in range(1, len(offsets)):
        offsets[g] += offsets[g - 1]
    place = offsets[:-1].copy()
    for i in range(len(ids)):
        order[place[ids[i]]] = i
        place[ids[i]] += 1


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
def mark_used(codes, used):
    """Set ``used[code]`` for every code that occurs; negative codes are missing."""
    for code in codes:
        if code >= 0:
            used[code] = True


@inner_kernel
def _sort_members(members, begin, end, seen, mark):
    """Sort the codes members[begin:end], which are those with ``seen[code] == mark``."""
    if end - begin > 32:  # many: read them off `seen`, in a time that the domain bounds
        filled = begin
        code = 0
        while filled < end:
            if seen[code] == mark:
                members[filled] = code
                filled += 1
            code += 1
        return
    for i in range(begin + 1, end):
        code = members[i]
        j = i
        while j > begin and members[j - 1] > code:
            members[j] = members[j - 1]
            j -= 1
        members[j] = code


@kernel
def group_sets(codes, order, offsets, size, starts, members):
    """Distinct codes of every group, ascending, as CSR: starts (groups + 1) and members.

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
        _sort_members(members, starts[g], filled, seen, g)
    starts[len(offsets) - 1] = filled


@inner_kernel
def _same_set(starts, members, a, b):
    if starts[a + 1] - starts[a] != starts[b + 1] - starts[b]:
        return False
    for i in range(starts[a + 1] - starts[a]):
        if members[starts[a] + i] != members[starts[b] + i]:
            return False
    return True


@kernel
def set_ids(starts, members, ids, firsts):
    """Number equal sets alike; ``firsts[id]`` is the first group with that set.

    Hashing finds the candidates, comparing the members decides. Returns the
    number of different sets.
    """
    groups = len(starts) - 1
    bits = 4
    while (1 << bits) < 2 * groups:
        bits += 1
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int64)
    count = 0
    for g in range(groups):
        mixed = np.uint64(14695981039346656037)
        for i in range(starts[g], starts[g + 1]):
            mixed = (mixed ^ np.uint64(members[i])) * np.uint64(1099511628211)
        slot = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        while slots[slot] >= 0 and not _same_set(starts, members, firsts[slots[slot]], g):
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = count
            firsts[count] = g
            count += 1
        ids[g] = slots[slot]
    return count
