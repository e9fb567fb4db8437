"""Exact numbers: parameters parsed from decimal text, ratios compared in integers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError

__all__ = [
    "DIGITS",
    "INT64_SAFE",
    "Number",
    "at_most",
    "exact",
    "limited",
    "plain",
    "round_down",
    "round_up",
    "text",
    "whole_number",
]

Number: TypeAlias = int | float | str | Decimal | Fraction

DIGITS = 6
"""Levels that are real numbers are reported with this many decimals, to the safe side."""

INT64_SAFE = 2**62
"""Integer products up to here are taken in int64; beyond, in Python's integers."""

KERNEL_LIMIT = 10**9
"""Largest numerator or denominator of a kernel rule: times 2**33 records it fits int64."""


def exact(value: Number, name: str, expected: str) -> Fraction:
    """The number as people wrote it: 0.2 is 1/5, not the nearest binary float.

    Raises
    ------
    PolicyError
        ``{name}: expected {expected}; got {value}``.
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        return value if isinstance(value, Fraction) else Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        raise PolicyError(f"{name}: expected {expected}; got {value}") from None


def whole_number(value: Number, name: str, least: int = 1) -> int:
    """A whole number of at least `least`, or a PolicyError that says so."""
    expected = f"a whole number of at least {least}"
    number = exact(value, name, expected)
    if number.denominator != 1 or number < least:
        raise PolicyError(f"{name}: expected {expected}; got {value}")
    return int(number)


def plain(value: Fraction) -> int | float | str:
    """JSON-able form that `exact` reads back to the same fraction."""
    if value.denominator == 1:
        return int(value)
    number = float(value)
    return number if Fraction(str(number)) == value else str(value)


def text(value: Fraction) -> str:
    """As people write it: ``0.2``, ``3``, ``1/3``."""
    return str(plain(value))


def round_up(value: Fraction) -> float:
    """Smallest number of `DIGITS` decimals that is not below `value`."""
    scale = 10**DIGITS
    return float(Fraction(-(-value.numerator * scale // value.denominator), scale))


def round_down(value: Fraction) -> float:
    """Largest number of `DIGITS` decimals that is not above `value`."""
    scale = 10**DIGITS
    return float(Fraction(value.numerator * scale // value.denominator, scale))


def at_most(amount: NDArray[Any], ratio: Fraction, whole: NDArray[Any]) -> NDArray[np.bool_]:
    """``amount <= ratio * whole`` for 0 <= ratio <= 1, exactly.

    The arrays are int64 up to `INT64_SAFE`, or Python integers (dtype object).
    """
    numerator, denominator = ratio.numerator, ratio.denominator
    if whole.dtype != object and denominator < 2**31:
        # whole * numerator could overflow; its quotient and rest cannot
        quotient, rest = np.divmod(whole, denominator)
        limit = quotient * numerator + rest * numerator // denominator
        return np.asarray(amount <= limit, dtype=np.bool_)
    left = amount.astype(object) * denominator
    return np.asarray(left <= whole.astype(object) * numerator, dtype=np.bool_)


def limited(ratio: Fraction) -> tuple[int, int]:
    """Numerator and denominator for a kernel rule: `ratio`, or a little less if it is long.

    Less is stricter for every rule that takes a ratio (alpha, t and the c of
    recursive l-diversity are upper limits on what a class may show).
    """
    if max(ratio.numerator, ratio.denominator) <= KERNEL_LIMIT:
        return ratio.numerator, ratio.denominator
    if ratio >= KERNEL_LIMIT:
        return KERNEL_LIMIT, 1
    scale = KERNEL_LIMIT // max(1, -(-ratio.numerator // ratio.denominator))
    return int(ratio * scale), scale
