"""How the views of `shoal sql` are written for DuckDB and for PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

__all__ = ["DUCKDB", "CellTable", "Words", "postgresql", "quoted", "text"]


def quoted(name: str, mark: str = '"') -> str:
    """A name as SQL writes it."""
    return mark + name.replace(mark, mark * 2) + mark


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


class CellTable(NamedTuple):
    """The distinct cells of a column and what each covers, as a table of the script."""

    column: str
    number: int
    kind: pa.DataType
    """Of the column as it is published."""
    dates: bool | None
    """Whether its ends are dates; None if it has values instead of ends."""
    step: int
    """1 where only whole numbers or days lie between the ends."""
    rows: Sequence[tuple[str, ...]]
    """The cell, and its ends or its values, as SQL writes them."""

    @property
    def alias(self) -> str:
        return f"c{self.number}"


class Words(Protocol):
    """What a system has its own words for."""

    view: str
    """The view's name, quoted."""

    def head(self) -> str:
        """What comes before all tables."""

    def tail(self) -> str:
        """What comes after the view."""

    def table(self, cells: CellTable) -> str:
        """The statements that make a table of cells."""

    def listed(self, values: Iterable[str]) -> str:
        """A list of texts."""

    def interval(self, cells: CellTable) -> str:
        """Two ends and a step as one value."""

    def middle(self, cells: CellTable) -> str:
        """Between two ends."""

    def rest(
        self, names: Sequence[str], generalised: Sequence[str], numbers: Mapping[str, str]
    ) -> list[str]:
        """The columns that are published as they are; types of numbers that lie there as texts."""

    def join(self, cells: CellTable) -> str:
        """The table of cells beside the published column."""


class _DuckDB:
    view = "release"

    def head(self) -> str:
        return """\
-- The share of an interval that lies from a to b, both included: weight_in(age, 30, 40).
CREATE OR REPLACE MACRO weight_in(cell, a, b) AS CASE
  WHEN cell.high - cell.low + cell.step > 0 THEN
    greatest(0.0, least(cell.high, b) - greatest(cell.low, a) + cell.step)
      / (cell.high - cell.low + cell.step)
  WHEN cell.low IS NULL THEN 0.0
  ELSE (cell.low BETWEEN a AND b)::INT END;
-- The share of a set or label that a value has: weight_of(sex_values, 'F').
CREATE OR REPLACE MACRO weight_of(cell_values, one) AS
  CASE WHEN list_contains(cell_values, one) THEN 1.0 / len(cell_values) ELSE 0.0 END;
"""

    def tail(self) -> str:
        return ""

    def table(self, cells: CellTable) -> str:
        kind = "DATE" if cells.dates else "DOUBLE"
        held = "covers VARCHAR[]" if cells.dates is None else f"low {kind}, high {kind}"
        head = f"CREATE OR REPLACE TABLE {self._name(cells)}(cell VARCHAR, {held});"
        return _filled(head, self._name(cells), cells)

    def listed(self, values: Iterable[str]) -> str:
        return f"[{', '.join(map(text, values))}]"

    def interval(self, cells: CellTable) -> str:
        low, high = f"{cells.alias}.low", f"{cells.alias}.high"
        held = f"{{'low': {low}, 'high': {high}, 'step': {cells.step}}}"
        return f"CASE WHEN {low} IS NOT NULL THEN {held} END"

    def middle(self, cells: CellTable) -> str:
        low, high = f"{cells.alias}.low", f"{cells.alias}.high"
        half = f"(({high} - {low}) // 2)::INTEGER" if cells.dates else f"({high} - {low}) / 2"
        return f"{low} + {half}"

    def rest(
        self, names: Sequence[str], generalised: Sequence[str], numbers: Mapping[str, str]
    ) -> list[str]:
        but = f" EXCLUDE ({', '.join(map(quoted, generalised))})" if generalised else ""
        read = [f"raw.{quoted(n)}::{kind} AS {quoted(n)}" for n, kind in numbers.items()]
        return [f"raw.*{but}" + (f" REPLACE ({', '.join(read)})" if read else "")]

    def join(self, cells: CellTable) -> str:
        cell = f"raw.{quoted(cells.column)}::VARCHAR IS NOT DISTINCT FROM {cells.alias}.cell"
        return f"  LEFT JOIN {self._name(cells)} {cells.alias} ON {cell}"

    def _name(self, cells: CellTable) -> str:
        return quoted(f"cells_{cells.column}")


DUCKDB: Words = _DuckDB()


class _PostgreSQL:
    """The view lies beside the table, so that it has a name of its own."""

    def __init__(self, schema: str | None, table: str) -> None:
        self.schema, self.name = schema, table
        self.view = self._beside("view")

    def head(self) -> str:
        types = "\n".join(
            f"DO $$ BEGIN CREATE TYPE {name} AS ({held}); "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
            for name, held in (
                ("shoal_cell", "low float8, high float8, step float8"),
                ("shoal_dates", "low date, high date, step integer"),
            )
        )
        return f"""\
BEGIN;
{types}
-- The share of an interval that lies from a to b, both included: weight_in(age, 30, 40).
{_weight_in("shoal_cell", "float8")}
{_weight_in("shoal_dates", "date")}
-- The share of a set or label that a value has: weight_of(sex_values, 'F').
CREATE OR REPLACE FUNCTION weight_of(cell_values text[], one text) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$ SELECT
  CASE WHEN one = ANY(cell_values) THEN 1.0 / cardinality(cell_values) ELSE 0.0 END $$;
DROP VIEW IF EXISTS {self.view};
"""

    def tail(self) -> str:
        return "COMMIT;\n"

    def table(self, cells: CellTable) -> str:
        name = self._cells(cells)
        kind = "date" if cells.dates else "float8"
        held = "covers text[]" if cells.dates is None else f"low {kind}, high {kind}"
        stored, _ = _stored(cells.kind)
        head = f"DROP TABLE IF EXISTS {name};\nCREATE TABLE {name}(cell {stored}, {held});"
        return f"{_filled(head, name, cells)}\nANALYZE {name};"

    def listed(self, values: Iterable[str]) -> str:
        return f"ARRAY[{', '.join(map(text, values))}]::text[]"

    def interval(self, cells: CellTable) -> str:
        low, high = f"{cells.alias}.low", f"{cells.alias}.high"
        kind = "shoal_dates" if cells.dates else "shoal_cell"
        return f"CASE WHEN {low} IS NOT NULL THEN ROW({low}, {high}, {cells.step})::{kind} END"

    def middle(self, cells: CellTable) -> str:
        low, high = f"{cells.alias}.low", f"{cells.alias}.high"
        return f"{low} + ({high} - {low}) / 2"

    def rest(
        self, names: Sequence[str], generalised: Sequence[str], numbers: Mapping[str, str]
    ) -> list[str]:
        return [f"raw.{quoted(name)}" for name in names if name not in generalised]

    def join(self, cells: CellTable) -> str:
        _, cast = _stored(cells.kind)
        # By =, which PostgreSQL can hash; a missing cell covers nothing either way.
        cell = f"raw.{quoted(cells.column)}{cast} = {cells.alias}.cell"
        return f"  LEFT JOIN {self._cells(cells)} {cells.alias} ON {cell}"

    def _cells(self, cells: CellTable) -> str:
        return self._beside(f"cells_{cells.number}")

    def _beside(self, what: str) -> str:
        name = quoted(f"{self.name}_{what}")
        return f"{quoted(self.schema)}.{name}" if self.schema else name


def postgresql(schema: str | None, table: str) -> Words:
    """For a release in that table."""
    return _PostgreSQL(schema, table)


def _weight_in(cell: str, kind: str) -> str:
    return f"""\
CREATE OR REPLACE FUNCTION weight_in(cell {cell}, a {kind}, b {kind}) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE
  WHEN cell.high - cell.low + cell.step > 0 THEN
    greatest(0.0, (least(cell.high, b) - greatest(cell.low, a) + cell.step)::float8)
      / (cell.high - cell.low + cell.step)
  WHEN cell.low IS NULL THEN 0.0
  ELSE (cell.low BETWEEN a AND b)::int END $$;"""


def _stored(kind: pa.DataType) -> tuple[str, str]:
    """How PostgreSQL keeps the cells of a column, and how they are made comparable."""
    if pa.types.is_integer(kind):
        return "bigint", ""
    if pa.types.is_floating(kind):
        return "float8", ""
    if pa.types.is_date(kind):
        return "date", ""
    return "text", "::text"


def _filled(head: str, name: str, cells: CellTable) -> str:
    if not cells.rows:
        return head
    listed = ",\n  ".join(f"({', '.join(row)})" for row in cells.rows)
    return f"{head}\nINSERT INTO {name} VALUES\n  {listed};"
