"""Distinct records in the order in which the kernels search them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.families import Family
from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.codebook import Attribute
from shoal.encoding.table import EncodedTable
from shoal.kernels.bounds.points import WIDE, Space, boxes_of, tree_order
from shoal.kernels.bounds.search import SearchScratch, Weights
from shoal.kernels.costs import ROUND, SET, SPAN, Costs

__all__ = ["Points", "distinct_points", "new_search_scratch", "weights_of"]

LEVELS = 24
"""Members that a search chooses one by one, at most; deeper nodes keep their bound."""
ROOM = 2048
"""Candidates of a node, at most; those farther away keep their bound."""
SHELLS = (0.002, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7)
"""Shares of the points, dearest first, that get trees of their own."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a family, and which of them each record is."""

    space: Space
    costs: Costs
    of_record: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.space.count)

    def in_shells(self, cost: Floats) -> tuple[Points, NDArray[np.int64]]:
        """The points sorted into shells of falling cost, and where each one was before."""
        dearest = np.argsort(-cost, kind="stable")
        cuts = np.unique([0, *(int(share * len(cost)) for share in SHELLS), len(cost)])
        shells = [np.sort(dearest[a:b]) for a, b in pairwise(cuts)]
        space, before = _arranged(self.costs, self.space, shells)
        after = np.empty_like(before)
        after[before] = np.arange(len(before))
        return Points(space, self.costs, after[self.of_record]), before


def distinct_points(table: EncodedTable, family: Family) -> Points:
    """Records with equal quasi-identifiers (and sensitive value, where it counts) once."""
    columns = table.columns()
    value = np.zeros(table.n, dtype=np.int32)
    if family.column is not None:
        value, size = table.sensitive_columns()[family.column]
        columns.append((value, size))
    ids, count = class_ids(columns, table.n)
    first = first_of_each(ids, count)
    caps = np.array([family.size]) if family.caps is None else family.caps
    empty = np.zeros(0, dtype=np.int64)
    boxes = np.zeros((0, len(table.qi)), dtype=np.int32)
    loose = Space(
        codes=np.ascontiguousarray(table.codes.T[first]),
        count=np.bincount(ids, minlength=count).astype(np.int64),
        value=value[first].astype(np.int64),
        cap=caps.astype(np.int64),
        leaf=empty, leaf_low=boxes, leaf_high=boxes,
        block=empty, leaf_of=empty, block_of=empty, block_low=boxes, block_high=boxes,
        floor=np.concatenate([np.zeros(0), *(_floor(c) for c in table.qi)]),
        wide=(table.costs.size > WIDE) & (table.costs.form != SET),
    )  # fmt: skip
    space, before = _arranged(table.costs, loose, [np.arange(count)])
    after = np.empty_like(before)
    after[before] = np.arange(count)
    return Points(space, table.costs, after[ids])


def _floor(column: Attribute) -> Floats:
    """NCP of a code that is alone, never more than that of mixing it with another."""
    if column.floor is None or column.suppressed:
        return np.zeros(column.size)
    if column.form == ROUND:  # the interval around two values is never the shorter one
        return column.floor
    if column.form == SET:
        mixed = np.full(column.size, 2 / column.size)
    else:
        gaps = np.minimum(1.0, np.diff(column.position)) if column.form == SPAN else column.climb
        mixed = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    return np.minimum(column.floor, mixed)


def _arranged(
    costs: Costs, space: Space, shells: Sequence[NDArray[np.int64]]
) -> tuple[Space, NDArray[np.int64]]:
    """The space with each shell in the order of a tree of its own, and where each point was."""
    orders, leaves, blocks = [], [], []
    leaf_count = block_count = 0
    for shell in shells:
        codes = np.ascontiguousarray(space.codes[shell])
        order = np.arange(len(shell))
        leaf_of, block_of = np.empty(len(shell), np.int64), np.empty(len(shell), np.int64)
        new_leaves, new_blocks = tree_order(costs, codes, order, leaf_of, block_of)
        orders.append(shell[order])
        leaves.append(leaf_of + leaf_count)
        blocks.append(block_of + block_count)
        leaf_count += new_leaves
        block_count += new_blocks
    order = np.concatenate(orders)
    leaf_of, block_of = np.concatenate(leaves), np.concatenate(blocks)
    codes = np.ascontiguousarray(space.codes[order])
    leaf, block = _starts(leaf_of), _starts(block_of)
    leaf_low, leaf_high = _boxes(codes, leaf)
    block_low, block_high = _boxes(codes, block)
    arranged = space._replace(
        codes=codes, count=space.count[order], value=space.value[order],
        leaf=leaf, leaf_low=leaf_low, leaf_high=leaf_high, leaf_of=leaf_of, block_of=block_of,
        block=np.searchsorted(leaf, block), block_low=block_low, block_high=block_high,
    )  # fmt: skip
    return arranged, order


def _starts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(np.flatnonzero(np.diff(numbers, prepend=-1)), len(numbers))


def _boxes(
    codes: NDArray[np.int32], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    low = np.empty((len(starts) - 1, codes.shape[1]), dtype=np.int32)
    high = np.empty_like(low)
    boxes_of(codes, starts, low, high)
    return low, high


def weights_of(space: Space, y: Floats, box: Floats) -> Weights:
    """Weights of the points, and the NCP that groups with them have at least."""
    blocks = space.leaf[space.block[:-1]]
    return Weights(y, np.maximum.reduceat(y, space.leaf[:-1]), np.maximum.reduceat(y, blocks), box)


def new_search_scratch(points: Points, size: int) -> SearchScratch:
    """Scratch for one thread."""
    n, d = points.space.codes.shape
    levels = min(size + 1, LEVELS)
    room = min(ROOM, n)
    shape = (levels, room)
    return SearchScratch(
        row=np.zeros((levels, int(points.costs.size.sum()))),
        low=np.zeros((levels, d), dtype=np.int32), high=np.zeros((levels, d), dtype=np.int32),
        point=np.zeros(shape, dtype=np.int64), left=np.zeros(shape, dtype=np.int64),
        reach=np.zeros(shape), least=np.zeros(shape),
        length=np.zeros(levels, dtype=np.int64), cursor=np.zeros(levels, dtype=np.int64),
        need=np.zeros(levels, dtype=np.int64), gained=np.zeros(levels),
        chosen=np.zeros(levels, dtype=np.int64),
        used=np.zeros(len(points.space.cap), dtype=np.int64),
        top=np.zeros(size, dtype=np.int64), top_sum=np.zeros(1),
        to_come=np.zeros(len(points.space.block) - 1),
        found=np.zeros(n, dtype=np.int64), found_reach=np.zeros(n),
        group=np.zeros(size, dtype=np.int64), steps=np.zeros(1, dtype=np.int64),
    )  # fmt: skip
