"""Order of long integer keys: radix sort of key and record number packed in one word.

A pass sorts as many leading key bits as fit beside the record number in 64
bits. Records that agree so far but differ further on are sorted again by the
next bits, behind the number of their run; the rest is never looked at twice.
Equal keys keep the order of the records.
"""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

DIGIT = 11
"""Bits per radix pass: 2048 counters stay in the first-level cache."""


@kernel
def _radix(packed, other, low, counts):
    passes, buckets = counts.shape
    mask = np.uint64(buckets - 1)
    for i in range(len(packed)):
        rest = packed[i] >> np.uint64(low)
        for p in range(passes):
            counts[p, rest & mask] += 1
            rest >>= np.uint64(DIGIT)
    for p in range(passes):
        shift = np.uint64(low + p * DIGIT)
        count = counts[p]
        if count[(packed[0] >> shift) & mask] == len(packed):
            continue  # all records share this digit
        total = 0
        for b in range(buckets):
            here = count[b]
            count[b] = total
            total += here
        for i in range(len(packed)):
            digit = (packed[i] >> shift) & mask
            other[count[digit]] = packed[i]
            count[digit] += 1
        packed, other = other, packed
    return packed


def radix_sort(packed, low):
    """Sort by the bits from `low` up, stable; the input is used as scratch."""
    passes = (64 - low + DIGIT - 1) // DIGIT
    counts = np.zeros((passes, 1 << DIGIT), dtype=np.int64)
    return _radix(packed, np.empty_like(packed), low, counts)


@kernel
def _pack_first(words, number_bits, packed):
    """Leading bits of the keys above the record numbers."""
    top = words[0]
    mask = (np.uint64(1) << np.uint64(number_bits)) - np.uint64(1)
    for i in range(len(packed)):
        packed[i] = (top[i] & ~mask) | np.uint64(i)


@inner_kernel
def _bits_at(words, record, place, count):
    """`count` bits of a record's key from bit `place` on, counted from the top."""
    w = place // 64
    shift = place % 64
    bits = words[w, record] << np.uint64(shift)
    if shift > 0 and w + 1 < len(words):
        bits |= words[w + 1, record] >> np.uint64(64 - shift)
    return bits >> np.uint64(64 - count)


@inner_kernel
def _differ(words, a, b):
    w = 0
    while w < len(words) and words[w, a] == words[w, b]:
        w += 1
    return w < len(words)


@kernel
def _mixed_runs(words, order, same, positions, run):
    """Find the runs of records that agree so far but not in full.

    ``same[i]`` says that the i-th record in order agrees with the one before.
    Writes the positions of all members and the run each belongs to; returns
    how many of both.
    """
    found = 0
    runs = 0
    begin = 0
    n = len(order)
    while begin < n:
        end = begin + 1
        mixed = False
        while end < n and same[end]:
            mixed = mixed or _differ(words, order[end - 1], order[end])
            end += 1
        if mixed:
            for i in range(begin, end):
                positions[found] = i
                run[found] = runs
                found += 1
            runs += 1
        begin = end
    return found, runs


@kernel
def _unpack(packed, number_bits, order, same):
    """Record numbers in order, and which of them tie with their predecessor."""
    mask = (np.uint64(1) << np.uint64(number_bits)) - np.uint64(1)
    before = ~packed[0]
    for i in range(len(packed)):
        order[i] = np.int64(packed[i] & mask)
        same[i] = (packed[i] ^ before) <= mask
        before = packed[i]


@kernel
def _pack_next(words, order, positions, run, place, count, number_bits, packed):
    """Run, next `count` key bits, and member number of all records in mixed runs."""
    for m in range(len(packed)):
        bits = _bits_at(words, order[positions[m]], place, count)
        head = (np.uint64(run[m]) << np.uint64(count)) | bits
        packed[m] = (head << np.uint64(number_bits)) | np.uint64(m)


@kernel
def _rearrange(packed, number_bits, positions, old, order, same):
    """Put the members of the mixed runs, `old` in their order so far, into the new one."""
    mask = (np.uint64(1) << np.uint64(number_bits)) - np.uint64(1)
    for m in range(len(packed)):
        order[positions[m]] = old[np.int64(packed[m] & mask)]
        same[positions[m]] = m > 0 and (packed[m] ^ packed[m - 1]) <= mask


def order_of_keys(words):
    """Records in ascending order of key; ``words`` is uint64 (words, n), n >= 1.

    Keys are left-aligned: the most significant bit is bit 63 of ``words[0]``.
    """
    n = words.shape[1]
    order = np.empty(n, dtype=np.int64)
    same = np.empty(n, dtype=np.bool_)
    number_bits = max(1, (n - 1).bit_length())
    packed = np.empty(n, dtype=np.uint64)
    _pack_first(words, number_bits, packed)
    _unpack(radix_sort(packed, number_bits), number_bits, order, same)
    done = 64 - number_bits
    total = 64 * len(words)
    while done < total:
        refined = _refine(words, order, same, done)
        if refined == 0:
            break
        done += refined
    return order


def _refine(words, order, same, done):
    """Sort on where keys agree in their first `done` bits; returns by how many bits."""
    n = len(order)
    positions, run = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    found, runs = _mixed_runs(words, order, same, positions, run)
    if found == 0:
        return 0
    positions, run = positions[:found], run[:found]
    number_bits = max(1, (found - 1).bit_length())
    count = min(64 - number_bits - (runs - 1).bit_length(), 64 * len(words) - done)
    packed = np.empty(found, dtype=np.uint64)
    _pack_next(words, order, positions, run, done, count, number_bits, packed)
    packed = radix_sort(packed, number_bits)
    _rearrange(packed, number_bits, positions, order[positions], order, same)
    return count
