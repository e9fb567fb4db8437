"""In which notation the dates and numbers of a column are written, told by its values.

Dots are written between day, month and year only; with strokes a column tells the order
by a day above 12. Where none is, nobody can know it: that is an error that asks.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.encoding.values import distinct_values
from shoal.errors import PolicyError
from shoal.notation import COMMA, plain
from shoal.policy import Policy

__all__ = ["AMBIGUOUS", "notation_of", "notations", "unclear"]

AMBIGUOUS = "ambiguous"
"""Dates whose order of day and month no value tells."""
PARTS = r"^(?P<first>[0-9]{1,2})[./-](?P<second>[0-9]{1,2})[./-][0-9]{4}$"
YEAR_FIRST = r"^[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}$"
NUMBER = r"^[+-]?([0-9]+|[0-9]{1,3}([.][0-9]{3})+)(,[0-9]+)?$"
SURE = r"^[+-]?([0-9.]*,([0-9]{1,2}|[0-9]{4,})|0,[0-9]+|[0-9]{4,},[0-9]+|.*[.].*,[0-9]+)$"
"""A comma that no thousands have: not three digits behind it, or a point before it."""


def notation_of(values: pa.Array, decimal: str | None = None) -> str | None:
    """The notation of distinct texts; `AMBIGUOUS`; or None if they are plain, or no such thing.

    `decimal` is the mark that all numbers have, where somebody said it: a comma then needs
    no value that proves it, and with a point none is taken for one.
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    if not len(values):
        return None
    first = str(values[0].as_py())
    if decimal == "," and _all(values, NUMBER) and _any(values, "[,.]"):
        return COMMA
    if "," in first or _any(values, SURE):
        if decimal == ".":
            return None
        return COMMA if _all(values, NUMBER) and _any(values, SURE) else None
    if not any(mark in first for mark in "./-"):
        return None
    if _all(values, PARTS):
        return _checked(values, _order_of(values, next(m for m in "./-" if m in first)))
    if _all(values, YEAR_FIRST):
        mark = "/" if "/" in first else "."
        return _checked(values, f"yyyy{mark}mm{mark}dd")
    return None


def _order_of(values: pa.Array, mark: str) -> str | None:
    """Whether the day or the month comes first."""
    if mark == ".":
        return "dd.mm.yyyy"
    parts = pc.extract_regex(values, PARTS)
    first, second = (
        np.asarray(pc.struct_field(parts, name).cast(pa.int32())) for name in ("first", "second")
    )
    day_first, month_first = bool((first > 12).any()), bool((second > 12).any())
    if day_first and month_first:
        return None
    if not (day_first or month_first):
        return AMBIGUOUS
    return f"dd{mark}mm{mark}yyyy" if day_first else f"mm{mark}dd{mark}yyyy"


def _checked(values: pa.Array, notation: str | None) -> str | None:
    """The notation, if every value is a date in it: no other marks, no 31st of June."""
    if notation in {None, AMBIGUOUS}:
        return notation
    return notation if all(plain(text, notation) for text in values.to_pylist()) else None


def _all(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def _any(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


def unclear(name: str) -> PolicyError:
    """What to ask where nothing tells the day from the month."""
    return PolicyError(
        f"column {name!r}: its dates can be read with the day or the month first, and no "
        f"day is above 12; say --notation {name}=dd/mm/yyyy or {name}=mm/dd/yyyy (with "
        f"its own marks), or --kind {name}=categorical"
    )


def notations(
    source: pa.Table, names: Iterable[str], policy: Policy, strict: bool = True
) -> dict[str, str]:
    """The notation of each column that has one: as declared, or as its values tell.

    Raises
    ------
    PolicyError
        A column's dates can be read in two ways, and nothing says in which; unless `strict` is off.
    """
    found = {}
    for name in names:
        if name in policy.notation:
            found[name] = policy.notation[name]
            continue
        if source.num_rows == 0:  # which is refused where it is encoded
            continue
        as_texts = policy.kind.get(name) in {"categorical", "ordinal"}
        if as_texts or name in policy.order or name in policy.hierarchy:
            continue
        told = notation_of(
            distinct_values(source.column(name), policy.missing).values, policy.decimal
        )
        if told == AMBIGUOUS and not strict:
            continue
        if told == AMBIGUOUS:
            raise unclear(name)
        if told is not None:
            found[name] = told
    return found
