"""Keyed 64-bit fingerprints of records: SipHash-1-3 over what a record holds.

Sorted by them records stand in an order that depends on their content and the key,
not on the order they came in, and that nobody can foretell who does not know the key
(Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). Worked on lanes of many
records at once, as the curve's keys are.
"""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.sorting import order_of_keys
from shoal.kernels.threads import ALONE, on_threads

LANES = 1024
"""Records worked on at once: their state stays in the first-level cache."""
SIP = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


@inner_kernel
def _turned(x, by):
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@inner_kernel
def _round(a, b, c, d):
    """SipRound, of all lanes."""
    for r in range(len(a)):
        v0, v1, v2, v3 = a[r], b[r], c[r], d[r]
        v0 += v1
        v2 += v3
        v1 = _turned(v1, 13) ^ v0
        v3 = _turned(v3, 16) ^ v2
        v0 = _turned(v0, 32)
        v2 += v1
        v0 += v3
        v1 = _turned(v1, 17) ^ v2
        v3 = _turned(v3, 21) ^ v0
        v2 = _turned(v2, 32)
        a[r], b[r], c[r], d[r] = v0, v1, v2, v3


@inner_kernel
def _absorb(state, word):
    """Take one word of each record in."""
    for r in range(len(word)):
        state[3, r] ^= word[r]
    _round(state[0], state[1], state[2], state[3])
    for r in range(len(word)):
        state[0, r] ^= word[r]


@inner_kernel
def _absorb_codes(state, word, codes, at, count):
    """Take all rows of codes (d, n) in, two to a word."""
    for i in range(0, len(codes), 2):
        for r in range(count):
            word[r] = np.uint64(np.uint32(codes[i, at + r]))
        if i + 1 < len(codes):
            for r in range(count):
                word[r] |= np.uint64(np.uint32(codes[i + 1, at + r])) << np.uint64(32)
        _absorb(state, word)


@kernel
def _fingerprints(codes, sensitive, marks, start, length, begin, end, out, state, word):
    """`fingerprints` of the records begin..end, with its scratch: (4, LANES) and (LANES,)."""
    for at in range(begin, end, LANES):
        count = LANES if end - at > LANES else end - at
        for i in range(4):
            state[i, :] = start[i]
        word[:] = np.uint64(0)
        _absorb_codes(state, word, codes, at, count)
        _absorb_codes(state, word, sensitive, at, count)
        for i in range(len(marks)):
            for r in range(count):
                word[r] = marks[i, at + r]
            _absorb(state, word)
        word[:] = length
        _absorb(state, word)
        for r in range(LANES):
            state[2, r] ^= np.uint64(0xFF)
        for _ in range(3):
            _round(state[0], state[1], state[2], state[3])
        for r in range(count):
            out[at + r] = state[0, r] ^ state[1, r] ^ state[2, r] ^ state[3, r]


def fingerprints(codes, sensitive, marks, key):
    """Fingerprint of each record, uint64 (n,), under a `key` of two 64-bit words.

    ``codes`` and ``sensitive`` are int32 (columns, n), ``marks`` uint64 (columns, n): whatever
    else tells records apart. Two threads share the work on a long table.
    """
    n = codes.shape[1]
    k0, k1 = (int(word) for word in key)
    start = np.array([k ^ c for k, c in zip((k0, k1, k0, k1), SIP, strict=True)], dtype=np.uint64)
    length = np.uint64(len(codes) + (len(sensitive) << 20) + (len(marks) << 40))
    out = np.empty(n, dtype=np.uint64)

    def fill(begin, end):
        state, word = np.empty((4, LANES), dtype=np.uint64), np.empty(LANES, dtype=np.uint64)
        _fingerprints(codes, sensitive, marks, start, length, begin, end, out, state, word)

    borders = [0, n] if n < ALONE else [0, n // 2, n]
    on_threads(fill, borders[:-1], borders[1:])
    return out


@kernel
def _texts(data, offsets, start, out):
    """SipHash-1-3 of each text, eight bytes a word."""
    state = np.empty((4, 1), dtype=np.uint64)
    word = np.empty(1, dtype=np.uint64)
    for t in range(len(out)):
        for i in range(4):
            state[i, 0] = start[i]
        begin, end = offsets[t], offsets[t + 1]
        for at in range(begin, end, 8):
            word[0] = np.uint64(0)
            for b in range(at, min(at + 8, end)):
                word[0] |= np.uint64(data[b]) << np.uint64(8 * (b - at))
            _absorb(state, word)
        word[0] = np.uint64(end - begin)
        _absorb(state, word)
        state[2, 0] ^= np.uint64(0xFF)
        for _ in range(3):
            _round(state[0], state[1], state[2], state[3])
        out[t] = state[0, 0] ^ state[1, 0] ^ state[2, 0] ^ state[3, 0]


def text_fingerprints(data, offsets):
    """Fingerprints without a key of texts: bytes ``data[offsets[t]:offsets[t + 1]]``."""
    out = np.empty(len(offsets) - 1, dtype=np.uint64)
    _texts(data, offsets, np.array(SIP, dtype=np.uint64), out)
    return out


@kernel
def _tell_copies_apart(keys, order):
    """Mix into each key how many equal ones stand before it in their order; True if any was."""
    copies = False
    copy = 0
    before = keys[order[0]]
    for i in range(1, len(order)):
        key = keys[order[i]]
        copy = copy + 1 if key == before else 0
        before = key
        if copy > 0:
            copies = True
            x = key + np.uint64(copy) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            keys[order[i]] = x ^ (x >> np.uint64(31))
    return copies


def order_by_fingerprint(keys, among_equals=None):
    """Records by their fingerprints, which are changed; copies of a record are spread apart.

    Which copy is the first, the second, ... is by the fingerprints `among_equals`, if given.

    Side by side, copies would make all methods that break ties by the order of the records
    take equal values one after the other: twice the loss for l = 2 on some tables.
    """
    words = keys.reshape(1, -1) if among_equals is None else np.stack([keys, among_equals])
    order = order_of_keys(words)
    return order_of_keys(keys.reshape(1, -1)) if _tell_copies_apart(keys, order) else order
