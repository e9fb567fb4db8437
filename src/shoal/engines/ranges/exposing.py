"""What plain columns give away, counted where records do not fit into memory.

The facts and their words are those of `shoal.encoding.exposure`; here they are counted by
SQL. A sample, of the records that are looked at in memory too, tells which pairs of columns
are worth counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.encoding.exposure import SAMPLE, guessed, keyed, lines_of, share_told
from shoal.encoding.values import is_present
from shoal.engines.ranges.profile import BITS
from shoal.io.write import decoded
from shoal.policy import Policy

__all__ = ["Counting", "Sample", "key_of"]


class Sample:
    """Every so many records, of a stream of tables: all of them, if they are few."""

    def __init__(self, records: int) -> None:
        self.step = records // SAMPLE if records > 2 * SAMPLE else 1
        self.whole = self.step == 1
        self.parts: list[pa.Table] = []
        self.seen = 0

    def add(self, table: pa.Table) -> None:
        rows = np.arange(-self.seen % self.step, table.num_rows, self.step)
        self.parts.append(decoded(table.take(pa.array(rows))))
        self.seen += table.num_rows

    def tells(self, name: str, other: str, policy: Policy) -> float | None:
        """As `shoal.encoding.exposure.told`, of these records."""
        table = pa.concat_tables(self.parts)
        return guessed(keyed(table, name, policy), keyed(table, other, policy))


class Counting:
    """Counts of a table that SQL knows, by what its columns are called there."""

    def __init__(self, ask: Callable[[str], Sequence[Any]], place: dict[str, str]) -> None:
        self.ask = ask
        """Gives the one row of a query, in which the table is called ``{0}``."""
        self.place = place

    def below(self, names: Sequence[str], least: int) -> int:
        """Records that share their values with fewer than `least`, themselves included."""
        columns = ", ".join(self.place[name] for name in names)
        return self._number(
            f"SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM {{0}} "
            f"GROUP BY {columns} HAVING count(*) < {least})"
        )

    def told(self, name: str, other: str, records: int) -> float | None:
        """As `shoal.encoding.exposure.told`, of all records."""
        one, two = self.place[name], self.place[other]
        looked_at, right = self.ask(
            "SELECT coalesce(sum(n), 0), coalesce(sum(m), 0) FROM (SELECT sum(n) AS n, max(n) AS m "
            f"FROM (SELECT {one} AS a, count(*) AS n FROM {{0}} GROUP BY {one}, {two}) "
            "GROUP BY a) WHERE n > 1"
        )
        most = self._number(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {{0}} GROUP BY {two})")
        return share_told(int(right), int(looked_at), most / records)

    def lines(
        self,
        plain: Sequence[str],
        others: Sequence[tuple[str, str]],
        sample: Sample,
        policy: Policy,
        records: int,
    ) -> Iterator[str]:
        """One line for each way in which plain columns give people away; no cells."""

        def tells(name: str, number: int) -> float | None:
            other = others[number][1]
            share = sample.tells(name, other, policy)
            return share if share is None or sample.whole else self.told(name, other, records)

        alone = lambda name: self.below([name], 2)  # noqa: E731
        yield from lines_of(plain, others, records, policy.k or 0, alone, tells, self.below)

    def _number(self, query: str) -> int:
        return int(self.ask(query)[0])


def key_of(column: pa.Array, policy: Policy) -> pa.Array:
    """A plain column with nulls where a value is missing; floats by their bits, as in memory."""
    present = pa.array(is_present(column, policy.missing))
    if pa.types.is_floating(column.type):
        column = column.view(BITS[column.type.bit_width])
    elif pa.types.is_decimal256(column.type):  # which DuckDB has not
        column = column.cast(pa.string())
    return pc.if_else(present, column, pa.scalar(None, column.type))
