"""Trees proposed from data: groups of similar values, round intervals, calendar periods.

What comes in are the distinct values of a column with their counts, and for
categories a row of numbers each that says how similar they are. The trees are
a start for a person to edit, so they are kept small: few levels, few children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import log
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchy.builders import dates, intervals, prefixes
from shoal.hierarchy.rows import Row
from shoal.hierarchy.tree import Hierarchy

__all__ = ["tree_of_codes", "tree_of_dates", "tree_of_groups", "tree_of_numbers", "usual_levels"]

T = TypeVar("T")
Floats = NDArray[np.float64]

FAN_OUT = 6
"""At most about so many children of a node, where the number of levels allows."""
NUMERIC_FAN_OUT = 3
"""Fewer for intervals: their bounds are round only where there is room."""
CLUSTERED = 500
"""Values that are clustered; rarer ones join the most similar of them."""
ROOM = 1.75
"""A group may have so many times its share of the values."""
LONGEST_SET = 60
"""Characters of a label that lists all members; longer ones are shortened."""
LONGEST_NAMES = 32
MOST_NAMES = 3
"""A shortened label names so many of the most frequent members, if they are so short."""
SLACK = 0.4
"""How far a bound may move to a rounder number, in intervals."""
CALENDAR = ("month", "quarter", "year", "decade")


def usual_levels(values: int) -> int:
    """Levels of a readable tree over so many values, leaves and root included."""
    return 2 if values <= 3 else 3 if values <= 12 else 4


def _sizes(values: int, levels: int, fan_out: int) -> list[int]:
    """Nodes of each inner level, from fine to coarse; each less than the one before."""
    steps = levels - 1
    even = [round(values ** (i / steps)) for i in range(steps - 1, 0, -1)]
    # A tree with a single inner level would be too coarse under the same limit.
    most = [fan_out ** max(i, 2 if i == steps - 1 else 1) for i in range(steps - 1, 0, -1)]
    wanted = dict.fromkeys(min(pair) for pair in zip(even, most, strict=True))
    return [size for size in wanted if 1 < size < values]


# Categories: groups of values that are alike


def tree_of_groups(
    texts: Sequence[str],
    counts: NDArray[np.int64],
    rows: Floats,
    levels: int,
    source: str = "suggestion",
) -> Hierarchy:
    """Groups of values whose rows are near each other (Ward's clustering), labelled by members.

    Parameters
    ----------
    texts, counts
        The distinct values and how many records have each.
    rows
        One row a value; values whose rows are near each other are alike.
    levels
        Levels of the tree, leaves and root included.
    source
        What error messages call the tree.
    """
    sizes = _sizes(len(texts), levels, FAN_OUT)
    if not sizes:
        return Hierarchy.flat(texts, source)
    by_count = np.lexsort((np.array(texts), -counts))
    core = by_count[:CLUSTERED]
    followers = _followers(core, by_count[CLUSTERED:], rows)
    partitions = _merged(rows[core], followers, sizes)
    return Hierarchy.from_rows(_paths(texts, partitions, _Labels(texts, counts)), source)


def _followers(core: NDArray[np.int64], rest: NDArray[np.int64], rows: Floats) -> list[list[int]]:
    """Each clustered value, with the rarer ones that are most like it."""
    followers = [[int(value)] for value in core]
    for value in rest:
        distances = ((rows[core] - rows[value]) ** 2).sum(axis=1)
        followers[int(np.argmin(distances))].append(int(value))
    return followers


def _merged(rows: Floats, groups: list[list[int]], sizes: Sequence[int]) -> list[list[list[int]]]:
    """Partitions into groups that are alike, one of each size, from fine to coarse.

    Ward's clustering: of all pairs of groups those are merged that add least
    to the squared distances from the centres. No group grows far beyond its
    share of the values; without that limit one of them takes all but a few odd
    ones, and the tree says little.
    """
    values = sum(len(group) for group in groups)
    centres, groups = rows.copy(), [list(group) for group in groups]
    lengths = np.array([len(group) for group in groups], dtype=np.float64)
    costs = np.stack([_merge_costs(centres, lengths, i) for i in range(len(groups))])
    partitions = []
    for size in sizes:
        limit = max(2.0, ROOM * values / size)
        while len(groups) > size:
            allowed = lengths[:, None] + lengths[None, :] <= limit
            open_pairs = np.where(allowed, costs, np.inf)
            if not np.isfinite(open_pairs).any():
                open_pairs = costs
            i, j = sorted(divmod(int(np.argmin(open_pairs)), len(groups)))
            share = lengths[j] / (lengths[i] + lengths[j])
            centres[i] += share * (centres[j] - centres[i])
            lengths[i] += lengths[j]
            groups[i] += groups[j]
            del groups[j]
            centres, lengths = np.delete(centres, j, axis=0), np.delete(lengths, j)
            costs = np.delete(np.delete(costs, j, axis=0), j, axis=1)
            costs[i] = costs[:, i] = _merge_costs(centres, lengths, i)
        partitions.append([list(group) for group in groups])
    return partitions


def _merge_costs(centres: Floats, lengths: Floats, i: int) -> Floats:
    """What merging group i with each other one would add; infinite for itself."""
    squares = ((centres - centres[i]) ** 2).sum(axis=1)
    costs: Floats = squares * lengths * lengths[i] / (lengths + lengths[i])
    costs[i] = np.inf
    return costs


class _Labels:
    """Labels of sets of values: no two sets share one."""

    def __init__(self, texts: Sequence[str], counts: NDArray[np.int64]) -> None:
        self.texts = texts
        self.counts = counts
        self.taken: dict[str, frozenset[int]] = {t: frozenset([v]) for v, t in enumerate(texts)}
        self.taken["*"] = frozenset(range(len(texts)))

    def of(self, members: Sequence[int]) -> str:
        if len(members) == 1 and self.texts[members[0]]:  # only a leaf may be the empty text
            return self.texts[members[0]]
        chosen = frozenset(members)
        plain = label = self._words(members)
        number = 2
        while self.taken.setdefault(label, chosen) != chosen:
            label = f"{plain} ({number})"
            number += 1
        return label

    def _words(self, members: Sequence[int]) -> str:
        listed = "{" + ",".join(_element(t) for t in sorted(self.texts[m] for m in members)) + "}"
        if len(listed) <= LONGEST_SET:
            return listed
        # Not in braces: whoever reads a released {a,b} takes it for the whole set.
        by_count = sorted(members, key=lambda m: (-self.counts[m], self.texts[m]))
        names = [_cut(self.texts[m]) for m in by_count[: min(MOST_NAMES, len(members) - 1)]]
        while len(names) > 1 and len(", ".join(names)) > LONGEST_NAMES:
            names.pop()
        return f"{', '.join(names)} and {len(members) - len(names)} more"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_NAMES else f"{text[: LONGEST_NAMES - 3].rstrip()}..."


def _element(text: str) -> str:
    """A member of a set as releases write it, quoted where it could be misread."""
    if text and not any(mark in text for mark in ',"{}[]'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _paths(
    texts: Sequence[str], partitions: Sequence[Sequence[Sequence[int]]], labels: _Labels
) -> list[Row]:
    paths: list[list[str]] = [[text] for text in texts]
    for groups in partitions:
        for members in groups:
            label = labels.of(members)
            for value in members:
                paths[value].append(label)
    leaves = [value for members in partitions[0] for value in members]
    return [(*paths[value], "*") for value in leaves]


# Numbers: intervals with round bounds


def _decimal(amount: Any) -> Decimal:
    if isinstance(amount, Fraction):  # of a text with more digits than a float has
        return Decimal(amount.numerator) / Decimal(amount.denominator)
    return Decimal(str(amount))


def tree_of_numbers(
    texts: Sequence[str],
    amounts: NDArray[Any],
    counts: NDArray[np.int64],
    levels: int,
    source: str = "suggestion",
) -> Hierarchy:
    """Nested intervals with round bounds, none with far more records and values than others.

    Parameters
    ----------
    texts, amounts, counts
        The distinct values, the number behind each, and how many records have it.
    levels, source
        As in `tree_of_groups`.
    """
    sizes = _sizes(len(texts), levels, NUMERIC_FAN_OUT)
    order = np.argsort(amounts, kind="stable")
    numbers = [_decimal(amounts[i]) for i in order]
    whole = all(number == number.to_integral_value() for number in numbers)
    # Between equal numbers of records (a frequent value would be an interval of its own) and
    # equal numbers of values (few would hold most records).
    weight = np.sqrt(counts[order])
    share = np.cumsum(weight) / weight.sum()
    breaks: list[list[Decimal]] = []
    for size in sizes:
        allowed = breaks[-1] if breaks else None
        inner = _round_bounds(numbers, share, size, whole, allowed)
        if inner:
            outer = (breaks[-1][0], breaks[-1][-1]) if breaks else _ends(numbers, inner, whole)
            breaks.append([outer[0], *inner, outer[1]])
    distinct = [b for i, b in enumerate(breaks) if i == 0 or b != breaks[i - 1]]
    if not distinct:
        return Hierarchy.flat(texts, source)
    bounds: Any = [[format(bound, "f") for bound in level] for level in distinct]
    return intervals(texts, breaks=bounds, source=source)


def _round_bounds(
    numbers: Sequence[Decimal],
    share: Floats,
    size: int,
    whole: bool,
    allowed: Sequence[Decimal] | None,
) -> list[Decimal]:
    """Bounds between `size` intervals: of the numbers near each quantile the roundest."""

    def quantile(part: float) -> Decimal:
        return numbers[min(int(np.searchsorted(share, part)), len(numbers) - 1)]

    found = set()
    for j in range(1, size):
        low, middle, high = (quantile((j + shift) / size) for shift in (-SLACK, 0.0, SLACK))
        if allowed is None:
            found.add(_roundest(low, high, middle, whole))
        elif len(allowed) > 2:
            found.add(_roundest_of(allowed[1:-1], low, high, middle))
    return sorted(bound for bound in found if numbers[0] < bound <= numbers[-1])


def _steps(span: Decimal) -> Iterable[Decimal]:
    """Steps between round numbers, from about ten times `span` down: 1, 2, 5 times powers of 10."""
    power = span.adjusted() + 1
    while True:
        for digit in (5, 2, 1):
            yield Decimal(digit).scaleb(power)
        power -= 1


def _roundest(low: Decimal, high: Decimal, target: Decimal, whole: bool) -> Decimal:
    """The number in low..high with the fewest digits, the nearest to the target of those."""
    if low >= high:
        return target
    if low <= 0 <= high:
        return Decimal(0)
    for step in _steps(high - low):
        if whole and step < 1:
            return target
        nearest = (target / step).to_integral_value() * step
        for bound in (nearest, nearest - step, nearest + step):
            if low <= bound <= high:
                return bound
    raise AssertionError("some step fits between two different numbers")


def _roundest_of(
    bounds: Sequence[Decimal], low: Decimal, high: Decimal, target: Decimal
) -> Decimal:
    """Of the bounds in low..high the roundest, or the nearest one where none is there."""
    near = [bound for bound in bounds if low <= bound <= high]
    if not near:
        return min(bounds, key=lambda bound: abs(bound - target))
    return min(near, key=lambda bound: (-_roundness(bound), abs(bound - target)))


def _roundness(number: Decimal) -> Decimal:
    """The largest of the steps 1, 2, 5 times powers of ten that divides a number."""
    if number == 0:
        return Decimal("Infinity")
    return next(step for step in _steps(abs(number)) if number % step == 0)


def _ends(
    numbers: Sequence[Decimal], inner: Sequence[Decimal], whole: bool
) -> tuple[Decimal, Decimal]:
    """Round bounds just outside of all numbers."""
    first, last = numbers[0], numbers[-1]
    most = (last - first) / 10
    below, above = min((inner[0] - first) / 2, most), min((last - inner[-1]) / 2, most)
    if whole:
        below, above = (width.to_integral_value() for width in (below, above))
    low = _roundest(first - below, first, first, whole)
    high = _roundest(last, last + above, last, whole)
    return low, (high if high > inner[-1] else inner[-1] + 1)


# Dates and codes: periods and prefixes, of which some are chosen


def tree_of_dates(texts: Sequence[str], levels: int, source: str = "suggestion") -> Hierarchy:
    """Calendar periods: of month, quarter, year and decade those that divide best."""
    chosen = _chosen(CALENDAR, lambda level: dates(texts, [level]), len(texts), levels)
    return dates(texts, chosen, source) if chosen else Hierarchy.flat(texts, source)


def tree_of_codes(texts: Sequence[str], levels: int, source: str = "suggestion") -> Hierarchy:
    """Prefixes of codes of one length, such as postcodes."""
    lengths = range(max(map(len, texts)) - 1, 0, -1)
    chosen = _chosen(lengths, lambda keep: prefixes(texts, [keep]), len(texts), levels)
    return prefixes(texts, chosen, source) if chosen else Hierarchy.flat(texts, source)


def _chosen(
    candidates: Iterable[T], tree_of: Callable[[T], Hierarchy], values: int, levels: int
) -> list[T]:
    """For each wanted size of a level the candidate that comes nearest to it."""
    nodes = {c: len(tree_of(c).generalize(1)[0]) for c in candidates}
    useful = {c: count for c, count in nodes.items() if 1 < count < values}
    if not useful:
        return []

    def nearest(size: int) -> T:
        return min(useful, key=lambda candidate: abs(log(useful[candidate] / size)))

    wanted = [nearest(size) for size in _sizes(values, levels, FAN_OUT)]
    by_count = {useful[c]: c for c in wanted}  # two that divide alike would be one level twice
    return [c for c in nodes if c in by_count.values()]
