"""Released cells and the values of another table on one scale: who can be in which class.

A cell of a release covers values: an interval those between its ends, a node its leaves, a
star all. Whoever's values are all covered by the cells of a class can be in it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.values import distinct_values
from shoal.errors import InputError, PolicyError, no_column
from shoal.joining.sources import Source
from shoal.kernels.boxes import Boxes, Points, add_overlapping, new_tree
from shoal.kernels.risks.containment import build_tree, count_within
from shoal.recipient.columns import Released
from shoal.released.cells import Anything, Cell, Label, Range, Reading, Values
from shoal.released.lines import Line, line_of

__all__ = ["Places", "placed", "placed_columns"]

Runs = list[tuple[int, int]]
ABSENT, NONE = -1, -2
"""An end of an interval that nobody has, and a cell that is no interval."""


@dataclass(frozen=True, eq=False)
class Places:
    """The distinct rows of a table as points, and the classes of a release as boxes."""

    points: Points
    point_of: NDArray[np.int64]
    """The point of each record of the other table."""
    boxes: Boxes
    """One a class of the release."""
    ends: NDArray[np.int32]
    """Codes of the ends of each cell that is an interval: `ABSENT` if nobody has the value;
    `NONE` for other cells. Cells are numbered as in ``boxes.rows``."""

    @property
    def classes(self) -> int:
        return len(self.boxes.rows)

    def people(self, weights: NDArray[Any] | None = None) -> NDArray[Any]:
        """How many records of the table lie in each class's box, or the sum of their weights."""
        return self._counted(self.boxes, weights)

    def at_end(self, attribute: int, end: int) -> NDArray[np.int64]:
        """How many of each class's people have the least (end 0) or largest (1) value there.

        Only of classes that publish an interval of that attribute, in their order.
        """
        codes = self.ends[self.boxes.rows[:, attribute], end]
        chosen = np.flatnonzero(codes != NONE)
        return self.at_value(attribute, chosen, codes[chosen])

    def at_value(
        self, attribute: int, chosen: NDArray[np.int64], codes: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """How many people of each of these classes have this value (`ABSENT`: nobody has)."""
        runs = len(self.boxes.first)
        added = np.where(codes == ABSENT, 0, 1)
        rows = self.boxes.rows[chosen].copy()
        rows[:, attribute] = len(self.boxes.run_starts) - 1 + np.arange(len(chosen))
        starts = np.concatenate([self.boxes.run_starts, runs + np.cumsum(added)])
        spots = codes[codes != ABSENT].astype(np.int32)
        boxes = self.boxes._replace(
            rows=rows,
            share=np.zeros(len(chosen)),
            starts=np.array([0, len(chosen)], dtype=np.int64),
            run_starts=starts.astype(np.int64),
            first=np.concatenate([self.boxes.first, spots]),
            last=np.concatenate([self.boxes.last, spots]),
        )
        return np.asarray(self._counted(boxes, None))

    @property
    def codes(self) -> NDArray[np.int32]:
        """Places of each record's values on the scales, one column an attribute."""
        return self.points.codes[self.point_of]

    def drawn(self, classes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
        """For each of these classes a value of every attribute that its cells cover.

        All that the table has are as likely; `ABSENT` where it has none.
        """
        lengths = (self.boxes.last - self.boxes.first + 1).astype(np.int64)
        before = np.concatenate([[0], np.cumsum(lengths)])
        cells = self.boxes.rows[classes]
        begin = before[self.boxes.run_starts[cells]]
        many = before[self.boxes.run_starts[cells + 1]] - begin
        spot = begin + rng.integers(0, np.maximum(many, 1))
        run = np.minimum(np.searchsorted(before, spot, side="right") - 1, len(lengths) - 1)
        return np.where(many > 0, self.boxes.first[run] + (spot - before[run]), ABSENT)

    def ordered(self) -> NDArray[np.bool_]:
        """Which attributes have intervals: their values are in an order that means something."""
        is_interval = self.ends[:, 0] != NONE
        return np.asarray(is_interval[self.boxes.rows].any(axis=0))

    def within(self, records: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these records can be in the class beside it."""
        points, fits = self.codes[records], np.ones(len(records), dtype=bool)
        starts = self.boxes.run_starts
        for attribute in range(points.shape[1]):
            cell, value = self.boxes.rows[classes, attribute], points[:, attribute]
            covered = np.zeros(len(records), dtype=bool)
            for run in range(int(np.diff(starts).max(initial=0))):
                spot = starts[cell] + run
                there = spot < starts[cell + 1]
                spot = np.where(there, spot, 0)
                low, high = self.boxes.first[spot], self.boxes.last[spot]
                covered |= there & (low <= value) & (value <= high)
            fits &= covered
        return fits

    def _counted(self, boxes: Boxes, weights: NDArray[Any] | None) -> NDArray[Any]:
        count = len(self.points.codes)
        if weights is None:
            weight = np.bincount(self.point_of, minlength=count).astype(np.int64)
        else:
            weight = np.bincount(self.point_of, weights, minlength=count)
        counts = np.zeros(len(boxes.rows), dtype=weight.dtype)
        if count and len(boxes.rows):
            tree = new_tree(self.points)
            build_tree(tree, self.points)
            before = np.concatenate([np.zeros(1, weight.dtype), np.cumsum(weight[tree.order])])
            count_within(tree, self.points, weight, before, boxes, 0, len(boxes.rows), counts)
        return counts

    def candidates(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each record of the table the sum of the shares of the classes that it can be in."""
        count = len(self.points.codes)
        expected = np.zeros(count)
        if count and self.classes:
            starts = np.array([0, self.classes], dtype=np.int64)
            boxes = self.boxes._replace(share=shares.astype(np.float64), starts=starts)
            values = np.zeros(1, dtype=np.int64)
            add_overlapping(values, new_tree(self.points), self.points, boxes, expected)
        return np.asarray(expected[self.point_of])


def placed(
    source: Source, ids: NDArray[np.int64], classes: int, table: pa.Table, names: Sequence[str]
) -> Places:
    """Put the classes of a release and the records of a table on one scale.

    Parameters
    ----------
    source
        The release and what is known of its cells.
    ids, classes
        Class of each of its records, and how many there are.
    table
        The other table, with values as they are.
    names
        Attributes to compare.
    """
    for name in names:
        if name not in table.column_names:
            raise InputError(no_column(name, table.column_names, (), "the table"))
    known = [(name, table.column(name)) for name in names]
    return placed_columns(source, ids, classes, known, table.num_rows)


def placed_columns(
    source: Source,
    ids: NDArray[np.int64],
    classes: int,
    known: Sequence[tuple[str, pa.ChunkedArray]],
    records: int,
) -> Places:
    """The same for columns that are given, each with the attribute that it is compared with.

    An attribute may be there twice: a class must then cover both values.
    """
    released = Released(source.table, source.about)
    first = first_of_each(ids, classes)
    codes, rows, runs, ends = [], [], list[Runs](), list[tuple[int, int]]()
    for name, column in known:
        own, cells, reading = released.cells(name)
        theirs, covered, outermost = _on_one_scale(name, cells, reading, column, source)
        codes.append(theirs)
        rows.append(own[first].astype(np.int64) + len(runs))
        runs += covered
        ends += outermost
    stacked = np.stack(codes, axis=1) if codes else np.zeros((records, 0), dtype=np.int32)
    keys = [(column, int(column.max(initial=0)) + 1) for column in codes]
    point_of, count = class_ids(keys, records)
    spots = stacked[first_of_each(point_of, count)]
    points = Points(np.ascontiguousarray(spots), np.array([0, count], dtype=np.int64))
    outer = np.array(ends, dtype=np.int32).reshape(-1, 2)
    return Places(points, point_of, _boxes(rows, runs, classes), outer)


def _boxes(rows: Sequence[NDArray[np.int64]], runs: Sequence[Runs], classes: int) -> Boxes:
    flat = [run for cell in runs for run in cell]
    table = np.array(flat, dtype=np.int32).reshape(-1, 2)
    widths = [len(cell) for cell in runs]
    stacked = np.stack(rows, axis=1) if rows else np.zeros((classes, 0), dtype=np.int64)
    return Boxes(
        rows=np.ascontiguousarray(stacked),
        share=np.zeros(classes),
        starts=np.array([0, classes], dtype=np.int64),
        run_starts=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        first=table[:, 0].copy(),
        last=table[:, 1].copy(),
    )


def _on_one_scale(
    name: str, cells: Sequence[Cell], reading: Reading, column: pa.ChunkedArray, source: Source
) -> tuple[NDArray[np.int32], list[Runs], list[tuple[int, int]]]:
    """Codes of the other table's values in their order; runs of codes and ends of each cell."""
    distinct = distinct_values(column, source.about.missing)
    texts = [str(text) for text in distinct.texts()]
    line = _line(name, reading, cells, texts)
    keys = [line.key(text) for text in texts]
    places = sorted(set(keys))
    rank = {place: i for i, place in enumerate(places)}
    table = np.array([*(rank[key] for key in keys), len(places)], dtype=np.int32)  # -1: missing
    covered = [_covered(name, cell, line, places, rank) for cell in cells]
    return table[distinct.codes], covered, [_ends(cell, line, rank) for cell in cells]


def _ends(cell: Cell, line: Line, rank: dict[Any, int]) -> tuple[int, int]:
    if not isinstance(cell, Range):
        return NONE, NONE
    low, high = (rank.get(line.key(text), ABSENT) for text in (cell.low, cell.high))
    return low, high


def _line(name: str, reading: Reading, cells: Sequence[Cell], texts: Sequence[str]) -> Line:
    if any(isinstance(cell, Label) for cell in cells):
        raise PolicyError(
            f"column {name!r}: generalised along a hierarchy that is not at hand; give the policy "
            f"(--policy), or --hierarchy {name}=FILE"
        )
    if reading.hidden_order and any(isinstance(cell, Range) for cell in cells):
        raise PolicyError(f"column {name!r}: its order is not at hand; give the policy (--policy)")
    here = {t for c in cells if isinstance(c, Values) for t in c.texts if t is not None}
    here |= {end for c in cells if isinstance(c, Range) for end in (c.low, c.high)}
    return line_of(name, reading, (), here.union(texts))


def _covered(
    name: str, cell: Cell, line: Line, places: Sequence[Any], rank: dict[Any, int]
) -> Runs:
    """The runs of codes that a cell covers; none where the table has no such value."""
    if isinstance(cell, Anything):
        return [(0, len(places))]
    if isinstance(cell, Range):
        low = bisect_left(places, line.key(cell.low))
        high = bisect_right(places, line.key(cell.high)) - 1
        return [(low, high)] if low <= high else []
    if isinstance(cell, Label):
        raise PolicyError(f"column {name!r}: a label of a hierarchy that is not at hand")
    found = {
        len(places) if text is None else rank.get(line.key(text), -1) for text in cell.texts
    } - {-1}
    runs: Runs = []
    for code in sorted(found):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs
