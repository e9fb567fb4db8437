"""Where a table is cut into ranges: from exact counts along a curve, never from a sample.

A sketch of the table (`shoal.encoding.sketch`) says where a range may begin: at keys that
leave about equally many records between them, several to a range. All records are then counted
between these keys, with their sensitive values, and ranges are put together from those
counts, each so that it satisfies the models by itself. None of it depends on the order of the
records, on batches or on threads. Records of equal quasi-identifiers are never cut apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import Attribute, Codebook
from shoal.encoding.sketch import Sketch
from shoal.encoding.table import Codes, EncodedTable
from shoal.methods.curve import RUN, Course, cut_into, drawn_course
from shoal.models import needs_sensitive, satisfied, whole_histograms, whole_sizes
from shoal.models.base import Model
from shoal.plan import Plan

__all__ = ["Borders", "BucketCounts", "course_of", "even_buckets", "first_buckets"]

FINE = 8
"""Places in which a range may end, to a range."""
MOST_BUCKETS = 60_000
AT_ONCE = 1 << 18
"""Records that are placed together."""
MOST_CELLS = 1 << 24
"""Counts that are kept at most: of buckets times sensitive values."""

Holds = Callable[[int, Sequence[NDArray[np.int64]]], bool]
"""Whether so many records with these counts of sensitive values satisfy the models as one."""


def course_of(
    plan: Plan,
    sketch: Sketch,
    attributes: Sequence[Attribute],
    counts: Sequence[NDArray[np.int64]],
) -> Course:
    """The curve along which a table is cut into ranges; drawn from the seed."""
    nothing = np.zeros((0, 0), dtype=np.int32)

    def sample(size: int) -> EncodedTable:
        return plan.seen(EncodedTable(tuple(attributes), sketch.sample(size), (), nothing))

    seen, records = sample(1).qi, int(sketch.counts.sum())
    run = max([RUN, *(model.smallest_class for model in plan.models)])
    bits = getattr(plan.options, "bits", None)
    return drawn_course(sample, records, counts, seen, plan.seed, cut_into(run), bits=bits)


class Borders:
    """Keys at which a range may begin, and the bucket between two of them of any record."""

    def __init__(
        self, course: Course, sketch: Sketch, records: int, size: int, values: int
    ) -> None:
        keys = course.keys(sketch.codes)[0]
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(sketch.counts[order])
        parts = -(-records // size)
        steps = min(parts * FINE, MOST_BUCKETS, max(parts, MOST_CELLS // max(1, values)))
        at = np.searchsorted(ends, np.arange(1, steps, dtype=np.int64) * int(ends[-1]) // steps)
        self.course = course
        self.keys = np.unique(keys[order][at])
        """The first key of each bucket but the first; 64 leading bits."""

    @property
    def buckets(self) -> int:
        return len(self.keys) + 1

    def of(self, codes: Codes) -> NDArray[np.uint16]:
        """Bucket of each record."""
        bucket = np.empty(codes.shape[1], dtype=np.uint16)
        for start in range(0, len(bucket), AT_ONCE):  # keys are wide
            keys = self.course.keys(codes[:, start : start + AT_ONCE])[0]
            bucket[start : start + AT_ONCE] = np.searchsorted(self.keys, keys, side="right")
        return bucket


class BucketCounts:
    """How many records, and of which sensitive values, lie in each bucket."""

    def __init__(self, buckets: int, book: Codebook, models: Sequence[Model]) -> None:
        self.book = book
        self.models = tuple(models)
        self.sizes = np.zeros(buckets, dtype=np.int64)
        """Records."""
        self.persons = np.zeros(buckets, dtype=np.int64) if book.persons is not None else None
        """Persons, where they are declared: models count them then, and `columns` do."""
        looked_at = book.sensitive if needs_sensitive(models) else ()
        self.columns = [np.zeros((buckets, column.size), dtype=np.int64) for column in looked_at]

    @property
    def units(self) -> NDArray[np.int64]:
        """What models count, of each bucket."""
        return self.sizes if self.persons is None else self.persons

    @property
    def all(self) -> list[NDArray[np.int64]]:
        """All that is counted."""
        persons = [] if self.persons is None else [self.persons]
        return [self.sizes, *persons, *self.columns]

    def add(
        self, bucket: NDArray[np.uint16], sensitive_codes: Codes, person: Codes | None = None
    ) -> None:
        """Count records in. Those of a person all come at once, and in one bucket."""
        self.sizes += np.bincount(bucket, minlength=len(self.sizes))
        wide = bucket.astype(np.int64) if self.columns else np.zeros(0, np.int64)
        once: slice | NDArray[np.int64] = slice(None)
        if self.persons is not None and person is not None:
            first = np.unique(person, return_index=True)[1]
            self.persons += np.bincount(bucket[first], minlength=len(self.persons))
        for counts, codes in zip(self.columns, sensitive_codes, strict=False):
            if person is not None:  # everybody counts once with every value
                pairs = person.astype(np.int64) * counts.shape[1] + codes
                once = np.unique(pairs, return_index=True)[1]
            np.add.at(counts.reshape(-1), wide[once] * counts.shape[1] + codes[once], 1)

    def holds(self, units: int, counts: Sequence[NDArray[np.int64]]) -> bool:
        """Whether so many records, or persons, satisfy every model as one class."""
        if not units:
            return False
        totals = self.book.sensitive_counts
        rest = tuple(counts) if self.columns else totals
        people = None if self.persons is None else units
        part = replace(
            self.book, records=units, persons=people, sensitive_counts=rest, of_table=totals
        )
        columns = whole_histograms(part) if self.columns else ()
        return bool(satisfied(self.models, whole_sizes(part), columns).all())


def even_buckets(counts: BucketCounts, size: int) -> NDArray[np.int64]:
    """The first bucket of every range: near `size` records each, whatever they hold."""
    size = _even(counts, size)
    firsts, have = [0], 0
    for bucket, more in enumerate(counts.sizes.tolist()):
        if have + more / 2 >= size:
            firsts.append(bucket)
            have = 0
        have += more
    if have < size // 2 and len(firsts) > 1:  # a short last range joins the one before it
        firsts.pop()
    return np.array(firsts, dtype=np.int64)


def _even(counts: BucketCounts, size: int) -> int:
    """Records of ranges that are all about equally long."""
    records = int(counts.sizes.sum())
    return -(-records // max(1, -(-records // size)))


def first_buckets(counts: BucketCounts, size: int) -> NDArray[np.int64]:
    """The first bucket of every range: near `size` records each, all of them feasible."""
    sizes, size = counts.sizes, _even(counts, size)
    firsts, ranges = [0], []
    have, units = 0, 0
    values = [np.zeros(c.shape[1], dtype=np.int64) for c in counts.columns]
    for bucket, (more, counted) in enumerate(zip(sizes.tolist(), counts.units, strict=True)):
        if have + more / 2 >= size and counts.holds(units, values):
            ranges.append((have, units, [v.copy() for v in values]))
            firsts.append(bucket)
            have, units, values = 0, 0, [np.zeros_like(v) for v in values]
        have, units = have + more, units + int(counted)
        for known, column in zip(values, counts.columns, strict=True):
            known += column[bucket]
    # A short last range, or one that fails, joins the one before it.
    while ranges and (have < size // 2 or not counts.holds(units, values)):
        before, persons, others = ranges.pop()
        firsts.pop()
        have, units = have + before, units + persons
        values = [a + b for a, b in zip(values, others, strict=True)]
    return np.array(firsts, dtype=np.int64)
