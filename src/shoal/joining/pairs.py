"""Which joined classes are too small, or say too much of a sensitive value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.errors import InputError
from shoal.joining.candidates import STRANGERS, Rows, Table, pairs_of
from shoal.joining.listing import Ints, best_order, offsets_of, plan_of, work_of
from shoal.joining.result import counted
from shoal.kernels.joining.pairs import Cells, Found, Marks, Plan, Progress, Sensitive, Side, expose

__all__ = ["Diverse", "Exposure", "exposure"]


MOST_VISITS = 60_000_000
"""Rows that are visited to judge joined classes; beyond, the others are not followed up."""
MOST_VISITS_FOR_L = 30_000_000
"""Rows that are visited for l alone, besides."""


class Exposure(NamedTuple):
    """What an adversary who knows some quasi-identifiers gains by joining."""

    certain: tuple[int, int]
    """Records in a joined class of fewer than k, or not l-diverse, whichever is the right one."""
    possible: tuple[int, int]
    """Records that can be in one."""
    smallest: int
    narrowed: list[str]
    reached: int
    """An l that all joined classes have."""
    proven: bool
    """Whether l holds for the values of every person, in whichever joined classes they lie."""
    complete: tuple[bool, bool]
    """Whether all joined classes were judged, as to k and as to l."""


class Diverse(NamedTuple):
    """What is asked of sensitive columns: l, by counting different values or by shares."""

    columns: tuple[str, ...] = ()
    l: int = 0  # noqa: E741
    distinct: bool = False


def exposure(
    table: Table,
    joined: tuple[Rows, Rows, NDArray[np.uint64]],
    qi: Sequence[str],
    k: int,
    diverse: Diverse,
) -> Exposure:
    """How many records an adversary who knows `qi` finds among too few, or too much alike."""
    left, right, bits = joined
    known = np.isin([*table.spans, *table.sets], qi)
    sides = _sides(left, right, bits, known, len(table.spans))
    records = int(table.sizes[table.releases[0].records[:, 0]].sum())
    found = Found(
        np.zeros((2, len(table.sizes)), dtype=np.bool_),
        np.zeros((2, len(table.sizes)), dtype=np.bool_),
        np.zeros(int(known.sum()), dtype=np.bool_),
        np.array([records], dtype=np.int64),
        np.array([records, 1], dtype=np.int64),
    )
    # Nothing is so large, and what a manifest asks for may be more than a kernel takes.
    too_many = records + 1
    k, diverse = min(k, too_many), diverse._replace(l=min(diverse.l, too_many))
    progress = _judge_all(*sides, bits, k, table.sizes, _sensitive(table, known, diverse), found)
    unjudged = _unjudged(*sides, progress, len(table.sizes))
    lonely = ~(found.exposed[0] | found.hidden[0] | unjudged[0])
    if lonely.any():
        rows = counted(int(table.sizes[lonely].sum()), "row", "rows")
        raise InputError(f"{rows} of the releases go with no row of the others: {STRANGERS}")
    names = np.array([*table.spans, *table.sets])[known][found.narrowed]
    numbers = (_exposed(table, found, unjudged, what) for what in range(2))
    certain, possible = zip(*numbers, strict=True)
    whole = not unjudged[0].any(), not unjudged[1].any()
    smallest, reached, proven = int(found.smallest[0]), *map(int, found.diverse)
    return Exposure(
        certain, possible, smallest, names.tolist(), reached, bool(proven) and all(whole), whole
    )  # fmt: skip


def _unjudged(left: Side, right: Side, progress: Progress, records: int) -> NDArray[np.bool_]:
    """Rows of the releases of which not all joined classes were judged: as to k, as to l."""
    unjudged = np.zeros((2, records), dtype=np.bool_)
    for what, judged in enumerate(progress.judged):
        if judged < len(left.offsets) - 1:
            unjudged[what, left.records[left.offsets[judged] :]] = True
            unjudged[what, right.records] = True
    return unjudged


def _exposed(table: Table, found: Found, unjudged: NDArray[np.bool_], what: int) -> tuple[int, int]:
    """Records exposed for certain, and those that may be: of the release that knows best."""
    certain, possible = [], []
    for release in table.releases:
        rows = release.records[:, 0]
        sizes, exposed, hidden, unknown = (
            table.sizes[rows],
            found.exposed[what, rows],
            found.hidden[what, rows],
            unjudged[what, rows],
        )
        certain.append(int(sizes[exposed & ~hidden & ~unknown].sum()))
        possible.append(int(sizes[exposed | unknown].sum()))
    return max(certain), min(possible)


def _sensitive(table: Table, known: NDArray[np.bool_], diverse: Diverse) -> Sensitive:
    """Sensitive values of all rows, and how many records of their class share them."""
    shape = len(table.sizes), len(diverse.columns)
    values, whole = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    domain = 1
    for release in table.releases:
        rows = release.records[:, 0]
        _, classes = _distinct(_split(release.cells, known, len(table.spans))[0])
        for c, name in enumerate(diverse.columns):
            codes = _values(table, release, name)
            if codes is None:
                continue
            values[rows, c] = codes
            domain = max(domain, int(codes.max()) + 1)
            alike, _ = class_ids([(classes, len(rows)), (codes, int(codes.max()) + 1)], len(rows))
            weights = np.bincount(alike, weights=table.sizes[rows]).astype(np.int64)
            whole[rows, c] = weights[alike]
    room = len(table.releases), len(diverse.columns)
    counts, stamps = (np.zeros((*room, domain), dtype=np.int64) for _ in range(2))
    largest, different = (np.zeros(room, dtype=np.int64) for _ in range(2))
    return Sensitive(
        diverse.l, diverse.distinct, values, whole, counts, stamps, largest, different
    )  # fmt: skip


def _values(table: Table, release: Rows, name: str) -> Ints | None:
    """The value each row has in a column; None where the release does not publish it."""
    if name in table.sets:
        return release.cells.sets[:, table.sets.index(name)].astype(np.int64)
    place = table.spans.index(name)
    low, high = release.cells.low[:, place], release.cells.high[:, place]
    return low.astype(np.int64) if (low == high).all() else None


def _judge_all(
    left: Side,
    right: Side,
    bits: NDArray[np.uint64],
    k: int,
    sizes: Ints,
    secret: Sensitive,
    found: Found,
) -> Progress:
    """Judge all pairs of classes, found by their cells or by what stands beside them."""
    marks = Marks(
        np.zeros(len(left.match_offsets) - 1, dtype=np.int64),
        np.zeros(len(right.match_offsets) - 1, dtype=np.int64),
        np.zeros(len(sizes), dtype=np.int64),
        np.zeros(left.records.shape[1] + right.records.shape[1], dtype=np.int64),
        np.zeros((2, max(_most_near(left), _most_near(right))), dtype=np.int64),
    )
    tried = np.full(len(right.offsets) - 1, -1, dtype=np.int64)
    plan = _plan(left, right, bits)
    progress = Progress(
        np.zeros((2, len(left.offsets) - 1), dtype=np.bool_),
        np.zeros((2, len(right.offsets) - 1), dtype=np.bool_),
        np.zeros(2, dtype=np.int64),
        np.array([MOST_VISITS, MOST_VISITS_FOR_L], dtype=np.int64),
    )
    expose(left, right, bits, plan, k, sizes, marks, secret, found, progress, tried)
    return progress


def _most_near(side: Side) -> int:
    return int(np.diff(side.near_offsets).max(initial=0))


def _plan(left: Side, right: Side, bits: NDArray[np.uint64]) -> Plan:
    """The plan with the fewest comparisons; either finds every pair."""
    by_cells = _by_cells(left, right, bits)
    by_rests = _by_rests(left, right, most=work_of(by_cells))
    return by_cells if by_rests is None else min(by_cells, by_rests, key=work_of)


def _by_cells(left: Side, right: Side, bits: NDArray[np.uint64]) -> Plan:
    """Compare classes whose cells can meet, whatever stands beside them."""
    return plan_of(left.cells, right.cells, bits)


def _by_rests(left: Side, right: Side, most: int) -> Plan | None:
    """Compare classes that have rows whose rests go together; None if that is not less work."""
    matches = np.diff(left.match_offsets)[left.rest]
    total = int(matches.sum())
    if total > most:
        return None
    first = left.match_offsets[left.rest] - (np.cumsum(matches) - matches)
    key = left.match[np.repeat(first, matches) + np.arange(total)]
    mine = np.repeat(_class_of_rows(left), matches)
    theirs = _class_of_rows(right)
    a, b = left.cells, right.cells
    begin, end, order = best_order(
        (key, right.rest),
        [
            (a.low[mine, s], a.high[mine, s], b.low[theirs, s], b.high[theirs, s])
            for s in range(a.low.shape[1])
        ],
    )
    return Plan(offsets_of(mine, len(left.offsets) - 1), begin, end, theirs[order])


def _class_of_rows(side: Side) -> Ints:
    return np.repeat(np.arange(len(side.offsets) - 1), np.diff(side.offsets))


def _sides(
    left: Rows, right: Rows, bits: NDArray[np.uint64], known: NDArray[np.bool_], spans: int
) -> tuple[Side, Side]:
    """Both sides by what the adversary knows of a person, and what else their rows say."""
    parts = [_split(rows.cells, known, spans) for rows in (left, right)]
    (classes_a, class_a), (classes_b, class_b) = (_distinct(part) for part, _ in parts)
    (rests_a, rest_a), (rests_b, rest_b) = (_distinct(part) for _, part in parts)
    i, j = pairs_of(rests_a, rests_b, bits)
    return (
        _side(classes_a, class_a, rest_a, left.records, (i, j), len(rests_a.low), classes_b, bits),
        _side(classes_b, class_b, rest_b, right.records, (j, i), len(rests_b.low), classes_a, bits),
    )


def _split(cells: Cells, known: NDArray[np.bool_], spans: int) -> tuple[Cells, Cells]:
    a, b = known[:spans], known[spans:]
    return (
        Cells(*map(np.ascontiguousarray, (cells.low[:, a], cells.high[:, a], cells.sets[:, b]))),
        Cells(*map(np.ascontiguousarray, (cells.low[:, ~a], cells.high[:, ~a], cells.sets[:, ~b]))),
    )


def _distinct(cells: Cells) -> tuple[Cells, Ints]:
    """Distinct rows of cells, and which one each row is."""
    keys = [(column, int(column.max()) + 1) for part in cells for column in part.T]
    ids, count = class_ids(keys, len(cells.low))
    first = first_of_each(ids, count)
    return Cells(cells.low[first], cells.high[first], cells.sets[first]), ids


def _side(
    cells: Cells,
    class_of: Ints,
    rest: Ints,
    records: Ints,
    match: tuple[Ints, Ints],
    rests: int,
    other: Cells,
    bits: NDArray[np.uint64],
) -> Side:
    order = np.argsort(class_of, kind="stable")
    near, near_offsets = _csr(
        pairs_of(cells, cells, bits, _silent(cells, other, bits)), len(cells.low)
    )
    return Side(
        cells,
        offsets_of(class_of, len(cells.low)),
        rest[order],
        np.ascontiguousarray(records[order]),
        near,
        near_offsets,
        *_csr(match, rests),
    )


def _silent(own: Cells, other: Cells, bits: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Columns in which no cell of the other side says more than any cell of one's own."""
    low = other.low.max(axis=0) <= own.low.min(axis=0)
    high = other.high.min(axis=0) >= own.high.max(axis=0)
    sets = [
        not (np.bitwise_or.reduce(bits[a]) & ~np.bitwise_and.reduce(bits[b])).any()
        for a, b in zip(own.sets.T, other.sets.T, strict=True)
    ]
    return np.concatenate([low & high, np.array(sets, dtype=np.bool_)])


def _csr(pairs: tuple[Ints, Ints], rows: int) -> tuple[Ints, Ints]:
    order = np.argsort(pairs[0], kind="stable")
    return pairs[1][order], offsets_of(pairs[0], rows)
