"""How a released value spreads over what a query distinguishes.

The values a query compares a column with cut its line into regions: below the
first, the first itself, between the first and the second, and so on, and one
region for a missing value. All values of a region look the same to the query.
A cell has, for each region, a share (how much of it lies there, if every value
that it covers is equally likely) and a possibility (whether any of it can).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.recipient.logic import ENTANGLED, And, Expression, Not, On, Or, Truth, distinct_tests
from shoal.released.cells import Anything, Cell, Label, Range, Reading, Values
from shoal.released.conditions import Test
from shoal.released.lines import Key, Line, RankLine, line_of

__all__ = ["Asked", "Profiles", "profiles_of"]

Floats = NDArray[np.float64]
Outcomes = NDArray[np.int8]
TRUTH: dict[int, Truth] = {1: True, -1: False, 0: None}
MOST_OUTCOMES = 50_000_000
"""Parts of a condition times regions: beyond it nobody meant the query."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """What a query can learn from each distinct cell of a column."""

    signatures: list[dict[On, Truth]]
    """Ways in which the column's parts of the condition can come out together."""
    shares: NDArray[np.float64]
    """Cell by signature: the probability that they come out so."""
    possible: NDArray[np.bool_]
    """Cell by signature: whether they can."""


@dataclass(frozen=True)
class _Domain:
    """What a column's values can be, as far as the release tells."""

    values: list[Key]
    """In order: values seen, or all of a tree or declared order."""
    missing: bool
    """A missing value is one of those that a star covers."""
    closed: bool
    """No other values can exist."""
    measured: bool
    """Intervals cover everything between their ends."""
    whole: bool
    """Measured in steps of one: all that was seen are whole numbers, or days without times."""

    def share_of_missing(self) -> float:
        """How much of a star is a missing value: one value among those of the domain.

        Where nothing is known, all: such a cell then adds to no other count.
        """
        if not self.values:
            return 1.0
        if not self.missing:
            return 0.0
        low, high = self.values[0], self.values[-1]
        covered: float = len(self.values)
        if self.measured and low < high:
            covered = float(high - low) + 1 if self.whole else math.inf
        return 1 / (covered + 1)


class _Regions:
    """Regions of a line: 2i+1 is the i-th cut itself, 2i lies below it, the last is missing.

    Regions that all tests of the query see alike share a signature.
    """

    def __init__(self, parts: Sequence[On], tests: Sequence[Test], line: Line) -> None:
        places = {test: _places(test, line) for test in tests}
        self.cuts = sorted({place for keys in places.values() for place in keys})
        self.missing = 2 * len(self.cuts) + 1
        if len(parts) * (self.missing + 1) > MOST_OUTCOMES:
            raise PolicyError(ENTANGLED)
        at = {test: [self.of(key) for key in keys] for test, keys in places.items()}
        outcomes = np.zeros((self.missing + 1, len(parts)), dtype=np.int8)
        for i, part in enumerate(parts):
            outcomes[:, i] = self._outcome(part.condition, at)
        numbers: dict[bytes, int] = {}
        self.signature = [numbers.setdefault(row.tobytes(), len(numbers)) for row in outcomes]
        if len(parts) * len(numbers) > MOST_OUTCOMES // 10:
            raise PolicyError(ENTANGLED)
        ways = (np.frombuffer(row, np.int8).tolist() for row in numbers)
        self.signatures = [
            {part: TRUTH[truth] for part, truth in zip(parts, way, strict=True)} for way in ways
        ]

    def _outcome(self, condition: Expression, at: Mapping[Test, list[int]]) -> Outcomes:
        """How a condition on the column comes out in every region: 1 true, -1 false, 0 unknown."""
        if isinstance(condition, Test):
            return self._outcome_of_test(condition, at[condition])
        if isinstance(condition, Not):
            return -self._outcome(condition.part, at)
        if not isinstance(condition, And | Or):
            constant = {True: 1, False: -1, None: 0}[cast("Truth", condition)]
            return np.full(self.missing + 1, constant, dtype=np.int8)
        worse = np.minimum if isinstance(condition, And) else np.maximum
        found = np.full(self.missing + 1, 1 if worse is np.minimum else -1, dtype=np.int8)
        for part in condition.parts:
            worse(found, self._outcome(part, at), out=found)
        return found

    def _outcome_of_test(self, test: Test, positions: list[int]) -> Outcomes:
        truths = np.full(self.missing + 1, -1, dtype=np.int8)
        truths[self.missing] = 1 if test.op == "null" else 0
        if test.op == "in":
            truths[positions] = 1
        elif test.op != "null":
            (position,) = positions
            truths[: position + (test.op == "<=")] = 1
        return truths

    def of(self, key: Key) -> int:
        """The region of a value."""
        i = bisect_left(self.cuts, key)
        return 2 * i + (i < len(self.cuts) and self.cuts[i] == key)

    def spread(
        self, lows: Sequence[Key], highs: Sequence[Key], whole: bool
    ) -> Iterator[tuple[int, Floats]]:
        """Of many measured intervals the share that lies in each region."""
        origin = min(lows)  # exact differences: far from zero floats skip whole numbers
        low, high = (np.array([float(key - origin) for key in keys]) for keys in (lows, highs))
        cuts = [_from(origin, cut) for cut in self.cuts]
        total = high - low + (1 if whole else 0)
        for region in range(self.missing):
            below, above = self._ends(region, cuts)
            if whole:
                first = np.maximum(low, _floor(below) + 1)
                last = np.minimum(high, -_floor(-above) - 1)
                measure = np.maximum(last - first + 1, 0)
            else:
                measure = np.maximum(np.minimum(high, above) - np.maximum(low, below), 0)
            if region % 2:  # a single point
                inside = (low <= below) & (below <= high) & whole & (below == _floor(below))
                measure = inside.astype(np.float64)
            yield region, measure / total

    def _ends(self, region: int, cuts: Sequence[float]) -> tuple[float, float]:
        """The cuts around an open region; twice the cut that is a region itself."""
        i = region // 2
        if region % 2:
            return cuts[i], cuts[i]
        below = cuts[i - 1] if i > 0 else -math.inf
        return below, cuts[i] if i < len(cuts) else math.inf


def _from(origin: Key, key: Key) -> float:
    """How far a key is from another, however far that is."""
    try:
        return float(key - origin)
    except OverflowError:
        return math.inf if key > origin else -math.inf


def _floor(value: float) -> float:
    return math.floor(value) if math.isfinite(value) else value


class Asked:
    """A column under the conditions of a query: its cells, line, domain and regions."""

    def __init__(
        self, column: str, reading: Reading, cells: Sequence[Cell], parts: Sequence[On]
    ) -> None:
        tests = [test for part in parts for test in distinct_tests(part.condition)]
        asked = {value.text for test in tests for value in test.values}
        self.cells = [_read_as_asked(cell, asked, reading) for cell in cells]
        self.texts = _mentioned(self.cells, reading)
        self.line = line_of(column, reading, tests, self.texts)
        self.regions = _Regions(parts, list(dict.fromkeys(tests)), self.line)
        self.reading = reading

    @cached_property
    def domain(self) -> _Domain:
        """What the column's values can be; not every question asks."""
        return _domain(self.cells, self.texts, self.reading, self.line)


def profiles_of(
    column: str, reading: Reading, cells: Sequence[Cell], parts: Sequence[On]
) -> Profiles:
    """Profiles of a column's distinct cells under the conditions of a query on it."""
    asked = Asked(column, reading, cells, parts)
    cells, line = asked.cells, asked.line
    sheet = _Sheet(len(cells), asked.regions, asked.domain)
    sheet.put_values(
        [
            (row, None if text is None else line.key(text), 1 / len(cell.texts))
            for row, cell in enumerate(cells)
            if isinstance(cell, Values)
            for text in cell.texts
        ]
    )
    sheet.put_ranges(
        [
            (row, *sorted((line.key(cell.low), line.key(cell.high))))
            for row, cell in enumerate(cells)
            if isinstance(cell, Range)
        ]
    )
    sheet.put_stars([row for row, cell in enumerate(cells) if isinstance(cell, Anything)])
    return sheet.profiles()


class _Sheet:
    """Profiles in the making, one row a cell."""

    def __init__(self, rows: int, regions: _Regions, domain: _Domain) -> None:
        self.regions = regions
        self.domain = domain
        self.shares = np.zeros((rows, len(regions.signatures)))
        self.possible = np.zeros(self.shares.shape, dtype=bool)

    def put_values(self, entries: Sequence[tuple[int, Key | None, float]]) -> None:
        """Values with their shares; None is missing."""
        if not entries:
            return
        signature, missing = self.regions.signature, self.regions.missing
        rows, keys, shares = zip(*entries, strict=True)
        columns = [signature[missing if key is None else self.regions.of(key)] for key in keys]
        np.add.at(self.shares, (list(rows), columns), shares)
        self.possible[list(rows), columns] = True

    def put_ranges(self, entries: Sequence[tuple[int, Key, Key]]) -> None:
        """Intervals: whatever lies between is possible, likely is what the domain has there."""
        if not entries:
            return
        rows = np.array([row for row, _, _ in entries])
        # Places are found exactly, with numbers of any size; only shares are rounded.
        first = np.array([self.regions.of(low) for _, low, _ in entries])
        last = np.array([self.regions.of(high) for _, _, high in entries])
        signature = np.array(self.regions.signature[: self.regions.missing])
        real = np.ones(len(signature), dtype=bool)
        if self.domain.closed:  # there is nothing between two ranks
            real[:] = False
            real[[self.regions.of(value) for value in self.domain.values]] = True
        for number in np.unique(signature):
            before = np.concatenate([[0], np.cumsum(real & (signature == number))])
            self.possible[rows, number] |= before[last + 1] > before[first]
        for row, low, high in entries:
            if low == high or not self.domain.measured:
                self._add(row, low, high, 1.0)
        if self.domain.measured:
            wide = [(row, low, high) for row, low, high in entries if low < high]
            self._add_measured(wide, 1.0)

    def put_stars(self, rows: Sequence[int]) -> None:
        """Suppressed cells: all of the domain, and a missing value."""
        if not rows:
            return
        signature, missing = self.regions.signature, self.regions.missing
        values = self.domain.values
        reach: Iterable[int] = range(missing)
        if self.domain.closed:
            reach = {self.regions.of(value) for value in values}
        row = rows[0]
        for region in (*reach, missing):
            self.possible[row, signature[region]] = True
        absent = self.domain.share_of_missing()
        self.shares[row, signature[missing]] += absent
        if values and self.domain.measured and values[0] < values[-1]:
            self._add_measured([(row, values[0], values[-1])], 1 - absent)
        elif values:
            self._add(row, values[0], values[-1], 1 - absent)
        self.shares[rows], self.possible[rows] = self.shares[row], self.possible[row]

    def _add(self, row: int, low: Key, high: Key, weight: float) -> None:
        """The values seen between two, each alike."""
        values = self.domain.values
        inside = values[bisect_left(values, low) : bisect_right(values, high)]
        for value in inside:
            column = self.regions.signature[self.regions.of(value)]
            self.shares[row, column] += weight / len(inside)

    def _add_measured(self, entries: Sequence[tuple[int, Key, Key]], weight: float) -> None:
        rows = np.array([row for row, _, _ in entries], dtype=np.int64)
        if not entries:
            return
        lows, highs = [low for _, low, _ in entries], [high for _, _, high in entries]
        for region, share in self.regions.spread(lows, highs, self.domain.whole):
            self.shares[rows, self.regions.signature[region]] += weight * share

    def profiles(self) -> Profiles:
        """What came of it, without signatures that no cell can have."""
        used = np.flatnonzero(self.possible.any(axis=0))
        return Profiles(
            signatures=[self.regions.signatures[i] for i in used],
            shares=np.where(self.possible, self.shares, 0.0)[:, used],
            possible=self.possible[:, used],
        )


def _read_as_asked(cell: Cell, asked: set[str], reading: Reading) -> Cell:
    """A label without its tree is that value if the query asks for it, else anything."""
    if isinstance(cell, Label):
        return Values((cell.text,)) if cell.text in asked else Anything()
    if isinstance(cell, Range) and reading.hidden_order:
        return Anything()
    return cell


def _mentioned(cells: Sequence[Cell], reading: Reading) -> set[str]:
    """Values that the cells name."""
    texts: set[str] = set(reading.tree.leaves) if reading.tree is not None else set()
    for cell in cells:
        if isinstance(cell, Values):
            texts.update(text for text in cell.texts if text is not None)
        elif isinstance(cell, Range):
            texts.update((cell.low, cell.high))
    return texts


def _domain(cells: Sequence[Cell], texts: Collection[str], reading: Reading, line: Line) -> _Domain:
    if isinstance(line, RankLine):
        values: list[Key] = list(range(len(line.order)))
    else:
        values = sorted({line.key(text) for text in texts})
    shown = any(isinstance(cell, Values) and None in cell.texts for cell in cells)
    return _Domain(
        values=values,
        # Numbers, dates and ordinals become a star only where a missing value is among them.
        missing=shown or reading.kind != "categorical",
        closed=reading.tree is not None or isinstance(line, RankLine),
        measured=line.measured,
        whole=line.measured and all(value == _floor(value) for value in values),
    )


def _places(test: Test, line: Line) -> tuple[Key, ...]:
    """Where the values of a test stand; what is not in a declared order is equal to nothing."""
    if isinstance(line, RankLine) and test.op == "in":
        return tuple(line.order[v.text] for v in test.values if v.text in line.order)
    return tuple(line.constant(value) for value in test.values)
