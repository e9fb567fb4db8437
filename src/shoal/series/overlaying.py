"""Releases laid over each other, as a recipient does who knows who is in all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.folding import fold
from shoal.encoding.values import distinct_values
from shoal.joining.columns import Column, encode_column
from shoal.joining.sources import Source
from shoal.series.boxes import Boxes, overlapping, pieces
from shoal.series.following import Following, following
from shoal.series.result import Overlaid

__all__ = ["overlaid", "value_codes"]

Ints = NDArray[np.int64]
MOST_CELLS = 2_000_000
"""Cells that are followed up; beyond, the rest is not, and that is said."""
MOST_COUNTS = 100_000_000
"""The same for cells times values."""
AT_ONCE = 4_096
"""Cells that are laid over a release at once."""


def overlaid(
    sources: Sequence[Source],
    qi: Sequence[str],
    sensitive: str | None,
    m: int | None,
    invented: Sequence[int] | None = None,
) -> tuple[Overlaid, tuple[str, ...]]:
    """What is left of whoever is in all releases, and columns that were not understood.

    `m` is what the releases promise as a series, where they do: a cell with fewer values in
    common is one in which nobody is who is in all of them, or the promise is broken.
    `invented`, where it is known that nobody leaves: how many records of each release are
    counterfeits. All others have a record in every later release, and are matched with these.
    """
    columns = [encode_column(name, sources, [True] * len(sources)) for name in qi]
    values = value_codes(sources, sensitive)
    boxes = [_boxes(s, columns, i, values) for i, s in enumerate(sources)]
    unfit = 0
    if m is not None and sensitive is not None:
        unfit = sum(int((m * b.counts.max(axis=1) > b.counts.sum(axis=1)).sum()) for b in boxes)
    staying = None if invented is None else following(boxes, invented, m)
    cells, complete, excluded = boxes[0], True, 0
    for other in boxes[1:]:
        cells, left_out, whole = _crossed(cells, other, staying, m or 1)
        complete &= whole
        excluded += left_out
    found = (cells.counts > 0).sum(axis=1)
    people = cells.counts.sum(axis=1)
    least = None if sensitive is None else int(found.min(initial=len(values[1])))
    pinned = 0 if sensitive is None else int((found == 1).sum())
    seen = Overlaid(
        len(found), pinned, least, int(people.min()) if len(people) else 0, excluded, complete,
        unfit, staying is not None, staying is not None and staying.contradicted,
    )  # fmt: skip
    return seen, tuple(column.name for column in columns if column.unsure)


def value_codes(sources: Sequence[Source], name: str | None) -> tuple[list[Ints], list[str]]:
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
) -> Boxes:
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
    counts = np.zeros((count, len(values[1])), dtype=np.int32)
    np.add.at(counts, (ids, values[0][release]), 1)
    none = np.zeros((count, 0), dtype=np.int64)
    return Boxes(
        np.stack(low, 1).astype(np.int64) if low else none,
        np.stack(high, 1).astype(np.int64) if high else none,
        bits,
        counts,
        np.arange(count, dtype=np.int64)[:, None],
    )


def _crossed(
    left: Boxes, right: Boxes, staying: Following | None, m: int
) -> tuple[Boxes, int, bool]:
    """What boxes of two sides have in common, where that is a value, too.

    With how many have fewer than m of them, which are left out, and whether all were looked at.
    """
    values, none = right.counts.shape[1], np.zeros(0, dtype=np.int64)
    parts = [_met(left.take(none), right.take(none), staying)]
    cells = excluded = 0
    most = min(MOST_CELLS, MOST_COUNTS // values)
    for begin in range(0, len(left.counts), AT_ONCE):
        part = left.take(np.arange(begin, min(begin + AT_ONCE, len(left.counts))))
        a, b = overlapping(part, right)
        for some in pieces(len(a), values):
            if cells > most:
                return _stacked(parts), excluded, False
            met = _met(part.take(a[some]), right.take(b[some]), staying)
            found = (met.counts > 0).sum(axis=1)
            excluded += int(((found > 0) & (found < m)).sum())
            parts.append(met.take(np.flatnonzero(found >= m)))
            cells += len(parts[-1].counts)
    return _stacked(parts), excluded, True


def _met(left: Boxes, right: Boxes, staying: Following | None) -> Boxes:
    """The common part of boxes pair by pair."""
    counts = np.minimum(left.counts, right.counts)
    member = np.concatenate([left.member, right.member], axis=1)
    if staying is not None:
        counts = staying.kept(counts, member)
    bits = [mine & others for mine, others in zip(left.bits, right.bits, strict=True)]
    low, high = np.maximum(left.low, right.low), np.minimum(left.high, right.high)
    return Boxes(low, high, bits, counts, member)


def _stacked(parts: Sequence[Boxes]) -> Boxes:
    return Boxes(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        [np.concatenate(words) for words in zip(*(part.bits for part in parts), strict=True)],
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.member for part in parts]),
    )
