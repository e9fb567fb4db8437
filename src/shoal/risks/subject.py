"""The table whose risk is asked for: microdata before a release, or a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.noting import notation_of
from shoal.encoding.values import Distinct, distinct_values
from shoal.errors import InputError, PolicyError, no_column
from shoal.io.frames import to_arrow
from shoal.joining.sources import Source, open_source
from shoal.models import ClassHistograms, histograms, sizes_only
from shoal.notation import COMMA
from shoal.policy import Policy
from shoal.release import Release
from shoal.risks.apart import TwoTables, two_tables
from shoal.verification.check import published_names, released_classes

__all__ = ["Subject", "numbers_of", "subject_of", "table_of"]


@dataclass(frozen=True, eq=False)
class Subject:
    """A table, its roles, and its classes: records with the same quasi-identifiers."""

    source: Source
    qi: tuple[str, ...]
    """By the names of the input; `columns` are those of the table."""
    sensitive: tuple[str, ...]
    persons: NDArray[Any] | None
    """Whose record each is, in codes; within a class only where they are pseudonyms."""
    persons_hidden: bool
    """The promises count persons, and who is one is not known here."""
    released: bool
    """A release, and not the microdata before one."""
    treated: tuple[str, ...] = ()
    """Columns whose numbers are not those of the microdata."""
    weights: str | None = None
    """Sampling weights that the policy declares, if the table has them."""
    apart: TwoTables | None = None
    """Sensitive values by group, of a release in two tables."""
    person: str | None = None
    """The column that says whose record it is, in microdata."""

    @property
    def table(self) -> pa.Table:
        return self.source.table

    @property
    def columns(self) -> list[str]:
        """The quasi-identifiers as columns: two each in the bounds layout."""
        return list(published_names(self.qi, self.table.column_names))

    @cached_property
    def classes(self) -> tuple[NDArray[np.int64], int]:
        """Class of each record, and how many classes there are."""
        return released_classes(self.table, self.columns)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each class, or persons where it is known whose each record is."""
        ids, _ = self.classes
        return sizes_only(ids, person=self.persons).sizes

    @property
    def counted(self) -> str:
        """What `sizes` counts."""
        return "records" if self.persons is None else "persons"

    @cached_property
    def buckets(self) -> tuple[NDArray[np.int64], int]:
        """Bucket of each record, and how many: records whose sensitive values are told together.

        The classes, but of a release in two tables its groups.
        """
        if self.apart is None:
            return self.classes
        return self.apart.groups, len(self.apart.sizes)

    def publishes(self, name: str) -> bool:
        """Whether a column's values are told: record by record, or by group."""
        by_group = self.apart is not None and name == self.apart.name
        return by_group or name in self.table.column_names

    def distinct(self, name: str, turn: int = 0) -> Distinct:
        """A column's distinct values and the codes of its records.

        Values by group are dealt within groups by chance, `turn` by turn anew.
        """
        if self.apart is not None and name == self.apart.name:
            return self.apart.dealt(turn)
        if name not in self.table.column_names:
            raise InputError(no_column(name, self.table.column_names, self.qi, self.source.name))
        return distinct_values(self.table.column(name), self.source.about.missing)

    def codes(self, names: Sequence[str]) -> list[tuple[NDArray[Any], int]]:
        """Codes of columns from 0, a missing value being the first, and how many there are."""
        found = [self.distinct(name) for name in names]
        return [(column.codes + 1, len(column.values) + 1) for column in found]

    def values(self, name: str) -> ClassHistograms:
        """The histograms of a sensitive column, bucket by bucket."""
        ids, _ = self.buckets
        (codes, size) = self.codes([name])[0]
        return histograms(ids, codes, size)


def subject_of(data: Any, policy: Policy) -> Subject:
    """Open a release (with its manifest, or as a `Release`) or microdata with their roles."""
    source = open_source(data, 1, policy, apart=True)
    promised = source.promised
    told = promised if promised is not None else policy
    qi = policy.qi or told.qi
    if not qi:
        raise PolicyError(
            "qi: name the quasi-identifiers, give a policy, or keep the manifest by the release"
        )
    released = promised is not None
    if source.table.num_rows == 0:
        raise InputError(f"{source.name}: has no records")
    columns = source.table.column_names
    for name in published_names(qi, columns):
        if name not in columns:
            raise InputError(no_column(name, columns, qi, source.name))
    apart = two_tables(source)
    there = [*columns, *([] if apart is None else [apart.name])]
    named = [name for name in policy.sensitive or told.sensitive if name in there]
    weights = told.weight_column if told.weight_column in columns else None
    persons = _persons(data, source, told)
    return Subject(
        source,
        tuple(qi),
        tuple(named),
        persons,
        told.person is not None and persons is None,
        released,
        tuple(told.treat),
        weights,
        apart,
        told.person,
    )


def _persons(data: Any, source: Source, told: Policy) -> NDArray[Any] | None:
    """Whose record each is: by pseudonyms, by the person column, or as a `Release` knows it."""
    if told.person is None:
        return None
    for name in (told.person_as, told.person):
        if name is not None and name in source.table.column_names:
            return distinct_values(source.table.column(name), source.about.missing).codes + 1
    return data.persons if isinstance(data, Release) else None


def table_of(data: Any, missing: Sequence[str], what: str, policy: Policy) -> pa.Table:
    """Another table: a population, an original, people who are not in the release.

    Read with the encoding and delimiter of the policy, if they are files.
    """
    table, _ = to_arrow(data, tuple(missing), policy.encoding, policy.delimiter)
    if table.num_rows == 0:
        raise InputError(f"{what}: has no records")
    return table


def numbers_of(
    table: pa.Table, name: str, what: str, decimal: str | None = None
) -> NDArray[np.float64]:
    """A column of positive numbers: weights, or counts; the message shows no cell.

    `decimal` is the mark before their decimals, where it was said.
    """
    if name not in table.column_names:
        raise InputError(no_column(name, table.column_names, (), what))
    try:
        column = pc.cast(_plainly(table.column(name), decimal), pa.float64())
    except pa.ArrowInvalid:
        raise InputError(f"{what}: column {name!r} holds something that is no number") from None
    numbers = np.asarray(column.fill_null(np.nan).to_numpy(), dtype=np.float64)
    if not np.isfinite(numbers).all() or (numbers <= 0).any():
        raise InputError(f"{what}: column {name!r}: expected numbers above 0 in every record")
    return numbers


def _plainly(column: pa.ChunkedArray, decimal: str | None) -> pa.ChunkedArray:
    """Numbers that are texts with a decimal comma, as texts with a point."""
    found = distinct_values(column, ())
    if notation_of(found.values, decimal) != COMMA:
        return column
    codes = pa.array(found.codes, mask=found.codes < 0)
    return pa.chunked_array([replace(found, notation=COMMA).parsed.take(codes)])
