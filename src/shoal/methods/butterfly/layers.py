"""Beyond butterflies: records that every reader may see attribute by attribute.

Theorem 5 of paper 003 says that a table is k-anonymous for all readers only if
it consists of super butterflies. For three readers and more that is false: in
the cube of its Table 4 every two attributes are 2-anonymous, yet no two records
agree in all common attributes. So each attribute is coarsened on its own here,
into blocks of codes; the records whose classes then satisfy every reader, when
only such records are counted, are a layer and are published like that. What is
left goes on to coarser blocks, and in the end to butterflies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.methods.butterfly.division import Division, least
from shoal.metrics.loss import gcp
from shoal.models import needs_sensitive, satisfied_classes
from shoal.models.base import Model

__all__ = ["layered", "satisfies"]

Ids = NDArray[np.int64]
Recoder = Callable[[EncodedTable], Recoding]

LAYERS = 6
"""Exact values, then ever coarser blocks."""
ROUNDS = 200
"""A layer that is still losing records after so many rounds is given up."""


def layered(
    table: EncodedTable, division: Division, recode_rest: Recoder, start: Recoding
) -> tuple[Recoding, int]:
    """The best of 0, 1, 2... layers with butterflies for the rest, and how many layers it has.

    Parameters
    ----------
    table, division
        The records, and what must hold for whom.
    recode_rest
        Butterflies for some of the records.
    start
        Butterflies for all of them: the answer with no layer.
    """
    readers = list(division.readers)
    if division.together:
        readers.append((tuple(range(len(table.qi))), division.together))
    best, count, least_loss = start, 0, gcp(table, start)
    stack = _Stack(table, np.ones(table.n, dtype=np.bool_), [])
    for level in range(LAYERS):
        blocks = _blocks(stack, readers, level)
        core = _core(table, [_classes(blocks, known) for known, _ in readers], readers, stack.left)
        if not core.any():
            continue
        stack = _Stack(table, stack.left & ~core, [*stack.layers, (core, blocks)])
        recoding = stack.recoding(division, recode_rest)
        if recoding is None or not satisfies(table, division, recoding):
            continue
        loss = gcp(table, recoding)
        if loss < least_loss:
            best, count, least_loss = recoding, len(stack.layers), loss
        elif len(stack.layers) > count + 1:  # twice in a row it did not pay
            break
    return best, count


def satisfies(table: EncodedTable, division: Division, recoding: Recoding) -> bool:
    """Whether every reader's models hold, from the groups alone. Exact."""
    ids = {p: (p.group_ids(), p.groups) for p in set(recoding.partitions)}
    asked = [*division.readers, (tuple(range(len(table.qi))), division.together)]
    for known, models in asked:
        parts = dict.fromkeys(recoding.partitions[a] for a in known)
        classes, _ = class_ids([ids[p] for p in parts], table.n)
        if not satisfied_classes(table, models, classes).all():
            return False
    return True


@dataclass(frozen=True, eq=False)
class _Stack:
    """Layers so far: who is in each, and the block of each record in every attribute."""

    table: EncodedTable
    left: NDArray[np.bool_]
    layers: list[tuple[NDArray[np.bool_], list[Ids]]]

    def recoding(self, division: Division, recode_rest: Recoder) -> Recoding | None:
        """Layers as they are, butterflies for who is left; None if these are too few."""
        rows = np.flatnonzero(self.left)
        rest = None
        if len(rows):
            some = self.table.take(rows)
            if not satisfied_classes(
                some, division.everyone, np.zeros(len(rows), dtype=np.int64)
            ).all():
                return None
            rest = recode_rest(some)
        partitions = []
        for a, column in enumerate(self.table.qi):
            ids = np.empty(self.table.n, dtype=np.int64)
            for layer, (core, blocks) in enumerate(self.layers):
                ids[core] = layer * column.size + blocks[a][core]
            if rest is not None:
                ids[rows] = len(self.layers) * column.size + rest.partitions[a].group_ids()
            partitions.append(
                Partition.from_group_ids(class_ids([(ids, int(ids.max()) + 1)], len(ids))[0])
            )
        return Recoding(tuple(partitions))


def _blocks(
    stack: _Stack, readers: Sequence[tuple[tuple[int, ...], Sequence[Model]]], level: int
) -> list[Ids]:
    """Block of each record in every attribute: exact codes first, then ever fewer blocks.

    A reader of m attributes has room for n / k classes, which is the m-th root
    of that for each attribute.
    """
    blocks = []
    for a, (codes, size) in enumerate(stack.table.columns()):
        if level == 0:
            blocks.append(codes.astype(np.int64))
            continue
        n = int(stack.left.sum())
        room = min(
            (
                max(1.0, n / least(models)) ** (1 / len(known))
                for known, models in readers
                if a in known
            )
        )
        count = max(1, round(room * 2.0 ** (2 - level)))
        blocks.append(_quantiles(codes, size, stack.left, count))
    return blocks


def _quantiles(codes: NDArray[np.int32], size: int, left: NDArray[np.bool_], count: int) -> Ids:
    """Blocks of neighbouring codes with about equally many records."""
    histogram = np.bincount(codes[left], minlength=size)
    middle = np.cumsum(histogram) - histogram / 2
    block: Ids = (middle * count / max(1, histogram.sum())).astype(np.int64)
    return np.minimum(block, count - 1)[codes]


def _classes(blocks: Sequence[Ids], known: Sequence[int]) -> Ids:
    columns = [(blocks[a], int(blocks[a].max()) + 1) for a in known]
    return class_ids(columns, len(blocks[0]))[0]


def _core(
    table: EncodedTable,
    classes: Sequence[Ids],
    readers: Sequence[tuple[tuple[int, ...], Sequence[Model]]],
    left: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """The most records, among those left, whose classes satisfy every reader."""
    core = left.copy()
    for _ in range(ROUNDS):
        before = int(core.sum())
        for ids, (_, models) in zip(classes, readers, strict=True):
            if core.any():
                core &= _good(table, ids, models, core)
        if int(core.sum()) == before:
            return core
    return np.zeros_like(core)


def _good(
    table: EncodedTable, ids: Ids, models: Sequence[Model], core: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which records are in a class that holds; the others are a class of no account."""
    if table.person is None and not needs_sensitive(models):
        counts = np.bincount(ids[core], minlength=int(ids.max()) + 1)
        enough: NDArray[np.bool_] = counts[ids] >= least(models)
        return enough
    among = np.where(core, ids + 1, 0)
    dense, _ = class_ids([(among, int(among.max()) + 1)], table.n)
    return satisfied_classes(table, models, dense)[dense]
