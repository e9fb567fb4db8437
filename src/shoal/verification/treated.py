"""Are treated columns what was said of them? Decided from what is published alone.

That all values are multiples of a step, that nobody is above a top code, that enough records
carry it, and that means are of enough records can be counted in a release. What cannot be
seen in it (noise, and what was done before means were taken) is said to be not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.treating import Numbers, at_end, numbers_in, persons_in
from shoal.errors import InputError
from shoal.policy import Policy
from shoal.treatments import Treatment, fewest_at_end, treatments
from shoal.verification.result import Check

__all__ = ["treatment_checks"]

MODEL = "treatment"
UNSEEN = "noise is not checkable from the release"
AVERAGED = "means were taken after it: it is not checkable from the release"
PERSONS = "records were counted, and they may be of fewer persons; give --record"


class _Column(NamedTuple):
    numbers: Numbers
    times: NDArray[np.int64]
    """How many records each row stands for."""
    classes: NDArray[np.int64]
    least: int
    """How many must carry a code by quantile, whatever the share."""
    persons: NDArray[np.int64] | None
    """Whose record each row is, where that counts and is known."""
    doubt: str | None
    """Why a count of records says too little, if so."""

    @property
    def counts(self) -> NDArray[np.int64]:
        known = self.numbers.codes >= 0
        found = np.bincount(
            self.numbers.codes[known],
            weights=self.times[known],
            minlength=len(self.numbers.values),
        )
        return np.rint(found).astype(np.int64)


def treatment_checks(
    table: pa.Table,
    policy: Policy,
    classes: NDArray[np.int64],
    times: NDArray[np.int64] | None = None,
    person: NDArray[np.int32] | None = None,
) -> Iterator[Check]:
    """A check for each treatment of the columns that are in the table.

    `times` says how many records a row stands for, where it is not one; `person` whose record
    it is, where that is known.
    """
    persons = None if policy.person is None or person is None else person.astype(np.int64)
    doubt = PERSONS if policy.person is not None and persons is None else None
    least = fewest_at_end(policy)
    each = np.ones(table.num_rows, dtype=np.int64) if times is None else times
    # what was called missing is a null in a release, and no other cell is
    read = policy.model_copy(update={"missing": ("",)})
    for name, texts in policy.treat.items():
        if name not in table.column_names:
            continue
        steps = treatments(texts)
        try:
            numbers = numbers_in(table, name, read)
            column = _Column(numbers, each, classes, least, persons, doubt)
        except InputError:
            lost = "it holds something that is no number"
            yield from (_check(one, name, None, table.num_rows, lost) for one in steps)
            continue
        for one in steps:
            yield _checked(one, steps, name, column)


def _checked(one: Treatment, steps: Sequence[Treatment], name: str, column: _Column) -> Check:
    averaged = steps[-1].how == "micro"
    if one.how == "noise":
        return _unchecked(one, name, UNSEEN)
    if one.how == "micro":
        found = _check(one, name, *_neighbours(column, int(one.amount)))
    elif one.how in {"top", "bottom"} and not one.share:
        return _check(one, name, *_within(one, column))
    elif averaged:
        return _unchecked(one, name, AVERAGED)
    elif one.how == "round":
        return _check(one, name, _number(one.amount), _off_step(one, steps, column))
    else:
        found = _check(one, name, *_at_quantile(one, column))
    if column.doubt is None or not found.holds:
        return found
    return _unchecked(one, name, column.doubt)


def _at_quantile(one: Treatment, column: _Column) -> tuple[int, int]:
    """Who carry the largest (least) value, and how many are lacking."""
    values = column.numbers.values
    if not values:
        return 0, 0
    counts = column.counts
    last = len(values) - 1 if one.how == "top" else 0
    there = int(counts[last])
    lacking = max(0, at_end(one, int(counts.sum()), column.least) - there)
    if column.persons is None:
        return there, lacking
    people = len(np.unique(column.persons[column.numbers.codes == last]))
    return people, max(lacking, column.least - people)


def _number(amount: Fraction) -> int | float:
    return int(amount) if amount.denominator == 1 else float(amount)


def _within(one: Treatment, column: _Column) -> tuple[int, int]:
    """Records that carry the code itself, and records beyond it."""
    sign = 1 if one.how == "top" else -1
    counts = column.counts
    beyond = [sign * (value - one.amount) for value in column.numbers.values]
    at = sum(int(n) for far, n in zip(beyond, counts, strict=True) if far == 0)
    return at, sum(int(n) for far, n in zip(beyond, counts, strict=True) if far > 0)


def _off_step(one: Treatment, steps: Sequence[Treatment], column: _Column) -> int:
    """Records whose value is no multiple; a top or bottom code that was given need not be one.

    A code by quantile is one: quantiles are of values that were rounded.
    """
    free = {step.amount for step in steps if step.how in {"bottom", "top"} and not step.share}
    return sum(
        int(count)
        for value, count in zip(column.numbers.values, column.counts, strict=True)
        if value not in free and (Fraction(value) / one.amount).denominator > 1
    )


def _neighbours(column: _Column, least: int) -> tuple[int, int]:
    """The fewest records (or persons) that share a mean inside a class, and means of too few."""
    known = column.numbers.codes >= 0
    classes, codes = column.classes[known], column.numbers.codes[known]
    if not len(codes):
        return 0, 0
    size = len(column.numbers.values)
    _, pair, counts = np.unique(classes * size + codes, return_inverse=True, return_counts=True)
    if column.persons is not None:
        counts = persons_in(pair, column.persons[known])[:-1]
    return int(counts.min()), int(np.count_nonzero(counts < least))


def _unchecked(one: Treatment, name: str, why: str) -> Check:
    return replace(_check(one, name, None, 0), unchecked=why)


def _check(
    one: Treatment, name: str, reached: float | None, failing: int, why: str | None = None
) -> Check:
    return Check(
        model=MODEL,
        asked=str(one) if why is None else f"{one} ({why})",
        column=name,
        reached=reached,
        holds=failing == 0,
        failing_classes=failing,
        counted="groups of records" if one.how == "micro" else "records",
    )
