"""What models imply about the group of any record: so many records, so few of a value.

A *family* is a set of small groups, all of `size` records, such that every class
that satisfies the models contains one of them around each of its records. What
the cheapest group of the family around a record costs, any class with the record
costs too. `docs/bounds.md` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SensitiveAttribute
from shoal.encoding.table import EncodedTable
from shoal.models import Model

__all__ = ["Family", "families"]


@dataclass(frozen=True, eq=False)
class Family:
    """Groups of `size` records with at most ``caps[v]`` records of sensitive value v."""

    size: int
    column: int | None = None
    """The sensitive column; None: values do not matter."""
    caps: NDArray[np.int64] | None = None
    dual: bool = True
    """Whether every class is a mixture of such groups, as the dual needs it."""


def families(table: EncodedTable, models: Sequence[Model], moving: bool) -> tuple[Family, ...]:
    """The families that these models imply; at least one of them is for the dual.

    `moving` says that records may be dropped, so that the table that t-closeness
    compares with is not known.
    """
    size = max((model.smallest_class for model in models), default=1)
    if table.person is not None:  # a class of so many persons has at least as many records
        return (Family(size),)
    found: list[Family] = []
    book = table.codebook
    for s, (column, counts) in enumerate(zip(book.sensitive, book.sensitive_counts, strict=True)):
        if (capped := _capped(s, column, counts, models, size, moving)) is not None:
            found.append(capped)
        # a class of exempt values alone need not have different ones
        values = max((model.distinct_asked for model in models), default=1)
        if values > 1 and column.exempt is None:
            once = np.ones(column.size, dtype=np.int64)
            found.append(Family(values, s, once, dual=False))
    if not any(family.dual for family in found):
        found.append(Family(size))
    return tuple(found)


def _capped(
    index: int,
    column: SensitiveAttribute,
    counts: NDArray[np.int64],
    models: Sequence[Model],
    size: int,
    moving: bool,
) -> Family | None:
    """The family in which no value has more than its share, rounded up to whole records."""
    shares = [Fraction(1)] * column.size
    for model in models:
        limits = model.largest_shares(counts, column.ordered, moving)
        shares = [min(pair) for pair in zip(shares, limits, strict=True)]
    if column.exempt is not None:  # as many as there are: they are not to be inferred
        own = zip(shares, column.exempt.tolist(), strict=True)
        shares = [Fraction(1) if exempt else share for share, exempt in own]
    present = [share for share, count in zip(shares, counts, strict=True) if count]
    largest = max(present, default=Fraction(1))
    size = max(size, math.ceil(1 / largest)) if largest > 0 else size
    caps = np.array([math.ceil(size * share) for share in shares], dtype=np.int64)
    return Family(size, index, np.maximum(caps, 1)) if (caps < size).any() else None
