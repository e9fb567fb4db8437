"""What a policy says in words or in numbers: times, shares, steps to round to.

Exact where it decides: a share or a step is the decimal number that was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

__all__ = [
    "PERIODS", "Number", "Step", "bytes_of", "check_steps", "check_weights", "exact", "seconds_of",
    "share_of",
]  # fmt: skip

Number = int | float
Step = int | float | str
"""What a column is rounded to: a number, or the name of a period."""

LEAST_WEIGHT, LARGEST_WEIGHT = 1e-6, 1e6
"""Of an attribute in the loss: kernels add up losses of 32 bits, which must stay finite."""
SECONDS_IN = {"s": 1, "m": 60, "h": 3600}
BYTES_IN = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 1 << 20, "GIB": 1 << 30}
PERIODS = ("day", "month", "quarter", "year", "decade")


def seconds_of(value: Number | str) -> float:
    """``30``, ``"30s"``, ``"2m"`` or ``"1.5h"`` in seconds."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)\s*", str(value))
    seconds = float(found[1]) * SECONDS_IN[found[2] or "s"] if found else 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"expected a time such as 30s, 2m or 1.5h; got {value!r}")
    return seconds


def bytes_of(value: str) -> int:
    """``"400MB"``, ``"1.5GB"`` or ``"2GiB"`` in bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([MGT]i?B)\s*", value, re.IGNORECASE)
    size = int(float(found[1]) * BYTES_IN[found[2].upper()]) if found else 0
    if not size:
        raise ValueError(f"expected an amount of memory such as 400MB or 1.5GB; got {value!r}")
    return size


def share_of(value: Number | str) -> Fraction:
    """``0.005`` or ``"0.5%"`` as an exact share: no rounding may add a record to it."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e-?\d{1,3})?|\.\d+)\s*(%?)\s*", str(value))
    share = Fraction(found[1]) / (100 if found[2] else 1) if found else Fraction(1)
    if share >= 1:
        raise ValueError(f"expected a share of the records such as 0.5% or 0.005; got {value!r}")
    return share


def check_weights(weights: dict[str, Number]) -> dict[str, Number]:
    """Refuse weights that losses cannot be added up with."""
    for name, weight in weights.items():
        if not LEAST_WEIGHT <= weight <= LARGEST_WEIGHT:
            between = f"{LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
            raise ValueError(f"{name!r}: expected a number from {between}; got {weight}")
    return weights


def check_steps(steps: Mapping[str, Step]) -> None:
    """Every column is rounded to a positive number or to a period that there is."""
    for name, step in steps.items():
        if isinstance(step, str):
            if step not in PERIODS:
                raise ValueError(
                    f"{name!r}: expected a number or one of {', '.join(PERIODS)}; got {step!r}"
                )
        elif not 0 < step < float("inf"):
            raise ValueError(f"{name!r}: expected a positive number; got {step}")


def exact(number: Number) -> Fraction:
    """The decimal number that a float is written as: 0.1 is a tenth."""
    return Fraction(repr(number))
