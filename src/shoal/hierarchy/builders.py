"""Trees made from the values of a column: intervals, prefixes, dates, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal, InvalidOperation, localcontext
from itertools import pairwise
from typing import Any

from shoal.errors import HierarchyError, unknown
from shoal.hierarchy.rows import NUMBER, tree_rows
from shoal.hierarchy.tree import Hierarchy

__all__ = ["dates", "groups", "intervals", "prefixes"]

_EXACT = Context(prec=80)
"""Enough digits that bounds of any double are exact; more is refused, never rounded."""


def intervals(
    values: Iterable[str],
    widths: Sequence[float] | None = None,
    breaks: Sequence[float] | Sequence[Sequence[float]] | None = None,
    origin: float = 0,
    source: str = "intervals",
) -> Hierarchy:
    """Intervals over numbers; the top is ``*``.

    Integers with integer bounds get closed intervals, ``[20,29]``; all other
    numbers half-open ones, ``[20,30)``.

    Parameters
    ----------
    values
        The column's values, numbers as text.
    widths
        Width of the intervals of each level, each a multiple of the one before.
    breaks
        Instead of widths: the bounds of the intervals, ``[0, 18, 65, 120]``
        for [0,17], [18,64], [65,120]. The last interval includes its upper
        bound. A list of lists gives several levels, each without bounds that
        the one before lacks.
    origin
        Where the intervals of given widths start to count.
    source
        What error messages call the tree.
    """
    if (widths is None) == (breaks is None):
        raise HierarchyError(f"{source}: give either widths or breaks")
    leaves = sorted(set(values))
    strange = [value for value in leaves if not NUMBER.fullmatch(value)]
    if strange:
        raise HierarchyError(f"{source}: expected numbers, got {unknown(strange)}")
    whole = all(value.lstrip("+-").isdigit() for value in leaves)
    with localcontext(_EXACT):
        if widths is not None:
            levels = _width_levels(widths, origin, whole, source)
        else:
            levels = _break_levels(breaks or [], whole, source)
        try:
            rows = [(v, *(label(Decimal(v)) for label in levels), "*") for v in leaves]
        except InvalidOperation:
            raise HierarchyError(
                f"{source}: a number is too large for intervals this narrow"
            ) from None
    return Hierarchy._checked(rows, None, source)


_Label = Callable[[Decimal], str]


def _width_levels(widths: Sequence[float], origin: float, whole: bool, source: str) -> list[_Label]:
    sizes = [_number(width, source) for width in _listed(widths, "widths", source)]
    start = _number(origin, source)
    if sizes[0] <= 0:
        raise HierarchyError(f"{source}: widths must be positive, got {_plain(sizes[0])}")
    for small, large in pairwise(sizes):
        if large <= small or large % small:
            raise HierarchyError(
                f"{source}: widths must each be a multiple of the one before: "
                f"{_plain(large)} is not a multiple of {_plain(small)}"
            )
    closed = whole and _integral([*sizes, start])

    def label_of(width: Decimal) -> _Label:
        def label(number: Decimal) -> str:
            # the remainder is exact where a rounded quotient could tip over a bound
            past = (number - start) % width
            low = number - past - (width if past < 0 else 0)
            return _interval(low, low + width, closed)

        return label

    return [label_of(width) for width in sizes]


def _break_levels(
    breaks: Sequence[float] | Sequence[Sequence[float]], whole: bool, source: str
) -> list[_Label]:
    listed = _listed(breaks, "breaks", source)
    nested = listed if isinstance(listed[0], (list, tuple)) else [listed]
    levels = [[_number(bound, source) for bound in _listed(b, "breaks", source)] for b in nested]
    for bounds in levels:
        if len(bounds) < 2 or any(low >= high for low, high in pairwise(bounds)):
            raise HierarchyError(
                f"{source}: breaks must be at least two rising numbers, "
                f"got {', '.join(map(_plain, bounds))}"
            )
    for fine, coarse in pairwise(levels):
        if not set(coarse) <= set(fine):
            raise HierarchyError(
                f"{source}: breaks of a level must be among those of the level before: "
                f"{_plain(min(set(coarse) - set(fine)))} is not"
            )
    closed = whole and _integral([bound for bounds in levels for bound in bounds])

    def label_of(bounds: list[Decimal]) -> _Label:
        def label(number: Decimal) -> str:
            for low, high in pairwise(bounds):
                if low <= number < high or number == high == bounds[-1]:
                    return _interval(low, high, closed, last=high == bounds[-1])
            raise HierarchyError(
                f"{source}: {_plain(number)} lies outside the breaks "
                f"{_plain(bounds[0])} to {_plain(bounds[-1])}"
            )

        return label

    return [label_of(bounds) for bounds in levels]


def _interval(low: Decimal, high: Decimal, closed: bool, last: bool = False) -> str:
    if last:
        return f"[{_plain(low)},{_plain(high)}]"
    if closed:
        return f"[{_plain(low)},{_plain(high - 1)}]"
    return f"[{_plain(low)},{_plain(high)})"


def _listed(given: Any, name: str, source: str) -> Sequence[Any]:
    if not isinstance(given, (list, tuple)) or not given:
        raise HierarchyError(f"{source}: {name} must be a list with at least one item")
    return given


def _number(given: Any, source: str) -> Decimal:
    if isinstance(given, bool) or not NUMBER.fullmatch(str(given)):
        raise HierarchyError(f"{source}: expected a number, got {given!r}")
    return Decimal(str(given))


def _integral(numbers: Iterable[Decimal]) -> bool:
    return all(number == number.to_integral_value() for number in numbers)


def _plain(number: Decimal) -> str:
    # normalize() first, so that 20, 20.0 and 2E+1 all read 20; adding 0 turns -0 into 0
    return format(number.normalize() + 0, "f")


def prefixes(
    values: Iterable[str], keep: Sequence[int] | None = None, source: str = "prefixes"
) -> Hierarchy:
    """Prefixes of codes such as ZIP codes; the top is ``*``.

    Every dropped character becomes ``*``, so the length stays: ``10077`` is
    ``1007*``, then ``100**``.

    Parameters
    ----------
    values
        The column's values.
    keep
        How many characters each level keeps, falling; by default every length
        from one less than the longest value down to 1.
    source
        What error messages call the tree.
    """
    leaves = sorted(set(values))
    if keep is None:
        keep = range(max(map(len, leaves), default=1) - 1, 0, -1)
    elif not all(type(k) is int and k > 0 for k in _listed(keep, "keep", source)) or any(
        fine <= coarse for fine, coarse in pairwise(keep)
    ):
        raise HierarchyError(f"{source}: keep must be falling positive integers, got {keep}")
    rows = [(v, *(v[:k] + "*" * len(v[k:]) for k in keep), "*") for v in leaves]
    return Hierarchy._checked(rows, None, source)


_DATE_LEVELS: dict[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


def dates(
    values: Iterable[str],
    levels: Sequence[str] = ("month", "quarter", "year", "decade"),
    source: str = "dates",
) -> Hierarchy:
    """Calendar periods over ISO dates or timestamps; the top is ``*``.

    Parameters
    ----------
    values
        The column's values, such as ``2024-03-05`` or ``2024-03-05T12:30:00``.
    levels
        Some of day, month, quarter, year, decade, from fine to coarse:
        ``2024-03-05``, ``2024-03``, ``2024-Q1``, ``2024``, ``2020s``.
    source
        What error messages call the tree.
    """
    known = list(_DATE_LEVELS)
    strange = [level for level in _listed(levels, "levels", source) if level not in known]
    if strange or [level for level in known if level in levels] != list(levels):
        raise HierarchyError(
            f"{source}: levels must be some of {', '.join(known)}, from fine to coarse, "
            f"got {', '.join(map(str, levels))}"
        )
    days = {value: _day(value) for value in sorted(set(values))}
    strange = [value for value, day in days.items() if day is None]
    if strange:
        raise HierarchyError(f"{source}: expected dates as 2024-03-05, got {unknown(strange)}")
    rows = [
        (value, *(_DATE_LEVELS[level](day) for level in levels), "*")
        for value, day in days.items()
        if day is not None
    ]
    return Hierarchy._checked(rows, None, source)


def _day(value: str) -> date | None:
    if len(value) > 10 and value[10] not in "T ":
        return None
    try:
        year, month, day = value[:10].split("-")
        if (len(year), len(month), len(day)) != (4, 2, 2):
            return None
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def groups(
    values: Iterable[str],
    groups: Mapping[str, Sequence[Any]],
    other: str | None = None,
    source: str = "groups",
) -> Hierarchy:
    """One level of named groups; the top is ``*``.

    Parameters
    ----------
    values
        The column's values; each must be in a group.
    groups
        Label of each group and its values.
    other
        Label of a group for all values that are in none; without it such
        values are an error.
    source
        What error messages call the tree.
    """
    if not isinstance(groups, Mapping):
        raise HierarchyError(
            f"{source}: expected label = [values, ...], got {type(groups).__name__}"
        )
    for label, members in groups.items():
        if not isinstance(members, (list, tuple)) or not members:
            raise HierarchyError(f"{source}: group {label!r} must be a list of values")
    rows = tree_rows(groups, "*", source)
    rest = sorted(set(values).difference(row[0] for row in rows))
    if rest and other is None:
        raise HierarchyError(f"{source}: {len(rest)} values are in no group: {unknown(rest)}")
    rows += [(value, str(other), "*") for value in rest]
    return Hierarchy._checked(rows, None, source)
