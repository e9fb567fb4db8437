"""Round intervals from the definition: one value after another, in decimal numbers and days."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def loss(column: Any, codes: Iterable[int]) -> float:
    """NCP of a rounded attribute: from the lowest begin to the highest end of the codes."""
    codes = list(codes)
    begin = min(float(column.position[code]) for code in codes)
    end = max(float(column.end[code]) for code in codes)
    return min(1.0, end - begin)


def around(value: Any, step: Any) -> tuple[Any, Any]:
    """The round values next to a value: multiples of a number, or a period's first and last day."""
    if isinstance(step, str):
        return period(value, step)
    value, step = Decimal(str(value)), Decimal(str(step))
    below = value // step * step
    if below > value:  # decimal numbers are cut off towards 0
        below -= step
    return below, below if below == value else below + step


def period(day: Any, name: str) -> tuple[datetime.date, datetime.date]:
    if isinstance(day, str):
        day = datetime.datetime.fromisoformat(day)
    day = day.date() if isinstance(day, datetime.datetime) else day
    if name == "day":
        return day, day
    months = MONTHS[name]
    begin = (day.year * 12 + day.month - 1) // months * months
    beyond = begin + months
    after = datetime.date(beyond // 12, beyond % 12 + 1, 1)
    return datetime.date(begin // 12, begin % 12 + 1, 1), after - datetime.timedelta(days=1)


def interval(values: Iterable[Any], step: Any) -> tuple[Any, Any]:
    """What a class with these values is published as."""
    ends = [around(value, step) for value in values]
    return min(begin for begin, _ in ends), max(end for _, end in ends)


def width(begin: Any, end: Any, hours: bool = False) -> float:
    """How wide an interval is; among times its last day counts with all its hours."""
    if isinstance(begin, datetime.date):
        return (end - begin).days + hours
    return float(end - begin)
