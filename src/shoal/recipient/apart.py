"""Releases in two tables (anatomy): sensitive values by group, and what follows for counts.

A record of a group has one of the group's values, each value as often as the
second table says. So of m records that a condition would count with any of a
certain values, of which the group has a among its n, at least m + a - n and at
most min(m, a) are counted: tighter than what holds for each record alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.publish import COUNT, GROUP
from shoal.encoding.spreadsheet import armed
from shoal.encoding.values import distinct_values, guess_kind
from shoal.errors import InputError
from shoal.recipient.counts import Columns, grouped_nodes, put_tables, source_of
from shoal.recipient.deadline import Deadline
from shoal.recipient.groups import Grouping
from shoal.recipient.logic import Expression, diagram
from shoal.recipient.spread import Profiles
from shoal.released.about import About
from shoal.released.cells import Reading, Values

__all__ = ["Apart", "bounds_apart", "open_apart"]


@dataclass(frozen=True, eq=False)
class Apart:
    """The sensitive column of a release in two tables."""

    name: str
    codes: NDArray[np.int32]
    """Group of each record."""
    cells: Sequence[Values]
    """The values of each group, each as often as it occurs."""
    reading: Reading


def open_apart(records: pa.Table, sensitive: pa.Table, about: About) -> Apart:
    """Read the second table, and find each record's group in it."""
    names = [name for name in sensitive.column_names if name not in {GROUP, COUNT}]
    there = GROUP in records.column_names and {GROUP, COUNT} <= set(sensitive.column_names)
    if len(names) != 1 or not there:
        raise InputError("the two tables of the release do not fit together")
    (name,) = names
    values = distinct_values(sensitive.column(name), about.missing)
    texts = [armed(text) if about.csv_safe else text for text in values.texts()]
    members: dict[str, list[str | None]] = {}
    groups, counts = (_texts(sensitive, column) for column in (GROUP, COUNT))
    for group, count, code in zip(groups, counts, values.codes.tolist(), strict=True):
        if not count.isdigit():
            raise InputError(f"column {COUNT!r}: expected whole numbers")
        members.setdefault(group, []).extend([None if code < 0 else texts[code]] * int(count))
    place = {group: number for number, group in enumerate(members)}
    numbers = _texts(records, GROUP)
    if any(group not in place for group in numbers):
        raise InputError("the sensitive table lacks a group of the release")
    codes = np.array([place[group] for group in numbers], dtype=np.int32)
    sizes = np.bincount(codes, minlength=len(place)).tolist()
    if sizes != [len(values) for values in members.values()]:
        raise InputError("the two tables disagree on the number of records in a group")
    notation = about.notation(name)
    kind = about.kind(name) or guess_kind(replace(values, notation=notation).parsed)[0]
    reading = Reading(kind, False, order=about.policy.order.get(name), notation=notation)
    return Apart(name, codes, [Values(tuple(own)) for own in members.values()], reading)


def _texts(table: pa.Table, name: str) -> list[str]:
    return [str(value) for value in table.column(name).to_pylist()]


def bounds_apart(
    connection: duckdb.DuckDBPyConnection,
    where: Expression,
    apart: tuple[Apart, Profiles],
    columns: Columns,
    groups: Sequence[Grouping],
    deadline: Deadline,
) -> dict[tuple[int, ...], tuple[int, int]]:
    """Lower and upper bound of a count, by group of the columns that are grouped by.

    Parameters are those of `shoal.recipient.counts.count`, with the sensitive
    column that is published apart, which is in none of the others.
    """
    column, profiles = apart
    ways = [*(g.signatures for g in groups), *(found.signatures for _, found in columns)]
    first, *layers = diagram(where, [profiles.signatures, *ways], deadline.check)
    put_tables(connection, columns, groups, {"apart": column.codes})
    after = {s: rest for rest, signatures in first[where].items() for s in signatures}
    source, known = source_of(layers, len(groups), ["apart"])
    nodes = [grouped_nodes(after[s], layers[: len(groups)], known) for s in sorted(after)]
    keys = [*(f"gvalue{i}" for i in range(len(groups))), "apart"]
    sure = " AND ".join(["true", *(f"gcertain{i}" for i in range(len(groups)))])
    flags = [f"({sure} AND {node.certain})::TINYINT AS c{i}" for i, node in enumerate(nodes)]
    flags += [f"({node.possible})::TINYINT AS p{i}" for i, node in enumerate(nodes)]
    statement = (
        f"SELECT {', '.join([*keys, *flags])}, sum(n)::BIGINT AS m FROM {source} GROUP BY ALL"
    )
    with deadline.watching(connection):
        found = connection.execute(statement).fetchnumpy()
    sizes = np.array([len(cell.texts) for cell in column.cells], dtype=np.int64)
    held = np.rint(profiles.shares * sizes[:, None]).astype(np.int64)
    group, m = found["apart"].astype(np.int64), found["m"].astype(np.int64)
    certain = np.stack([found[f"c{i}"] for i in range(len(nodes))], axis=1) == 1
    possible = np.stack([found[f"p{i}"] for i in range(len(nodes))], axis=1) == 1
    at_least = np.maximum(0, m + (held[group] * certain).sum(axis=1) - sizes[group])
    at_most = np.minimum(m, (held[group] * possible).sum(axis=1))
    by = list(zip(*(found[key].tolist() for key in keys[:-1]), strict=True)) or [()] * len(m)
    bounds: dict[tuple[int, ...], tuple[int, int]] = {}
    for key, low, high in zip(by, at_least.tolist(), at_most.tolist(), strict=True):
        before = bounds.get(key, (0, 0))
        bounds[key] = (before[0] + low, before[1] + high)
    return bounds
