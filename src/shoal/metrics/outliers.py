"""Where the loss of a release sits: a few records often hold half of it.

Worked out of the groups before they are published, so it is for the custodian: no public file
has it. The private record keeps it for later reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.metrics.loss import group_ncp

__all__ = ["Outliers", "outliers_of", "outliers_read", "what_to_do", "where_it_sits"]

HALF, DEAREST, FEW = 0.5, 0.1, 0.005
"""Of the loss, whose records are counted; of the records, whose loss is; and those to drop."""
MOST_FEW, FEW_PAY = 0.05, 2.0
"""To leave records out is worth a word up to this share of them, and if it saves so much more."""
NAMED = 2
"""Attributes that are named as those that take most."""
NUMBERS = ("numeric", "date")
ROUNDING = 1e-12
MOST_DIGITS = 4
DIGIT_BELOW = 0.1
"""Shares below it are told with one more digit."""


@dataclass(frozen=True)
class Outliers:
    """How unevenly a release's loss is spread over its records. Shares are from 0 to 1."""

    half: float
    """The fewest records that hold half of the loss."""
    dearest: float
    """Part of the loss that the dearest tenth of the records holds."""
    columns: dict[str, float]
    """What of that each attribute takes, largest first."""
    few: float
    """Records of the dearest groups, whole groups, half a percent of all at least."""
    loss: float
    """Loss of the release, of the records in it."""
    without_few: float
    """The same without those few, all others published as they are."""
    numeric: tuple[str, ...] = ()
    """Attributes of numbers or dates: no hierarchy joins rare values of these, a unit does."""


def outliers_of(table: EncodedTable, recoding: Recoding) -> Outliers | None:
    """Where the loss of the records sits; None where nothing is lost."""
    each, sizes = _of_blocks(table, recoding)
    loss: NDArray[np.float64] = each.sum(axis=0)
    total = float(loss @ sizes)
    if not table.n or not total > 0:
        return None
    dearest = np.argsort(-loss, kind="stable")
    counted, held = np.cumsum(sizes[dearest]), np.cumsum((loss * sizes)[dearest])
    tenth = max(1, round(DEAREST * table.n))
    taken = np.clip(tenth - (counted - sizes[dearest]), 0, sizes[dearest])
    last = loss[dearest[np.searchsorted(counted, max(1, round(FEW * table.n)))]]
    few = int(sizes[loss >= last].sum())  # whole groups: all of one price
    left = float((loss * sizes)[loss < last].sum())
    names = [column.name for column in table.qi]
    of_tenth = float(loss[dearest] @ taken)
    own = dict(zip(names, (each[:, dearest] @ taken / of_tenth).tolist(), strict=True))
    return Outliers(
        half=_holding(HALF * total, loss[dearest], held, counted) / table.n,
        dearest=of_tenth / total,
        columns=dict(sorted(own.items(), key=lambda item: -item[1])),
        few=few / table.n,
        loss=total / table.n,
        without_few=left / (table.n - few) if few < table.n else 0.0,
        numeric=tuple(column.name for column in table.qi if column.kind in NUMBERS),
    )


def _of_blocks(
    table: EncodedTable, recoding: Recoding
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What each attribute loses in blocks of records that are together in every group; sizes."""
    seen, weight = recoding.seen(table), table.costs.weight
    weight = weight / max(float(weight.sum()), 1e-300)
    blocks, group_of = _refined(recoding.partitions, table.n)
    each = np.empty((len(weight), len(blocks)))
    for a, partition in enumerate(recoding.partitions):
        ncp = group_ncp(seen, a, partition, recoding.domain(a))
        each[a] = weight[a] * ncp[group_of[partition]]
    return each, blocks


def _refined(
    partitions: Sequence[Partition], n: int
) -> tuple[NDArray[np.int64], dict[Partition, NDArray[np.int64]]]:
    """Sizes of blocks, and the group of each block in every partition."""
    different = list(dict.fromkeys(partitions))
    if len(different) == 1:
        return different[0].sizes, {different[0]: np.arange(different[0].groups)}
    # By their groups, not by their first record: records come in any order.
    ids = {partition: partition.group_ids() for partition in different}
    blocks, count = class_ids([(ids[p], p.groups) for p in different[::-1]], n)
    firsts = first_of_each(blocks, count)
    in_order = np.lexsort([ids[partition][firsts] for partition in different])
    sizes = np.bincount(blocks, minlength=count)[in_order].astype(np.int64)
    return sizes, {p: ids[p][firsts[in_order]] for p in different}


def _holding(
    part: float, loss: NDArray[np.float64], held: NDArray[np.float64], counted: NDArray[np.int64]
) -> int:
    """The fewest records that hold a part of the loss, of groups from the dearest on."""
    part *= 1 - ROUNDING  # sums of equal halves may differ in their last digits
    group = int(np.searchsorted(held, part))
    before, records = (held[group - 1], counted[group - 1]) if group else (0.0, 0)
    return int(min(records + math.ceil((part - before) / loss[group]), counted[group]))


def outliers_read(told: Any) -> Outliers | None:
    """From the private record; None if it has none, or is damaged there."""
    try:
        columns = {str(name): float(share) for name, share in told["columns"].items()}
        parts = ("half", "dearest", "few", "loss", "without_few")
        half, dearest, few, loss, without = (float(told[part]) for part in parts)
        numeric = tuple(str(name) for name in told["numeric"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    usable = bool(columns) and loss > 0
    return Outliers(half, dearest, columns, few, loss, without, numeric) if usable else None


def where_it_sits(found: Outliers) -> str:
    """Which records hold the loss, and in which columns."""
    most = sorted(found.columns.items(), key=lambda item: -item[1])[:NAMED]
    first = " and ".join(f"{name} ({share:.0%})" for name, share in most)
    return (
        f"{_share(found.half)} of the records hold half of the loss; the dearest tenth holds "
        f"{_share(found.dearest)}, most of it in {first}"
    )


def what_to_do(found: Outliers, allow: Callable[[str], str]) -> str:
    """What helps: to leave records out (`allow` says how so many are), or less detail."""
    name = max(found.columns, key=lambda one: found.columns[one])
    if found.few > MOST_FEW or 1 - found.without_few / found.loss < FEW_PAY * found.few:
        return (
            "the loss is spread evenly: leaving records out would change little; a smaller k, "
            f"or less detail in {name}, would"
        )
    least = math.ceil(1000 * found.few - 1e-9) / 1000  # as many are allowed, not one less
    less, now = _apart(found.without_few, found.loss)
    pays = found.few + (1 - found.few) * found.without_few < found.loss
    counted = "" if pays else "; as each left out counts as a loss of 1, fewer may be"
    kept = (
        f"{name} rounded, or in a coarser unit,"
        if name in found.numeric
        else f"a hierarchy that joins rare values of {name}"
    )
    return (
        f"without the dearest {_share(found.few)} of the records the others would lose "
        f"{less} and not {now}: {allow(f'{least:.1%}')} "
        f"allows that{counted}; {kept} keeps them"
    )


def _apart(less: float, more: float) -> tuple[str, str]:
    """Two losses with so many digits that one can see which is smaller."""
    digits = 0 if less >= DIGIT_BELOW else 1
    while digits < MOST_DIGITS and f"{less:.{digits}%}" == f"{more:.{digits}%}":
        digits += 1
    return f"{less:.{digits}%}", f"{more:.{digits}%}"


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= DIGIT_BELOW else f"{share:.1%}"
