"""Columns by hand: an attribute together with the codes of its records, as slow twins read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import Attribute, SensitiveAttribute
from shoal.encoding.table import EncodedTable


@dataclass(frozen=True, eq=False)
class Column:
    """What an attribute says, and `codes`."""

    attribute: Any
    codes: NDArray[np.int32]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.attribute, name)

    def changed(self, **changes: Any) -> Column:
        """The column with some fields of its attribute, or its codes, as given."""
        codes = changes.pop("codes", self.codes)
        return Column(replace(self.attribute, **changes), codes)


def qi_column(name, kind, codes, *args, **fields) -> Column:
    """A quasi-identifier: codes, then what an `Attribute` has from its labels on."""
    return Column(Attribute(name, kind, *args, **fields), codes)


def sensitive_column(name, kind, codes, *args, **fields) -> Column:
    """A sensitive column: codes, then what a `SensitiveAttribute` has from its labels on."""
    return Column(SensitiveAttribute(name, kind, *args, **fields), codes)


def encoded_table(n, qi, sensitive=(), person=None) -> EncodedTable:
    """A table of n records with these columns."""
    qi, sensitive = ([(c.attribute, c.codes) for c in columns] for columns in (qi, sensitive))
    return EncodedTable.of(qi, sensitive, person, n=n)


def columns_of(table: EncodedTable) -> tuple[Column, ...]:
    """The quasi-identifiers of a table, each with its codes."""
    return tuple(map(Column, table.qi, table.codes))


def sensitive_of(table: EncodedTable) -> tuple[Column, ...]:
    """The sensitive columns of a table, each with its codes."""
    return tuple(map(Column, table.sensitive, table.sensitive_codes))


def about(table: EncodedTable, *sensitive: Column) -> EncodedTable:
    """The table with these sensitive columns in place of its own."""
    return encoded_table(table.n, columns_of(table), sensitive, table.person)
