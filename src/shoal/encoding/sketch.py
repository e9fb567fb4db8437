"""Some records that stand for all, whatever order and batches they come in.

Of the different rows of codes those with the smallest hashes are kept, with how often each
occurs: a sketch of a table. Sketches of parts merge to that of the whole. A table with few
different rows is kept in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from shoal.encoding.table import Codes

__all__ = ["ROWS", "Sketch", "row_hashes"]

ROWS = 65_536
"""Different rows that are kept."""
AT_ONCE = 1 << 17
"""Records that are taken in together: of later ones most have larger hashes, and are not sorted."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Spreads neighbouring codes over all hashes (the golden ratio, as 64 bits)."""


class Sketch:
    """The different rows of smallest hash, each with the number of records that have it."""

    def __init__(self, attributes: int, rows: int = ROWS) -> None:
        self.rows = rows
        self.hashes = np.zeros(0, dtype=np.uint64)
        self.counts = np.zeros(0, dtype=np.int64)
        self.codes = np.zeros((attributes, 0), dtype=np.int32)

    def add(self, codes: Codes) -> None:
        """Take in records: their codes, shape (attributes, n)."""
        for start in range(0, codes.shape[1], AT_ONCE):
            self._add(codes[:, start : start + AT_ONCE])

    def _add(self, codes: Codes) -> None:
        hashes = row_hashes(codes)
        if len(self.hashes) >= self.rows:  # no larger hash will ever be among the smallest
            near = np.flatnonzero(hashes <= self.hashes[-1])
            hashes, codes = hashes[near], codes[:, near]
        if len(hashes):
            self._merge(hashes, np.ones(len(hashes), dtype=np.int64), codes)

    def merge(self, other: Sketch) -> None:
        """Take in the records of another sketch."""
        self._merge(other.hashes, other.counts, other.codes)

    def _merge(self, hashes: NDArray[np.uint64], counts: NDArray[np.int64], codes: Codes) -> None:
        known, both = len(self.hashes), np.concatenate([self.hashes, hashes])
        order = np.argsort(both)  # which of equal ones comes first does not matter: their rows are
        both = both[order]
        begins = np.flatnonzero(np.append(np.ones(min(1, len(both)), bool), both[1:] != both[:-1]))
        totals = np.add.reduceat(np.concatenate([self.counts, counts])[order], begins)
        kept = begins[: self.rows]
        place = order[kept]
        old = place < known
        chosen = np.empty((len(codes), len(kept)), dtype=np.int32)
        chosen[:, old] = self.codes[:, place[old]]
        chosen[:, ~old] = codes[:, place[~old] - known]
        self.codes, self.hashes, self.counts = chosen, both[kept], totals[: self.rows]

    def sample(self, size: int) -> Codes:
        """Up to so many records, of each row in proportion to its count, in order of the hashes."""
        ends = np.cumsum(self.counts)
        records = int(ends[-1])
        size = min(size, records)
        at = np.searchsorted(ends, np.arange(size, dtype=np.int64) * records // size, side="right")
        return np.ascontiguousarray(self.codes[:, at])


def row_hashes(codes: Codes) -> NDArray[np.uint64]:
    mixed = np.zeros(codes.shape[1], dtype=np.uint64)
    for row in codes:
        mixed += row.astype(np.uint64) + np.uint64(1)
        mixed *= GOLDEN
        mixed ^= mixed >> np.uint64(29)
    return mixed
