"""A process with little memory: what it frees goes back to the system at once.

By default freed memory is kept for later, in arenas of every thread and in Arrow's own pool:
quicker, and half as much again as a run of this engine needs. A run that is given little says
so to the C library and to Arrow, for as long as the process lives. (Arrow's own code listens
to ARROW_DEFAULT_MEMORY_POOL only, when it is loaded: the command line sets it.)
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

import pyarrow as pa

__all__ = ["spare_memory"]

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Settings of GNU's mallopt."""
LARGE = 1 << 20
"""Bytes from which a piece of memory is asked of the system, and given back to it, alone."""


def spare_memory() -> None:
    """From now on give back what is freed; elsewhere than on Linux only Arrow does."""
    pa.set_memory_pool(pa.system_memory_pool())
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # C libraries other than GNU's
            library = ctypes.CDLL(None)
            library.mallopt(MMAP_THRESHOLD, LARGE)
            library.mallopt(TRIM_THRESHOLD, 4 * LARGE)
            library.mallopt(ARENA_MAX, 1)
