"""Texts on a line: as numbers, days, ranks or texts, so that they can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, timezone
from fractions import Fraction
from typing import Any

from shoal.encoding.numbers import exactly
from shoal.errors import InputError, PolicyError
from shoal.hierarchy.rows import NUMBER
from shoal.notation import expected, plain
from shoal.released.cells import Reading
from shoal.released.conditions import Constant, Test

__all__ = ["Key", "Line", "line_of", "number"]

Key = Any
"""A number, a day (fractions are times) or a text: what can be compared with its like."""

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
BEYOND_MICROSECONDS = re.compile(r"(\.\d{6})\d+")
MICROSECONDS_A_DAY = 86_400_000_000


def number(text: str) -> int | Fraction | float | None:
    """The number a text stands for, exactly; None if it is none."""
    return exactly(text) if NUMBER.fullmatch(text) else None


def _day(text: str) -> int | Fraction | None:
    """Day number of an ISO date; a time is a fraction of its day."""
    try:
        if DAY.fullmatch(text):
            return date.fromisoformat(text).toordinal()
        # Python 3.10 knows neither Z nor nanoseconds
        plain = BEYOND_MICROSECONDS.sub(r"\1", text.replace("Z", "+00:00"))
        time = datetime.fromisoformat(plain)
    except ValueError:
        return None
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    rest = time - datetime(time.year, time.month, time.day)
    micros = rest.seconds * 1_000_000 + rest.microseconds
    return time.toordinal() + Fraction(micros, MICROSECONDS_A_DAY)


class Line:
    """How the texts of one column compare.

    Attributes
    ----------
    measured
        Whether distances mean something: an interval then covers what lies
        between its ends, not just the values that were seen.
    """

    def __init__(
        self,
        column: str,
        expected: str,
        key: Callable[[str], Key | None],
        measured: bool = False,
        notation: str | None = None,
    ) -> None:
        self.column = column
        self.expected = expected
        self.measured = measured
        self._key = key
        self._notation = notation
        self._known: dict[str, Key] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without the texts that it was asked about: they may be of records not released."""
        return {**self.__dict__, "_known": {}}

    def key(self, text: str) -> Key:
        """Where a released text stands; the message shows no cell."""
        if text not in self._known:
            place = self._noted(text)
            if place is None:
                raise InputError(
                    f"column {self.column!r}: expected {self.expected}; got a cell that is "
                    "something else (give --kind, or the manifest)"
                )
            self._known[text] = place
        return self._known[text]

    def _noted(self, text: str) -> Key | None:
        """The place of a text that is written as the column is."""
        read = plain(text, self._notation)
        return None if read is None else self._key(read)

    def constant(self, value: Constant) -> Key:
        """Where a value of the query stands; it may be written plainly or as the column is."""
        place = self._key(value.text)
        if place is None:
            place = self._noted(value.text)
        if place is None or (value.kind == "bool" and self.measured):
            raise PolicyError(
                f"query: column {self.column!r} holds {self.expected}; "
                f"it cannot be compared with {value.text!r}"
            )
        return place


class RankLine(Line):
    """Ranks of a declared order."""

    def __init__(self, column: str, order: Sequence[str]) -> None:
        self.order = {text: rank for rank, text in enumerate(order)}
        super().__init__(column, "values of its declared order", self.order.get)


def line_of(column: str, reading: Reading, tests: Sequence[Test], texts: Collection[str]) -> Line:
    """The line on which a column's cells and the query's values compare.

    Parameters
    ----------
    column, reading
        Its name and how its cells are read.
    tests
        What the query asks about it.
    texts
        Values that its cells mention.
    """
    if reading.kind == "numeric":
        told = expected("numeric", reading.notation)
        return Line(column, told, number, measured=True, notation=reading.notation)
    if reading.kind == "date":
        told = expected("date", reading.notation)
        return Line(column, told, _day, measured=True, notation=reading.notation)
    if reading.order is not None:
        return RankLine(column, reading.order)
    if reading.hidden_order and any(test.op in {"<", "<="} for test in tests):
        raise PolicyError(
            f"query: the order of column {column!r} is not in the manifest; "
            "give the policy that declares it (--policy)"
        )
    return _text_or_number(column, reading, tests, texts)


def _numbers(column: str) -> Line:
    return Line(column, "numbers", number)


def _text_or_number(
    column: str, reading: Reading, tests: Sequence[Test], texts: Collection[str]
) -> Line:
    """Texts compare as texts, unless they are all numbers and so is what they are asked for."""
    values = [value for test in tests for value in test.values]
    if reading.kind == "ordinal":
        everything = [*texts, *(value.text for value in values)]
        if everything and all(number(text) is not None for text in everything):
            return _numbers(column)
    elif values and all(value.kind == "number" for value in values):
        if all(number(text) is not None for text in texts):
            return _numbers(column)
        if any(test.op in {"<", "<="} for test in tests):
            raise PolicyError(
                f"query: column {column!r} holds texts; quote what it is compared with"
            )
    return Line(column, "texts", str)
