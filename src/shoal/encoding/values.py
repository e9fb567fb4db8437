"""Distinct values of a column, their texts, and what kind they are.

A column of a million rows has few distinct values: numbers are parsed, dates
checked and kinds guessed on those only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.numbers import EXACT, beyond_floats, differences, exact_numbers, exactly
from shoal.errors import InputError, PolicyError, unknown
from shoal.kernels.grouping import mark_used
from shoal.kernels.picking import picked
from shoal.naming.codes import Numbers, code_reason
from shoal.notation import expected, plain
from shoal.policy import Kind, Policy

__all__ = [
    "Distinct",
    "Ranked",
    "Values",
    "amounts_of",
    "coded",
    "codes_reason",
    "distinct_values",
    "guess_kind",
    "is_present",
    "kind_of",
    "parse_dates",
    "parse_numbers",
    "rank_values",
    "ranking",
    "ranks_of",
    "sorted_by_text",
    "with_missing",
]

NUMBER = r"^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"
CODE_WITH_LEADING_ZERO = r"^[+-]?0[0-9]"
WHOLE = r"^[+-]?[0-9]+$"
NOT_FINITE = r"(?i)^[+-]?(inf|infinity|nan)$"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
NO_NUMBER = "?"
"""Stands for a text that is nothing in its column's notation."""
DATE_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of a column, wherever its records are."""

    values: pa.Array
    """Distinct values without missing ones, every one of them in use."""
    has_missing: bool
    notation: str | None = field(default=None, kw_only=True)
    """How its dates or numbers are written, where that is not the plain way."""

    @cached_property
    def parsed(self) -> pa.Array:
        """The values with dates as ISO dates and a decimal point: what is read, not published."""
        if self.notation is None:
            return self.values
        texts = (plain(text, self.notation) for text in self.values.to_pylist())
        return pa.array([NO_NUMBER if text is None else text for text in texts], pa.string())

    def texts(self) -> list[str]:
        """Each value as it is published when unchanged."""
        return _texts(self.values)

    def first_record(self, indices: NDArray[np.int64]) -> int | None:
        """The first record, counted from 1, with one of these values; None: nobody knows."""
        return None


@dataclass(frozen=True, eq=False)
class Distinct(Values):
    """The distinct values of a column and where each record stands among them."""

    codes: NDArray[np.int32]
    """Index into `values` of each record; -1 where missing."""

    def first_record(self, indices: NDArray[np.int64]) -> int | None:
        """See `Values`."""
        return int(np.argmax(np.isin(self.codes, indices))) + 1

    @classmethod
    def of(cls, codes: NDArray[np.int32], values: pa.Array) -> Distinct:
        return cls(values, bool(len(codes)) and bool(codes.min() < 0), codes)


def distinct_values(
    column: pa.ChunkedArray, missing: tuple[str, ...] = ("",), notation: str | None = None
) -> Distinct:
    """Distinct values of a column; nulls, NaN and the texts in `missing` are missing.

    `notation` is how its dates or numbers are written, where it is not the plain way.
    """
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()  # before joining: texts beyond 2 GB do not join
    codes, dictionary = coded(column)
    found = _compact(codes, dictionary, is_present(dictionary, missing))
    return found if notation is None else replace(found, notation=notation)


def coded(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Places in the dictionary of a dictionary-encoded column, -1 for a null; the dictionary.

    Where nothing has to be changed the column's own buffer is handed out.
    """
    column = column.unify_dictionaries()
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    indices = array.indices.cast(pa.int32())
    return np.asarray(indices.fill_null(-1) if indices.null_count else indices), array.dictionary


def is_present(values: pa.Array, missing: tuple[str, ...]) -> NDArray[np.bool_]:
    present = values.is_valid()
    if pa.types.is_floating(values.type):
        present = pc.and_(present, pc.invert(pc.is_nan(values).fill_null(True)))
    elif _is_text(values.type):
        absent = pc.is_in(values, value_set=pa.array(list(missing), values.type))
        present = pc.and_(present, pc.invert(absent))
    return np.asarray(present)


def _compact(codes: NDArray[np.int32], values: pa.Array, present: NDArray[np.bool_]) -> Distinct:
    """Drop unused and missing values, merge equal ones, renumber."""
    used = np.zeros(len(values), dtype=bool)
    mark_used(codes, used)
    kept = used & present
    if kept.all() and pc.count_distinct(values).as_py() == len(values):
        return Distinct.of(codes, values)
    unique = values.filter(pa.array(kept)).dictionary_encode()
    renumbered = np.full(len(values) + 1, -1, dtype=np.int32)  # the last stays for code -1
    renumbered[:-1][kept] = np.asarray(unique.indices)
    return Distinct.of(picked(renumbered, codes), unique.dictionary)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(values: pa.Array) -> list[str]:
    kind = values.type
    if _is_text(kind):
        texts: list[str] = values.to_pylist()
        return texts
    if pa.types.is_timestamp(kind):
        days = values.cast(pa.timestamp(kind.unit)).cast(pa.date32(), safe=False)
        if pc.all(pc.equal(days.cast(kind), values)).as_py():
            values = days  # midnight everywhere: publish the day alone
    try:
        return [str(text) for text in values.cast(pa.string()).to_pylist()]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return [str(value) for value in values.to_pylist()]


def guess_kind(values: pa.Array) -> tuple[Kind, str]:
    """The kind that distinct values suggest, and the reason in a few words."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return "categorical", "yes or no"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numeric", "numbers"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date", "dates"
    if not _is_text(kind) or len(values) == 0:
        return "categorical", "values"
    if _all_match(values, DATE) and parse_dates(values) is not None:
        return "date", "ISO dates"
    if _all_match(values, DATE_TIME) and parse_dates(values) is not None:
        return "date", "ISO times"
    if _all_match(values, f"{NUMBER}|{NOT_FINITE}") and not _all_match(values, NOT_FINITE):
        if _any_match(values, CODE_WITH_LEADING_ZERO):
            return "categorical", "codes with leading zeros"
        return "numeric", "numbers"
    return "categorical", "texts"


def _all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def _any_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


def parse_numbers(values: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers behind the values (see `exact_numbers`) and which are finite numbers."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int64())
    if _is_text(values.type):
        good = np.asarray(pc.match_substring_regex(values, NUMBER))
        parsed = values.filter(pa.array(good))
    else:
        good = np.ones(len(values), dtype=bool)
        parsed = values
    numbers = exact_numbers(parsed)
    if numbers.dtype.kind == "f":
        finite = np.isfinite(numbers)
        good[np.flatnonzero(good)[~finite]] = False
        numbers = numbers[finite]
    return numbers, good


def parse_dates(values: pa.Array) -> NDArray[np.int64] | None:
    """Dates as whole numbers that keep their distances, or None if one is not a date."""
    kind = values.type
    try:
        if pa.types.is_date(kind):
            return np.asarray(values.cast(pa.date32()).cast(pa.int32())).astype(np.int64)
        if pa.types.is_timestamp(kind):
            return np.asarray(values.cast(pa.int64()))
        if _is_text(kind) and _all_match(values, DATE):
            return np.asarray(values.cast(pa.date32()).cast(pa.int32())).astype(np.int64)
        if _is_text(kind):
            return _parse_times(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return None


def _parse_times(values: pa.Array) -> NDArray[np.int64] | None:
    """Times down to the nanosecond, all with a zone or all without."""
    for unit in ("us", "ns"):
        for zone in (None, "UTC"):
            try:
                return np.asarray(values.cast(pa.timestamp(unit, zone)).cast(pa.int64()))
            except pa.ArrowInvalid:
                continue
    return None


def kind_of(name: str, distinct: Values, policy: Policy) -> Kind:
    """The kind of a column: declared, implied by an order or hierarchy, or guessed."""
    if name in policy.kind:
        return policy.kind[name]
    if name in policy.order:
        return "ordinal"
    if name in policy.hierarchy:
        return "categorical"
    return guess_kind(distinct.parsed)[0]


def codes_reason(name: str, distinct: Values) -> str | None:
    """Why the numbers of a column are codes and no amounts; None if they are amounts.

    Sensitive columns are what their values say: models that measure need the numbers.
    """
    values = distinct.values
    if not (pa.types.is_integer(values.type) or (_is_text(values.type) and len(values))):
        return None
    if _is_text(values.type) and not _all_match(values, WHOLE):
        return None
    numbers = parse_numbers(values)[0]
    if not len(numbers):
        return None
    return code_reason(name, Numbers(len(values), int(numbers.min()), int(numbers.max())))


def amounts_of(name: str, kind: Kind, distinct: Values) -> NDArray[Any]:
    """The number or day behind each distinct value; an error names the column, and no cell."""
    if not len(distinct.values):  # all missing: of any kind
        return np.zeros(0, dtype=np.int64)
    if kind == "date":
        days = parse_dates(distinct.parsed)
        if days is None:
            told = expected(kind, distinct.notation)
            such = "" if distinct.notation else " such as 2024-03-31"
            raise InputError(
                f"column {name!r}: expected {told}{such} (or name how they are written: notation)"
            )
        return days
    numbers, good = parse_numbers(distinct.parsed)
    if not good.all():
        bad = np.flatnonzero(~good)
        raise InputError(
            f"column {name!r}: expected finite numbers; got {_told(distinct, bad)}"
            " (say what means missing, or declare another kind)"
        )
    return numbers


def ranking(name: str, distinct: Values, order: Sequence[str] | None) -> NDArray[np.int64]:
    """Indices of the distinct values from the lowest to the highest rank."""
    texts = distinct.texts()
    if order is None:
        return np.array(sorted_by_text(texts), dtype=np.int64)
    rank = {text: position for position, text in enumerate(order)}
    strange = np.array([i for i, text in enumerate(texts) if text not in rank], dtype=np.int64)
    if len(strange):
        told = _told(distinct, strange)
        raise PolicyError(f"order of {name!r}: {len(strange)} values are not in it: {told}")
    return np.array(sorted(range(len(texts)), key=lambda i: rank[texts[i]]), dtype=np.int64)


def _told(distinct: Values, indices: NDArray[np.int64]) -> str:
    """Some values as errors may tell them: by length, and by the first record that has one."""
    texts = distinct.texts()
    told = unknown([texts[i] for i in indices])
    first = distinct.first_record(indices)
    return told if first is None else f"{told}, first in record {first:,}"


def sorted_by_text(texts: list[str]) -> list[int]:
    """Indices in the order of the texts; all-number columns in the order of the numbers."""
    try:
        numbers = [float(text) for text in texts]
        exact = [exactly(t) if abs(n) >= EXACT else n for n, t in zip(numbers, texts, strict=True)]
        return sorted(range(len(texts)), key=lambda i: (numbers[i], exact[i], texts[i]))
    except (ValueError, ArithmeticError):
        return sorted(range(len(texts)), key=texts.__getitem__)


def ranks_of(in_order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of each value, of values that are given from the lowest to the highest."""
    ranks = np.empty(len(in_order), dtype=np.int64)
    ranks[in_order] = np.arange(len(in_order))
    return ranks


def with_missing(codes: NDArray[np.integer[Any]], missing: int) -> NDArray[np.int32]:
    """The code of each value, and at last, where index -1 finds it, that of a missing one."""
    return np.append(codes, missing).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Codes in the order of the values; a missing value is the last code."""

    code_of_value: NDArray[np.int32]
    """Code of each distinct value, and at last of a missing one."""
    texts: list[str | None]
    numbers: NDArray[np.float64] | None
    """Numeric only: the number behind each code, NaN where missing; less the smallest
    where whole numbers are beyond floats."""
    rounded: bool = False
    """Whether even the differences of numbers are beyond exact floats."""


def _for_spreads(amounts: NDArray[Any]) -> NDArray[np.float64]:
    """Amounts in ascending order as floats; those beyond exact ones from the smallest on.

    Models look at their differences only.
    """
    if amounts.dtype.kind == "f" or (len(amounts) and -EXACT < amounts[0] <= amounts[-1] < EXACT):
        return np.asarray(amounts.astype(np.float64))
    return differences(amounts)


def rank_values(name: str, distinct: Values, kind: Kind, order: Sequence[str] | None) -> Ranked:
    """Number a sensitive column's values in their order; errors show none of its cells."""
    missing = distinct.has_missing
    numbers: NDArray[np.float64] | None = None
    rounded = False
    if kind in {"numeric", "date"}:
        amounts, inverse = np.unique(amounts_of(name, kind, distinct), return_inverse=True)
        ranks = inverse
        first = np.zeros(len(amounts), dtype=np.int64)
        first[inverse[::-1]] = np.arange(len(inverse))[::-1]
        if kind == "numeric":
            numbers = np.append(_for_spreads(amounts), [np.nan] * missing)
            rounded = beyond_floats(amounts)
    else:
        first = ranking(name, distinct, order)
        ranks = ranks_of(first)
    texts = distinct.texts()
    labels: list[str | None] = [texts[i] for i in first]
    return Ranked(with_missing(ranks, len(first)), labels + [None] * missing, numbers, rounded)
