"""The hash of a table's rows, whatever their order: a database keeps none.

It is the SHA-256 of the header line, then of the SHA-256 of each row's line, sorted. Lines are
those of a CSV file: cells between commas, quoted where needed, a missing one empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from shoal.io.write import csv_header_line, csv_lines

__all__ = ["RowsHash", "hash_of_rows"]

AT_ONCE = 1 << 16


class RowsHash:
    """A hash that rows are added to, batch by batch."""

    def __init__(self, names: list[str]) -> None:
        self.header = csv_header_line(names).encode()
        self.rows = bytearray()
        """Hashes of rows one after the other: 32 bytes each, however many there are."""

    def add(self, batch: pa.RecordBatch) -> None:
        """The next rows."""
        sha256 = hashlib.sha256
        for line in csv_lines(pa.Table.from_batches([batch])):
            self.rows += sha256(line).digest()

    def hexdigest(self) -> str:
        """Of all that was added."""
        digest = hashlib.sha256(self.header)
        words = np.frombuffer(self.rows, dtype=">u8").reshape(-1, 4)
        order = np.lexsort(words.T[::-1])  # as bytes are sorted
        for start in range(0, len(order), AT_ONCE):
            digest.update(words[order[start : start + AT_ONCE]].tobytes())
        return digest.hexdigest()


def hash_of_rows(names: list[str], batches: Iterable[pa.RecordBatch]) -> str:
    """The hash of a table, given in batches."""
    rows = RowsHash(names)
    for batch in batches:
        rows.add(batch)
    return rows.hexdigest()
