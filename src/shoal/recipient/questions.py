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
from shoal.recipient.logic import Expression, both, by_column
from shoal.recipient.sql import Query
from shoal.released.conditions import Constant, Test

__all__ = ["Question"]


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

    def whole(self) -> Counts:
        """The count without groups."""
        return self._count(self.asked.where, ())[0][0]

    def by_group(self) -> list[Counts]:
        """The counts of all groups."""
        names, apart = self.asked.groups, self.released.apart
        if apart is None or apart.name not in names:
            rows, groups = self._count(self.asked.where, names)
            self.values = [group.values for group in groups]
            return rows
        return self._by_value(apart)

    def _by_value(self, apart: Apart) -> list[Counts]:
        """Groups by the sensitive column of a release in two tables: a question for each value."""
        at = self.asked.groups.index(apart.name)
        others = tuple(name for name in self.asked.groups if name != apart.name)
        texts = sorted({text for cell in apart.cells for text in cell.texts if text is not None})
        tests = [Test(apart.name, "in", (Constant("text", text),)) for text in texts]
        rows: list[Counts] = []
        for number, test in enumerate([*tests, Test(apart.name, "null")]):
            some, groups = self._count(both([self.asked.where, test]), others)
            self.values = [group.values for group in groups]
            rows += [r._replace(codes=(*r.codes[:at], number, *r.codes[at:])) for r in some]
        self.values.insert(at, pa.array([*texts, None], pa.string()))
        return rows

    def _count(
        self, where: Expression, names: Sequence[str]
    ) -> tuple[list[Counts], list[Grouping]]:
        """The counts by the groups of some columns, and these groups."""
        try:
            condition, parts = by_column(where)
        except RecursionError:
            raise PolicyError("query: nested too deep; ask for less at once") from None
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


def _tighter(row: Counts, bounds: dict[tuple[int, ...], tuple[int, int]]) -> Counts:
    lower, upper = bounds.get(row.codes, (0, 0))
    return row._replace(lower=lower, upper=upper)
