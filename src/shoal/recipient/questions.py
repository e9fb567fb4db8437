"""One question to a release: which columns it needs, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from shoal.errors import PolicyError
from shoal.recipient.apart import Apart, bounds_apart
from shoal.recipient.columns import Released
from shoal.recipient.counts import Counts, count
from shoal.recipient.deadline import Deadline
from shoal.recipient.groups import Grouping
from shoal.recipient.logic import Expression, On, both, by_column
from shoal.recipient.measured import measured, present
from shoal.recipient.sql import Query
from shoal.recipient.sums import Amount, amounts
from shoal.released.conditions import Constant, Test

__all__ = ["Question", "Row"]

Row = Counts | Amount


class Question:
    """A parsed query on a release."""

    def __init__(
        self,
        released: Released,
        asked: Query,
        connection: duckdb.DuckDBPyConnection,
        deadline: Deadline,
    ) -> None:
        self.released = released
        self.asked = asked
        self.connection = connection
        self.deadline = deadline
        self.values: list[pa.Array] = []
        """The groups of each column that is grouped by, once they are known."""

    def whole(self) -> Row:
        """The answer without groups."""
        return self._rows(self.asked.where, ())[0][0]

    def by_group(self) -> list[Row]:
        """The answers of all groups."""
        names, apart = self.asked.groups, self.released.apart
        if apart is None or apart.name not in names:
            rows, groups = self._rows(self.asked.where, names)
            self.values = [group.values for group in groups]
            return list(rows)
        return self._by_value(apart)

    def _by_value(self, apart: Apart) -> list[Row]:
        """Groups by the sensitive column of a release in two tables: a question for each value."""
        at = self.asked.groups.index(apart.name)
        others = tuple(name for name in self.asked.groups if name != apart.name)
        texts = sorted({text for cell in apart.cells for text in cell.texts if text is not None})
        tests = [Test(apart.name, "in", (Constant("text", text),)) for text in texts]
        rows: list[Row] = []
        for number, test in enumerate([*tests, Test(apart.name, "null")]):
            some, groups = self._rows(both([self.asked.where, test]), others)
            self.values = [group.values for group in groups]
            rows += [r._replace(codes=(*r.codes[:at], number, *r.codes[at:])) for r in some]
        self.values.insert(at, pa.array([*texts, None], pa.string()))
        return rows

    def _rows(
        self, where: Expression, names: Sequence[str]
    ) -> tuple[Sequence[Row], list[Grouping]]:
        """The answers by the groups of some columns, and these groups."""
        asked = self.asked.aggregate
        if asked.column:
            where = both([where, present(asked.column)])
        if asked.function == "count":
            return self._count(where, names)
        return self._amounts(where, names)

    def _amounts(
        self, where: Expression, names: Sequence[str]
    ) -> tuple[list[Amount], list[Grouping]]:
        """Sums, averages or quantiles by the groups of some columns, and these groups."""
        asked = self.asked.aggregate
        if asked.column in names:
            raise PolicyError(f"query: column {asked.column!r} is grouped by; ask for another")
        condition, parts = _by_column(where)
        groups = [self.released.grouped(name, parts) for name in names]
        tested = dict.fromkeys(p.column for p in parts)
        columns = [self.released.judged(name, parts) for name in tested
                   if name not in (*names, asked.column)]  # fmt: skip
        column = measured(self.released, asked.column, parts)
        self.deadline.check()
        rows = amounts(self.connection, condition, asked, column, columns, groups, self.deadline)
        return rows, groups

    def _count(
        self, where: Expression, names: Sequence[str]
    ) -> tuple[list[Counts], list[Grouping]]:
        """The counts by the groups of some columns, and these groups."""
        condition, parts = _by_column(where)
        groups = [self.released.grouped(name, parts) for name in names]
        tested = [c for c in dict.fromkeys(p.column for p in parts) if c not in names]
        columns = {name: self.released.judged(name, parts) for name in tested}
        self.deadline.check()
        records = self.released.table.num_rows
        every = list(columns.values())
        rows = count(self.connection, condition, every, groups, records, self.deadline)
        apart = self.released.apart
        if apart is None or apart.name not in columns:
            return rows, groups
        own = columns.pop(apart.name)[1]
        rest = list(columns.values())
        bounds = bounds_apart(self.connection, condition, (apart, own), rest, groups, self.deadline)
        return [_tighter(row, bounds) for row in rows], groups


def _by_column(where: Expression) -> tuple[Expression, list[On]]:
    try:
        return by_column(where)
    except RecursionError:
        raise PolicyError("query: nested too deep; ask for less at once") from None


def _tighter(row: Counts, bounds: dict[tuple[int, ...], tuple[int, int]]) -> Counts:
    lower, upper = bounds.get(row.codes, (0, 0))
    return row._replace(lower=lower, upper=upper)
