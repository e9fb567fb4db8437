"""Freed memory, given back between the stages of a long table.

The C library keeps what threads free for later, and Arrow does: of a table of ten million
records a third more than a run needs, at the next stage in the wrong places.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

import pyarrow as pa

__all__ = ["give_back"]

LONG = 2_000_000
"""Records from which it is worth a thousandth of a second."""


def give_back(records: int) -> None:
    """Have the system take what is free, where a table has so many records."""
    if records < LONG:
        return
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # C libraries other than GNU's
            ctypes.CDLL(None).malloc_trim(0)
