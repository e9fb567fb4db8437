"""Releases laid over each other, as a recipient does who knows who is in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.folding import fold
from shoal.encoding.values import distinct_values
from shoal.joining.columns import Column, encode_column
from shoal.joining.sources import Source
from shoal.series.result import Overlaid

__all__ = ["overlaid"]

MOST_CELLS = 2_000_000
MOST_COMPARED = 400_000_000
"""Pairs of boxes that are compared; beyond, the rest is not followed up, and that is said."""
AT_ONCE = 4_000_000
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Classes of a release, or cells of several: their boxes, and records of each value."""

    low: Ints
    """(boxes, ranges)"""
    high: Ints
    bits: list[NDArray[np.uint64]]
    """Sets of values: one array (boxes, words) for each column that has them."""
    counts: Ints
    """(boxes, values): how many persons of each value there can be; one column without values."""

    def take(self, rows: Ints) -> _Boxes:
        bits = [words[rows] for words in self.bits]
        return _Boxes(self.low[rows], self.high[rows], bits, self.counts[rows])


def overlaid(
    sources: Sequence[Source], qi: Sequence[str], sensitive: str | None, m: int | None
) -> tuple[Overlaid, tuple[str, ...]]:
    """What is left of whoever is in all releases, and columns that were not understood.

    `m` is what the releases promise as a series, where they do: a cell with fewer values in
    common is one in which nobody is who is in all of them, or the promise is broken.
    """
    columns = [encode_column(name, sources, [True] * len(sources)) for name in qi]
    values = _value_codes(sources, sensitive)
    boxes = [_boxes(s, columns, i, values) for i, s in enumerate(sources)]
    unfit = 0
    if m is not None and sensitive is not None:
        unfit = sum(int((m * b.counts.max(axis=1) > b.counts.sum(axis=1)).sum()) for b in boxes)
    cells, complete = boxes[0], True
    for other in boxes[1:]:
        cells, whole = _crossed(cells, other)
        complete &= whole
    found = (cells.counts > 0).sum(axis=1)
    people = cells.counts.sum(axis=1)
    excluded = 0
    if m is not None and sensitive is not None:
        excluded = int((found < m).sum())
        people, found = people[found >= m], found[found >= m]
    least = None if sensitive is None else int(found.min(initial=len(values[1])))
    pinned = 0 if sensitive is None else int((found == 1).sum())
    seen = Overlaid(
        len(found), pinned, least, int(people.min()) if len(people) else 0, excluded, complete,
        unfit,
    )  # fmt: skip
    return seen, tuple(column.name for column in columns if column.unsure)


def _value_codes(sources: Sequence[Source], name: str | None) -> tuple[list[Ints], list[str]]:
    """The sensitive value of each row of each release, by what it reads as."""
    number: dict[str, int] = {}
    codes = []
    for source in sources:
        if name is None:
            codes.append(np.zeros(source.table.num_rows, dtype=np.int64))
            continue
        distinct = distinct_values(source.table.column(name))
        own = [number.setdefault(fold(text), len(number)) for text in distinct.texts()]
        codes.append(np.array([*own, number.setdefault("", len(number))])[distinct.codes])
    return codes, list(number) or [""]


def _boxes(
    source: Source, columns: Sequence[Column], release: int, values: tuple[list[Ints], list[str]]
) -> _Boxes:
    """The classes of one release."""
    codes = [np.asarray(column.codes[release]) for column in columns]
    keyed = [(own, int(own.max(initial=0)) + 1) for own in codes]
    ids, count = class_ids(keyed, source.table.num_rows)
    first = np.full(count, -1, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    low, high, bits = [], [], []
    for column, own in zip(columns, codes, strict=True):
        if column.sets:
            bits.append(np.asarray(column.sets[release])[own[first]])
            continue
        ends = column.ranges[release]
        assert ends is not None
        low.append(ends[0][own[first]])
        high.append(ends[1][own[first]])
    counts = np.zeros((count, len(values[1])), dtype=np.int64)
    np.add.at(counts, (ids, values[0][release]), 1)
    none = np.zeros((count, 0), dtype=np.int64)
    return _Boxes(
        np.stack(low, 1).astype(np.int64) if low else none,
        np.stack(high, 1).astype(np.int64) if high else none,
        bits,
        counts,
    )


def _crossed(left: _Boxes, right: _Boxes) -> tuple[_Boxes, bool]:
    """What boxes of two sides have in common, where that is a value, too; and whether all."""
    step = max(1, AT_ONCE // max(1, len(right.counts)))
    parts: list[_Boxes] = []
    compared = cells = 0
    for begin in range(0, len(left.counts), step):
        if compared > MOST_COMPARED or cells > MOST_CELLS:
            return _stacked(parts), False
        part = left.take(np.arange(begin, min(begin + step, len(left.counts))))
        compared += len(part.counts) * len(right.counts)
        a, b = _overlapping(part, right)
        met = _met(part.take(a), right.take(b))
        parts.append(met)
        cells += len(met.counts)
    return _stacked(parts), True


def _overlapping(left: _Boxes, right: _Boxes) -> tuple[Ints, Ints]:
    both = np.ones((len(left.counts), len(right.counts)), dtype=np.bool_)
    for a in range(left.low.shape[1]):
        both &= left.low[:, a, None] <= right.high[None, :, a]
        both &= right.low[None, :, a] <= left.high[:, a, None]
    for mine, others in zip(left.bits, right.bits, strict=True):
        shared = np.zeros_like(both)
        for word in range(mine.shape[1]):
            shared |= (mine[:, word, None] & others[None, :, word]) != 0
        both &= shared
    lefts, rights = np.nonzero(both)
    return lefts.astype(np.int64), rights.astype(np.int64)


def _met(left: _Boxes, right: _Boxes) -> _Boxes:
    """The common part of boxes pair by pair; those without a common value are no cells."""
    counts = np.minimum(left.counts, right.counts)
    bits = [mine & others for mine, others in zip(left.bits, right.bits, strict=True)]
    met = _Boxes(np.maximum(left.low, right.low), np.minimum(left.high, right.high), bits, counts)
    return met.take(np.flatnonzero(counts.any(axis=1)))


def _stacked(parts: Sequence[_Boxes]) -> _Boxes:
    return _Boxes(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        [np.concatenate(words) for words in zip(*(part.bits for part in parts), strict=True)],
        np.concatenate([part.counts for part in parts]),
    )
