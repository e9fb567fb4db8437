"""Round intervals: they begin and end on multiples of a step, or with whole periods of dates.

A tight interval says that somebody has exactly its smallest value. A round one says
nothing of the kind. Every value stands for the round values around it: 23 in steps of 5
for [20,25], a day for its month. A class is published from the round value below its
smallest to the one above its largest, also where all its values are the same: an exact
value among round ones would stand out, and could be told from those that were mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.notation import written
from shoal.policy import Kind
from shoal.quantities import PERIODS, Step, exact

__all__ = ["RoundEnds", "check_step", "round_dates", "round_numbers"]

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
EPOCH = 1970 * 12
"""Months before the first that numpy counts: periods are counted from year 0."""
FIRST_DAY = np.datetime64("0001-01-01", "D").astype(np.int64)
"""No date is before it, and so no interval begins before it."""
INT64 = 1 << 63

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""Whole numbers: int64, or Python's own where they do not fit."""


@dataclass(frozen=True, eq=False)
class RoundEnds:
    """The interval of every present code that is alone, in the order of the codes."""

    begin: Floats
    """Where it begins in the published span, 0 to 1; never falls from code to code."""
    end: Floats
    begin_texts: Sequence[str]
    end_texts: Sequence[str]
    begin_values: pa.Array
    """The same as numbers or dates, for the bounds layout."""
    end_values: pa.Array
    first: NDArray[np.int64]
    """The first and the last code whose value lies in it."""
    last: NDArray[np.int64]


def check_step(name: str, kind: Kind, step: Step) -> None:
    """A number rounds numbers, a period dates; nothing else can be rounded."""
    if kind not in {"numeric", "date"}:
        raise PolicyError(f"round of {name!r}: expected a numeric or date column; it is {kind}")
    if kind == "date" and not isinstance(step, str):
        raise PolicyError(
            f"round of {name!r}: it is a column of dates; "
            f"expected one of {', '.join(PERIODS)}; got {step}"
        )
    if kind == "numeric" and isinstance(step, str):
        raise PolicyError(
            f"round of {name!r}: it is a column of numbers; expected a number; got {step!r}"
        )


def round_numbers(amounts: Numbers, step: int | float) -> RoundEnds:
    """The multiples of a step around ascending numbers."""
    width = exact(step)
    below, above = _multiples(amounts, width)
    begin_values, end_values = _numbers(below, width), _numbers(above, width)
    return RoundEnds(
        *_places(below, above),
        [_text(value) for value in begin_values],
        [_text(value) for value in end_values],
        _typed(begin_values),
        _typed(end_values),
        *_reach(below, above),
    )


def _multiples(amounts: Numbers, width: Fraction) -> tuple[Numbers, Numbers]:
    """How many steps the multiples below and above each number are from 0."""
    if amounts.dtype.kind == "i" and width.denominator == 1 and width.numerator < INT64:
        below = amounts // width.numerator
        return below, below + (amounts % width.numerator != 0)
    found = [divmod(exact(amount), width) for amount in amounts.tolist()]
    lower = np.array([int(whole) for whole, _ in found], dtype=object)
    return lower, lower + np.array([int(rest != 0) for _, rest in found], dtype=object)


def _numbers(steps: Numbers, width: Fraction) -> list[Fraction]:
    return [int(count) * width for count in steps.tolist()]


def _text(number: Fraction) -> str:
    """A multiple of a decimal step in as few digits as it has."""
    if number.denominator == 1:
        return str(number.numerator)
    digits = 0
    while (number * 10**digits).denominator > 1:
        digits += 1
    shifted = str(abs(int(number * 10**digits))).rjust(digits + 1, "0")
    return f"{'-' * (number < 0)}{shifted[:-digits]}.{shifted[-digits:]}"


def _typed(numbers: list[Fraction]) -> pa.Array:
    if all(number.denominator == 1 and -INT64 <= number < INT64 for number in numbers):
        return pa.array([int(number) for number in numbers], pa.int64())
    return pa.array([float(number) for number in numbers], pa.float64())


def round_dates(values: pa.Array, period: str) -> RoundEnds:
    """The whole periods around ascending dates or times; both are published as days.

    The last day of a period counts as a day among dates, and with all its hours among times.
    """
    days, hours = _days(values)
    if period == "day":
        below, first_day, last_day = days, days, days
    else:
        months = MONTHS[period]
        below = (_month(days) + EPOCH) // months
        first_day = np.maximum(FIRST_DAY, _first_day(below * months))
        last_day = _first_day((below + 1) * months) - 1
    return RoundEnds(
        *_places(first_day, last_day + hours),
        first_day.astype("datetime64[D]").astype(str).tolist(),
        last_day.astype("datetime64[D]").astype(str).tolist(),
        pa.array(first_day.astype(np.int32)).cast(pa.date32()),
        pa.array(last_day.astype(np.int32)).cast(pa.date32()),
        *_reach(below, below),
    )


def noted_ends(ends: RoundEnds, notation: str | None) -> RoundEnds:
    """The same ends, written as the column is."""
    if notation is None:
        return ends
    begins = [written(text, notation) for text in ends.begin_texts]
    closes = [written(text, notation) for text in ends.end_texts]
    return replace(
        ends,
        begin_texts=begins,
        end_texts=closes,
        begin_values=pa.array(begins, pa.string()),
        end_values=pa.array(closes, pa.string()),
    )


def _days(values: pa.Array) -> tuple[NDArray[np.int64], bool]:
    """Days since 1970, and whether these are times, which have hours too."""
    if not pa.types.is_timestamp(values.type):
        return np.asarray(values.cast(pa.date32()).cast(pa.int32())).astype(np.int64), False
    a_day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
    return np.asarray(values.cast(pa.int64())) // a_day, True


def _month(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Months since 1970."""
    months: NDArray[np.int64] = (
        days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    )
    return months


def _first_day(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first day, since 1970, of months that are counted from year 0."""
    first = (months - EPOCH).astype("datetime64[M]").astype("datetime64[D]")
    days: NDArray[np.int64] = first.astype(np.int64)
    return days


def _places(begin: Numbers, end: Numbers) -> tuple[Floats, Floats]:
    """Begins and ends relative to all that is published."""
    span = int(end[-1]) - int(begin[0]) if len(begin) else 0
    if not span:
        return np.zeros(len(begin)), np.zeros(len(begin))
    least = int(begin[0])
    places = [[(value - least) / span for value in ends.tolist()] for ends in (begin, end)]
    return np.array(places[0]), np.array(places[1])


def _reach(below: Numbers, above: Numbers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last code that lies between the round values around each code."""
    return np.searchsorted(below, below), np.searchsorted(above, above, side="right") - 1
