"""Random numbers for kernels: small, fast, the same on every machine.

The state is one uint64 in an array, advanced by xorshift64*; numba's own generator
is one per thread and cannot be handed from call to call.
"""

import numpy as np

from shoal.kernels.jit import inner_borrowed


def seed_words(seed, purpose):
    """Two 64-bit words from a seed of up to 128 bits, others for every purpose (a short text)."""
    number = int.from_bytes(purpose.encode(), "big")
    return np.random.SeedSequence([int(seed), number]).generate_state(2, np.uint64)


def random_state(*seeds):
    """State from some whole numbers."""
    return np.random.SeedSequence([int(s) for s in seeds]).generate_state(1, np.uint64) | 1


@inner_borrowed
def _next(state):
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@inner_borrowed
def below(state, n):
    """A whole number from 0 to n - 1."""
    return np.int64((_next(state) >> np.uint64(33)) * np.uint64(n) >> np.uint64(31))


@inner_borrowed
def fraction(state):
    """A number from 0 up to 1."""
    return np.float64(_next(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
