"""How well a release answers questions: data cubes and COUNT queries (paper 004, section 6.3).

A reader of a release takes a group's records to be spread evenly over the
domain values that its released values cover. `cube_divergence` compares whole
tables of counts under that assumption, `count_queries` single counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.kernels.metrics import cubes
from shoal.kernels.metrics.cubes import LARGEST_CUBE, Axes, Cover, Slices
from shoal.kernels.metrics.queries import (
    Values,
    count_exact,
    count_expected,
    join_covers,
)
from shoal.kernels.threads import on_threads
from shoal.metrics.coverage import covered
from shoal.metrics.workload import (
    Workload,
    code_matrix,
    draw_queries,
    in_parts,
    sensitive_column,
    starts_of,
    widest,
)

__all__ = [
    "QueryError",
    "Workload",
    "anatomy_divergence",
    "anatomy_error",
    "count_queries",
    "cube_divergence",
    "draw_queries",
    "query_error",
]

DEEPEST = 3
"""Levels of the lattice that are computed."""
LARGEST_KEY = 1 << 62
FLOOR = 0.001
"""A true count below this share of the records counts as this share: see `QueryError`."""


# Cubes


def cube_divergence(
    table: EncodedTable, recoding: Recoding, level: int = 2, sensitive: int | None = 0
) -> float:
    """KL divergence between the data cubes of the table and of its release.

    Level i of the cube's lattice is all group-bys over exactly i
    quasi-identifiers and the sensitive value. For each group-by, P is the share
    of the table's records in a cell, Q the share that a reader of the release
    expects there; the divergence is the sum of ``P ln(P/Q)`` over the cells with
    P > 0. The result is the mean over the group-bys: 0 where nothing is lost.

    Parameters
    ----------
    table, recoding
        The encoded table and the partitions that govern its attributes.
    level
        1, 2 or 3, and at most the number of quasi-identifiers.
    sensitive
        Which sensitive column; None for cubes of the quasi-identifiers alone.
    """
    release = covered(table, recoding)
    slices = _slices(_sensitive_codes(table, sensitive), release.partition)

    def divergence(attributes: tuple[int, ...]) -> float:
        # The widest axis first: large cubes are searched along it.
        wide = sorted(attributes, key=lambda a: -table.qi[a].size)
        axes = _axes(table, wide)
        unused = _one_code(release.partition.groups)
        three = [*(release.covers[a] for a in wide), *[unused] * (DEEPEST - len(wide))]
        return float(cubes.cube_divergence(axes, *three, slices, LARGEST_CUBE))

    return _mean_divergence(table, level, divergence)


def anatomy_divergence(
    table: EncodedTable, partition: Partition, level: int | None = 2, sensitive: int = 0
) -> float:
    """`cube_divergence` of a release by Anatomy: exact quasi-identifiers, shared values.

    A record of a group of n records that holds a value c times has that value
    with probability c / n. Where `level` is None all quasi-identifiers are
    grouped by at once: the divergence of the table's points.
    """
    slices = _slices(_sensitive_codes(table, sensitive), partition)

    def divergence(attributes: tuple[int, ...]) -> float:
        ids, cells = class_ids(table.columns(attributes), table.n)
        return float(cubes.exact_divergence(ids, cells, partition.order, partition.offsets, slices))

    if level is None:
        return max(0.0, divergence(tuple(range(len(table.qi)))) / table.n)
    return _mean_divergence(table, level, divergence)


def _mean_divergence(
    table: EncodedTable, level: int, divergence: Callable[[tuple[int, ...]], float]
) -> float:
    deepest = min(DEEPEST, len(table.qi))
    if not 1 <= level <= deepest:
        raise PolicyError(f"level: expected a whole number from 1 to {deepest}; got {level}")
    group_bys = list(combinations(range(len(table.qi)), level))
    for chosen in group_bys:
        if prod(table.qi[a].size for a in chosen) > LARGEST_KEY:
            raise PolicyError(f"level: cubes of level {level} are too large; try {level - 1}")
    found = on_threads(divergence, group_bys)
    # Rounding can leave a hair below 0 where P and Q are the same.
    return max(0.0, float(np.mean(found)) / table.n)


def _axes(table: EncodedTable, attributes: Sequence[int]) -> Axes:
    sizes = np.ones(DEEPEST, dtype=np.int64)
    codes = np.zeros((DEEPEST, table.n), dtype=np.int32)
    for axis, attribute in enumerate(attributes):
        sizes[axis] = table.qi[attribute].size
        codes[axis] = table.codes[attribute]
    return Axes(sizes, codes)


def _one_code(groups: int) -> Cover:
    """The cover of an axis that is not used."""
    zero = np.zeros(1, dtype=np.int32)
    row = np.zeros(groups, dtype=np.int64)
    return Cover(row, np.array([0, 1]), zero, zero, np.ones(1, dtype=np.int64))


def _sensitive_codes(table: EncodedTable, sensitive: int | None) -> NDArray[np.int32]:
    if sensitive is None:
        return np.zeros(table.n, dtype=np.int32)
    return sensitive_column(table, sensitive)[0]


def _slices(codes: NDArray[np.int32], partition: Partition) -> Slices:
    """Records and groups by sensitive value."""
    groups = partition.groups
    values = int(codes.max()) + 1
    keys = codes.astype(np.int64) * groups + partition.group_ids()
    pairs, counts = np.unique(keys, return_counts=True)
    return Slices(
        record_starts=starts_of(np.bincount(codes, minlength=values)),
        records=np.argsort(codes, kind="stable").astype(np.int64),
        group_starts=starts_of(np.bincount(pairs // groups, minlength=values)),
        groups=pairs % groups,
        counts=counts.astype(np.int64),
    )


# COUNT queries


@dataclass(frozen=True)
class QueryError:
    """Relative errors of COUNT queries: ``|expected - true| / max(true, floor)``.

    The floor keeps a query that finds next to nothing from counting as a
    disaster: without it a true count of 0 has no relative error at all.
    """

    median: float
    p95: float
    mean: float
    queries: int
    selectivity: float
    """Mean share of the records that the queries select."""
    floor: float
    """In records: 0.1% of the table, and at least 1."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def count_queries(
    table: EncodedTable,
    recoding: Recoding,
    *,
    queries: int = 1000,
    predicates: tuple[int, int] = (2, 4),
    selectivity: float = 0.01,
    sensitive: int | None = None,
    seed: int = 0,
) -> QueryError:
    """Errors of random COUNT queries on a release; see `draw_queries` for the settings."""
    workload = draw_queries(
        table,
        queries=queries,
        predicates=predicates,
        selectivity=selectivity,
        sensitive=sensitive,
        seed=seed,
    )
    return query_error(table, recoding, workload)


def query_error(table: EncodedTable, recoding: Recoding, workload: Workload) -> QueryError:
    """Errors of a workload on a release, whose groups spread evenly over what they cover."""
    release = covered(table, recoding)
    partition = release.partition
    cover = join_covers(release.covers, partition.groups)
    values = _values(table, partition, workload.sensitive)
    size = widest(table, workload.sensitive)
    sizes = partition.sizes
    answers = np.zeros(workload.queries)
    in_parts(
        workload.queries,
        lambda part: count_expected(
            workload.predicates, part, cover, sizes, values, workload.most, size, answers
        ),
    )
    return _errors(workload, answers)


def anatomy_error(table: EncodedTable, partition: Partition, workload: Workload) -> QueryError:
    """Errors of a workload on a release by Anatomy: see `anatomy_divergence`."""
    values = _values(table, partition, workload.sensitive)
    # Without a sensitive predicate the last row, which is special, is never asked for.
    matrix = code_matrix(table, workload.sensitive)
    if workload.sensitive is None:
        matrix = np.vstack([matrix, np.zeros((1, table.n), dtype=np.int32)])
    size = widest(table, workload.sensitive)
    groups, sizes = partition.group_ids(), partition.sizes
    answers = np.zeros(workload.queries)
    in_parts(
        workload.queries,
        lambda part: count_exact(
            workload.predicates, part, matrix, groups, sizes, values, workload.most, size, answers
        ),
    )
    return _errors(workload, answers)


def _errors(workload: Workload, answers: NDArray[np.float64]) -> QueryError:
    floor = max(1.0, FLOOR * workload.records)
    errors = np.abs(answers - workload.truth) / np.maximum(workload.truth, floor)
    return QueryError(
        median=float(np.median(errors)),
        p95=float(np.percentile(errors, 95)),
        mean=float(errors.mean()),
        queries=workload.queries,
        selectivity=float(workload.truth.mean()) / workload.records,
        floor=floor,
    )


def _values(table: EncodedTable, partition: Partition, sensitive: int | None) -> Values:
    """Sensitive values of each group."""
    if sensitive is None:
        return Values(*(np.zeros(0, dtype=kind) for kind in (np.int64, np.int32, np.int64)))
    codes, size = sensitive_column(table, sensitive)
    keys = partition.group_ids() * size + codes
    pairs, counts = np.unique(keys, return_counts=True)
    starts = starts_of(np.bincount(pairs // size, minlength=partition.groups))
    return Values(starts, (pairs % size).astype(np.int32), counts.astype(np.int64))
