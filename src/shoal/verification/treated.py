"""Are treated columns what was said of them? Decided from what is published alone.

That all values are multiples of a step, that nobody is above a top code, that enough records
carry it, and that means are of enough records can be counted in a release. Noise cannot be
seen in it: nothing is said of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.treating import Numbers, at_end, numbers_in
from shoal.errors import InputError
from shoal.policy import Policy
from shoal.treatments import Treatment, treatments
from shoal.verification.result import Check

__all__ = ["treatment_checks"]

MODEL = "treatment"


class _Column(NamedTuple):
    numbers: Numbers
    times: NDArray[np.int64]
    """How many records each row stands for."""
    classes: NDArray[np.int64]

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
) -> Iterator[Check]:
    """A check for each treatment that can be seen, of the columns that are in the table.

    `times` says how many records a row stands for, where it is not one.
    """
    each = np.ones(table.num_rows, dtype=np.int64) if times is None else times
    # what was called missing is a null in a release, and no other cell is
    read = policy.model_copy(update={"missing": ("",)})
    for name, texts in policy.treat.items():
        if name not in table.column_names:
            continue
        steps = treatments(texts)
        try:
            column = _Column(numbers_in(table, name, read), each, classes)
        except InputError:
            lost = "it holds something that is no number"
            yield from (_check(one, name, None, table.num_rows, lost) for one in steps)
            continue
        for one in steps:
            yield from _checked(one, steps, name, column)


def _checked(
    one: Treatment, steps: Sequence[Treatment], name: str, column: _Column
) -> Iterator[Check]:
    averaged = steps[-1].how == "micro"
    values = column.numbers.values
    if one.how == "micro":
        smallest, failing = _neighbours(column, int(one.amount))
        yield _check(one, name, smallest, failing)
    elif one.how in {"top", "bottom"} and not one.share:
        yield _check(one, name, *_within(one, column))
    elif one.how in {"top", "bottom"} and not averaged:
        counts = column.counts
        there = int(counts[-1 if one.how == "top" else 0]) if len(values) else 0
        needed = at_end(one, int(counts.sum())) if len(values) else 0
        yield _check(one, name, there, max(0, needed - there))
    elif one.how == "round" and not averaged:
        yield _check(one, name, _number(one.amount), _off_step(one, steps, column))


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
    """Records whose value is no multiple; a top or bottom code need not be one."""
    values = list(column.numbers.values)
    ends = {step.how for step in steps}
    free = {*values[:1]} if "bottom" in ends else set()
    free |= {*values[-1:]} if "top" in ends else set()
    return sum(
        int(count)
        for value, count in zip(values, column.counts, strict=True)
        if value not in free and (Fraction(value) / one.amount).denominator > 1
    )


def _neighbours(column: _Column, least: int) -> tuple[int, int]:
    """The fewest records that share a mean inside a class, and means of too few.

    A class with fewer records than that has one value.
    """
    known = column.numbers.codes >= 0
    classes, codes = column.classes[known], column.numbers.codes[known]
    if not len(codes):
        return 0, 0
    size = len(column.numbers.values)
    pairs, counts = np.unique(classes * size + codes, return_counts=True)
    whole = np.bincount(classes)[pairs // size]
    return int(counts.min()), int(np.count_nonzero(counts < np.minimum(least, whole)))


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
