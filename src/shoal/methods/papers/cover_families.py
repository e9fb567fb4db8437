"""The families of sets that paper 001 covers with: all small sets, and balls.

Meyerson and Williams (PODS 2004), sections 4.2 and 4.3. What is proven of them, and of
the patterns that lose less, stands in `shoal.methods.cover`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.kernels.cover.greedy import (
    MOST_ATTRIBUTES,
    Groups,
    group_repeated,
    new_choice,
    new_points,
    new_queue,
)
from shoal.kernels.cover.patterns import least_open, new_patterns
from shoal.kernels.papers.cover_balls import cover_by_balls, nearest, new_balls
from shoal.kernels.papers.cover_subsets import cover_by_small_sets, new_small_sets
from shoal.methods.cover import ELSEWHERE, Family, Task, harmonic

__all__ = ["BallFamily", "SubsetFamily"]

MOST_SUBSETS = 1_500_000
"""Sets of family ``subsets``: a few seconds."""
MOST_COMPARED = 10**11
"""Different rows squared times attributes of family ``balls``: a few minutes."""


class SubsetFamily(Family):
    """All sets of k to 2k-1 records; weight: the diameter."""

    name = "subsets"

    def factor(self, k: int) -> float:
        return (2 * k - 1) ** 2 / (2 * k) * harmonic(k) if k > 1 else 1.0

    def problem(self, task: Task) -> str | None:
        sets = sum(self._counts(task))
        if sets <= MOST_SUBSETS:
            return _too_many_attributes(task)
        shown = f"{sets:,}" if sets < 10**15 else f"10**{math.floor(math.log10(sets))}"
        return (
            f"family subsets looks at all sets of {task.k} to {2 * task.k - 1} records, here at "
            f"least {shown}, and {MOST_SUBSETS:,} are the most: choose family patterns or balls"
        )

    def cover(self, task: Task, groups: Groups) -> tuple[int, int]:
        n, k = len(task.points.of_record), task.k
        codes = np.ascontiguousarray(task.points.codes[task.points.of_record])
        points = new_points(codes, np.arange(n, dtype=np.int64))
        sets = new_small_sets(codes, k, np.array(self._counts(task)))
        queue = new_queue(task.attributes, 2 * k - 1, len(sets.diameter))
        weight = cover_by_small_sets(points, groups, sets, queue, new_choice(k), k)
        return weight, _nearest_bound(task)

    @staticmethod
    def _counts(task: Task) -> list[int]:
        """How many sets there are of each size; stops once they are too many."""
        n, counts = len(task.points.of_record), [0]
        for size in range(task.k, min(2 * task.k - 1, n) + 1):
            counts.append(math.comb(n, size))
            if sum(counts) > MOST_SUBSETS:
                break
        return counts[1:] or counts


class BallFamily(Family):
    """Records within a number of differences from a centre; weight: that number."""

    name = "balls"

    def factor(self, k: int) -> float:
        return (2 * k - 1) ** 2 / k * harmonic(k) if k > 1 else 1.0

    def problem(self, task: Task) -> str | None:
        rows, d = len(task.total), task.attributes
        if rows * rows * max(d, 1) <= MOST_COMPARED:
            return _too_many_attributes(task)
        most = math.isqrt(MOST_COMPARED // max(d, 1))
        return (
            f"family balls compares {rows:,} different rows with one another, and about {most:,} "
            f"are the most with {d} quasi-identifiers: {ELSEWHERE}"
        )

    def cover(self, task: Task, groups: Groups) -> tuple[int, int]:
        points, k = task.points, task.k
        group_repeated(points, groups, k)
        balls = new_balls(points.codes, task.total, points.left)
        queue = new_queue(task.attributes, 2 * k - 1, balls.left.size)
        weight = cover_by_balls(points, groups, balls, queue, new_choice(k), k)
        return weight, _nearest_bound(task, balls)


def _too_many_attributes(task: Task) -> str | None:
    if task.attributes <= MOST_ATTRIBUTES:
        return None
    return (
        f"expected at most {MOST_ATTRIBUTES} quasi-identifiers; got {task.attributes}: {ELSEWHERE}"
    )


def _nearest_bound(task: Task, balls: Any = None) -> int:
    """Stars that the records need one by one: by patterns where they fit, else by distance."""
    least = np.empty(len(task.total), dtype=np.int64)
    if task.patterned:
        patterns = new_patterns(task.points.codes, task.sizes, task.total, task.total)
        least_open(patterns, task.k, least)
    else:
        balls = balls or new_balls(task.points.codes, task.total, task.total)
        nearest(balls, task.k, least)
    return int(least @ task.total)
