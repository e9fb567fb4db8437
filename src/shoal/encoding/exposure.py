"""What columns that are published as they are give away, in counts.

Models look at quasi-identifiers only: a plain column is one that nobody else is thought
to know. Three facts contradict that, and are told with numbers, never with a value:
it is nearly a key; it tells a quasi-identifier or a sensitive column; and records
whose plain values fewer than k share, which no release can hide from who knows them.

The custodian is told before the work, of all records and their exact values
(`exposed`). What is told in public is counted in what is published and in
nothing else (`exposed_in_release`): a share of all records would depend on those
that were dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, class_sizes, first_of_each
from shoal.encoding.table import EncodedTable
from shoal.encoding.values import distinct_values
from shoal.policy import Policy
from shoal.treatments import means_of

__all__ = [
    "SAMPLE", "exposed", "exposed_in_release", "guessed", "keyed", "known_by_class", "lines_of",
    "share_told", "told", "unprotected",
]  # fmt: skip

Keyed = tuple[NDArray[np.int32], int]
"""Codes of a column and how many codes it has."""
Other = tuple[str, str, Keyed]
"""Role, name and codes of a column that others may tell."""

NEARLY_UNIQUE = 0.5
"""Share of records that are alone with their value from which a column is nearly a key."""
DETERMINED = 0.9
"""How much of what a blind guess leaves open a column must tell to determine another."""
AT_ONCE = 1 << 16
"""Records that are compared together."""
SAMPLE = 20_000
"""Records that are looked at first: fewer records of a value only make it tell more."""


def exposed(source: pa.Table, table: EncodedTable, policy: Policy, k: int) -> list[str]:
    """One line for each way in which plain columns give people away; no cells."""
    here = set(source.column_names)  # a comparison of methods leaves plain columns out
    plain = {name: keyed(source, name, policy) for name in policy.plain if name in here}
    return list(_lines(plain, _others(table), table.n, k)) if plain else []


def exposed_in_release(published: pa.Table, qi: Sequence[str], policy: Policy, k: int) -> list[str]:
    """The same of a released table alone: of quasi-identifiers as they are released.

    Where sensitive values are published apart they are no column of it.
    """
    here = set(published.column_names)
    plain = {name: keyed(published, name, policy) for name in policy.plain if name in here}
    roles = [("released quasi-identifier", name) for name in qi]
    roles += [("sensitive column", name) for name in policy.sensitive if name in here]
    if not plain:
        return []
    others = [(role, name, keyed(published, name, policy)) for role, name in roles]
    return list(_lines(plain, others, published.num_rows, k))


def unprotected(published: pa.Table, qi: Sequence[str], policy: Policy) -> Iterator[str]:
    """One line for each sensitive column of a release that no model is about.

    Whoever finds the class of a person in which all have one value knows it, however
    many they are.
    """
    ids, count = class_ids((keyed(published, name, policy) for name in qi), published.num_rows)
    sizes, firsts = np.bincount(ids, minlength=count), first_of_each(ids, count)
    for name in policy.sensitive:
        codes, _ = keyed(published, name, policy)
        mixed, first = np.zeros(count, dtype=bool), codes[firsts]
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            mixed[some[codes[start : start + AT_ONCE] != first[some]]] = True
        known = int(sizes[~mixed].sum())
        if known:
            yield known_by_class(name, known, published.num_rows)


def left_empty(published: pa.Table, qi: Sequence[str], policy: Policy) -> Iterator[str]:
    """One line for each column of means that is empty in some classes.

    Counted in the release: whether values were missing or made so is not told.
    """
    asked = {n: least for n, least in means_of(policy).items() if n in published.column_names}
    if not asked:
        return
    ids, count = class_ids((keyed(published, name, policy) for name in qi), published.num_rows)
    who = "records" if policy.person is None else "persons"
    for name, least in asked.items():
        known = np.asarray(published.column(name).is_valid())
        empty = count - len(np.unique(ids[known]))
        if empty:
            yield (
                f"treat of {name!r}: {empty:,} of {count:,} classes are published without a value, "
                f"as fewer than {least} of their {who} have one; ask for smaller groups (micro), "
                "larger classes (k), or leave the column out"
            )


def known_by_class(name: str, known: int, records: int) -> str:
    """What to say of a sensitive column without a model: so many records have it told."""
    return (
        f"no model is about sensitive column {name!r}: {known:,} of {records:,} "
        f"records are in classes with one {name}; ask for l-diversity (l), or another model"
    )


def keyed(source: pa.Table, name: str, policy: Policy) -> Keyed:
    """Codes of a column by its values; 0 is a missing one."""
    distinct = distinct_values(source.column(name), policy.missing)
    return distinct.codes + 1, len(distinct.values) + 1


def _lines(plain: dict[str, Keyed], others: Sequence[Other], records: int, k: int) -> Iterator[str]:
    return lines_of(
        list(plain),
        [(role, name) for role, name, _ in others],
        records,
        k,
        lambda name: _below(class_sizes([plain[name]], records), 2),
        lambda name, other: told(plain[name], others[other][2]),
        lambda names, k: _below(class_sizes([plain[name] for name in names], records), k),
    )


def lines_of(
    plain: Sequence[str],
    others: Sequence[tuple[str, str]],
    records: int,
    k: int,
    alone: Callable[[str], int],
    tells: Callable[[str, int], float | None],
    below: Callable[[Sequence[str], int], int],
) -> Iterator[str]:
    """What to say of plain columns, by whoever counts.

    Parameters
    ----------
    plain, others
        Names of plain columns; role and name of those that they may tell.
    records, k
        How many there are, and how many should share their values.
    alone
        How many records are alone with their value of a plain column.
    tells
        `told` of a plain column, about one of the others by its number.
    below
        How many records share their values of some columns with fewer than so many.
    """
    for name in plain:
        if (line := nearly_a_key(name, alone(name), records)) is not None:
            yield line
            continue
        for number, (role, other) in enumerate(others):
            if (share := tells(name, number)) is not None:
                yield (
                    f"plain column {name!r} tells {role} {other!r} of {_percent(share)} of the "
                    "records; drop it, or make it a quasi-identifier"
                )
    few = below(plain, k) if plain and k > 1 else 0
    if few:
        yield shared_by_few(list(plain), few, records, k)


def nearly_a_key(name: str, alone: int, records: int) -> str | None:
    """What to say of a plain column by which so many of the records are unique."""
    if alone < NEARLY_UNIQUE * records:
        return None
    return (
        f"plain column {name!r} is nearly a key: {_share(alone, records)} of the records "
        "are unique by it; drop it, or make it a quasi-identifier"
    )


def shared_by_few(plain: Sequence[str], few: int, records: int, k: int) -> str:
    """What to say where so many records share their plain values with fewer than k."""
    listed = ", ".join(repr(name) for name in plain)
    return (
        f"plain columns break k = {k} for whoever knows them: {_share(few, records)} of the "
        f"records share their values of {listed} with too few"
    )


def _others(table: EncodedTable) -> list[Other]:
    qi = zip([("quasi-identifier", c.name) for c in table.qi], table.codes, strict=True)
    sensitive = zip(
        [("sensitive column", c.name) for c in table.sensitive], table.sensitive_codes, strict=True
    )
    return [
        (role, name, (codes, int(codes.max(initial=0)) + 1))
        for (role, name), codes in (*qi, *sensitive)
    ]


def told(column: Keyed, other: Keyed) -> float | None:
    """Share of the records whose `other` value follows from `column`; None if too few do."""
    n = len(column[0])
    if n > 2 * SAMPLE:
        some = slice(None, None, n // SAMPLE)
        few = guessed((column[0][some], column[1]), (other[0][some], other[1]))
        if few is None:
            return None
    return guessed(column, other)


def guessed(column: Keyed, other: Keyed) -> float | None:
    """How often the most frequent `other` value of a record's `column` value is right.

    Of values that occur more than once: the only record of its value tells nothing about
    others. What the most frequent value of all would get right is not counted as told.
    """
    n = len(column[0])
    sizes = np.bincount(column[0], minlength=column[1])
    pairs, count = class_ids([column, other], n)
    value_of_pair = column[0][first_of_each(pairs, count)]
    most = np.zeros(column[1], dtype=np.int64)
    np.maximum.at(most, value_of_pair, np.bincount(pairs, minlength=count))
    repeated = sizes > 1
    looked_at, right = int(sizes[repeated].sum()), int(most[repeated].sum())
    return share_told(right, looked_at, int(np.bincount(other[0]).max()) / n)


def share_told(right: int, looked_at: int, blind: float) -> float | None:
    """The share of guesses that are right; None if it is hardly more than blind ones get."""
    if not looked_at:
        return None
    share = right / looked_at
    return share if blind < 1 and share - blind >= DETERMINED * (1 - blind) else None


def _below(sizes: NDArray[np.int64], least: int) -> int:
    """Records in classes with fewer than `least` records."""
    return int(sizes[sizes < least].sum())


def _share(part: int, whole: int) -> str:
    return _percent(part / whole)


def _percent(share: float) -> str:
    """In whole percents: what is told in public must not depend on one record."""
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"
