"""Long lists of numbers and hashes as short texts, for the private record."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed_hashes", "packed_numbers", "unpacked_hashes", "unpacked_numbers"]

HASH_BYTES = 16
"""Of a keyed hash that are kept: two persons of a billion share them once in 10**20 series."""
LEVEL = 6


def packed_numbers(numbers: NDArray[Any]) -> str:
    """Whole numbers below 2**31, compressed, as text."""
    raw = np.ascontiguousarray(numbers, dtype="<i4").tobytes()
    return b64encode(zlib.compress(raw, LEVEL)).decode("ascii")


def unpacked_numbers(text: str) -> NDArray[np.int64]:
    """The numbers again; ValueError where the text is none of ours."""
    try:
        raw = zlib.decompress(b64decode(text, validate=True))
    except (TypeError, zlib.error) as error:
        raise ValueError(str(error)) from None
    return np.frombuffer(raw, "<i4").astype(np.int64)


def packed_hashes(hashes: list[bytes]) -> str:
    """Hashes of equal length, as text: they do not compress."""
    return b64encode(b"".join(hashes)).decode("ascii")


def unpacked_hashes(text: str) -> list[bytes]:
    """The hashes again; ValueError where the text is none of ours."""
    try:
        raw = b64decode(text, validate=True)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if len(raw) % HASH_BYTES:
        raise ValueError("hashes of another length")
    return [raw[begin : begin + HASH_BYTES] for begin in range(0, len(raw), HASH_BYTES)]
