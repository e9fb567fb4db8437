"""Random COUNT queries on a table, the same for every release that is to answer them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import Attribute, SensitiveAttribute
from shoal.encoding.table import EncodedTable
from shoal.errors import PolicyError
from shoal.kernels.metrics.queries import Predicates, count_true
from shoal.kernels.threads import on_threads

__all__ = [
    "Workload",
    "code_matrix",
    "draw_queries",
    "in_parts",
    "sensitive_column",
    "starts_of",
    "widest",
]


@dataclass(frozen=True, eq=False)
class Workload:
    """Random COUNT queries on a table, with their true answers."""

    predicates: Predicates
    truth: NDArray[np.int64]
    records: int
    sensitive: int | None

    @property
    def queries(self) -> int:
        return len(self.truth)

    @cached_property
    def most(self) -> int:
        """Predicates of the longest query."""
        return int(np.diff(self.predicates.starts).max())


def draw_queries(
    table: EncodedTable,
    *,
    queries: int = 1000,
    predicates: tuple[int, int] = (2, 4),
    selectivity: float = 0.01,
    sensitive: int | None = None,
    seed: int = 0,
) -> Workload:
    """Draw random COUNT queries; they depend on the table and the seed only.

    A query has a range on each chosen numeric, date or ordinal attribute and a
    set of values (IN) on each categorical one.

    Parameters
    ----------
    table
        The original table.
    queries
        How many.
    predicates
        Fewest and most quasi-identifiers that a query asks for.
    selectivity
        Share of the records that a query selects if the attributes are
        independent and no value is more frequent than wanted. Neither is quite
        so: `QueryError.selectivity` is the share that the queries do select.
    sensitive
        A sensitive column that every query asks for as well, if given.
    seed
        Equal seeds, equal queries.
    """
    _check_workload(table, queries, predicates, selectivity)
    columns: list[Attribute | SensitiveAttribute] = list(table.qi)
    codes = code_matrix(table, sensitive)
    if sensitive is not None:
        columns.append(table.sensitive[sensitive])
    rng = np.random.default_rng(seed)
    drawn = list(_drawn(table, columns, codes, queries, predicates, selectivity, rng))
    flat = [predicate for query in drawn for predicate in query]
    runs = [runs for _, runs in flat]
    every_run = np.concatenate(runs)
    packed = Predicates(
        starts=starts_of([len(query) for query in drawn]),
        column=np.array([column for column, _ in flat], dtype=np.int64),
        run_starts=starts_of([len(found) for found in runs]),
        first=np.ascontiguousarray(every_run[:, 0], dtype=np.int32),
        last=np.ascontiguousarray(every_run[:, 1], dtype=np.int32),
    )
    truth = np.zeros(queries, dtype=np.int64)
    workload = Workload(packed, truth, table.n, sensitive)
    size = widest(table, sensitive)
    in_parts(queries, lambda part: count_true(packed, part, codes, workload.most, size, truth))
    return workload


def _check_workload(
    table: EncodedTable, queries: int, predicates: tuple[int, int], selectivity: float
) -> None:
    if queries < 1:
        raise PolicyError(f"queries: expected a whole number of at least 1; got {queries}")
    fewest, most = predicates
    if not 1 <= fewest <= most:
        raise PolicyError(f"predicates: expected two numbers 1 <= a <= b; got {fewest}, {most}")
    if not 0 < selectivity <= 1:
        raise PolicyError(f"selectivity: expected a share above 0, at most 1; got {selectivity}")


def _drawn(
    table: EncodedTable,
    columns: Sequence[Attribute | SensitiveAttribute],
    codes: NDArray[np.int32],
    queries: int,
    predicates: tuple[int, int],
    selectivity: float,
    rng: np.random.Generator,
) -> Iterator[list[tuple[int, NDArray[np.int64]]]]:
    """Queries as lists of (column, runs of selected codes)."""
    counts = [
        np.bincount(row, minlength=column.size) for row, column in zip(codes, columns, strict=True)
    ]
    d = len(table.qi)
    fewest, most = (min(bound, d) for bound in predicates)
    for _ in range(queries):
        asked = rng.choice(d, int(rng.integers(fewest, most + 1)), replace=False).tolist()
        asked += range(d, len(columns))
        query: list[tuple[int, NDArray[np.int64]]] = []
        share = selectivity
        # Few values first: the finer attributes make up for what they cannot select.
        for a in sorted(asked, key=lambda a: (columns[a].size, a)):
            wanted = share ** (1 / (len(asked) - len(query))) * table.n
            runs = _predicate(columns[a], counts[a], wanted, rng)
            query.append((a, runs))
            selected = sum(int(counts[a][first : last + 1].sum()) for first, last in runs)
            share = min(1.0, share * table.n / selected)
        yield query


def _predicate(
    column: Attribute | SensitiveAttribute,
    counts: NDArray[np.int64],
    wanted: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Runs of codes that about `wanted` records have: one range, or random values."""
    present = column.size - (column.labels[-1] is None)
    if column.kind != "categorical" and present:
        below = np.cumsum(counts[:present])
        begin = rng.random() * max(0.0, float(below[-1]) - wanted)
        first = int(np.searchsorted(below, begin, side="right"))
        last = int(np.searchsorted(below, begin + wanted))
        return np.array([[min(first, present - 1), min(max(first, last), present - 1)]])
    values = rng.permutation(column.size)
    enough = int(np.searchsorted(np.cumsum(counts[values]), wanted)) + 1
    codes = np.sort(values[:enough])
    cuts = np.flatnonzero(np.diff(codes) > 1)
    return np.stack([codes[np.append(0, cuts + 1)], codes[np.append(cuts, len(codes) - 1)]], 1)


def sensitive_column(table: EncodedTable, sensitive: int) -> tuple[NDArray[np.int32], int]:
    """Codes of a sensitive column, and how many there can be."""
    if not 0 <= sensitive < len(table.sensitive):
        raise PolicyError(
            f"sensitive: expected the number of one of {len(table.sensitive)} sensitive "
            f"columns, from 0; got {sensitive}"
        )
    return table.sensitive_columns()[sensitive]


def code_matrix(table: EncodedTable, sensitive: int | None) -> NDArray[np.int32]:
    """Codes of the quasi-identifiers and, where asked for, of the sensitive column."""
    if sensitive is None:
        return table.codes
    return np.vstack([table.codes, sensitive_column(table, sensitive)[0][np.newaxis]])


def widest(table: EncodedTable, sensitive: int | None) -> int:
    """Room for the codes of any column, and one more."""
    sizes = [column.size for column in table.qi]
    if sensitive is not None:
        sizes.append(sensitive_column(table, sensitive)[1])
    return max(sizes) + 1


def in_parts(queries: int, answer: Any) -> None:
    """Call ``answer(part)`` on every part of the query numbers, on all cores."""
    on_threads(answer, np.array_split(np.arange(queries), min(queries, 2 * (cpu_count() or 1))))


def starts_of(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
