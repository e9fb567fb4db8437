"""How dates and numbers are written in a column: 21.06.1936, 06/21/1936, 3,5.

What is read in a notation is published in it. Inside, a date is an ISO date and a number has
a decimal point: `plain` and `written` go between the two, one text at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from shoal.errors import did_you_mean

__all__ = [
    "COMMA",
    "DATES",
    "NOTATIONS",
    "check_marks",
    "check_notations",
    "expected",
    "is_date",
    "known_decimal",
    "plain",
    "written",
]

COMMA = "comma"
DATES = (
    *("dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy"),
    *("yyyy/mm/dd", "yyyy.mm.dd"),
)
NOTATIONS = (*DATES, COMMA)
"""All but the plain ones, which need no name: 1936-06-21 and 3.5."""

WITH_COMMA = re.compile(r"([+-]?)([0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,([0-9]+))?")


def check_notations(notations: Mapping[str, str]) -> None:
    """Every column has one that there is, or ValueError."""
    for name, notation in notations.items():
        if notation not in NOTATIONS:
            raise ValueError(
                f"{name!r}: expected one of {', '.join(NOTATIONS)}; got {notation!r}"
                f"{did_you_mean(notation, NOTATIONS)}"
            )


def known_decimal(text: str | None) -> str | None:
    """The mark before decimals, or ValueError."""
    if text not in {",", ".", None}:
        raise ValueError(f"expected , or . as the mark before decimals; got {text!r}")
    return text


def check_marks(delimiter: str | None, decimal: str | None) -> None:
    """Cells and decimals are told apart, or ValueError."""
    if decimal is not None and delimiter == decimal:
        raise ValueError(
            f"decimal: expected another mark than the delimiter; got {decimal!r} for both "
            "(leave the delimiter out where such numbers are quoted)"
        )


def is_date(notation: str | None) -> bool:
    """Whether it is one of dates."""
    return notation in DATES


def plain(text: str, notation: str | None) -> str | None:
    """The ISO date or the number with a point that a text stands for; None if it is none.

    >>> plain("21.06.1936", "dd.mm.yyyy"), plain("1.234,5", "comma")
    ('1936-06-21', '1234.5')
    """
    if notation is None:
        return text
    if notation == COMMA:
        found = WITH_COMMA.fullmatch(text)
        if found is None:
            return None
        sign, whole, decimals = found.groups()
        return f"{sign}{whole.replace('.', '')}" + (f".{decimals}" if decimals else "")
    return _iso(text, notation)


def _iso(text: str, notation: str) -> str | None:
    parts = text.split(_mark(notation))
    names = notation.split(_mark(notation))
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    by_name = dict(zip(names, parts, strict=True))
    if len(by_name["yyyy"]) != 4 or len(by_name["mm"]) > 2 or len(by_name["dd"]) > 2:
        return None
    try:
        return date(*(int(by_name[name]) for name in ("yyyy", "mm", "dd"))).isoformat()
    except ValueError:
        return None


def written(text: str, notation: str | None) -> str:
    """An ISO date, or a number with a point, in a notation.

    >>> written("1936-06-21", "mm/dd/yyyy"), written("1234.5", "comma")
    ('06/21/1936', '1234,5')
    """
    if notation is None:
        return text
    if notation == COMMA:
        return text.replace(".", ",")
    year, month, day = text.split("-")
    parts = {"yyyy": year, "mm": month, "dd": day}
    mark = _mark(notation)
    return mark.join(parts[name] for name in notation.split(mark))


def expected(kind: str, notation: str | None) -> str:
    """What a column holds, in the words of a message."""
    if kind == "date":
        return f"dates as {notation}" if is_date(notation) else "ISO dates"
    return "numbers with a decimal comma" if notation == COMMA else "numbers"


def _mark(notation: str) -> str:
    """The sign between the parts of a date."""
    return next(sign for sign in notation if not sign.isalpha())
