"""What somebody who knows a person's quasi-identifiers learns of a sensitive value.

Paper 002, Theorem 3: groups may overlap, so a person can be in any class that covers their
quasi-identifiers. Every record of these classes is as likely to be theirs as any other; the
risk is the share of those records that have the person's true value:

    sum over classes e that cover the person of  Pr(in e) * Pr(value | in e)
    = records with the value / all records, in the classes that cover the person.

It is a mean of shares within classes, so never above the largest of them: 1/l, where no
value has more than 1/l of a class. More overlap hides more: that is what the number shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.row_order import rows_at
from shoal.encoding.table import Codes, EncodedTable, Recoding
from shoal.kernels.metrics.disclosure import candidates, groups_by_code
from shoal.kernels.metrics.queries import join_covers
from shoal.kernels.random import seed_words
from shoal.metrics.coverage import Cover, Covered, covered

__all__ = ["Disclosure", "attribute_disclosure", "disclosures"]

PERSONS = 1_000
"""So many records are looked at, drawn at random: the average is then within some 2% of itself."""
LOOKS = 200_000_000
"""Records times groups at most: fewer records are drawn of a table of very many groups."""

LISTED = 20_000_000
"""Groups in all lists of an attribute's codes at most: 80 MB."""
Lists = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
"""Where the list of each code begins and ends, and the groups in all lists."""


class Disclosure(NamedTuple):
    """The risk that a sensitive value is inferred, over the records that were looked at."""

    average: float
    highest: float
    records: int
    """How many were looked at; all, in a small table."""


def attribute_disclosure(
    table: EncodedTable, recoding: Recoding, sensitive: int = 0, **asked: Any
) -> Disclosure | None:
    """The risk of one sensitive column; see `disclosures`."""
    return disclosures(table, recoding, [sensitive], **asked)[sensitive]


def disclosures(
    table: EncodedTable,
    recoding: Recoding,
    sensitive: Sequence[int],
    *,
    seed: int = 0,
    records: int | None = None,
    seen: Covered | None = None,
) -> dict[int, Disclosure | None]:
    """The risk of Theorem 3 for the records of a release; None where nothing can be inferred.

    Parameters
    ----------
    table, recoding
        The records that are released, and how: groups that cover more than their own
        records hide them better.
    sensitive
        Which sensitive columns. Records of exempt values are nobody's secret: they count
        among all, and are not looked at.
    seed
        What the records to look at are drawn from.
    records
        How many; by default 1,000, or fewer where there are very many groups.
    seen
        What the groups cover, where that is known.
    """
    seen = covered(table, recoding) if seen is None else seen
    partition = seen.partition
    most = min(PERSONS, max(1, LOOKS // partition.groups)) if records is None else records
    found: dict[int, Disclosure | None] = {}
    # Columns without exempt values have the same persons looked at, in the same order.
    plain = [s for s in sensitive if table.sensitive[s].exempt is None]
    for together in [plain, *([s] for s in sensitive if s not in plain)]:
        if not together:
            continue
        exempt = table.sensitive[together[0]].exempt
        secret = None
        if exempt is not None:
            secret = np.flatnonzero(~exempt[table.sensitive_codes[together[0]]])
        rows = _looked_at(table, together, secret, most, seed)
        found.update(_risks(table, seen, dict(zip(together, rows, strict=True))))
    return found


def _looked_at(
    table: EncodedTable,
    sensitive: Sequence[int],
    secret: NDArray[np.int64] | None,
    most: int,
    seed: int,
) -> list[NDArray[np.int64]]:
    """The records that are looked at for each column: with equal quasi-identifiers."""
    count = table.n if secret is None else len(secret)
    if count <= most:
        rows = np.arange(table.n) if secret is None else secret
        return [rows] * len(sensitive)
    # drawn by content: the input's order must leave no trace
    places = _drawn(count, most, seed)

    def of_secret(column: tuple[Codes, int]) -> tuple[Codes, int]:
        return column if secret is None else (column[0][secret], column[1])

    keys = [of_secret(column) for column in table.columns()[::-1]]
    keys = keys or [(np.zeros(count, dtype=np.int32), 1)]
    values = table.sensitive_columns()
    found = rows_at(keys, places, [of_secret(values[s]) for s in sensitive])
    return found if secret is None else [secret[rows] for rows in found]


def _risks(
    table: EncodedTable, seen: Covered, looked_at: Mapping[int, NDArray[np.int64]]
) -> dict[int, Disclosure | None]:
    """The risk of each column, for records with equal quasi-identifiers."""
    rows = next(iter(looked_at.values()))
    if not len(rows):
        return dict.fromkeys(looked_at)
    partition, covers = seen
    columns = [(table.sensitive_codes[s], own) for s, own in looked_at.items()]
    wanted = np.array([values[own] for values, own in columns])
    same, everybody = np.zeros_like(wanted, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    if covers:
        sizes = [column.size for column in table.qi]
        first, near = _near(covers, sizes, table.codes[:, rows], partition.groups)
        # the most telling first
        others = sorted((a for a in range(len(sizes)) if a != first), key=lambda a: -sizes[a])
        axes = [first, *others]
        cover = join_covers([covers[a] for a in axes], partition.groups)
        points = np.ascontiguousarray(np.take(table.codes, rows, axis=1)[axes].T)
        values = np.array([values[partition.order] for values, _ in columns])
        candidates(cover, points, wanted, values, partition.offsets, near, same, everybody)
    else:  # nothing tells records apart
        everybody[:] = table.n
        for s, (values, own) in enumerate(columns):
            same[s] = np.bincount(values)[values[own]]
    return dict(zip(looked_at, map(_told, same / everybody), strict=True))


def _told(risk: NDArray[np.float64]) -> Disclosure:
    # Summed exactly: the order of the records must not decide how it is rounded.
    return Disclosure(math.fsum(risk.tolist()) / len(risk), float(risk.max()), len(risk))


def _near(
    covers: Sequence[Cover], sizes: Sequence[int], points: Codes, groups: int
) -> tuple[int, Lists]:
    """The attribute by whose codes the fewest groups are left to look at, and these groups.

    Where every list would be long, all groups are looked at.
    """
    lengths = [_lengths(cover, size) for cover, size in zip(covers, sizes, strict=True)]
    looks = [int(length[codes].sum()) for length, codes in zip(lengths, points, strict=True)]
    short = [a for a, length in enumerate(lengths) if length.sum() <= LISTED]
    if not short:
        most = int(np.argmax(sizes))
        none = np.zeros(sizes[most], dtype=np.int64)
        return most, (none, none + groups, np.arange(groups, dtype=np.int32))
    best = min(short, key=lambda a: (looks[a], a))
    ends = np.cumsum(lengths[best])
    begins, listed = ends - lengths[best], np.empty(int(ends[-1]), dtype=np.int32)
    groups_by_code(covers[best], groups, begins, listed)
    return best, (begins, ends, listed)


def _lengths(cover: Cover, size: int) -> NDArray[np.int64]:
    """How many groups cover each code of an attribute."""
    of_row = np.bincount(cover.row, minlength=len(cover.starts) - 1)
    of_run = np.repeat(of_row, np.diff(cover.starts))
    steps = np.bincount(cover.first, of_run, minlength=size + 1)
    steps -= np.bincount(cover.last + 1, of_run, minlength=size + 1)
    return np.asarray(np.cumsum(steps[:size]), dtype=np.int64)


def _drawn(records: int, most: int, seed: int) -> NDArray[np.int64]:
    """So many of the places of records that are more."""
    rng = np.random.default_rng(seed_words(seed, "disclosure"))
    return rng.choice(records, most, replace=False, shuffle=False)
