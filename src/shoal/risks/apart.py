"""Releases in two tables (anatomy): whose value is whose is told by group only.

The first table has quasi-identifiers as they are and a group, the second how often each value
is in each group. All records of a group are as likely to have each of its values. So records
that look alike (a class) and records whose values are published together (a bucket) are not
the same here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.spreadsheet import armed_names
from shoal.encoding.values import Distinct, distinct_values
from shoal.errors import InputError
from shoal.io.frames import to_arrow
from shoal.joining.sources import Source
from shoal.recipient.apart import open_apart

__all__ = ["TwoTables", "two_tables"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TwoTables:
    """The sensitive values of a release in two tables."""

    name: str
    groups: Codes
    """Group of each record, from 0."""
    values: Distinct
    """One value for each place in a group, group by group; as many as there are records."""
    places: Codes
    """The place of each record, if values are dealt within groups by chance."""
    sizes: Codes

    def dealt(self, turn: int = 0) -> Distinct:
        """The values as if dealt within groups by chance.

        With as many turns as a group has records, each of them gets each of its values once.
        """
        first = np.cumsum(self.sizes) - self.sizes
        begin, size = first[self.groups], self.sizes[self.groups]
        spots = begin + (self.places - begin + turn) % size
        return replace(self.values, codes=self.values.codes[spots])


def two_tables(source: Source) -> TwoTables | None:
    """The values of a release in two tables; None of one that is in one.

    Raises
    ------
    InputError
        There is no second table, or the two do not fit together.
    """
    if source.second is None:
        return None
    try:
        second, _ = to_arrow(source.second, source.about.missing)
    except InputError as error:
        raise InputError(f"{source.name}: its second table: {error}") from None
    second = armed_names(second) if source.about.csv_safe else second
    apart = open_apart(source.table, second, source.about)
    groups = apart.codes.astype(np.int64)
    order = np.lexsort((np.random.default_rng(0).random(len(groups)), groups))
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups))
    texts: list[Any] = [text for cell in apart.cells for text in cell.texts]
    values = distinct_values(pa.chunked_array([pa.array(texts, pa.string())]), ())
    sizes = np.bincount(groups, minlength=len(apart.cells))
    return TwoTables(apart.name, groups, values, places, sizes)
