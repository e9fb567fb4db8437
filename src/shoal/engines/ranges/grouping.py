"""Records of a range into groups, and all ranges of a table that is in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.sketch import Sketch
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.canonical import canonical
from shoal.engines.memory.outliers import Kept
from shoal.engines.memory.partition import partition_eligible
from shoal.engines.ranges.cutting import Borders, BucketCounts, course_of, first_buckets
from shoal.kernels.threads import stopping
from shoal.methods.base import Outcome
from shoal.methods.curve import Course
from shoal.plan import Plan
from shoal.progress import Report, silent

__all__ = [
    "Ranges", "facts_of", "flow", "group_range", "grouped_by_ranges", "grouped_whole",
]  # fmt: skip

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

    @classmethod
    def of(cls, borders: Borders, counts: BucketCounts, size: int) -> Ranges:
        firsts = first_buckets(counts, size)
        of_bucket = np.searchsorted(firsts, np.arange(borders.buckets), side="right") - 1
        sizes = np.add.reduceat(counts.sizes, firsts)
        return cls(borders.course, borders, firsts, of_bucket, sizes)


def group_range(table: EncodedTable, plan: Plan, course: Course, whole: int) -> Outcome:
    """Groups of the records of one range, whatever order they come in."""
    ordered = canonical(table, plan.seed)
    outcome = partition_eligible(ordered.table, plan, part_of=(whole, course))
    return ordered.back(Kept(ordered.table, outcome)).outcome


def grouped_whole(table: EncodedTable, plan: Plan, report: Report = silent) -> Outcome:
    """Groups of a table that is one range: as in memory."""
    ordered = canonical(table, plan.seed)
    outcome = partition_eligible(ordered.table, plan, report)
    return ordered.back(Kept(ordered.table, outcome)).outcome


def grouped_by_ranges(
    table: EncodedTable, plan: Plan, size: int, report: Report = silent
) -> Outcome:
    """Groups of all records of a table in memory, range by range, on all cores."""
    sketch = Sketch(len(table.qi))
    sketch.add(table.codes)
    book = table.codebook
    course = course_of(plan, sketch, table.qi, book.counts)
    values = sum(column.size for column in table.sensitive)
    borders = Borders(course, sketch, table.n, size, values)
    bucket = borders.of(table.codes)
    counts = BucketCounts(borders.buckets, book, plan.models)
    counts.add(bucket, table.sensitive_codes)
    ranges = Ranges.of(borders, counts, size)
    rows = Partition.from_group_ids(ranges.of_bucket[bucket])

    def grouped(number: int) -> Partition:
        own = rows.order[rows.offsets[number] : rows.offsets[number + 1]]
        outcome = group_range(table.take(own), plan, course, table.n)
        (partition,) = set(outcome.recoding.partitions)
        return Partition(own[partition.order], partition.offsets)

    parts, done = [], 0
    for part in flow(grouped, range(rows.groups)):
        parts.append(part)
        done += len(part.order)
        report("partition", done, table.n)
    starts = np.cumsum([0, *(len(part.order) for part in parts)])
    offsets = [part.offsets[:-1] + start for part, start in zip(parts, starts, strict=False)]
    whole = Partition(
        np.concatenate([part.order for part in parts]),
        np.concatenate([*offsets, [table.n]]).astype(np.int64),
    )
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
    }


def flow(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """``map`` on threads, in order, with a few items under way: what lies ahead waits."""
    workers = workers or os.cpu_count() or 1
    with stopping(ThreadPoolExecutor(workers)) as pool:
        waiting: list[Future[Result]] = []
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > workers:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
