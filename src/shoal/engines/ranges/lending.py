"""Near the largest possible l: ranges that lend records they have too many of.

Where a value is nearly as frequent as models allow, no short stretch of the curve is feasible
by itself, and ranges would grow until one is the table. So ranges of the usual length lend
records of a value that they have too many of to the nearest ranges with room. How many is
worked out from exact counts. They are taken where the lender is nearest to the borrower,
bucket by bucket; of a bucket that is lent in part those who come first in the canonical order
go, which depends on content and seed only. So every engine lends the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import Codebook
from shoal.encoding.table import EncodedTable, Partition
from shoal.engines.memory.canonical import canonical
from shoal.models import needs_sensitive
from shoal.models.base import Model

__all__ = ["Lent", "Loan", "cap_of", "lent_between", "loans_of"]

Counts = NDArray[np.int64]
MOST = 100_000
"""Loans that are looked for at most, before ranges grow instead."""


class Loan(NamedTuple):
    """Records of one value that go from one range to another."""

    lender: int
    code: int
    borrower: int
    records: int


@dataclass(frozen=True, eq=False)
class Lent:
    """Which records are in another range than where they lie on the curve."""

    values: int
    """Sensitive codes that there are."""
    cells: Counts
    """Buckets with a value, as ``bucket * values + code``, that lend records; ascending."""
    loans: tuple[tuple[tuple[int, int], ...], ...]
    """Of each of these cells: borrowing range and how many, one after the other."""
    whole: Counts
    """The range that borrows all of a cell's records; -1 where some stay, or several borrow."""

    @property
    def records(self) -> int:
        return sum(records for cell in self.loans for _, records in cell)

    def cells_of(self, bucket: NDArray[Any], codes: NDArray[Any]) -> Counts:
        """The number of each record's cell among those that lend; -1 if it is none of them."""
        key = bucket.astype(np.int64) * self.values + codes
        place = np.minimum(np.searchsorted(self.cells, key), len(self.cells) - 1)
        return np.where(self.cells[place] == key, place, -1)

    def partly(self, cell: Counts) -> Counts:
        """Of the cells of records: which records are in one that is lent in part."""
        return np.flatnonzero((cell >= 0) & (self.whole[cell] < 0))

    def borrowers(self, table: EncodedTable, cell: Counts, seed: int) -> Counts:
        """Range of each record of cells that are lent in part: all records of these; -1: home."""
        to = np.full(len(cell), -1, dtype=np.int64)
        numbers, dense = np.unique(cell, return_inverse=True)
        rows = Partition.from_group_ids(dense)
        for number, first, last in zip(numbers, rows.offsets, rows.offsets[1:], strict=False):
            own = rows.order[first:last]
            queue = own[canonical(table.take(own), seed).order]
            for borrower, records in self.loans[int(number)]:
                to[queue[:records]] = borrower
                queue = queue[records:]
        return to


def cap_of(book: Codebook, models: Sequence[Model]) -> Fraction | None:
    """The largest share of a value in a class, where that and sizes are all that is asked."""
    one = len(book.sensitive) == 1 and book.sensitive[0].exempt is None and book.persons is None
    if not (one and needs_sensitive(models) and all(model.size_and_cap for model in models)):
        return None
    cap = min(model.cap for model in models)
    return cap if cap < 1 else None


def loans_of(counts: Counts, cap: Fraction) -> list[Loan] | None:
    """Loans after which no value has a larger share of any range than the cap; None: none found.

    Parameters
    ----------
    counts
        Records of each range (row) and value (column).
    cap
        The share: of n records at most ``cap * n`` have one value, decided in integers.
    """
    a, b = cap.numerator, cap.denominator
    counts, loans = counts.copy(), list[Loan]()
    lenders = np.zeros(counts.shape, dtype=bool)
    distance = np.arange(len(counts))
    for _ in range(MOST):
        sizes = counts.sum(axis=1)
        beyond = b * counts.max(axis=1) - a * sizes
        if not (beyond > 0).any():
            return loans
        lender = int(np.argmax(beyond > 0))
        code = int(counts[lender].argmax())
        out = -(-int(beyond[lender]) // (b - a))
        room = (a * sizes - b * counts[:, code]) // (b - a)  # other values only gain from more
        room[lenders[:, code]] = 0
        lenders[lender, code] = True
        for borrower in np.argsort(np.abs(distance - lender), kind="stable").tolist():
            if borrower == lender or room[borrower] <= 0:
                continue
            records = min(out, int(room[borrower]))
            counts[lender, code] -= records
            counts[borrower, code] += records
            loans.append(Loan(lender, code, borrower, records))
            out -= records
            if not out:
                break
        if out:
            return None
    return None


def lent_between(loans: Sequence[Loan], cells: Counts, firsts: NDArray[np.int64]) -> Lent | None:
    """The cells (bucket, code) whose records are lent; None where a range has not so many.

    Parameters
    ----------
    loans
        What ranges lend each other.
    cells
        Records of each bucket (row) and value (column).
    firsts
        The first bucket of each range.
    """
    left, given = cells.copy(), dict[int, list[tuple[int, int]]]()
    lasts = np.append(firsts[1:], len(cells))
    for loan in _net(loans):
        begin, end = int(firsts[loan.lender]), int(lasts[loan.lender])
        buckets = range(begin, end)
        out = loan.records
        for bucket in reversed(buckets) if loan.borrower > loan.lender else buckets:
            records = min(out, int(left[bucket, loan.code]))
            if records:
                left[bucket, loan.code] -= records
                cell = bucket * cells.shape[1] + loan.code
                given.setdefault(cell, []).append((loan.borrower, records))
                out -= records
            if not out:
                break
        if out:
            return None
    keys = np.array(sorted(given), dtype=np.int64)
    each = tuple(tuple(given[key]) for key in keys.tolist())
    alone = [
        cell[0][0] if len(cell) == 1 and not left.reshape(-1)[key] else -1
        for key, cell in zip(keys.tolist(), each, strict=True)
    ]
    return Lent(cells.shape[1], keys, each, np.array(alone, dtype=np.int64))


def _net(loans: Sequence[Loan]) -> Iterator[Loan]:
    """Loans of the same records to the same range as one, in a fixed order."""
    sums: dict[tuple[int, int, int], int] = {}
    for lender, code, borrower, records in loans:
        sums[lender, code, borrower] = sums.get((lender, code, borrower), 0) + records
    for (lender, code, borrower), records in sorted(sums.items()):
        yield Loan(lender, code, borrower, records)
