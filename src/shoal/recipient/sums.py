"""Sums, averages and quantiles of a release: DuckDB brings equal records together, NumPy the rest.

The column that is asked for is settled last, so that the database says for each of its cells
and each group: how many records, whether they count if the cell comes out this way or that, and
how likely that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.recipient.aggregates import (
    MOST_NUMBERS,
    Aggregate,
    bounds,
    likely_quantile,
)
from shoal.recipient.counts import Columns, grouped_nodes, put_tables, source_of
from shoal.recipient.deadline import Deadline
from shoal.recipient.groups import Grouping
from shoal.recipient.logic import ENTANGLED, Expression, diagram
from shoal.recipient.measured import Measured

__all__ = ["Amount", "amounts"]

Floats = NDArray[np.float64]


class Amount(NamedTuple):
    """One row of the answer; a number is None where no record can count."""

    codes: tuple[int, ...]
    expected: float | None
    lower: float | None
    upper: float | None


class _Rows(NamedTuple):
    """Records of a group with the same cell that count alike, together."""

    cell: NDArray[np.int64]
    records: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    """By signature of the cell: they can count if it comes out so."""
    certain: NDArray[np.bool_]
    """They count however it comes out."""
    weight: Floats
    """By signature: how many are expected to count if it comes out so."""

    def at(self, where: slice | NDArray[np.bool_]) -> _Rows:
        """Some of them."""
        cell, records, allowed, certain, weight = self
        return _Rows(cell[where], records[where], allowed[where], certain[where], weight[where])


def amounts(
    connection: duckdb.DuckDBPyConnection,
    where: Expression,
    asked: Aggregate,
    column: Measured,
    columns: Columns,
    groups: Sequence[Grouping],
    deadline: Deadline,
) -> list[Amount]:
    """Expected value, lower and upper bound of a sum, average or quantile, by group.

    Parameters are those of `shoal.recipient.counts.count`, with the column that is asked for,
    which is in none of the others.
    """
    keys, rows = _fetched(connection, where, column, columns, groups, deadline)
    if not keys:
        return [Amount((), *_amount(asked, column, rows))]
    if not len(rows.cell):
        return []
    starts = _starts(keys)
    ends = np.append(starts[1:], len(rows.cell))
    codes = list(zip(*(key[starts].tolist() for key in keys), strict=True))
    alone = (ends - starts == 1) & (asked.function != "quantile")
    at_once = _amounts_alone(asked, column, rows.at(starts[alone]))
    found: list[Amount] = []
    for own, single, start, end in zip(codes, alone.tolist(), starts, ends, strict=True):
        if single:
            found.append(Amount(own, *next(at_once)))
            continue
        deadline.check()
        found.append(Amount(own, *_amount(asked, column, rows.at(slice(start, end)))))
    return found


def _fetched(
    connection: duckdb.DuckDBPyConnection,
    where: Expression,
    column: Measured,
    columns: Columns,
    groups: Sequence[Grouping],
    deadline: Deadline,
) -> tuple[list[NDArray[np.int64]], _Rows]:
    ways = [*(g.signatures for g in groups), *(found.signatures for _, found in columns)]
    first, *layers = diagram(where, [column.signatures, *ways], deadline.check)
    put_tables(connection, columns, groups, {"measured": column.codes})
    after = {s: rest for rest, signatures in first[where].items() for s in signatures}
    source, known = source_of(layers, len(groups), ["measured"])
    nodes = [grouped_nodes(after[s], layers[: len(groups)], known) for s in sorted(after)]
    keys = [*(f"gvalue{i}" for i in range(len(groups))), "measured"]
    sure = " AND ".join(["true", *(f"gcertain{i}" for i in range(len(groups)))])
    share = "".join(f" * gshare{i}" for i in range(len(groups)))
    flags = [f"({sure} AND {node.certain})::TINYINT AS c{i}" for i, node in enumerate(nodes)]
    flags += [f"({node.possible})::TINYINT AS p{i}" for i, node in enumerate(nodes)]
    sums = [f"fsum(n{share} * {node.expected}) AS w{i}" for i, node in enumerate(nodes)]
    statement = (
        f"SELECT {', '.join([*keys, *flags, *sums])}, sum(n)::BIGINT AS m FROM {source} "
        f"GROUP BY {', '.join([*keys, *(flag.split(' AS ')[-1] for flag in flags)])}"
        f" ORDER BY {', '.join(keys)}"
    )
    try:
        with deadline.watching(connection):
            found = connection.execute(statement).fetchnumpy()
    except (duckdb.BinderException, duckdb.ParserException):  # nested deeper than DuckDB goes
        raise PolicyError(ENTANGLED) from None
    cell = found["measured"].astype(np.int64)
    by_way = {letter: np.stack([np.asarray(found[f"{letter}{i}"]) for i in range(len(nodes))], 1)
              for letter in "cpw"}  # fmt: skip
    can = column.possible[cell]
    rows = _Rows(
        cell, found["m"].astype(np.int64), can & (by_way["p"] == 1),
        (~can | (by_way["c"] == 1)).all(axis=1), by_way["w"].astype(np.float64),
    )  # fmt: skip
    counting = rows.allowed.any(axis=1)
    left = [found[key].astype(np.int64)[counting] for key in keys[:-1]]
    return left, rows.at(counting)


def _starts(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where each group's rows begin; they come sorted."""
    new = np.zeros(len(keys[0]), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def _amounts_alone(
    asked: Aggregate, column: Measured, rows: _Rows
) -> Iterator[tuple[float | None, float, float]]:
    """What `_amount` gives of a sum or average, for many groups of one row each, all at once."""
    low = np.where(rows.allowed, column.low[rows.cell], np.inf).min(axis=1) * rows.records
    high = np.where(rows.allowed, column.high[rows.cell], -np.inf).max(axis=1) * rows.records
    total = (rows.weight * column.totals[rows.cell]).sum(axis=1)
    there = np.ones(len(total), dtype=bool)
    if asked.function == "sum":  # whoever need not count may add nothing
        low = np.where(rows.certain, low, np.minimum(low, 0.0))
        high = np.where(rows.certain, high, np.maximum(high, 0.0))
    else:
        low, high = low / rows.records, high / rows.records
        count = (rows.weight * column.shares[rows.cell]).sum(axis=1)
        there = count > 0
        total = np.divide(total, count, out=total, where=there)
    expected = np.clip(total, low, high)
    for group, known in enumerate(there.tolist()):
        yield float(expected[group]) if known else None, float(low[group]), float(high[group])


def _amount(
    asked: Aggregate, column: Measured, rows: _Rows
) -> tuple[float | None, float | None, float | None]:
    """Expected value, lower and upper bound for the records of one group."""
    if not len(rows.cell):
        return None, None, None
    if asked.function == "quantile" and int(rows.records.sum()) > MOST_NUMBERS:
        raise PolicyError(
            f"query: a quantile of more than {MOST_NUMBERS:,} records; ask with conditions"
        )
    lows = np.where(rows.allowed, column.low[rows.cell], np.inf).min(axis=1)
    highs = np.where(rows.allowed, column.high[rows.cell], -np.inf).max(axis=1)
    low, high = bounds(asked, lows, highs, rows.certain, rows.records)
    expected = _expected(asked, column, rows)
    return expected if expected is None else min(max(expected, low), high), low, high


def _expected(asked: Aggregate, column: Measured, rows: _Rows) -> float | None:
    """Of the sum; of an average or quantile what the expected records have."""
    if asked.function == "quantile":
        return _expected_quantile(asked, column, rows)
    total = float(np.sum(rows.weight * column.totals[rows.cell]))
    if asked.function == "sum":
        return total
    count = float(np.sum(rows.weight * column.shares[rows.cell]))
    return total / count if count > 0 else None


def _expected_quantile(asked: Aggregate, column: Measured, rows: _Rows) -> float | None:
    weight = np.zeros(column.possible.shape)
    np.add.at(weight, rows.cell, rows.weight)
    of_piece = weight[column.cell, column.signature] * column.share
    used = of_piece > 0
    if not used.any():
        return None
    return likely_quantile(
        asked.share, column.first[used], column.last[used], of_piece[used], column.whole
    )
