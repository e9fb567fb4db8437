"""Suggest a hierarchy for a column from the table itself.

Numbers get nested intervals, dates calendar periods, codes of one length their
prefixes, and categories groups of values that occur with similar values of the
other columns. Identifiers and sensitive columns never shape a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.cooccurrence import Company, company, profiles
from shoal.encoding.noting import notations
from shoal.encoding.values import Distinct, amounts_of, distinct_values, kind_of, sorted_by_text
from shoal.errors import InputError, PolicyError, no_column
from shoal.explore.inspection import inspect
from shoal.hierarchy import Hierarchy
from shoal.hierarchy.suggest import (
    tree_of_codes,
    tree_of_dates,
    tree_of_groups,
    tree_of_numbers,
    usual_levels,
)
from shoal.io.frames import to_arrow
from shoal.policy import Kind, Policy

__all__ = ["Suggestion", "suggest"]

MANY_CODES = 20
"""Digits of one length are codes with telling prefixes if there are more values than this."""


@dataclass(frozen=True)
class Suggestion:
    """A tree, and what it was made from."""

    column: str
    kind: Kind
    tree: Hierarchy
    compared: tuple[str, ...]
    """Columns whose values decided what is alike; none for numbers, dates and codes."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machines."""
        return {
            "column": self.column,
            "kind": self.kind,
            "levels": self.tree.levels,
            "nodes": [len(self.tree.generalize(i)[0]) for i in range(self.tree.levels)],
            "compared": list(self.compared),
            "rows": [list(row) for row in self.tree.to_rows()],
        }


def suggest(
    data: Any,
    column: str,
    *,
    levels: int | None = None,
    policy: Policy | str | Path | None = None,
    **settings: Any,
) -> Suggestion:
    """Suggest a hierarchy for a column, to be read, edited and used.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB table, or the name of a file.
    column
        The column that wants a tree.
    levels
        Levels of the tree, leaves and root included; 2 to 4 by default, by
        the number of values.
    policy, **settings
        Roles and kinds, as in `shoal.anonymize`. Categories are compared by
        the other quasi-identifiers; where none are named, by all columns but
        those that are named, or that `shoal.inspect` takes for, identifiers
        or sensitive.
    """
    policy = Policy.of(policy, settings)
    if levels is not None and levels < 2:
        raise PolicyError(f"levels: expected at least 2, leaves and root; got {levels}")
    table, _ = to_arrow(data, policy.missing, policy.encoding, policy.delimiter)
    _check(table, column, policy)
    policy = policy.override(notation=notations(table, table.column_names, policy, strict=False))
    distinct = distinct_values(table.column(column), policy.missing, policy.notation.get(column))
    if not len(distinct.values):
        raise InputError(f"column {column!r}: expected values; all are missing")
    kind = kind_of(column, distinct, policy)
    levels = levels or usual_levels(len(distinct.values))
    source = f"suggestion for {column!r}"
    texts, counts = distinct.texts(), _counts(distinct)
    if kind == "numeric":
        amounts = amounts_of(column, kind, distinct)
        return Suggestion(column, kind, tree_of_numbers(texts, amounts, counts, levels, source), ())
    if kind == "date":
        if distinct.notation is not None:
            raise InputError(
                f"column {column!r}: trees of dates are made of ISO dates, not of "
                f"{distinct.notation}; without a tree they are published as intervals"
            )
        return Suggestion(column, kind, tree_of_dates(texts, levels, source), ())
    if _are_codes(texts):
        return Suggestion(column, kind, tree_of_codes(texts, levels, source), ())
    others = _compared(table, column, policy)
    by_text = np.array(sorted_by_text(texts), dtype=np.int64)
    rows = _rows(table, distinct, others, policy)[by_text]
    ordered = [texts[i] for i in by_text]
    tree = tree_of_groups(ordered, counts[by_text], rows, levels, source)
    return Suggestion(column, kind, tree, others)


def _check(table: pa.Table, column: str, policy: Policy) -> None:
    for name in (column, *policy.qi):
        if name not in table.column_names:
            told = no_column(name, table.column_names, (column, *policy.qi), "the table")
            raise PolicyError(f"column: {told}")
    hidden = dict.fromkeys(policy.identifier, "identifier")
    hidden |= dict.fromkeys(policy.sensitive, "sensitive")
    hidden |= {policy.person: "person"} if policy.person else {}
    if column in hidden:
        raise PolicyError(
            f"column: {column!r} is {hidden[column]} in the policy; "
            "only quasi-identifiers are generalised along a hierarchy"
        )
    if table.num_rows == 0:
        raise InputError("the table is empty: it has a header and no records")


def _counts(distinct: Distinct) -> NDArray[np.int64]:
    present = distinct.codes[distinct.codes >= 0]
    return np.bincount(present, minlength=len(distinct.values))


def _are_codes(texts: Sequence[str]) -> bool:
    same_length = len({len(text) for text in texts}) == 1
    return len(texts) > MANY_CODES and same_length and all(text.isdecimal() for text in texts)


def _compared(table: pa.Table, column: str, policy: Policy) -> tuple[str, ...]:
    """The columns that say which values are alike."""
    if policy.qi:
        names = policy.qi
    else:
        found = inspect(table, policy.missing)
        private = {*found.named("identifier"), *found.named("person"), *found.named("sensitive")}
        private |= {*policy.identifier, *policy.sensitive}
        private |= {policy.person} if policy.person else set()
        names = tuple(n for n in table.column_names if n not in private or n in policy.plain)
    others = tuple(name for name in names if name != column)
    if not others:
        raise PolicyError(
            f"column {column!r}: no other column to compare its values by; name some with qi"
        )
    return others


def _rows(
    table: pa.Table, distinct: Distinct, others: Sequence[str], policy: Policy
) -> NDArray[np.float64]:
    """One row a value: what it occurs with."""
    present = np.flatnonzero(distinct.codes >= 0)
    known = [_company(table, name, present, policy) for name in others]
    return profiles(distinct.codes[present], len(distinct.values), known)


def _company(table: pa.Table, name: str, present: NDArray[np.int64], policy: Policy) -> Company:
    other = distinct_values(table.column(name), policy.missing, policy.notation.get(name))
    kind = kind_of(name, other, policy)
    size = len(other.values)
    ranks = np.arange(size)
    measured = kind in {"numeric", "date"}
    if measured:
        ranks[np.argsort(amounts_of(name, kind, other), kind="stable")] = np.arange(size)
    else:
        ranks[np.array(sorted_by_text(other.texts()), dtype=np.int64)] = np.arange(size)
    codes = np.append(ranks, size)[other.codes[present]]  # a missing value (-1) is the last code
    return company(codes, size + 1, measured)
