"""COUNT queries: the true answer from the records, the expected one from groups."""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.metrics.cubes import Cover


class Predicates(NamedTuple):
    """Queries as conjunctions of predicates, each a set of codes of one column."""

    starts: np.ndarray  # int64 (queries + 1,): query q has predicates starts[q]..starts[q+1]-1
    column: np.ndarray  # int64 (predicates,): row of the columns below
    run_starts: np.ndarray  # int64 (predicates + 1,): its codes are these runs
    first: np.ndarray  # int32 (runs,)
    last: np.ndarray  # int32 (runs,)


class Values(NamedTuple):
    """Sensitive values of each group, as CSR; empty where no query asks for them."""

    starts: np.ndarray  # int64 (groups + 1,)
    codes: np.ndarray  # int32 (pairs,)
    counts: np.ndarray  # int64 (pairs,)


def join_covers(covers, groups):
    """Covers of several attributes as one, whose ``row`` has a line an attribute."""
    rows = np.cumsum([0, *(len(cover.width) for cover in covers)])
    runs = np.cumsum([0, *(len(cover.first) for cover in covers)])
    row = np.empty((len(covers), groups), dtype=np.int64)
    for a, cover in enumerate(covers):
        row[a] = cover.row + rows[a]
    return Cover(
        row,
        np.concatenate([*(c.starts[:-1] + runs[a] for a, c in enumerate(covers)), runs[-1:]]),
        np.concatenate([cover.first for cover in covers]),
        np.concatenate([cover.last for cover in covers]),
        np.concatenate([cover.width for cover in covers]),
    )


@kernel
def _select(predicates, query, below):
    """Fill ``below[p, code]``, the number of selected codes below a code; how many p."""
    begin = predicates.starts[query]
    count = predicates.starts[query + 1] - begin
    for p in range(count):
        code, selected = 0, 0
        for run in range(predicates.run_starts[begin + p], predicates.run_starts[begin + p + 1]):
            while code <= predicates.last[run]:
                below[p, code] = selected
                selected += code >= predicates.first[run]
                code += 1
        below[p, code:] = selected
    return count


@inner_kernel
def _matching(predicates, query, columns, skip, below, found):
    """Fill ``found`` with the records that satisfy a query; returns how many.

    Predicates on column ``skip`` are left out. One pass a predicate over what
    the earlier ones have left, without a branch that a processor could mispredict.
    """
    begin = predicates.starts[query]
    left = columns.shape[1]
    untouched = True
    for p in range(predicates.starts[query + 1] - begin):
        if predicates.column[begin + p] == skip:
            continue
        codes = columns[predicates.column[begin + p]]
        chosen = below[p, 1:] > below[p, :-1]
        kept = 0
        for i in range(left):
            record = i if untouched else found[i]
            found[kept] = record
            kept += chosen[codes[record]]
        left, untouched = kept, False
    if untouched:
        found[:] = np.arange(left)
    return left


@kernel
def count_true(predicates, queries, columns, most, below_size, answers):
    """How many records satisfy each of the given queries; ``columns`` is int32 (d, n)."""
    below = np.zeros((most, below_size), dtype=np.int64)
    found = np.empty(columns.shape[1], dtype=np.int64)
    for q in queries:
        _select(predicates, q, below)
        answers[q] = _matching(predicates, q, columns, -1, below, found)


@kernel
def _share(cover, attribute, group, below):
    """Share of the codes a group covers that a predicate selects."""
    row = cover.row[attribute, group]
    selected = 0
    for run in range(cover.starts[row], cover.starts[row + 1]):
        selected += below[cover.last[run] + 1] - below[cover.first[run]]
    return selected / cover.width[row]


@inner_kernel
def _value_share(values, group, size, below):
    """Share of a group's records whose sensitive value a predicate selects."""
    selected = 0
    for i in range(values.starts[group], values.starts[group + 1]):
        code = values.codes[i]
        selected += values.counts[i] * (below[code + 1] - below[code])
    return selected / size


@kernel
def count_expected(predicates, queries, cover, sizes, values, most, below_size, answers):
    """Expected answers where each group's records are spread evenly over what it covers."""
    below = np.zeros((most, below_size), dtype=np.int64)
    attributes = len(cover.row)
    for q in queries:
        count = _select(predicates, q, below)
        answers[q] = 0.0
        for g in range(len(sizes)):
            share = 1.0
            for p in range(count):
                column = predicates.column[predicates.starts[q] + p]
                if column < attributes:
                    share *= _share(cover, column, g, below[p])
                else:
                    share *= _value_share(values, g, sizes[g], below[p])
                if share == 0.0:
                    break
            answers[q] += share * sizes[g]


@kernel
def count_exact(predicates, queries, columns, groups, sizes, values, most, below_size, answers):
    """Expected answers where quasi-identifiers are exact and groups share their values.

    ``groups`` is the group of each record; the sensitive column is the last of ``columns``.
    """
    below = np.zeros((most, below_size), dtype=np.int64)
    found = np.empty(columns.shape[1], dtype=np.int64)
    share = np.ones(len(sizes), dtype=np.float64)
    sensitive = columns.shape[0] - 1
    for q in queries:
        for p in range(_select(predicates, q, below)):
            if predicates.column[predicates.starts[q] + p] == sensitive:
                for g in range(len(sizes)):
                    share[g] = _value_share(values, g, sizes[g], below[p])
        answers[q] = 0.0
        for i in range(_matching(predicates, q, columns, sensitive, below, found)):
            answers[q] += share[groups[found[i]]]
