"""Whom an attack is tried on: the release, the people in it, and people who are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.values import distinct_values
from shoal.errors import InputError, no_column
from shoal.models import View, views_of
from shoal.policy import Policy
from shoal.release import Release
from shoal.risks.places import Places, placed, placed_columns
from shoal.risks.subject import Subject, subject_of, table_of

__all__ = ["People", "Scene", "check_original", "scene_of"]

SAME_PEOPLE = 0.5
"""A control of which more than this share is in the original to the last cell is no control."""
SAME_VALUES = 0.02
"""Nor is one of which so much more than by chance has the values of people of the original."""
DEALS, SURE, HARDLY = 20, 6.0, 2.5
"""How often people are dealt anew to see what chance does, and how many deviations are none:
of people with the values that attacks use, and of rows that are equal to the last cell."""
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class People:
    """People whose values are known: those of the original, or of the control."""

    subject: Subject
    table: pa.Table
    _placed: dict[tuple[str, ...], Places] = field(default_factory=dict)

    def alike(self, names: Sequence[str]) -> NDArray[np.int64]:
        """How many rows of each one's person have the same values of these columns.

        One, where persons are told apart in the release or no column says who is one.
        """
        person = self.subject.person
        if not self.subject.persons_hidden or person not in self.table.column_names:
            return np.ones(self.count, dtype=np.int64)
        columns = [distinct_values(self.table.column(name), ()) for name in (person, *names)]
        keys = [(column.codes + 1, len(column.values) + 1) for column in columns]
        ids, count = class_ids(keys, self.count)
        return np.asarray(np.bincount(ids, minlength=count)[ids])

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    def places(self, names: Sequence[str]) -> Places:
        """Them and the classes of the release on one scale, by some quasi-identifiers."""
        key = tuple(names)
        if key not in self._placed:
            ids, classes = self.subject.classes
            self._placed[key] = placed(self.subject.source, ids, classes, self.table, key)
        return self._placed[key]

    def mistaken(self, names: Sequence[str], share: float, seed: int) -> list[pa.ChunkedArray]:
        """What somebody believes of them who has, in this share of the cells, another's value."""
        rng = np.random.default_rng(seed)
        own = np.arange(self.count)
        wrong = ((rng.random(self.count) < share, rng.permutation(self.count)) for _ in names)
        taken = (np.where(mistaken, other, own) for mistaken, other in wrong)
        return [
            self.table.column(name).take(pa.array(rows))
            for name, rows in zip(names, taken, strict=True)
        ]

    def fitting(self, known: Sequence[tuple[str, pa.ChunkedArray]]) -> NDArray[np.int64]:
        """How many records of the release cover all of these values of each of them."""
        ids, classes = self.subject.classes
        places = placed_columns(self.subject.source, ids, classes, known, self.count)
        return _whole(places.candidates(self.subject.sizes.astype(np.float64)))

    def candidates(self, names: Sequence[str]) -> NDArray[np.int64]:
        """How many records of the release each of them can be, by these quasi-identifiers."""
        return _whole(self.places(names).candidates(self.subject.sizes.astype(np.float64)))


def _whole(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(counts).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scene:
    """A release, the original that it was made of, and a control."""

    subject: Subject
    original: People
    control: People | None
    given: tuple[Any, ...] = ()
    """The release, and further ones, as they were given."""
    others: tuple[Subject, ...] = ()
    """Further releases that the attacker holds."""
    policy: Policy | None = None
    """How the release was made, where that is known: to make it again."""
    views: tuple[View, ...] = ()
    """What is promised to whom: of each reader, the columns that he knows."""

    @property
    def qi(self) -> tuple[str, ...]:
        return self.subject.qi

    @property
    def records(self) -> int:
        return int(self.subject.table.num_rows)

    def promised(self, names: Sequence[str]) -> int:
        """The fewest in a class that are promised to whoever knows these columns; 1 for nothing."""
        kept = [view.models for view in self.views if set(names) <= set(view.qi)]
        return max((model.smallest_class for models in kept for model in models), default=1)

    @cached_property
    def both(self) -> list[People]:
        """The people in the release, then those who are not, if they are known."""
        return [self.original] if self.control is None else [self.original, self.control]

    @cached_property
    def everybody(self) -> People:
        """The people in the release, then those who are not: on one scale with the release."""
        if self.control is None:
            return self.original
        tables = [_as_texts(people.table, self.qi) for people in self.both]
        return People(self.subject, pa.concat_tables(tables))

    def apart(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """What is known of `everybody`, as parts like `both`."""
        first = self.original.count
        return [rows] if self.control is None else [rows[:first], rows[first:]]


def scene_of(
    release: Any, original: Any, control: Any, policy: Policy, others: Sequence[Any] = ()
) -> Scene:
    """Open them all, and refuse what does not go together.

    Raises
    ------
    InputError
        The original is not what the release was made of, or the control is a part of it.
    """
    subject = subject_of(release, policy)
    missing = subject.source.about.missing
    first = _people(subject, table_of(original, missing, "original", policy), "original")
    second = None
    if control is not None:
        second = _people(subject, table_of(control, missing, "control", policy), "control")
        _check_apart(first.table, second.table)
        _check_no_copies(first.table, second.table, (*subject.qi, *subject.sensitive))
    _check_original(subject, first)
    further = tuple(_further(other, first, policy) for other in others)
    made_by = _made_by(release, policy)
    told = subject.source.promised or policy
    given = (release, *others)
    views = views_of(told) if subject.apart is None else ()  # two tables hide no class
    return Scene(subject, first, second, given, further, made_by, views)


def check_original(release: Any, original: pa.Table, policy: Policy) -> None:
    """Refuse a table that the release was not made of.

    Raises
    ------
    InputError
        It has fewer records, lacks columns, or its records fit no class of the release.
    PolicyError
        It cannot be told: orders or trees are not at hand.
    """
    subject = subject_of(release, policy)
    _check_original(subject, _people(subject, original, "original"))


def _made_by(release: Any, policy: Policy) -> Policy | None:
    """The policy of a `Release`, or the one that was given and says what was asked for."""
    if isinstance(release, Release):
        return release.policy
    return policy if policy.qi else None


def _further(other: Any, people: People, policy: Policy) -> Subject:
    """Another release that the attacker holds, of the same people or of some of them."""
    found = subject_of(other, policy)
    for name in found.qi:
        if name not in people.table.column_names:
            raise InputError(no_column(name, people.table.column_names, found.qi, "original"))
    return found


def _people(subject: Subject, table: pa.Table, what: str) -> People:
    for name in subject.qi:
        if name not in table.column_names:
            raise InputError(no_column(name, table.column_names, subject.qi, what))
    return People(subject, table)


def _check_original(subject: Subject, people: People) -> None:
    """Everybody of the release is in the original; nobody of it fits nowhere, but the dropped."""
    released = subject.table.num_rows
    if people.count < released:
        raise InputError(
            f"original: has {people.count:,} records, the release {released:,}; "
            "expected the table it was made of"
        )
    lost = int(np.count_nonzero(people.candidates(subject.qi) == 0))
    if lost > people.count - released:
        raise InputError(
            f"original: {lost:,} of its {people.count:,} records fit no class of the release; "
            "expected the table it was made of"
        )


def _as_texts(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Columns as texts: two files may hold one column in two types."""
    return pa.table({name: table.column(name).cast(pa.string()) for name in names})


def _check_apart(original: pa.Table, control: pa.Table) -> None:
    """Rows that are unique in both tables and equal to the last cell are the same people.

    Where columns have few values some are so by chance: as many as if all had been dealt anew.
    """
    shared = [name for name in control.column_names if name in original.column_names]
    here, there = _counted(original, control, shared)
    alone = int(np.count_nonzero(there == 1))
    same = _alone_in_both(here, there)
    if same <= SAME_PEOPLE * alone:
        return
    chance, noise = _by_chance(here, there, original.num_rows, _alone_in_both)
    if same == control.num_rows or same - chance > HARDLY * noise:
        raise InputError(
            f"control: {same:,} of its records are in the original to the last cell; "
            "expected people who are not in the release"
        )


def _check_no_copies(original: pa.Table, control: pa.Table, wanted: Sequence[str]) -> None:
    """Refuse a control that is like the original, in what attacks use, as only copies are.

    By chance, too, some people of the one have the values of somebody of the other: as many
    as if all of them had been dealt anew. Copies, also of a part, and also several times, are
    in both more often than that.
    """
    names = [n for n in wanted if n in original.column_names and n in control.column_names]
    here, there = _counted(original, control, names)
    found = _paired(here, there)
    chance, noise = _by_chance(here, there, original.num_rows, _paired)
    excess = found - chance
    if excess > SURE * noise and excess > SAME_VALUES * min(original.num_rows, control.num_rows):
        raise InputError(
            f"control: {found:,} of its records have the values of records of the original, and "
            f"by chance about {round(chance):,} would: these seem to be the same people; "
            "expected people who are not in the release"
        )


def _alone_in_both(here: Counts, there: Counts) -> int:
    """How many rows are in each of two tables exactly once."""
    return int(np.count_nonzero((here == 1) & (there == 1)))


def _paired(here: Counts, there: Counts) -> int:
    """How many rows of one table can be paired with equals of the other."""
    return int(np.minimum(here, there).sum())


def _by_chance(
    here: Counts, there: Counts, first: int, counted: Callable[[Counts, Counts], int]
) -> tuple[float, float]:
    """What is counted where everybody is dealt to the two tables anew: mean and deviation."""
    rng = np.random.default_rng(0)
    everybody = np.repeat(np.arange(len(here)), here + there)
    found = []
    for _ in range(DEALS):
        dealt = rng.permutation(everybody)
        parts = (np.bincount(p, minlength=len(here)) for p in (dealt[:first], dealt[first:]))
        found.append(counted(*parts))
    return float(np.mean(found)), max(float(np.std(found, ddof=1)), 1.0)


def _counted(
    original: pa.Table, control: pa.Table, names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each combination of values is in the one table and in the other."""
    both = pa.concat_tables([_as_texts(t, names) for t in (original, control)])
    columns = [distinct_values(both.column(name), ()) for name in names]
    keys = [(column.codes + 1, len(column.values) + 1) for column in columns]
    ids, count = class_ids(keys, both.num_rows)
    here = np.bincount(ids[: original.num_rows], minlength=count)
    there = np.bincount(ids[original.num_rows :], minlength=count)
    return here, there
