"""Look at a table before it is released: kinds, roles, who can be picked out.

An inspection counts; it never shows a cell of a column that it proposes as
sensitive or as an identifier.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.noting import AMBIGUOUS, notation_of
from shoal.encoding.values import Distinct, distinct_values
from shoal.errors import InputError, PolicyError
from shoal.explore.columns import (
    REFINED,
    Column,
    bounds_of,
    has_decimals,
    kind_and_why,
    refined,
    why,
)
from shoal.explore.contents import are_codes, are_yes_or_no, content_of
from shoal.explore.doubt import Keyed, copies, doubts
from shoal.explore.roles import (
    MAY_DESCRIBE,
    Facts,
    Role,
    propose_roles,
    singles_out,
)
from shoal.io.frames import to_arrow
from shoal.notation import check_marks, known_decimal
from shoal.policy import Policy
from shoal.roles import ROLES

__all__ = ["Column", "Inspection", "inspect"]

MARKERS = ("?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "-", "--", ".")
"""Texts that usually stand for a missing value; "Unknown" and "None" may be answers."""
SMALL = 5
"""Statistical offices rarely publish cells with fewer people than this."""
USUAL_K = 10
USUAL_L = 3
READABLE = {AMBIGUOUS: "dd/mm/yyyy"}
"""How a column that does not tell its order is read to count it; a run asks."""
MOST_DOUBTS = 5
"""Columns that were not recognised that a hint names."""


@dataclass(frozen=True, repr=False)
class Inspection:
    """Proposed roles for the columns of a table, and who can be picked out by them."""

    rows: int
    columns: tuple[Column, ...]
    unique: int
    """Records that are alone with their values in the proposed quasi-identifiers."""
    small: int
    """Records in classes smaller than 5, the unique ones included."""
    missing: tuple[str, ...]
    """Texts that were taken for a missing value, given or found."""
    hints: tuple[str, ...]
    encoding: str = "utf-8"
    ambiguous: tuple[str, ...] = ()
    """Columns of dates that do not tell whether the day or the month comes first."""
    delimiter: str | None = None
    decimal: str | None = None
    """As they were given."""

    def named(self, role: Role) -> tuple[str, ...]:
        """Names of the columns with this proposed role."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def persons(self) -> int | None:
        """Number of persons, where a column says whose record is whose."""
        return next((c.distinct for c in self.columns if c.role == "person"), None)

    def policy(self, **overrides: Any) -> Policy:
        """The proposal as a policy; `overrides` are settings of `Policy` by name.

        k is 10, or less in a table that is too small for it. l is 3, or 2, or
        left out, as the table allows; a sensitive column for which not even
        l = 2 is possible then gets no role, since l holds for every sensitive
        column or for none. Columns that were not recognised get no role
        either. What has no role is not published (``rest = "drop"``). A column
        that `overrides` gives a role loses the proposed one.
        """
        diverse = [c for c in self.columns if c.role == "sensitive" and c.largest_l > 1]
        shapes = [c for c in self.columns if c.role == "qi" and c.kind_reason in REFINED]
        roles = {
            "identifier": self.named("identifier"),
            "qi": self.named("qi"),
            "sensitive": tuple(c.name for c in diverse) or self.named("sensitive"),
        }
        proposal = Policy.parse(
            **_without(roles, overrides),
            person=next((n for n in self.named("person") if n not in _claimed(overrides)), None),
            k=self._sensible_k(),
            l=_sensible_l([c.largest_l for c in diverse]),
            kind={c.name: c.kind for c in shapes},
            order={c.name: c.order for c in shapes if c.order},
            missing=self.missing,
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            **self._weights(overrides),
            rest="drop",
        )
        return proposal.override(**overrides)

    def _weights(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """Survey weights, rounded where many records have one of their own."""
        column = next((c for c in self.columns if c.role == "weight"), None)
        if column is None or column.name in _claimed(overrides):
            return {}
        return {"weight_column": column.name, "weight_as": "round" if column.telling else "keep"}

    def _sensible_k(self) -> int:
        people = self.persons or self.rows
        return min(USUAL_K, max(2, people // 20))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": self.rows,
            "persons": self.persons,
            "unique": self.unique,
            "unique_share": round(self.unique / self.rows, 6),
            "in_classes_below_5": self.small,
            "missing": list(self.missing),
            "columns": [{**asdict(column), "order": list(column.order)} for column in self.columns],
            "hints": list(self.hints),
        }

    def summary(self) -> list[str]:
        """How many can be picked out, and the hints, a line each."""
        qi = len(self.named("qi"))
        if not qi:
            return [f"{self.rows:,} records", *self.hints]
        alone = "are unique" if self.persons is None else "are one person's alone"
        return [
            f"{self.unique:,} of {self.rows:,} records ({self.unique / self.rows:.1%}) {alone} "
            f"on the {qi} proposed quasi-identifier{'s' if qi > 1 else ''}",
            f"{self.small:,} ({self.small / self.rows:.1%}) are in classes smaller than {SMALL}",
            *self.hints,
        ]

    def rows_of_text(self) -> list[tuple[str, ...]]:
        """The table that a person reads: a header, then a row a column of the data."""
        header = ("column", "kind", "distinct", "missing", "role", "max l", "why")
        rows = [_row_of_text(column) for column in self.columns]
        used = [i for i in range(len(header)) if any(row[i] for row in rows)]
        return [tuple(row[i] for i in used) for row in (header, *rows)]

    def __repr__(self) -> str:
        table = self.rows_of_text()
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]) - 1)]
        lines = []
        for row in table:
            cells = [
                cell.rjust(width) if header in NUMBERS else cell.ljust(width)
                for cell, width, header in zip(row[:-1], widths, table[0][:-1], strict=True)
            ]
            lines.append("  ".join([*cells, row[-1]]).rstrip())
        return "\n".join([*lines, "", *self.summary()])

    def _repr_html_(self) -> str:
        """For notebooks."""
        header, *rows = self.rows_of_text()
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary())
        return (
            f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{lines}</div>"
        )


NUMBERS = frozenset({"distinct", "missing", "max l"})


def inspect(
    data: Any,
    missing: Sequence[str] = ("",),
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Inspection:
    """Look at a table and propose roles for its columns.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB table, or the name of a file.
    missing
        Texts that mean a missing value. Usual markers such as ``?`` are
        found, and a hint says so.
    encoding
        Of a CSV file, where it is not UTF-8.
    delimiter
        Between the cells of a CSV file, where its header does not tell.
    decimal
        ``,`` or ``.``: the mark before the decimals of all numbers, where a
        column does not tell.

    Examples
    --------
    >>> import shoal
    >>> found = shoal.inspect(shoal.datasets.disease())
    >>> found.named("qi"), found.named("sensitive")
    (('gender', 'postcode', 'age'), ('disease',))
    """
    given = tuple(missing)
    encoding, delimiter = encoding or "utf-8", delimiter or None
    _check_marks(delimiter, decimal)
    table, _ = to_arrow(data, given, encoding, delimiter)
    if table.num_rows == 0:
        raise InputError("the table is empty: it has a header and no records")
    distincts = {name: distinct_values(table.column(name), given) for name in table.column_names}
    marked = {name: found for name, d in distincts.items() if (found := _markers(d.values))}
    markers = tuple(m for m in MARKERS if any(m in found for found in marked.values()))
    for name in marked:
        distincts[name] = distinct_values(table.column(name), (*given, *markers))
    told = {name: notation_of(distinct.values, decimal) for name, distinct in distincts.items()}
    for name, notation in told.items():
        if notation is not None:
            distincts[name] = replace(distincts[name], notation=READABLE.get(notation, notation))
    keyed = {name: (d.codes + 1, len(d.values) + 1) for name, d in distincts.items()}
    columns = _with_copies(_columns(table.num_rows, distincts), keyed, distincts)
    sizes = _class_sizes(columns, distincts, table.num_rows)
    ambiguous = tuple(name for name, notation in told.items() if notation == AMBIGUOUS)
    return Inspection(
        rows=table.num_rows,
        columns=columns,
        unique=int((sizes == 1).sum()),
        small=int((sizes < SMALL).sum()),
        missing=(*given, *markers),
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        ambiguous=ambiguous,
        hints=_hints(columns, distincts, marked, (*given, *markers), keyed, ambiguous),
    )


def _check_marks(delimiter: str | None, decimal: str | None) -> None:
    """Refuse before anything is read what a policy would refuse."""
    try:
        check_marks(delimiter, known_decimal(decimal))
    except ValueError as error:
        raise PolicyError(f"decimal: {str(error).removeprefix('decimal: ')}") from None


def _markers(values: pa.Array) -> set[str]:
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return set()
    found = pc.is_in(pa.array(MARKERS, values.type), value_set=values)
    return {marker for marker, there in zip(MARKERS, found.to_pylist(), strict=True) if there}


def _columns(rows: int, distincts: dict[str, Distinct]) -> tuple[Column, ...]:
    counts = {name: np.bincount(d.codes + 1, minlength=1) for name, d in distincts.items()}
    kinds = {name: kind_and_why(d) for name, d in distincts.items()}
    facts = [
        Facts(
            name=name,
            kind=kinds[name][0],
            rows=rows,
            missing=int(counts[name][0]),
            distinct=len(distinct.values),
            alone=int((counts[name][1:] == 1).sum()),
            content=content_of(distinct),
            measured=has_decimals(distinct.values),
            coded=are_codes(distinct),
            flag=are_yes_or_no(distinct),
            **bounds_of(kinds[name][0], distinct.parsed),
        )
        for name, distinct in distincts.items()
    ]
    columns = []
    for fact, (role, reason) in zip(facts, propose_roles(facts), strict=True):
        column = Column(
            name=fact.name,
            kind=fact.kind,
            kind_reason=kinds[fact.name][1],
            distinct=fact.distinct,
            missing=fact.missing,
            role=role,
            reason=reason,
            # A missing value is a value of its own, here as in every model.
            largest_l=rows // int(counts[fact.name].max()),
            telling=role == "weight" and singles_out(fact),
        )
        columns.append(refined(column, distincts[fact.name]) if role == "qi" else column)
    return tuple(columns)


def _with_copies(
    columns: Sequence[Column], keyed: Mapping[str, Keyed], distincts: dict[str, Distinct]
) -> tuple[Column, ...]:
    """What tells a recognised column nearly always has its role, whatever it is named."""
    unknown = [c.name for c in columns if c.undecided or c.reason.endswith(MAY_DESCRIBE)]
    roles = {
        c.name: c.role
        for c in columns
        if c.role in {"qi", "sensitive", "identifier"} and c.name not in unknown
    }
    found = copies(unknown, list(roles), keyed)
    return tuple(
        refined(replace(c, role=roles[found[c.name]], reason=f"tells {found[c.name]}"),
                 distincts[c.name]) if c.name in found else c
        for c in columns
    )  # fmt: skip


def _class_sizes(
    columns: Sequence[Column], distincts: dict[str, Distinct], rows: int
) -> NDArray[np.int64]:
    """For each record, how many records (persons, where they are known) share its class."""
    keys = [distincts[column.name] for column in columns if column.role == "qi"]
    ids, count = class_ids([(d.codes + 1, len(d.values) + 1) for d in keys], rows)
    for column in columns:
        if column.role == "person":
            person = distincts[column.name]
            pairs, total = class_ids([(ids, count), (person.codes + 1, column.distinct + 1)], rows)
            class_of_pair = np.empty(total, dtype=np.int64)
            class_of_pair[pairs] = ids
            return np.bincount(class_of_pair, minlength=count)[ids]
    return np.bincount(ids, minlength=count)[ids]


def _claimed(overrides: Mapping[str, Any]) -> set[str]:
    """Columns that the caller gives a role."""
    claimed: set[str] = set()
    for role in (*ROLES, "person", "weight_column"):
        names = overrides.get(role) or ()
        claimed |= {names} if isinstance(names, str) else set(names)
    return claimed


def _without(
    roles: Mapping[str, Sequence[str]], overrides: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    claimed = _claimed(overrides)
    return {role: tuple(n for n in names if n not in claimed) for role, names in roles.items()}


def _sensible_l(largest: Sequence[int]) -> int | None:
    """At most half of what is possible: the very largest l leaves no choice of classes."""
    return max(2, min(USUAL_L, min(largest) // 2)) if largest else None


def _hints(
    columns: Sequence[Column],
    distincts: dict[str, Distinct],
    marked: dict[str, set[str]],
    missing: Sequence[str],
    keyed: Mapping[str, Keyed],
    ambiguous: Sequence[str] = (),
) -> tuple[str, ...]:
    """What a person should know before the proposal is used, without a cell that says who."""
    hints = []
    if marked:
        listed = ", ".join(f'"{text}"' for text in missing)
        hints.append(f"missing = [{listed}]: such markers are in {_columns_text(len(marked))}")
    if not any(column.role == "qi" for column in columns):
        hints.append("no quasi-identifier was recognised: name the columns that others can know")
    hints += [
        f"{name}: day or month first? say --notation {name}=dd/mm/yyyy or mm/dd/yyyy"
        for name in ambiguous
    ]
    hints += [f"{a} and {b} say the same, value for value" for a, b in _twins(columns, distincts)]
    skewed = [c.name for c in columns if c.role == "sensitive" and c.largest_l < 2]
    if skewed:
        why = "no 2-diverse release exists, one value has more than half of the records"
        hints.append(f"{', '.join(skewed)}: {why}")
    weights = [c.name for c in columns if c.role == "weight" and c.telling]
    if weights:
        hints.append(f"{weights[0]}: weights single people out; the proposal rounds them")
    if undecided := [column.name for column in columns if column.undecided]:
        qi = [column.name for column in columns if column.role == "qi"]
        rows = len(keyed[undecided[0]][0])
        ranked = ", ".join(map(str, doubts(undecided, qi, keyed, rows)[:MOST_DOUBTS]))
        count = _columns_text(len(undecided))
        hints.append(f"{count} not recognised: left out unless you decide; most telling: {ranked}")
    return tuple(hints)


def _twins(columns: Sequence[Column], distincts: dict[str, Distinct]) -> Iterator[tuple[str, str]]:
    """Pairs of quasi-identifiers that hold the same in other words; both cost, one is enough."""
    candidates = [c for c in columns if c.role == "qi" and c.distinct > 2]
    for a, b in combinations(candidates, 2):
        if (a.distinct, a.missing) == (b.distinct, b.missing):
            pair = [(distincts[c.name].codes + 1, c.distinct + 1) for c in (a, b)]
            if class_ids(pair, len(pair[0][0]))[1] == a.distinct + (a.missing > 0):
                yield a.name, b.name


def _columns_text(count: int) -> str:
    return f"{count} column{'s' if count > 1 else ''}"


def _row_of_text(column: Column) -> tuple[str, ...]:
    return (
        column.name,
        column.kind,
        f"{column.distinct:,}",
        f"{column.missing:,}" if column.missing else "",
        column.role,
        f"{column.largest_l:,}" if column.role == "sensitive" else "",
        why(column),
    )
