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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.row_order import rows_at
from shoal.encoding.table import Codes, EncodedTable, Recoding
from shoal.kernels.metrics.disclosure import candidates, groups_by_code
from shoal.kernels.metrics.queries import join_covers
from shoal.kernels.picking import picked
from shoal.kernels.random import seed_words
from shoal.metrics.coverage import Cover, Covered, covered

__all__ = ["Disclosure", "attribute_disclosure", "disclosures"]

PERSONS = 1_000
"""So many records are looked at, drawn at random: the average is then within some 2% of itself."""
LOOKS = 200_000_000
"""Records times groups at most: fewer records are drawn of a table of very many groups."""

BLOCK = 1 << 17
"""Groups that are looked at together."""
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
    """
    groups = max((partition.groups for partition in recoding.partitions), default=1)
    most = min(PERSONS, max(1, LOOKS // groups)) if records is None else records
    # Columns without exempt values have persons looked at who have equal quasi-identifiers.
    plain = [s for s in sensitive if table.sensitive[s].exempt is None]
    exempted = [[s] for s in sensitive if s not in plain]
    asked = [Asked.of(table, some, most, seed) for some in (plain, *exempted) if some]
    for seen in _in_blocks(table, recoding):
        for persons in asked:
            if len(persons.rows):
                persons.add(table, seen)
    return {s: told for persons in asked for s, told in persons.risks()}


def _in_blocks(table: EncodedTable, recoding: Recoding) -> Iterator[Covered]:
    """What groups cover, so many at a time as are easily held; all that govern attributes apart."""
    whole = recoding.partitions[0] if len(set(recoding.partitions)) == 1 else None
    if whole is None or whole.groups <= BLOCK:
        yield covered(table, recoding)
        return
    for begin in range(0, whole.groups, BLOCK):
        part = whole.part(begin, min(begin + BLOCK, whole.groups))
        yield covered(table, replace(recoding, partitions=(part,) * len(table.qi)))


class Asked(NamedTuple):
    """Some records that are looked at, and what groups say of them."""

    sensitive: Sequence[int]
    rows: NDArray[np.int64]
    """A record for each person; of another sensitive column it may be one that is equal in all
    quasi-identifiers."""
    wanted: NDArray[np.int32]
    """Sensitive values, one row a column."""
    same: NDArray[np.int64]
    everybody: NDArray[np.int64]

    @classmethod
    def of(cls, table: EncodedTable, sensitive: Sequence[int], most: int, seed: int) -> Asked:
        """Records to look at for columns that have the same exempt ones, or none."""
        exempt = table.sensitive[sensitive[0]].exempt
        secret = None
        if exempt is not None:
            secret = np.flatnonzero(~exempt[table.sensitive_codes[sensitive[0]]])
        rows = _looked_at(table, sensitive, secret, most, seed)
        wanted = np.array(
            [table.sensitive_codes[s][own] for s, own in zip(sensitive, rows, strict=True)]
        )
        nothing = np.zeros(wanted.shape, dtype=np.int64)
        return cls(sensitive, rows[0], wanted, nothing, np.zeros(len(rows[0]), dtype=np.int64))

    def add(self, table: EncodedTable, seen: Covered) -> None:
        """Add who else it could be by some groups, and who of those has the value."""
        partition, covers = seen
        values = np.array(
            [picked(table.sensitive_codes[s], partition.order) for s in self.sensitive]
        )
        if not covers:  # nothing tells records apart
            self.everybody[:] += len(partition.order)
            for s, own in enumerate(values):
                self.same[s] += np.bincount(own, minlength=int(self.wanted.max()) + 1)[
                    self.wanted[s]
                ]
            return
        sizes = [column.size for column in table.qi]
        codes = table.codes[:, self.rows]
        first, near = _near(covers, sizes, codes, partition.groups)
        # the most telling first
        others = sorted((a for a in range(len(sizes)) if a != first), key=lambda a: -sizes[a])
        axes = [first, *others]
        cover = join_covers([covers[a] for a in axes], partition.groups)
        points = np.ascontiguousarray(codes[axes].T)
        parts = (values, partition.offsets)
        candidates(cover, points, self.wanted, *parts, near, self.same, self.everybody)

    def risks(self) -> Iterator[tuple[int, Disclosure | None]]:
        """What was found of each column."""
        for s, same in zip(self.sensitive, self.same, strict=True):
            if not len(self.rows):
                yield s, None
                continue
            risk = same / self.everybody
            # Summed exactly: the order of the records must not decide how it is rounded.
            average = math.fsum(risk.tolist()) / len(risk)
            yield s, Disclosure(average, float(risk.max()), len(risk))


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
