"""A partition into released values: what each group's attributes are published as.

An unchanged value as it was, an interval ``[20,29]`` (tight, or of round values),
the label of a hierarchy node, a value set ``{a,b}``, or ``*``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.codebook import SET, Attribute
from shoal.encoding.table import (
    Codes,
    Domain,
    EncodedTable,
    Partition,
    Recoding,
    extents,
    member_codes,
)
from shoal.hierarchy.rows import STAR
from shoal.kernels.grouping import set_ids
from shoal.kernels.picking import picked
from shoal.kernels.threads import on_threads

__all__ = [
    "STAR",
    "RecodedColumn",
    "distinct_ranges",
    "range_texts",
    "recode",
    "released_columns",
    "set_texts",
]

FEW_PAIRS = 8
"""Pairs of codes that there can be, to a range, up to which they are counted and not sorted."""
NEEDS_QUOTES = frozenset(',"{}[]')

Texts = tuple[list[str | None], NDArray[np.int32]]
"""Distinct released texts, None for a missing value; and which of them each thing has."""


@dataclass(frozen=True, eq=False)
class RecodedColumn:
    """One quasi-identifier as it is published."""

    source: Attribute
    texts: list[str | None]
    """Distinct released texts; None is a missing value."""
    text_of_group: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    """Smallest and largest code of each group, for the bounds layout."""
    groups: NDArray[np.integer[Any]]
    """Group of each record; columns under one partition share the array."""

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def index(self) -> NDArray[np.int32]:
        """Which text each record carries."""
        return picked(self.text_of_group, self.groups)

    def starred(self) -> NDArray[np.bool_]:
        """Which records carry a star."""
        if STAR not in self.texts:
            return np.zeros(len(self.groups), dtype=bool)
        return picked(self.text_of_group == self.texts.index(STAR), self.groups)


def recode(table: EncodedTable, recoding: Recoding) -> tuple[RecodedColumn, ...]:
    """The released form of every quasi-identifier under its partition."""
    groups = {partition: _group_ids(partition) for partition in set(recoding.partitions)}
    return on_threads(
        lambda a, attribute, partition: _recode_column(
            attribute, table.codes[a], partition, recoding.domain(a), groups[partition]
        ),
        range(len(table.qi)),
        recoding.seen(table).qi,
        recoding.partitions,
    )


def _group_ids(partition: Partition) -> NDArray[np.integer[Any]]:
    """Group of each record, in four bytes: one array for all columns, and kept for long."""
    ids = np.empty(len(partition.order), dtype=np.int32)
    ids[partition.order] = np.repeat(np.arange(partition.groups, dtype=np.int32), partition.sizes)
    return ids


def _recode_column(
    attribute: Attribute,
    codes: Codes,
    partition: Partition,
    domain: Domain | None,
    groups: NDArray[np.integer[Any]],
) -> RecodedColumn:
    low, high = extents(codes, partition, domain)
    if attribute.form == SET and domain is None:
        texts, text_of_group = set_texts(attribute, *member_codes(codes, partition, attribute.size))
    else:
        texts, text_of_group = range_texts(attribute, low, high)
    return RecodedColumn(attribute, texts, text_of_group, low, high, groups)


def range_texts(column: Attribute, low: Codes, high: Codes) -> Texts:
    """Texts of code ranges: a value, an interval, a node of the hierarchy or a star.

    Returns
    -------
    texts, text_of_range
        The distinct texts, and which of them each range ``low[i]..high[i]`` has.
    """
    lows, highs, index = distinct_ranges(low, high, column.size)
    present = column.present
    nodes: dict[int, str] = {}
    if column.hierarchy is not None and not column.suppressed:
        mixed = np.flatnonzero((lows != highs) & (highs < present))
        labels, node = column.hierarchy.lca_labels(lows[mixed], highs[mixed])
        nodes = {int(m): labels[i] for m, i in zip(mixed, node, strict=True)}
    texts: list[str | None] = []
    for i, (lo, hi) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        if column.ends is not None and hi < present:
            texts.append(_round_text(column.ends.begin_texts[lo], column.ends.end_texts[hi]))
        elif lo == hi:
            texts.append(column.labels[lo])
        elif column.form == SET and hi - lo + 1 == column.size:  # all values: that tells nothing
            texts.append(STAR)
        elif column.form == SET:  # a block of a coarser domain
            texts.append(_set_text(column, np.arange(lo, hi + 1, dtype=np.int32)))
        elif hi >= present or column.suppressed:  # missing and present values in one group
            texts.append(STAR)
        else:
            texts.append(nodes.get(i) or _interval(column.labels[lo], column.labels[hi]))
    return _merged(texts, index)


def distinct_ranges(
    low: Codes, high: Codes, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The different ranges of codes below a size, in order; and which of them each range is."""
    pairs = low.astype(np.int64) * size + high
    if size * size > FEW_PAIRS * len(pairs):
        unique, index = np.unique(pairs, return_inverse=True)
        return unique // size, unique % size, index.reshape(-1)
    unique = np.flatnonzero(np.bincount(pairs, minlength=size * size))
    number = np.empty(size * size, dtype=np.int64)
    number[unique] = np.arange(len(unique))
    return unique // size, unique % size, number[pairs]


def _interval(low: str | None, high: str | None) -> str:
    return f"[{_element(low)},{_element(high)}]"


def _round_text(begin: str, end: str) -> str:
    return begin if begin == end else _interval(begin, end)


def set_texts(column: Attribute, starts: NDArray[np.int64], members: Codes) -> Texts:
    """Texts of code sets: set i is ``members[starts[i]:starts[i + 1]]``, ascending.

    Returns
    -------
    texts, text_of_set
        The distinct texts, elements in the order of their codes, and which each set has.
    """
    of_group = np.empty(len(starts) - 1, dtype=np.int64)
    firsts = np.empty(len(starts) - 1, dtype=np.int64)
    count = set_ids(starts, members, of_group, firsts)
    texts = [_set_text(column, members[starts[g] : starts[g + 1]]) for g in firsts[:count]]
    return _merged(texts, of_group)


def _set_text(column: Attribute, codes: NDArray[np.int32]) -> str | None:
    if len(codes) == 1:
        return column.labels[int(codes[0])]
    return "{" + ",".join(_element(column.labels[code]) for code in codes.tolist()) + "}"


def _element(text: str | None) -> str:
    """A value inside an interval or set, quoted where its own text could be misread."""
    if text is None:
        return ""
    if text == "" or not NEEDS_QUOTES.isdisjoint(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _merged(texts: list[str | None], index: NDArray[np.int64]) -> Texts:
    """Equal texts under one number: a reader cannot tell them apart, nor may we."""
    number: dict[str | None, int] = {}
    renumbered = np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.int32)
    return list(number), renumbered[index.reshape(-1)]


def released_columns(columns: Iterable[RecodedColumn], layout: str) -> dict[str, pa.Array]:
    """Published Arrow columns by name: one a QI, or two for numbers in the bounds layout."""
    published: dict[str, pa.Array] = {}
    for column in columns:
        source = column.source
        if layout == "bounds" and source.values is not None:
            ends = source.ends
            least, most = (source.values,) * 2 if ends is None else (
                (ends.begin_values, ends.end_values)
            )  # fmt: skip
            published[f"{source.name}_min"] = _bound(column, column.low, least)
            published[f"{source.name}_max"] = _bound(column, column.high, most)
        else:
            published[source.name] = _cells(column)
    return published


def _cells(column: RecodedColumn) -> pa.Array:
    """The released texts, dictionary-encoded; a missing value is a null."""
    index = column.index
    mask = index == column.texts.index(None) if None in column.texts else None
    texts = pa.array(column.texts, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=mask), texts)


def _bound(column: RecodedColumn, codes: NDArray[np.int32], values: pa.Array) -> pa.Array:
    """The typed bound, from the `values` of all codes; null where some value is missing."""
    present = column.source.present
    exact = (column.low == column.high) | (not column.source.suppressed)
    known = picked(exact & (column.high < present), column.groups)
    index = pa.array(np.where(known, picked(codes, column.groups), 0), mask=~known)
    return values.take(index)
