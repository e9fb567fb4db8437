"""The levels of an attribute that a full-domain generalisation can choose from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import ROUND, SPAN, Attribute
from shoal.encoding.table import Domain

__all__ = ["AttributeLevels", "Blocks", "levels_of"]

FINEST = 32
"""The narrowest automatic intervals are this part of the range."""

Blocks = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class AttributeLevels:
    """The levels of one attribute that differ from each other, from exact values up."""

    levels: tuple[int, ...]
    """Level of the hierarchy that each one is; the lowest where several are alike."""
    blocks: tuple[Blocks, ...]
    """Block of each code at each of them, numbered from 0 in the order of codes."""

    def domain(self, at: int) -> Domain | None:
        """The blocks of one of them as a coarser domain; None for exact values."""
        blocks = self.blocks[at]
        if at == 0:
            return None
        return Domain.of_starts(np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks))


def levels_of(column: Attribute, counts: NDArray[np.int64]) -> AttributeLevels:
    """The levels of an attribute: its hierarchy's, or automatic ones.

    `counts` are the records of each code: automatic intervals follow from the values
    that occur, not from those of records that were suppressed.

    Without a hierarchy, categorical attributes have two: the value, and all
    values. Those with an order get intervals that double in width: 2, 4, 8, ...
    neighbouring values where there are at most 32, else 1/32, 1/16, ..., 1/2 of
    the range, and all of it; rounded ones begin with the intervals of single steps.
    A missing value stays by itself below the top.
    """
    present = column.present
    inner = [
        np.append(blocks, [blocks[-1:] + 1] * column.has_missing)
        for blocks in _inner(column, present, np.flatnonzero(counts[:present]))
    ]
    whole = np.zeros(column.size, dtype=np.int32)
    levels, kept = [0], [np.arange(column.size, dtype=np.int32)]
    for level, blocks in enumerate([*inner, whole], start=1):
        if blocks[-1] < kept[-1][-1]:
            levels.append(level)
            kept.append(blocks.astype(np.int32))
    return AttributeLevels(tuple(levels), tuple(kept))


def _inner(column: Attribute, present: int, occurring: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    """Blocks of the present codes at the levels between the lowest and the top."""
    # A code that does not occur is in the block of the next one below that does.
    nearest = np.maximum(np.searchsorted(occurring, np.arange(present), side="right") - 1, 0)
    if column.hierarchy is not None:
        for level in range(1, column.hierarchy.height):
            yield column.hierarchy.generalize(level)[1]
    elif column.form in (SPAN, ROUND) and len(occurring):
        place = column.position[occurring]
        if len(occurring) < present and place[-1] > place[0]:
            place = (place - place[0]) / (place[-1] - place[0])
        yield from (blocks[nearest] for blocks in _intervals(column, place))


def _intervals(column: Attribute, place: NDArray[np.float64]) -> Iterator[NDArray[Any]]:
    """Blocks of ever more neighbours; what rounding begins at one place stays together."""
    bands = np.arange(len(place))
    if column.form == ROUND:
        bands = np.cumsum(np.diff(place, prepend=place[0]) > 0)
        yield bands
    count = int(bands[-1]) + 1
    if count <= FINEST:
        width = 2
        while width < count:
            yield bands // width
            width *= 2
        return
    # Powers of two scale floats exactly: an interval is the union of two narrower ones.
    parts = FINEST
    while parts > 1:
        at = np.minimum(place * parts, parts - 1).astype(np.int64)
        yield np.cumsum(np.diff(at, prepend=at[0]) > 0)
        parts //= 2
