"""Numbers behind values, exactly: whole ones of any size, and fractions of any length.

A float64 has 53 bits: from 2**53 on it skips whole numbers, and a record would
be published under its neighbour's number. So numbers are int64 where they fit,
float64 where no two different values become one, and Python's own exact numbers
where neither does.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = [
    "EXACT",
    "beyond_floats",
    "differences",
    "exact_numbers",
    "exactly",
    "typed_numbers",
]

EXACT = 1 << 53
"""Whole numbers up to here are floats of their own."""
LARGEST_EXPONENT = 400
"""Beyond it a float is 0 or infinite anyway, and an exact number would fill the memory."""

Exact = int | Fraction


def exactly(text: str) -> Exact | float:
    """The number that a text stands for; infinite, or 0, where it is beyond floats."""
    try:
        return int(text)
    except ValueError:  # a fraction, an exponent, or more digits than Python converts
        pass
    number = Decimal(text)
    if not number.is_finite() or (number and abs(number.adjusted()) > LARGEST_EXPONENT):
        return float(text)
    fraction = Fraction(number)
    return int(fraction) if fraction.denominator == 1 else fraction


def exact_numbers(values: pa.Array) -> NDArray[Any]:
    """The number behind each value; NaN or infinite where there is none.

    Texts must look like numbers.
    """
    try:
        return np.asarray(values.cast(pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    if pa.types.is_integer(values.type):  # beyond int64
        return _objects(values.to_pylist())
    try:
        # Only the nearest float is left of many digits, which Arrow calls unsafe.
        floats = np.asarray(values.cast(pa.float64(), safe=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(values), np.nan)
    if pa.types.is_floating(values.type) or not np.isfinite(floats).all():
        return floats
    return _exact_where_needed(values, floats)


def _exact_where_needed(values: pa.Array, floats: NDArray[np.float64]) -> NDArray[Any]:
    """Floats, unless whole numbers are lost or two different values became one."""
    order = np.argsort(floats, kind="stable")
    same = np.flatnonzero(np.diff(floats[order]) == 0)
    suspects = np.unique(np.concatenate([order[same], order[same + 1]]))
    large = bool(len(floats)) and bool(np.abs(floats).max() >= EXACT)
    if not large and not len(suspects):
        return floats
    looked_at = np.arange(len(floats)) if large else suspects
    numbers = [exactly(str(text)) for text in values.take(pa.array(looked_at)).to_pylist()]
    if large:
        return _objects(numbers)
    by_float: dict[float, Any] = {}
    for index, number in zip(looked_at.tolist(), numbers, strict=True):
        if by_float.setdefault(float(floats[index]), number) != number:
            return _objects([exactly(str(text)) for text in values.to_pylist()])
    return floats


def _objects(numbers: list[Any]) -> NDArray[Any]:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def differences(amounts: NDArray[Any]) -> NDArray[np.float64]:
    """How far each of some amounts in ascending order is above the first, rounded once."""
    if not len(amounts):
        return np.zeros(0)
    low, high = amounts[0], amounts[-1]
    if amounts.dtype.kind == "f" or (amounts.dtype.kind == "i" and -EXACT < low <= high < EXACT):
        return np.asarray(amounts.astype(np.float64) - float(low))
    first = low if amounts.dtype == object else int(low)
    return np.array([float(amount - first) for amount in amounts.tolist()])


def beyond_floats(amounts: NDArray[Any]) -> bool:
    """Whether amounts in ascending order lie too far apart for exact differences.

    Floats too: as text nobody could tell them from whole numbers.
    """
    return bool(len(amounts)) and int(amounts[-1]) - int(amounts[0]) >= EXACT


def typed_numbers(numbers: NDArray[Any]) -> pa.Array:
    """Numbers as Arrow has them, for columns of bounds: exact, or None where it cannot."""
    if numbers.dtype != object:
        return pa.array(numbers)
    if not all(isinstance(number, int) for number in numbers.tolist()):
        return None
    for kind in (pa.uint64(), pa.decimal128(38, 0), pa.decimal256(76, 0)):
        try:
            return pa.array([int(number) for number in numbers.tolist()], kind)
        except (pa.ArrowInvalid, OverflowError):
            continue
    return None
