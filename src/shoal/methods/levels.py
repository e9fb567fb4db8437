"""The levels of an attribute that a full-domain generalisation can choose from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SPAN, Attribute
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


def levels_of(column: Attribute) -> AttributeLevels:
    """The levels of an attribute: its hierarchy's, or automatic ones.

    Without a hierarchy, categorical attributes have two: the value, and all
    values. Those with an order get intervals that double in width: 2, 4, 8, ...
    neighbouring values where there are at most 32, else 1/32, 1/16, ..., 1/2 of
    the range, and all of it. A missing value stays by itself below the top.
    """
    present = column.present
    inner = [
        np.append(blocks, [blocks[-1:] + 1] * column.has_missing)
        for blocks in _inner(column, present)
    ]
    whole = np.zeros(column.size, dtype=np.int32)
    levels, kept = [0], [np.arange(column.size, dtype=np.int32)]
    for level, blocks in enumerate([*inner, whole], start=1):
        if blocks[-1] < kept[-1][-1]:
            levels.append(level)
            kept.append(blocks.astype(np.int32))
    return AttributeLevels(tuple(levels), tuple(kept))


def _inner(column: Attribute, present: int) -> Iterator[NDArray[Any]]:
    """Blocks of the present codes at the levels between the lowest and the top."""
    if column.hierarchy is not None:
        for level in range(1, column.hierarchy.height):
            yield column.hierarchy.generalize(level)[1]
    elif column.form == SPAN and present <= FINEST:
        width = 2
        while width < present:
            yield np.arange(present) // width
            width *= 2
    elif column.form == SPAN:
        # Powers of two scale floats exactly: an interval is the union of two narrower ones.
        parts = FINEST
        while parts > 1:
            at = np.minimum(column.position[:present] * parts, parts - 1).astype(np.int64)
            yield np.cumsum(np.diff(at, prepend=at[0]) > 0)
            parts //= 2
