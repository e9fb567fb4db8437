"""How much a packed file may unpack to: a small one can hold more than the machine has."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from pathlib import Path

from shoal.engines.memory.size import available
from shoal.errors import InputError

__all__ = ["MOST_UNPACKED", "check_unpacked"]

MOST_UNPACKED = 8 << 30
"""Bytes; as much as may be uploaded."""
DENSEST = 1032
"""Bytes that one packed byte can stand for: no more in deflate."""
PART = 1 << 20


def check_unpacked(path: Path) -> None:
    """Refuse a packed file that unpacks to more than the free memory, before it is read.

    Raises
    ------
    InputError
        It does.
    """
    if path.suffix.lower() != ".gz":
        return
    free = available()
    most = MOST_UNPACKED if free is None else min(MOST_UNPACKED, free)
    taken = 0
    # What is broken, or not there, is told by whoever reads it.
    with suppress(OSError, EOFError, zlib.error):
        if path.stat().st_size * DENSEST <= most:
            return
        with gzip.open(path, "rb") as file:
            while part := file.read(PART):
                taken += len(part)
                if taken > most:
                    break
    if taken > most:
        raise InputError(
            f"{path.name}: unpacks to more than {most >> 20:,} MB, which is more than can be read"
        )
