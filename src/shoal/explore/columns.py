"""One column of an inspection: its kind, and why it is that."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shoal.encoding.values import Distinct, codes_reason, guess_kind, parse_numbers
from shoal.explore.contents import whole_numbers
from shoal.explore.roles import UNDECIDED, Role
from shoal.naming.codes import MOST_CODES, is_code
from shoal.notation import expected
from shoal.policy import Kind

__all__ = ["REFINED", "Column", "bounds_of", "has_decimals", "kind_and_why", "refined", "why"]

BAND = re.compile(r"^\s*([<>]?=?)\s*[\[(]?\s*(\d+(?:\.\d+)?)\D*")
AS_CODES = "numbers used as codes"
AS_BANDS = "bands of numbers"
REFINED = (AS_CODES, AS_BANDS)
"""Reasons for a kind that a run would not guess by itself: a policy must say it."""
NOTED = ("dates as", "numbers with a decimal comma")
"""Reasons for a kind that are told, since the values alone do not show it."""


@dataclass(frozen=True)
class Column:
    """What an inspection found out about one column."""

    name: str
    kind: Kind
    kind_reason: str
    distinct: int
    missing: int
    role: Role
    reason: str
    largest_l: int
    """Largest l for which an l-diverse release exists if this column is sensitive."""
    order: tuple[str, ...] = ()
    """Values of an ordinal quasi-identifier, lowest first."""
    telling: bool = False
    """Of weights: whether many records have one of their own."""

    @property
    def undecided(self) -> bool:
        """True where neither name nor values suggested a role."""
        return self.reason == UNDECIDED


def kind_and_why(distinct: Distinct) -> tuple[Kind, str]:
    """The kind of values, and why; dates and numbers in whatever notation."""
    kind, reason = guess_kind(distinct.parsed)
    return kind, reason if distinct.notation is None else expected(kind, distinct.notation)


def bounds_of(kind: Kind, values: pa.Array) -> dict[str, float]:
    if kind != "numeric":
        return {}
    amounts = np.asarray(parse_numbers(values)[0], dtype=np.float64)
    amounts = amounts[np.isfinite(amounts)]
    return {"low": float(amounts.min()), "high": float(amounts.max())} if len(amounts) else {}


def has_decimals(values: pa.Array) -> bool:
    if not pa.types.is_floating(values.type):
        return False
    amounts = np.asarray(values, dtype=np.float64)
    return bool(np.any(amounts != np.floor(amounts)))


def refined(column: Column, distinct: Distinct) -> Column:
    """The kind of a quasi-identifier, where its name and values tell more than a run guesses."""
    few = column.distinct <= MOST_CODES and is_code(column.name) and _are_whole(distinct)
    if column.kind == "numeric" and (few or codes_reason(column.name, distinct)):
        return replace(column, kind="categorical", kind_reason=AS_CODES)
    return _with_bands(column, distinct)


def _are_whole(distinct: Distinct) -> bool:
    return whole_numbers(distinct) is not None


def _with_bands(column: Column, distinct: Distinct) -> Column:
    """Texts such as ``<30``, ``30-50``, ``[50-60)`` have an order that their numbers tell."""
    if column.kind != "categorical" or column.kind_reason != "texts" or column.distinct < 3:
        return column
    texts = distinct.texts()
    starts = [BAND.match(text) for text in texts]
    if not all(start and len(re.findall(r"\d+", start.string)) <= 2 for start in starts):
        return column
    # "<30" comes before "30-50", and ">50" after "50".
    places = [
        (float(start[2]), {"<": 0, ">": 2}.get(start[1][:1], 1), start.string)
        for start in starts
        if start
    ]
    if len({place[:2] for place in places}) < len(places):
        return column  # two bands begin alike: their order is anybody's guess
    order = tuple(text for *_, text in sorted(places))
    return replace(column, kind="ordinal", kind_reason=AS_BANDS, order=order)


def why(column: Column) -> str:
    """Why the role, and why the kind where that is not what the values look like."""
    told = column.kind_reason == AS_CODES or column.kind_reason.startswith(NOTED)
    return f"{column.reason}; {column.kind_reason}" if told else column.reason
