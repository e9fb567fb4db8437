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
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.row_order import rows_at
from shoal.encoding.table import Codes, EncodedTable, Recoding
from shoal.kernels.metrics.disclosure import candidates, groups_by_code
from shoal.kernels.metrics.queries import join_covers
from shoal.kernels.random import seed_words
from shoal.metrics.coverage import Cover, Covered, covered

__all__ = ["Disclosure", "attribute_disclosure"]

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
    table: EncodedTable,
    recoding: Recoding,
    sensitive: int = 0,
    *,
    seed: int = 0,
    records: int | None = None,
    seen: Covered | None = None,
) -> Disclosure | None:
    """The risk of Theorem 3 for the records of a release; None where nothing can be inferred.

    Parameters
    ----------
    table, recoding
        The records that are released, and how: groups that cover more than their own
        records hide them better.
    sensitive
        Which sensitive column. Records of exempt values are nobody's secret: they count
        among all, and are not looked at.
    seed
        What the records to look at are drawn from.
    records
        How many; by default 1,000, or fewer where there are very many groups.
    seen
        What the groups cover, where that is known.
    """
    values = table.sensitive_codes[sensitive]
    exempt = table.sensitive[sensitive].exempt
    secret = np.arange(table.n) if exempt is None else np.flatnonzero(~exempt[values])
    if not len(secret):
        return None
    partition, covers = covered(table, recoding) if seen is None else seen
    most = min(PERSONS, max(1, LOOKS // partition.groups)) if records is None else records
    if len(secret) > most:  # drawn by content: the input's order must leave no trace
        places = _drawn(len(secret), most, seed)
        rows = np.sort(_by_content(table, sensitive, None if exempt is None else secret, places))
    else:
        rows = secret
    same, everybody = np.zeros((2, len(rows)), dtype=np.int64)
    if covers:
        sizes = [column.size for column in table.qi]
        first, near = _near(covers, sizes, table.codes[:, rows], partition.groups)
        # the most telling first
        others = sorted((a for a in range(len(sizes)) if a != first), key=lambda a: -sizes[a])
        axes = [first, *others]
        cover = join_covers([covers[a] for a in axes], partition.groups)
        points = np.ascontiguousarray(np.take(table.codes, rows, axis=1)[axes].T)
        parts = (values[partition.order], partition.offsets)
        candidates(cover, points, values[rows], *parts, near, same, everybody)
    else:  # nothing tells records apart
        same[:] = np.bincount(values)[values[rows]]
        everybody[:] = table.n
    risk = same / everybody
    # Summed exactly: the order of the records must not decide how it is rounded.
    return Disclosure(math.fsum(risk.tolist()) / len(rows), float(risk.max()), len(rows))


def _by_content(
    table: EncodedTable,
    sensitive: int,
    rows: NDArray[np.int64] | None,
    places: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The records at some places of all, or of some, sorted by their codes."""
    columns = [*table.columns()[::-1], table.sensitive_columns()[sensitive]]
    keys = [(codes if rows is None else codes[rows], size) for codes, size in columns]
    found = rows_at(keys, places)
    return found if rows is None else rows[found]


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
