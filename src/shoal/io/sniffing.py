"""The format of bytes that have no name: of standard input."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

__all__ = ["ending_of"]

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BEGINS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",
}
"""First bytes of formats that have some."""
HEAD = 4096


def ending_of(path: Path) -> str:
    """The ending that a file would have if it were named after its format; texts are CSV."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    for begin, ending in BEGINS.items():
        if head.startswith(begin):
            return ending
    if head.startswith(ZSTD):
        return ".csv.zst"
    if head.startswith(GZIP):
        return f"{_of_text(_unpacked(path))}.gz"
    return _of_text(head)


def _of_text(head: bytes) -> str:
    """JSON lines begin with a bracket, which no header of a CSV file does."""
    return ".jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv"


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path, "rb") as file:
            return file.read(HEAD)
    except (OSError, EOFError, zlib.error):  # whoever reads it says what is wrong
        return b""
