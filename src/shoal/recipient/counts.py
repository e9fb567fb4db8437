"""Counting in DuckDB: each distinct cell was judged once, the records are counted in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.recipient.logic import Expression, Layer, diagram
from shoal.recipient.spread import Profiles

__all__ = ["Counts", "count"]


class Counts(NamedTuple):
    """One row of the answer."""

    codes: tuple[int, ...]
    """Which value of each group column."""
    expected: float
    lower: int
    upper: int


class _Node(NamedTuple):
    """Three SQL expressions over one remainder of the condition."""

    expected: str
    possible: str
    certain: str


TRUE = _Node("1.0", "true", "true")
FALSE = _Node("0.0", "false", "false")


def count(
    connection: duckdb.DuckDBPyConnection,
    where: Expression,
    columns: Sequence[tuple[NDArray[np.int32], Profiles]],
    groups: Sequence[NDArray[np.int32]],
    records: int,
) -> list[Counts]:
    """Expected number, lower and upper bound of the records that satisfy a condition.

    Parameters
    ----------
    connection
        A database to count in; it gets a few temporary tables.
    where
        The condition.
    columns
        For each column that the condition tests: which distinct cell each
        record has there, and what the condition can learn from each cell.
    groups
        For each group column the number of each record's value.
    records
        Number of records.
    """
    layers = diagram(where, [profiles.signatures for _, profiles in columns])
    codes = {f"q{i}": cells for i, (cells, _) in enumerate(columns)}
    codes |= {f"g{i}": values for i, values in enumerate(groups)}
    codes = codes or {"nothing": np.zeros(records, dtype=np.int32)}
    connection.register("codes", pa.table(codes))
    for i, (_, profiles) in enumerate(columns):
        connection.register(f"cells{i}", _cell_table(i, profiles))
    rows = connection.execute(_statement(where, layers, len(groups))).fetchall()
    return [Counts(row[:-3], float(row[-3]), int(row[-2]), int(row[-1])) for row in rows]


def _cell_table(number: int, profiles: Profiles) -> pa.Table:
    """The profiles of a column's distinct cells, by the number of the cell."""
    table: dict[str, NDArray[Any]] = {
        f"cell{number}": np.arange(len(profiles.shares), dtype=np.int32)
    }
    for signature in range(len(profiles.signatures)):
        table[_share(number, signature)] = profiles.shares[:, signature]
        table[_can(number, signature)] = profiles.possible[:, signature]
    return pa.table(table)


def _share(column: int, signature: int) -> str:
    return f"share{column}_{signature}"


def _can(column: int, signature: int) -> str:
    return f"can{column}_{signature}"


def _statement(where: Expression, layers: Sequence[Layer], groups: int) -> str:
    """The whole count. Equal combinations of cells are counted first and judged once."""
    names = ", ".join([*(f"g{i}" for i in range(groups)), *(f"q{i}" for i in range(len(layers)))])
    grouped = f"SELECT {names or 'nothing'}, count(*) AS n FROM codes GROUP BY ALL"
    joins = "".join(f" JOIN cells{i} ON q{i} = cell{i}" for i in range(len(layers)))
    source = f"(SELECT * FROM ({grouped}){joins})"
    known: dict[Expression, _Node] = {True: TRUE, False: FALSE, None: FALSE}
    for number in reversed(range(len(layers))):
        computed, known = _layer(number, layers[number], known)
        if computed:
            source = f"(SELECT *, {', '.join(computed)} FROM {source})"
    answer = known[where]
    keys = "".join(f"g{i}, " for i in range(groups))
    return (
        f"SELECT {keys}coalesce(fsum(n * {answer.expected}), 0), "
        f"coalesce(sum(n) FILTER ({answer.certain}), 0), "
        f"coalesce(sum(n) FILTER ({answer.possible}), 0) "
        f"FROM {source}" + (" GROUP BY ALL ORDER BY ALL" if groups else "")
    )


def _layer(
    number: int, layer: Layer, after: Mapping[Expression, _Node]
) -> tuple[list[str], dict[Expression, _Node]]:
    """New columns for the remainders before a column, and how to refer to them."""
    computed: list[str] = []
    nodes: dict[Expression, _Node] = {True: TRUE, False: FALSE, None: FALSE}
    for index, (remainder, ways) in enumerate(layer.items()):
        if remainder in nodes:
            continue
        if list(ways) == [remainder]:  # the column has no say here
            nodes[remainder] = after[remainder]
            continue
        parts = _node(number, ways, after)
        node = _Node(*(f"{name}{number}_{index}" for name in ("e", "u", "l")))
        computed += [f"{part} AS {name}" for part, name in zip(parts, node, strict=True)]
        nodes[remainder] = node
    return computed, nodes


def _node(
    number: int, ways: Mapping[Expression, Sequence[int]], after: Mapping[Expression, _Node]
) -> _Node:
    """A remainder before a column, from those after it.

    Expected: the shares times what follows. Possible: some way can be taken and
    leads to what is possible. Certain: every way that can be taken leads to what
    is certain.
    """
    expected, possible, certain = [], [], []
    for remainder, signatures in ways.items():
        then = after[remainder]
        share = " + ".join(_share(number, s) for s in signatures)
        can = " OR ".join(_can(number, s) for s in signatures)
        if then is not FALSE:
            expected.append(f"({share}) * {then.expected}")
            possible.append(f"({can}) AND {then.possible}")
        if then is not TRUE:
            certain.append(f"(NOT ({can}) OR {then.certain})")
    return _Node(
        " + ".join(expected) or "0.0",
        " OR ".join(possible) or "false",
        " AND ".join(certain) or "true",
    )
