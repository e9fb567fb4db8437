"""Questions to a release: the expected count, and bounds that hold whatever is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from shoal.errors import PolicyError
from shoal.io.frames import from_arrow
from shoal.policy import Policy
from shoal.quantities import seconds_of
from shoal.recipient.counts import Counts
from shoal.recipient.deadline import Deadline
from shoal.recipient.opening import open_release
from shoal.recipient.questions import Question, Row
from shoal.recipient.sql import parse_query

__all__ = ["Answer", "query"]

TIME = 60
"""Seconds that a query may take unless it is given more."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A count, sum, average or quantile, as far as a release tells."""

    expected: float | None
    """Of a count: the sum of the records' probabilities to satisfy the condition, hidden values
    being equally likely. None where no record can satisfy it, and nothing is counted."""
    lower: float | None
    """Of a count: records that satisfy it for certain. ``-inf`` where nothing bounds it."""
    upper: float | None
    """Of a count: records that can satisfy it. ``inf`` where nothing bounds it."""
    records: int
    groups: Any = None
    """With GROUP BY: one row a group, as the kind of table that was asked."""
    notes: tuple[str, ...] = ()
    """What would make the answer sharper, or what it rests on."""
    rows: tuple[dict[str, Any], ...] = ()
    """The groups as plain dictionaries."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {"expected": self.expected, "lower": self.lower, "upper": self.upper}
        answer = {**_for_json(numbers), "records": self.records}
        groups = {} if self.groups is None else {"groups": [_for_json(row) for row in self.rows]}
        return {**answer, **groups, "notes": list(self.notes)}

    def __repr__(self) -> str:
        if self.expected is None and self.lower is None:
            return f"nothing to go by in {self.records:,} records"
        counted = isinstance(self.lower, int)
        shown = "unknown" if self.expected is None else shown_number(self.expected, counted)
        return f"expected {shown} ({self._bounds()}) of {self.records:,} records"

    def _bounds(self) -> str:
        ends = [end for end in (self.lower, self.upper) if end is not None and isfinite(end)]
        if len(ends) == 2:
            return f"between {shown_number(ends[0])} and {shown_number(ends[1])}"
        if not ends:
            return "without bounds"
        return f"{'at least' if ends[0] == self.lower else 'at most'} {shown_number(ends[0])}"


def shown_number(value: float, counted: bool = False) -> str:
    """A number with as many decimals as tell something; of records one is enough."""
    if isinstance(value, int) or value.is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if counted or abs(value) >= 10 else f"{value:,.3g}"


def _for_json(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: what nothing bounds is null."""
    return {name: None if isinstance(value, float) and not isfinite(value) else value
            for name, value in row.items()}  # fmt: skip


def query(
    release: Any, sql: str, *, manifest: str | Path | None = None,
    policy: Policy | str | Path | None = None, sensitive_table: Any = None,
    time: float | str = TIME, **settings: Any,
) -> Answer:  # fmt: skip
    """Count the records of a release that satisfy a condition, or sum up what they have.

    Parameters
    ----------
    release
        A `Release`, the name of a released file, or a table as `anonymize` takes it.
    sql
        ``SELECT count(*) FROM release WHERE ...``, with ``GROUP BY`` if you like, or, in place
        of ``count(*)``, ``sum``, ``avg``, ``median``, ``quantile_cont`` or ``quantile_disc`` of
        a column of numbers. The table's name does not matter.
    manifest
        The manifest's file name; beside the release if not given. Without one
        the kinds of the columns are guessed from their cells.
    policy
        The policy of the release, if at hand: it has the hierarchies and orders
        that the manifest keeps to itself.
    sensitive_table
        The second table of a release in two tables (method anatomy); a
        manifest names the file of it.
    time
        Seconds, or ``"2m"``, after which `TimeLimitError` is raised.
    **settings
        Or just those, by name: ``qi``, ``kind``, ``order``, ``hierarchy``, ``missing``.

    Returns
    -------
    Answer
        The expected number, ``lower`` and ``upper`` bound.

    Examples
    --------
    >>> import shoal
    >>> from shoal.recipient import query
    >>> release = shoal.anonymize(shoal.datasets.hospital(), qi=["age", "gender", "education"],
    ...                           identifier="name", sensitive="disease", k=2)
    >>> query(release, "SELECT count(*) FROM release WHERE disease = 'HIV'")
    expected 2 (between 2 and 2) of 10 records
    """
    deadline = _deadline(time)
    opened = open_release(release, manifest, policy, sensitive_table, settings, asked_by="query")
    released = opened.released
    deadline.check()
    connection = duckdb.connect(config={"enable_external_access": "false"})
    try:
        asked = parse_query(sql, connection, released.resolve, deadline)
        question = Question(released, asked, connection, deadline)
        whole = question.whole()
        rows = question.by_group() if asked.groups else []
    finally:
        connection.close()
    records, notes = released.table.num_rows, (*opened.notes, *dict.fromkeys(released.notes))
    if None not in (whole.lower, whole.upper) and not (
        isfinite(whole.lower or 0) and isfinite(whole.upper or 0)
    ):
        column = asked.aggregate.column
        notes += (f"{column}: what suppressed cells hide has no bounds; a condition such as "
                  f"{column} BETWEEN 0 AND 120 gives some",)  # fmt: skip
    answer = Answer(_within(whole), whole.lower, whole.upper, records, notes=notes)
    if not asked.groups:
        return answer
    return _grouped(answer, rows, asked.groups, question.values, opened.kind)


def _deadline(time: float | str) -> Deadline:
    try:
        return Deadline(seconds_of(time))
    except ValueError as error:
        raise PolicyError(f"time: {error}") from None


def _within(row: Row) -> float | None:
    """The expected number without what rounding put beyond its bounds."""
    if row.expected is None or row.lower is None or row.upper is None:
        return row.expected
    return min(max(row.expected, float(row.lower)), float(row.upper))


def _counts(row: Row) -> bool:
    """Whether any record can be in a group."""
    return row.upper > 0 if isinstance(row, Counts) else row.upper is not None


def _grouped(
    whole: Answer,
    rows: Sequence[Row],
    names: Sequence[str],
    values: Sequence[pa.Array],
    kind: str,
) -> Answer:
    """An answer by groups, those left out that no record can be in."""
    rows = sorted((row for row in rows if _counts(row)), key=lambda row: row.codes)
    columns: dict[str, Any] = {}
    for i, (name, groups) in enumerate(zip(names, values, strict=True)):
        columns[name] = groups.take(pa.array([row.codes[i] for row in rows], pa.int32()))
    numbers = ("expected", "lower", "upper")
    for name in numbers:
        if name in columns:
            raise PolicyError(f"query: cannot group by a column of the name {name!r}; rename it")
    columns["expected"] = pa.array([_within(row) for row in rows], pa.float64())
    kind_of_bound = pa.int64() if all(isinstance(row, Counts) for row in rows) else pa.float64()
    columns["lower"] = pa.array([row.lower for row in rows], kind_of_bound)
    columns["upper"] = pa.array([row.upper for row in rows], kind_of_bound)
    table = pa.table(columns)
    return replace(whole, groups=from_arrow(table, kind), rows=tuple(table.to_pylist()))
