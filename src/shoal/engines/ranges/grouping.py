"""Records of a range into groups, and all ranges of a table that is in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.canonical import Canonical, canonical
from shoal.engines.memory.outliers import Kept
from shoal.engines.memory.partition import partition_eligible, recode_merging_equal_texts
from shoal.engines.memory.repair import breakable, mended
from shoal.engines.ranges.cutting import (
    Borders,
    BucketCounts,
    course_of,
    even_buckets,
    first_buckets,
)
from shoal.engines.ranges.lending import Lent, cap_of, lent_between, loans_of
from shoal.engines.ranges.persons import home_of
from shoal.kernels.threads import stopping
from shoal.methods.base import Outcome
from shoal.methods.curve import Course
from shoal.plan import Plan
from shoal.progress import Report, silent

__all__ = [
    "Ranges", "facts_of", "flow", "group_range", "grouped_by_ranges", "grouped_whole",
]  # fmt: skip

GROWN = 2
"""Ranges that had to grow to so many times their length lend each other records instead."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class Ranges(NamedTuple):
    """A plan of ranges: the curve, and in which range each bucket of it lies."""

    course: Course
    borders: Borders
    firsts: NDArray[np.int64]
    """The first bucket of each range."""
    of_bucket: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """Records of each range."""
    lent: Lent | None = None
    """Records that are in another range than where their bucket lies, where some are."""

    @classmethod
    def of(cls, borders: Borders, counts: BucketCounts, size: int) -> Ranges:
        """Ranges that are feasible by themselves; they lend each other records if they must."""
        firsts = first_buckets(counts, size)
        sizes = np.add.reduceat(counts.sizes, firsts)
        if sizes.max() > GROWN * size and (found := _lending(counts, size)) is not None:
            firsts, sizes, lent = found
        else:
            lent = None
        of_bucket = np.searchsorted(firsts, np.arange(borders.buckets), side="right") - 1
        return cls(borders.course, borders, firsts, of_bucket, sizes, lent)

    def placed(self, table: EncodedTable, bucket: NDArray[Any], seed: int) -> NDArray[np.int64]:
        """Range of each record of a whole table, by its bucket."""
        part: NDArray[np.int64] = self.of_bucket[bucket]
        if self.lent is None:
            return part
        cell = self.lent.cells_of(bucket, table.sensitive_codes[0])
        part = np.where((cell >= 0) & (self.lent.whole[cell] >= 0), self.lent.whole[cell], part)
        some = self.lent.partly(cell)
        to = self.lent.borrowers(table.take(some), cell[some], seed)
        part[some] = np.where(to < 0, part[some], to)
        return part


def _lending(
    counts: BucketCounts, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Lent] | None:
    """Ranges of the usual length that lend each other records; None where that is no way."""
    cap = cap_of(counts.book, counts.models)
    if cap is None:
        return None
    firsts = even_buckets(counts, size)
    (cells,) = counts.columns
    values = np.add.reduceat(cells, firsts)
    loans = loans_of(values, cap)
    lent = None if not loans else lent_between(loans, cells, firsts)
    if loans is None or lent is None:
        return None
    for lender, code, borrower, records in loans:
        values[lender, code] -= records
        values[borrower, code] += records
    sizes = values.sum(axis=1)
    if not all(counts.holds(int(n), [row]) for n, row in zip(sizes, values, strict=True)):
        return None
    return firsts, sizes, lent


def group_range(table: EncodedTable, plan: Plan, course: Course, whole: int) -> Outcome:
    """Groups of the records of one range, whatever order they come in.

    Models that compare classes with the table need the range's ``of_table``.
    """
    ordered = canonical(table, plan.seed)
    outcome = partition_eligible(ordered.table, plan, part_of=(whole, course))
    return _published_apart(ordered, outcome, plan)


def grouped_whole(table: EncodedTable, plan: Plan, report: Report = silent) -> Outcome:
    """Groups of a table that is one range: as in memory."""
    ordered = canonical(table, plan.seed)
    outcome = partition_eligible(ordered.table, plan, report)
    return _published_apart(ordered, outcome, plan)


def _published_apart(ordered: Canonical, outcome: Outcome, plan: Plan) -> Outcome:
    """Groups in terms of the source's records; where a union could break a model, mended.

    That is so where persons are counted, who can be in both of two groups published alike.
    """
    kept = Kept(ordered.table, outcome)
    if breakable(ordered.table, plan):
        kept = mended(kept, plan)
        whole, _ = recode_merging_equal_texts(kept.table, plan.models, kept.outcome.recoding)
        kept = kept._replace(outcome=replace(kept.outcome, recoding=whole))
    return ordered.back(kept).outcome


def grouped_by_ranges(
    table: EncodedTable, plan: Plan, size: int, report: Report = silent
) -> Outcome:
    """Groups of all records of a table in memory, range by range, on all cores."""
    sketch, book = table.sketch, table.codebook
    course = course_of(plan, sketch, table.qi, book.counts)
    values = sum(column.size for column in table.sensitive)
    borders = Borders(course, sketch, table.n, size, values)
    bucket = borders.of(table.codes)
    if table.person is not None and table.marks is not None:
        bucket = home_of(table.person, table.marks[0], bucket, plan.seed)
    counts = BucketCounts(borders.buckets, book, plan.models)
    counts.add(bucket, table.sensitive_codes, table.person)
    ranges = Ranges.of(borders, counts, size)
    rows = Partition.from_group_ids(ranges.placed(table, bucket, plan.seed))

    def grouped(number: int) -> NDArray[np.int64]:
        own = rows.order[rows.offsets[number] : rows.offsets[number + 1]]
        part = replace(table.take(own), of_table=book.sensitive_counts)
        outcome = group_range(part, plan, course, table.n)
        (partition,) = set(outcome.recoding.partitions)
        own[:] = own[partition.order]  # in their place: nobody else asks for these
        ends: NDArray[np.int64] = rows.offsets[number] + partition.offsets
        return ends

    offsets = [rows.offsets[:1]]
    for part in flow(grouped, range(rows.groups)):
        offsets.append(part[1:])
        report("partition", int(part[-1]), table.n)
    whole = Partition(rows.order, np.concatenate(offsets))
    recoding = Recoding.single(whole, len(table.qi))
    recoding = replace(recoding, stars=plan.recoding != "generalise")
    return Outcome(recoding, facts_of(ranges, plan, [column.name for column in table.qi]))


def facts_of(ranges: Ranges, plan: Plan, names: list[str]) -> dict[str, Any]:
    """What is told of the work in the record: the same by every engine."""
    course = ranges.course
    return {
        "ranges": len(ranges.sizes),
        "largest_range": int(ranges.sizes.max()),
        "bits": course.bits,
        "axes": [names[a] for a in course.axes],
        **({} if ranges.lent is None else {"lent_records": ranges.lent.records}),
    }


def flow(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """``map`` on threads, in order, with a few items under way: what lies ahead waits."""
    workers = workers or os.cpu_count() or 1
    if workers == 1:  # nothing lies ahead, or waits
        yield from map(work, items)
        return
    with stopping(ThreadPoolExecutor(workers)) as pool:
        waiting: list[Future[Result]] = []
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > workers:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
