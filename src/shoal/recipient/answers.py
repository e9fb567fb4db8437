"""Questions to a release: the expected count, and bounds that hold whatever is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from shoal.encoding.spreadsheet import armed_names
from shoal.errors import InputError, PolicyError
from shoal.io.frames import from_arrow, to_arrow
from shoal.io.paths import manifest_path
from shoal.policy import Policy
from shoal.quantities import seconds_of
from shoal.recipient.apart import open_apart
from shoal.recipient.columns import Released
from shoal.recipient.counts import Counts
from shoal.recipient.deadline import Deadline
from shoal.recipient.questions import Question
from shoal.recipient.sql import parse_query
from shoal.release import Release
from shoal.released.about import About
from shoal.verification.manifest import load_manifest

__all__ = ["Answer", "query"]

SETTINGS = ("qi", "kind", "order", "hierarchy", "missing", "notation")
"""Settings of a policy that help to read a release."""
TIME = 60
"""Seconds that a query may take unless it is given more."""


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
    policy: Policy | str | Path | None = None, sensitive_table: Any = None,
    time: float | str = TIME, **settings: Any,
) -> Answer:  # fmt: skip
    """Count the records of a release that satisfy a condition.

    Parameters
    ----------
    release
        A `Release`, the name of a released file, or a table as `anonymize` takes it.
    sql
        ``SELECT count(*) FROM release WHERE ...``, with ``GROUP BY`` if you like.
        The table's name does not matter.
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
    deadline = _deadline(time)
    known, claims, notes = _knowledge(release, manifest, policy, settings)
    about = About(known, claims)
    table, kind = _read(release, about)
    second = _second(release, sensitive_table, claims, about)
    about = About(known, claims, tuple(table.column_names))
    apart = None if second is None else open_apart(table, second, about)
    deadline.check()
    released = Released(table, about, apart)
    connection = duckdb.connect(config={"enable_external_access": "false"})
    try:
        asked = parse_query(sql, connection, released.resolve, deadline)
        question = Question(released, asked, connection, deadline)
        whole = question.whole()
        rows = question.by_group() if asked.groups else []
    finally:
        connection.close()
    notes = (*notes, *dict.fromkeys(released.notes))
    answer = Answer(_within(whole), whole.lower, whole.upper, table.num_rows, notes=notes)
    if not asked.groups:
        return answer
    return _grouped(answer, rows, asked.groups, question.values, kind)


def _deadline(time: float | str) -> Deadline:
    try:
        return Deadline(seconds_of(time))
    except ValueError as error:
        raise PolicyError(f"time: {error}") from None


def _read(source: Any, about: About) -> tuple[pa.Table, str]:
    """A table as it was before it was made safe for spreadsheets, and the kind that came."""
    release = source if isinstance(source, Release) else None
    table, kind = to_arrow(source if release is None else release.table, about.missing)
    table = armed_names(table) if about.csv_safe else table
    return table, kind if release is None else release.kind


def _second(
    release: Any, given: Any, claims: Mapping[str, Any] | None, about: About
) -> pa.Table | None:
    """The second table of a release in two: given, the release's own, or named by its manifest."""
    if given is None and isinstance(release, Release):
        given = release.sensitive_table
    told = (claims or {}).get("release", {}).get("sensitive_table")
    if given is None and told is not None and isinstance(release, str | Path):
        try:
            given = Path(release).with_name(told["file"])
        except (KeyError, TypeError, ValueError):
            raise InputError("the manifest does not name the sensitive table") from None
    return None if given is None else _read(given, about)[0]


def _within(row: Counts) -> float:
    """The expected count without what rounding put beyond its bounds."""
    return min(max(row.expected, float(row.lower)), float(row.upper))


def _grouped(
    whole: Answer,
    rows: Sequence[Counts],
    names: Sequence[str],
    values: Sequence[pa.Array],
    kind: str,
) -> Answer:
    """An answer by groups, those left out that no record can be in."""
    rows = sorted((row for row in rows if row.upper > 0), key=lambda row: row.codes)
    columns: dict[str, Any] = {}
    for i, (name, groups) in enumerate(zip(names, values, strict=True)):
        columns[name] = groups.take(pa.array([row.codes[i] for row in rows], pa.int32()))
    numbers = ("expected", "lower", "upper")
    for name in numbers:
        if name in columns:
            raise PolicyError(f"query: cannot group by a column of the name {name!r}; rename it")
    columns["expected"] = pa.array([_within(row) for row in rows], pa.float64())
    columns["lower"] = pa.array([row.lower for row in rows], pa.int64())
    columns["upper"] = pa.array([row.upper for row in rows], pa.int64())
    table = pa.table(columns)
    return replace(whole, groups=from_arrow(table, kind), rows=tuple(table.to_pylist()))


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
