"""Groups that keep m-invariance: assignment and split, by the unique groups of `bsgi`.

New persons that no bucket needs are grouped freely: the m nearest of different
values. Every bucket is cut into groups that have each value of its signature
once, nearest records first; a bucket of new persons alone is left as it was
found. At last records of one value change places (`exchanging`). (To deal new
persons out under few signatures, as the paper does, needs fewer counterfeits
later, and lost 6 to 8 times as much from the first release on: 50 values,
census of 10,000.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SPAN
from shoal.encoding.table import EncodedTable
from shoal.errors import InfeasibleError
from shoal.kernels.threads import on_threads
from shoal.methods.base import Run
from shoal.methods.bsgi import BSGIOptions, different_groups
from shoal.methods.curve import cut_into, drawn_curve
from shoal.series.buckets import Dealt, Invented, People, filling, lacking
from shoal.series.exchanging import exchanged

__all__ = ["Grouped", "People", "invariant_groups", "people_of"]

Rows = NDArray[np.int64]
Values = tuple[int, ...]
STRETCH = 64


@dataclass(frozen=True, eq=False)
class Grouped:
    """Groups of records and counterfeits; the counterfeits are numbered after the records."""

    groups: Rows
    """Group of each record, then of each counterfeit."""
    signatures: list[Values]
    """Signature of each group."""
    values: Rows
    """Value of each counterfeit."""
    near: Rows
    """A record in the group of each counterfeit: it is published with its quasi-identifiers."""


def people_of(table: EncodedTable, value: Rows, signature: Rows, seed: int) -> People:
    """The records of a table as buckets see them."""
    place = np.empty(table.n, dtype=np.int64)
    place[drawn_curve(table, seed, cut_into(STRETCH), 1).order] = np.arange(table.n)
    points = np.empty((table.n, len(table.qi)))
    for a, attribute in enumerate(table.qi):
        line = attribute.position if attribute.form == SPAN else attribute.coordinate
        points[:, a] = attribute.weight * np.minimum(line[table.codes[a]], 1.0)
    return People(value, signature, points, place)


def invariant_groups(
    table: EncodedTable,
    people: People,
    signatures: Sequence[Values],
    m: int,
    common: NDArray[np.int64],
    options: BSGIOptions,
    run: Run,
    *,
    counterfeits: bool = True,
    most: int = 0,
) -> Grouped:
    """Groups of m different values or more in which everybody who stays keeps his signature.

    Parameters
    ----------
    table, people
        The records, and what is known of each.
    signatures
        Those of the chain, by number; new ones may be added.
    m
        How many different values a group has at least.
    common
        How often each value occurs, by number: counterfeits take common ones.
    options, run
        How new persons are grouped, and the seed.
    counterfeits
        Whether records may be invented.
    most
        So many may be where the fewest are less, instead of new persons who are far away.

    Raises
    ------
    InfeasibleError
        Counterfeits are needed, and not allowed; or even they would not do.
    """
    filled = filling(people, signatures)
    dealt = filled.dealt()
    for_rest = _for_rest(people, dealt, m, common, run.seed)
    spare = min(most - len(dealt.invented) - len(for_rest), filled.far)
    while spare > 0:  # who fills no hole may need counterfeits elsewhere
        more = filled.dealt(spare)
        rest = _for_rest(people, more, m, common, run.seed)
        if len(more.invented) + len(rest) <= most:
            dealt, for_rest = more, rest
            break
        spare //= 2
    if dealt.invented or for_rest:
        _refuse(len(dealt.invented), len(for_rest), m, counterfeits)
    invented = [*dealt.invented, *for_rest]
    near = np.array([one.near for one in invented], dtype=np.int64)
    values = np.array([one.value for one in invented], dtype=np.int64)
    everybody = np.concatenate([np.arange(people.n), near])
    value = np.concatenate([people.value, values])
    bucket = np.concatenate([dealt.bucket, [one.signature for one in invented]]).astype(np.int64)
    work = _Work(table.take(everybody), value, options, run)
    numbered: dict[Values, int] = {tuple(own): i for i, own in enumerate(signatures)}
    groups, own = _assigned(work, bucket, m, numbered)
    every = list(numbered)
    groups, own = _split(work, bucket, groups, own, every)
    if (people.signature >= 0).any():
        # counterfeits stay: where their mates are they cost nothing
        real, new = np.arange(people.n), np.flatnonzero(people.signature < 0)
        groups[real] = exchanged(
            table,
            people.value,
            people.place,
            np.array(own)[groups[real]],
            new,
            groups[real],
            rounds=options.swaps,
        )
    mate = _real_mates(groups, people.n)
    return Grouped(groups, [every[i] for i in own], values, mate)


@dataclass(frozen=True, eq=False)
class _Work:
    """Records and counterfeits alike, and how they are grouped."""

    table: EncodedTable
    value: Rows
    options: BSGIOptions
    run: Run

    def grouped(self, rows: Rows, size: int) -> Rows:
        """Groups of so many different values, or one more where some are left over."""
        if len(rows) < 2 * size:
            return np.zeros(len(rows), dtype=np.int64)
        _, codes = np.unique(self.value[rows], return_inverse=True)
        if not self.table.qi:  # nothing tells records apart
            ids = np.empty(len(rows), dtype=np.int64)
            ids[np.argsort(codes, kind="stable")] = np.arange(len(rows)) % (len(rows) // size)
            return ids
        return different_groups(
            self.table.take(rows), codes.astype(np.int32), size, self.options, self.run
        )


def _for_rest(
    people: People, dealt: Dealt, m: int, common: NDArray[np.int64], seed: int
) -> list[Invented]:
    """Counterfeits that new persons need who are left to themselves."""
    rest = np.flatnonzero(dealt.bucket < 0)
    counts = np.bincount(people.value[rest], minlength=len(common)).astype(np.int64)
    wanted = lacking(counts, m, common)
    if len(wanted) < m * int(counts.max(initial=0)) - len(rest):
        there = int((common > 0).sum())
        raise InfeasibleError(
            f"no {m}-invariant release exists: the sensitive column has {there} values, and "
            f"groups need {m} different ones; the largest possible m is {there}"
        )
    if not wanted:
        return []
    frequent = rest[people.value[rest] == int(counts.argmax())]
    beside = np.random.default_rng((seed, 1)).choice(frequent, len(wanted))
    return [Invented(v, -1, int(r)) for v, r in zip(wanted, beside, strict=True)]


def _refuse(holes: int, rest: int, m: int, allowed: bool) -> None:
    """Without counterfeits there is no release then: that is proven (see `buckets`)."""
    if allowed:
        return
    reasons = []
    if holes:
        reasons.append(
            f"{holes:,} left whose values no new person has, so that others cannot keep their "
            "set of sensitive values"
        )
    if rest:
        reasons.append(f"one value is more than 1/{m} of the new persons that are left")
    raise InfeasibleError(
        f"counterfeits = false: no {m}-invariant release exists without counterfeits, and "
        f"{holes + rest:,} would be needed: {'; '.join(reasons)}; allow them, or wait for "
        "more new persons"
    )


def _assigned(
    work: _Work, bucket: Rows, m: int, numbered: dict[Values, int]
) -> tuple[Rows, list[int]]:
    """Groups of the new persons that no bucket needs: the nearest of different values.

    Returns the group of each record, or -1, and the signature of each group. `bucket` and
    `numbered` are filled.
    """
    groups = np.full(len(bucket), -1, dtype=np.int64)
    rest = np.flatnonzero(bucket < 0)
    if not len(rest):
        return groups, []
    groups[rest] = work.grouped(rest, m)
    found = _signatures(work.value[rest], groups[rest])
    own = [numbered.setdefault(values, len(numbered)) for values in found]
    bucket[rest] = np.array(own, dtype=np.int64)[groups[rest]]
    return groups, own


def _signatures(value: Rows, groups: Rows) -> list[Values]:
    """The values of each group, ascending."""
    order = np.lexsort((value, groups))
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    return [tuple(part.tolist()) for part in np.split(value[order], borders)]


def _split(
    work: _Work, bucket: Rows, groups: Rows, own: list[int], every: Sequence[Values]
) -> tuple[Rows, list[int]]:
    """Every bucket into groups; those of new persons alone are left as they were found."""
    order = np.argsort(bucket, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(bucket[order])) + 1)
    anew = [rows for rows in parts if (groups[rows] < 0).any()]
    kept = [rows for rows in parts if not (groups[rows] < 0).any()]
    found = on_threads(lambda rows: work.grouped(rows, len(every[bucket[rows[0]]])), anew)
    result = np.full(len(bucket), -1, dtype=np.int64)
    signature: list[int] = []
    for rows, inside in [
        *zip(anew, found, strict=True),
        *((rows, np.unique(groups[rows], return_inverse=True)[1]) for rows in kept),
    ]:
        result[rows] = inside + len(signature)
        signature += [int(bucket[rows[0]])] * (int(inside.max()) + 1)
    return result, signature


def _real_mates(groups: Rows, real: int) -> Rows:
    """A record that is no counterfeit in the group of each counterfeit.

    There is one: see `buckets`. Where counterfeits fill a bucket, its most frequent value
    has none; where they join new persons, every group has one of the value that is too
    frequent, of which nobody is missing anywhere.
    """
    first = np.full(int(groups.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[groups[:real][::-1]] = np.arange(real)[::-1]
    mates: Rows = first[groups[real:]]
    assert (mates >= 0).all()
    return mates
