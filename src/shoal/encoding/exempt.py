"""Values of sensitive columns that are declared not to be sensitive: *exempt* ones.

"Not in universe" says of nobody what must not be known. A model counts the other
values, among all the records of a class: a record of an exempt value makes the
others rarer, and is itself nothing to be inferred.

What that means in a class is defined once, by `shoal.models`. For frequencies it is
the same as if each record of an exempt value had a value of its own, so that methods
which deal out values work on such codes (`told_apart`); where different values are
counted, all exempt ones are one (`as_one`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.folding import UNKNOWN, fold
from shoal.encoding.table import EncodedTable
from shoal.encoding.values import Ranked, Values
from shoal.errors import PolicyError
from shoal.policy import Policy

__all__ = ["any_exempt", "as_one", "exempt_codes", "public_values", "refuse_unknown", "told_apart"]

Column = tuple[NDArray[np.int32], int]
"""Codes of a column, and how many there can be."""


def exempt_codes(
    name: str, values: Values, ranked: Ranked, policy: Policy
) -> NDArray[np.bool_] | None:
    """Which codes of a sensitive column are exempt; None where the policy names no value of it.

    A value is named as it is written, or by a text that reads the same, if twins are
    folded; a missing one by an empty text or what the policy calls missing.
    """
    if name not in policy.exempt:
        return None
    named = _readings(public_values(name, policy), policy)
    found = np.zeros(len(ranked.texts), dtype=np.bool_)
    for index, reading in enumerate(_readings(values.texts(), policy)):
        if reading in named:
            found[ranked.code_of_value[index]] = True
    if values.has_missing and UNKNOWN in named:
        found[ranked.code_of_value[-1]] = True
    return found


def refuse_unknown(name: str, values: Values, policy: Policy) -> None:
    """Raise if an exempt value does not occur in its column: it may be misspelled."""
    there = {*_readings(values.texts(), policy), *([UNKNOWN] if values.has_missing else [])}
    named = _readings(public_values(name, policy), policy)
    for text, reading in zip(policy.exempt.get(name, ()), named, strict=True):
        if reading not in there:
            raise PolicyError(f"exempt of {name!r}: the column has no value {text!r}")


def public_values(name: str, policy: Policy) -> list[str]:
    """The exempt values as a release has them: it has an empty cell where a value is missing."""
    listed = policy.exempt.get(name, ())
    return [UNKNOWN if text in policy.missing else text for text in listed]


def _readings(texts: Iterable[str], policy: Policy) -> list[str]:
    return [fold(text) if policy.twins == "fold" else text for text in texts]


def any_exempt(table: EncodedTable) -> bool:
    """Whether some value of a sensitive column is exempt."""
    return any(column.exempt is not None for column in table.sensitive)


def told_apart(table: EncodedTable) -> list[Column]:
    """Sensitive columns in which each record of an exempt value has a code of its own."""
    columns = []
    for column, codes in zip(table.sensitive, table.sensitive_codes, strict=True):
        if column.exempt is None:
            columns.append((codes, column.size))
            continue
        own = codes.copy()
        rows = np.flatnonzero(column.exempt[codes])
        own[rows] = np.arange(column.size, column.size + len(rows), dtype=np.int32)
        columns.append((own, column.size + len(rows)))
    return columns


def as_one(table: EncodedTable) -> list[Column]:
    """Sensitive columns in which all exempt values have one code."""
    columns = []
    for column, codes in zip(table.sensitive, table.sensitive_codes, strict=True):
        if column.exempt is None or not column.exempt.any():
            columns.append((codes, column.size))
            continue
        code = np.arange(column.size, dtype=np.int32)
        code[column.exempt] = np.flatnonzero(column.exempt)[0]
        columns.append((code[codes], column.size))
    return columns
