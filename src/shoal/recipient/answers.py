"""Questions to a release: the expected count, and bounds that hold whatever is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.values import Distinct, distinct_values, guess_kind
from shoal.errors import InputError, PolicyError, no_column
from shoal.io.frames import from_arrow, to_arrow
from shoal.io.paths import manifest_path
from shoal.io.write import FORMULA_STARTS
from shoal.policy import Policy
from shoal.recipient.counts import Counts, count
from shoal.recipient.logic import distinct_tests
from shoal.recipient.spread import profiles_of
from shoal.recipient.sql import parse_query
from shoal.release import Release
from shoal.released.about import About
from shoal.released.cells import (
    Anything,
    Cell,
    Label,
    Range,
    Reading,
    Values,
    infer_reading,
    pair_cell,
    read_cell,
)
from shoal.released.conditions import Test
from shoal.released.lines import number
from shoal.verification.manifest import load_manifest

__all__ = ["Answer", "query"]

SETTINGS = ("qi", "kind", "order", "hierarchy", "missing")
"""Settings of a policy that help to read a release."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """How many records satisfy a condition, as far as a release tells."""

    expected: float
    """Sum of the records' probabilities to satisfy it, hidden values being equally likely."""
    lower: int
    """Records that satisfy it for certain."""
    upper: int
    """Records that can satisfy it."""
    records: int
    groups: Any = None
    """With GROUP BY: one row a group, as the kind of table that was asked."""
    notes: tuple[str, ...] = ()
    """What would make the answer sharper, or what it rests on."""
    rows: tuple[dict[str, Any], ...] = ()
    """The groups as plain dictionaries."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        answer = {
            "expected": self.expected,
            "lower": self.lower,
            "upper": self.upper,
            "records": self.records,
        }
        groups = {} if self.groups is None else {"groups": list(self.rows)}
        return {**answer, **groups, "notes": list(self.notes)}

    def __repr__(self) -> str:
        shown = f"{self.expected:,.{0 if self.expected.is_integer() else 1}f}"
        bounds = f"between {self.lower:,} and {self.upper:,}"
        return f"expected {shown} ({bounds}) of {self.records:,} records"


def query(
    release: Any, sql: str, *, manifest: str | Path | None = None,
    policy: Policy | str | Path | None = None, **settings: Any,
) -> Answer:  # fmt: skip
    """Count the records of a release that satisfy a condition.

    Parameters
    ----------
    release
        A `Release`, the name of a released file, or a table as `anonymize` takes it.
    sql
        ``SELECT count(*) FROM release WHERE ...``, with ``GROUP BY`` on columns
        that are not generalised if you like. The table's name does not matter.
    manifest
        The manifest's file name; beside the release if not given. Without one
        the kinds of the columns are guessed from their cells.
    policy
        The policy of the release, if at hand: it has the hierarchies and orders
        that the manifest keeps to itself.
    **settings
        Or just those, by name: ``qi``, ``kind``, ``order``, ``hierarchy``, ``missing``.

    Returns
    -------
    Answer
        The expected count, ``lower`` and ``upper`` bound.

    Examples
    --------
    >>> import shoal
    >>> from shoal.recipient import query
    >>> release = shoal.anonymize(shoal.datasets.hospital(), qi=["age", "gender", "education"],
    ...                           identifier="name", sensitive="disease", k=2)
    >>> query(release, "SELECT count(*) FROM release WHERE disease = 'HIV'")
    expected 2 (between 2 and 2) of 10 records
    """
    known, claims, notes = _knowledge(release, manifest, policy, settings)
    source = release.table if isinstance(release, Release) else release
    first = About(known, claims)
    table, kind = to_arrow(source, first.missing)
    if isinstance(release, Release):
        kind = release.kind
    released = Released(table, About(known, claims, tuple(table.column_names)))
    connection = duckdb.connect(config={"enable_external_access": "false"})
    try:
        asked = parse_query(sql, connection, released.resolve)
        tests = distinct_tests(asked.where)
        groups = [released.exact(name) for name in asked.groups]
        columns = [released.judged(name, tests) for name in _columns(tests)]
        values = [group.codes for group in groups]
        rows = count(connection, asked.where, columns, values, table.num_rows)
    finally:
        connection.close()
    notes = (*notes, *released.notes)
    if not groups:
        only = rows[0]
        return Answer(_within(only), only.lower, only.upper, table.num_rows, notes=notes)
    return _grouped(rows, asked.groups, groups, table.num_rows, kind, notes)


def _columns(tests: Sequence[Test]) -> list[str]:
    return list(dict.fromkeys(test.column for test in tests))


def _within(row: Counts) -> float:
    """The expected count without what rounding put beyond its bounds."""
    return min(max(row.expected, float(row.lower)), float(row.upper))


def _grouped(
    rows: Sequence[Counts],
    names: Sequence[str],
    groups: Sequence[Distinct],
    records: int,
    kind: str,
    notes: tuple[str, ...],
) -> Answer:
    """An answer by groups, those left out that no record can be in."""
    rows = [row for row in rows if row.upper > 0]
    columns: dict[str, Any] = {}
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        codes = pa.array([None if row.codes[i] < 0 else row.codes[i] for row in rows], pa.int32())
        columns[name] = group.values.take(codes)
    numbers = ("expected", "lower", "upper")
    for name in numbers:
        if name in columns:
            raise PolicyError(f"query: cannot group by a column of the name {name!r}; rename it")
    columns["expected"] = pa.array([_within(row) for row in rows], pa.float64())
    columns["lower"] = pa.array([row.lower for row in rows], pa.int64())
    columns["upper"] = pa.array([row.upper for row in rows], pa.int64())
    table = pa.table(columns)
    order = [(name, "ascending") for name in names]
    table = table.sort_by(order)
    return Answer(
        expected=float(sum(_within(row) for row in rows)),
        lower=sum(row.lower for row in rows),
        upper=sum(row.upper for row in rows),
        records=records,
        groups=from_arrow(table, kind),
        notes=notes,
        rows=tuple(table.to_pylist()),
    )


def _knowledge(
    release: Any,
    manifest: str | Path | None,
    policy: Policy | str | Path | None,
    settings: dict[str, Any],
) -> tuple[Policy, dict[str, Any] | None, tuple[str, ...]]:
    """Policy, manifest, and a note if there is neither."""
    unknown = [name for name in settings if name not in SETTINGS]
    if unknown:
        raise PolicyError(
            f"query: unknown setting {unknown[0]!r}; expected one of {', '.join(SETTINGS)}"
        )
    if isinstance(policy, str | Path):
        policy = Policy.load(policy)
    if policy is None and isinstance(release, Release):
        policy = release.policy
    given = policy is not None or bool(settings)
    policy = policy.override(**settings) if policy is not None else Policy.parse(**settings)
    if manifest is not None:
        return policy, load_manifest(Path(manifest)), ()
    if isinstance(release, Release):
        return policy, release.manifest, ()
    if isinstance(release, str | Path) and manifest_path(Path(release)).exists():
        return policy, load_manifest(manifest_path(Path(release))), ()
    note = "there is no manifest: what the columns are is guessed from their cells"
    return policy, None, () if given else (note,)


class Released:
    """The released table, its columns read when they are asked for."""

    def __init__(self, table: pa.Table, about: About) -> None:
        self.table = table
        self.about = about
        self.notes: list[str] = []

    def resolve(self, name: str) -> str:
        """The release's own name of a column; case matters only where it has to."""
        names = self.about.names()
        if name in names:
            return name
        like = [known for known in names if known.lower() == name.lower()]
        if len(like) == 1:
            return like[0]
        told = names if self.about.manifest is not None else self.about.policy.qi
        raise PolicyError(f"query: {no_column(name, names, told, 'the release')}")

    def judged(self, name: str, tests: Sequence[Test]) -> tuple[NDArray[np.int32], Any]:
        """Which distinct cell each record has in a column, and the cells' profiles."""
        codes, cells, reading = self.cells(name)
        profiles = profiles_of(name, reading, cells, [t for t in tests if t.column == name])
        self._remark(name, cells, reading)
        return codes, profiles

    def exact(self, name: str) -> Distinct:
        """A column to group by."""
        if self.about.pair(name) is None:
            _, cells, _ = self.cells(name)
            if all(isinstance(cell, Values) and len(cell.texts) == 1 for cell in cells):
                return distinct_values(self.table.column(name), self.about.missing)
        raise PolicyError(
            f"query: GROUP BY {name!r}: its cells are generalised; group by columns that are "
            "published as they are"
        )

    def cells(self, name: str) -> tuple[NDArray[np.int32], list[Cell], Reading]:
        """Which distinct cell each record has, what each may stand for, and how it was read."""
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
        reading = self.about.reading(name, Reading(guess_kind(low.values)[0], True))
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
            guess = infer_reading(texts)
            guess = guess._replace(generalised=generalised or guess.generalised)
        else:  # typed columns are what their type says
            guess = Reading(guess_kind(distinct.values)[0], bool(generalised))
        return self.about.reading(name, guess)

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
        texts = [_armed(text) for text in texts]
    return [*texts, None] if distinct.has_missing else texts


def _armed(text: str | None) -> str | None:
    if text is None or not text.startswith("'"):
        return text
    bare = text[1:]
    return bare if bare.startswith(FORMULA_STARTS) and number(bare) is None else text


def _from_zero(distinct: Distinct, size: int) -> NDArray[np.int32]:
    """Codes with a missing value as the last one, in place of -1."""
    codes = distinct.codes
    return np.where(codes < 0, np.int32(size - 1), codes) if distinct.has_missing else codes
