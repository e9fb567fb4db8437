"""The columns of a release, read as far as a question asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.spreadsheet import armed, armed_column
from shoal.encoding.values import Distinct, distinct_values, guess_kind
from shoal.errors import InputError, PolicyError, no_column
from shoal.recipient.apart import Apart
from shoal.recipient.groups import Grouping, exact_grouping, spread_grouping
from shoal.recipient.logic import On
from shoal.recipient.spread import Asked, profiles_of
from shoal.released.about import About
from shoal.released.cells import (
    Anything,
    Cell,
    Label,
    Range,
    Reading,
    infer_reading,
    pair_cell,
    read_cell,
)

__all__ = ["Released"]


class Released:
    """The released table, its columns read when they are asked for."""

    def __init__(self, table: pa.Table, about: About, apart: Apart | None = None) -> None:
        self.table = table
        self.about = about
        self.apart = apart
        """Sensitive values by group, of a release in two tables."""
        self.notes: list[str] = []

    def names(self) -> list[str]:
        """What can be asked for."""
        return [*self.about.names(), *([self.apart.name] if self.apart is not None else [])]

    def resolve(self, name: str) -> str:
        """The release's own name of a column; case matters only where it has to."""
        names = self.names()
        if name in names:
            return name
        like = [known for known in names if known.lower() == name.lower()]
        if len(like) == 1:
            return like[0]
        told = no_column(name, names, self.about.declared(), "the release")
        raise PolicyError(f"query: {told}")

    def judged(self, name: str, parts: Sequence[On]) -> tuple[NDArray[np.int32], Any]:
        """Which distinct cell each record has in a column, and the cells' profiles."""
        codes, cells, reading = self.cells(name)
        profiles = profiles_of(name, reading, cells, [p for p in parts if p.column == name])
        self._remark(name, cells, reading)
        return codes, profiles

    def grouped(self, name: str, parts: Sequence[On]) -> Grouping:
        """A column to group by."""
        own = [part for part in parts if part.column == name]
        known = name in self.table.column_names
        if known and not own and self.about.generalised(name) is False:
            return exact_grouping(self._shown(name))
        codes, cells, reading = self.cells(name)
        if not reading.generalised and known:
            asked = Asked(name, reading, cells, own)
            return exact_grouping(self._shown(name), asked)
        grouping = spread_grouping(name, codes, cells, reading, own)
        self._remark(name, cells, reading)
        if any(isinstance(cell, Anything) for cell in cells) and reading.tree is None:
            self.notes.append(f"{name}: what occurs in suppressed cells only is in no group")
        return grouping

    def numbers(self, name: str) -> tuple[NDArray[np.int32], pa.Array, bool] | None:
        """Of a column of numbers that is published as it is: which of its distinct numbers each
        record has, these numbers, and whether the last number is a missing value's.

        None for all other columns: `cells` reads them.
        """
        if self.about.generalised(name) is not False or self.about.notation(name) is not None:
            return None
        if name not in self.table.column_names:
            return None
        distinct = self._distinct(name)
        kind = self.about.kind(name) or guess_kind(distinct.values)[0]
        if kind != "numeric":
            return None
        try:
            values = distinct.values.cast(pa.float64())
        except pa.ArrowInvalid:  # larger than floats are, or written in another way
            return None
        return (
            _from_zero(distinct, len(values) + distinct.has_missing),
            values,
            distinct.has_missing,
        )

    def cells(self, name: str) -> tuple[NDArray[np.int32], list[Cell], Reading]:
        """Which distinct cell each record has, what each may stand for, and how it was read."""
        if self.apart is not None and name == self.apart.name:
            return self.apart.codes, list(self.apart.cells), self.apart.reading
        pair = self.about.pair(name)
        if pair is not None:
            return self._paired(name, pair)
        distinct = self._distinct(name)
        texts = _texts(distinct, self.about.csv_safe)
        reading = self._reading(name, distinct, texts)
        cells = [read_cell(text, reading, name) for text in texts]
        return _from_zero(distinct, len(texts)), cells, reading

    def _paired(
        self, name: str, pair: tuple[str, str]
    ) -> tuple[NDArray[np.int32], list[Cell], Reading]:
        """Cells of the bounds layout: one for each distinct pair of bounds."""
        low, high = (self._distinct(part) for part in pair)
        lows, highs = (_texts(part, False) for part in (low, high))
        keys = [(_from_zero(low, len(lows)), len(lows)), (_from_zero(high, len(highs)), len(highs))]
        ids, pairs = class_ids(keys, self.table.num_rows)
        first = first_of_each(ids, pairs)
        stars = self.about.has_stars
        cells = [pair_cell(lows[keys[0][0][r]], highs[keys[1][0][r]], stars) for r in first]
        notation = self.about.notation(name)
        guess = guess_kind(replace(low, notation=notation).parsed)[0]
        reading = self.about.reading(name, Reading(guess, True))
        if reading.kind not in {"numeric", "date"}:
            raise InputError(f"column {name!r}: bounds of {reading.kind} values; is it damaged?")
        return ids.astype(np.int32), cells, reading

    def _reading(self, name: str, distinct: Distinct, texts: Sequence[str | None]) -> Reading:
        """How to read a column: as declared, or by its looks."""
        declared, generalised = self.about.kind(name), self.about.generalised(name)
        kind = distinct.values.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if declared is not None and generalised is not None:
            guess = Reading(declared, generalised)
        elif is_text and generalised is not False:
            guess = infer_reading(texts, self.about.notation(name), name)
            guess = guess._replace(generalised=generalised or guess.generalised)
        else:  # typed columns are what their type says
            guess = Reading(guess_kind(distinct.values)[0], bool(generalised))
        return self.about.reading(name, guess)

    def _shown(self, name: str) -> Distinct:
        """The distinct values as they were before they were made safe for spreadsheets."""
        distinct = self._distinct(name)
        return (
            replace(distinct, values=armed_column(distinct.values))
            if self.about.csv_safe
            else distinct
        )

    def _distinct(self, name: str) -> Distinct:
        return distinct_values(self.table.column(name), self.about.missing)

    def _remark(self, name: str, cells: Sequence[Cell], reading: Reading) -> None:
        """What the user could give for a sharper answer."""
        if any(isinstance(cell, Label) for cell in cells):
            self.notes.append(
                f"{name}: generalised along a hierarchy that is not at hand; "
                f"give --hierarchy {name}=FILE for a sharper answer"
            )
        if reading.hidden_order and any(isinstance(cell, Range) for cell in cells):
            self.notes.append(f"{name}: its declared order is not at hand; give --policy")
        if cells and all(isinstance(cell, Anything) for cell in cells):
            self.notes.append(f"{name}: suppressed in every record; the expected count is a guess")


def _texts(distinct: Distinct, csv_safe: bool) -> list[str | None]:
    """Distinct texts as they were before the release was made safe for spreadsheets."""
    texts: list[str | None] = [*distinct.texts()]
    if csv_safe:
        texts = [None if text is None else armed(text) for text in texts]
    return [*texts, None] if distinct.has_missing else texts


def _from_zero(distinct: Distinct, size: int) -> NDArray[np.int32]:
    """Codes with a missing value as the last one, in place of -1."""
    codes = distinct.codes
    return np.where(codes < 0, np.int32(size - 1), codes) if distinct.has_missing else codes
