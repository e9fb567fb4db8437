"""Counting in DuckDB: each distinct cell was judged once, the records are counted in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.recipient.deadline import Deadline
from shoal.recipient.groups import Grouping
from shoal.recipient.logic import ENTANGLED, MOST_NODES, Expression, Layer, diagram
from shoal.recipient.spread import Profiles

__all__ = ["Columns", "Counts", "count", "grouped_nodes", "put_tables", "source_of"]


class Counts(NamedTuple):
    """One row of the answer."""

    codes: tuple[int, ...]
    """Which group of each column that is grouped by."""
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


Columns = Sequence[tuple[NDArray[np.int32], Profiles]]


def count(
    connection: duckdb.DuckDBPyConnection,
    where: Expression,
    columns: Columns,
    groups: Sequence[Grouping],
    records: int,
    deadline: Deadline,
) -> list[Counts]:
    """Expected number, lower and upper bound of the records that satisfy a condition.

    Parameters
    ----------
    connection
        A database to count in; it gets a few temporary tables.
    where
        The condition, by columns.
    columns
        For each column that the condition tests and nothing is grouped by: which distinct
        cell each record has there, and what the condition can learn from each cell.
    groups
        Columns to group by.
    records
        Number of records.
    deadline
        When to give up.
    """
    ways = [*(g.signatures for g in groups), *(profiles.signatures for _, profiles in columns)]
    layers = diagram(where, ways, deadline.check)
    nothing = {} if ways else {"nothing": np.zeros(records, dtype=np.int32)}
    put_tables(connection, columns, groups, nothing)
    statement = _statement(where, layers, len(groups))
    try:
        with deadline.watching(connection):
            rows = connection.execute(statement).fetchall()
    except (duckdb.BinderException, duckdb.ParserException):  # nested deeper than DuckDB goes
        raise PolicyError(ENTANGLED) from None
    return [Counts(row[:-3], float(row[-3]), int(row[-2]), int(row[-1])) for row in rows]


def put_tables(
    connection: duckdb.DuckDBPyConnection,
    columns: Columns,
    groups: Sequence[Grouping],
    others: Mapping[str, NDArray[np.int32]],
) -> None:
    """The records' cells, what is known of each cell, and other columns of the records."""
    codes = {f"q{i}": cells for i, (cells, _) in enumerate(columns)}
    codes |= {f"g{i}": group.codes for i, group in enumerate(groups)}
    connection.register("codes", pa.table({**codes, **others}))
    for i, (_, profiles) in enumerate(columns):
        connection.register(f"cells{i}", _cell_table(i, profiles))
    for i, group in enumerate(groups):
        connection.register(f"groups{i}", group.table(i))


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
    """The whole count."""
    source, known = source_of(layers, groups, [] if layers else ["nothing"])
    answer = grouped_nodes(where, layers[:groups], known)
    keys = "".join(f"gvalue{i}, " for i in range(groups))
    share = "".join(f" * gshare{i}" for i in range(groups))
    certain = " AND ".join([answer.certain, *(f"gcertain{i}" for i in range(groups))])
    return (
        f"SELECT {keys}coalesce(fsum(n{share} * {answer.expected}), 0), "
        f"coalesce(sum(n) FILTER ({certain}), 0), "
        f"coalesce(sum(n) FILTER ({answer.possible}), 0) "
        f"FROM {source}" + (" GROUP BY ALL ORDER BY ALL" if groups else "")
    )


def source_of(
    layers: Sequence[Layer], groups: int, others: Sequence[str]
) -> tuple[str, dict[Expression, _Node]]:
    """What to select from, and how it calls every remainder behind the first `groups` layers.

    Equal combinations of cells are counted first and judged once.
    """
    columns = len(layers) - groups
    names = [*(f"g{i}" for i in range(groups)), *(f"q{i}" for i in range(columns)), *others]
    grouped = f"SELECT {', '.join(names)}, count(*) AS n FROM codes GROUP BY ALL"
    joins = "".join(f" JOIN cells{i} ON q{i} = cell{i}" for i in range(columns))
    source = f"(SELECT * FROM ({grouped}){joins})"
    known: dict[Expression, _Node] = {True: TRUE, False: FALSE, None: FALSE}
    for number in reversed(range(columns)):
        computed, known = _layer(number, layers[groups + number], known)
        if computed:
            source = f"(SELECT *, {', '.join(computed)} FROM {source})"
    for number in range(groups):
        source += f" JOIN groups{number} ON g{number} = gcell{number}"
    return source, known


def grouped_nodes(
    where: Expression, layers: Sequence[Layer], known: Mapping[Expression, _Node]
) -> _Node:
    """What is left of the condition in a group, by how its columns' parts come out there."""
    ways: dict[tuple[int, ...], Expression] = {(): where}
    for layer in layers:
        ways = {
            (*way, signature): remainder
            for way, before in ways.items()
            for remainder, signatures in layer[before].items()
            for signature in signatures
        }
        if len(ways) > MOST_NODES:
            raise PolicyError(ENTANGLED)
    if len(set(ways.values())) == 1:
        return known[next(iter(ways.values()))]
    return _Node(*(_case(ways, known, i) for i in range(3)))


def _case(
    ways: Mapping[tuple[int, ...], Expression], known: Mapping[Expression, _Node], field: int
) -> str:
    cases = "".join(
        f" WHEN {' AND '.join(f'gway{i} = {s}' for i, s in enumerate(way))} "
        f"THEN {known[remainder][field]}"
        for way, remainder in ways.items()
    )
    return f"(CASE{cases} END)"


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
