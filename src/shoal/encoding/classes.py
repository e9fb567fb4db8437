"""Equivalence classes: records that carry equal values in every given column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.grouping import dense_ids

__all__ = ["class_ids", "class_sizes", "first_of_each"]

LARGEST_KEY = 1 << 62
AT_ONCE = 1 << 15


def class_ids(columns: Iterable[tuple[NDArray[Any], int]], n: int) -> tuple[NDArray[np.int64], int]:
    """Number records by their tuple of codes; equal tuples, equal numbers.

    Parameters
    ----------
    columns
        Codes of each column and how many codes it has.
    n
        Number of records.

    Returns
    -------
    ids, count
        Class of each record in order of first appearance, and the number of classes.
    """
    keys = np.zeros(n, dtype=np.int64)
    span = 1
    for codes, size in columns:
        if span * max(size, 1) > LARGEST_KEY:  # the next column would overflow: renumber first
            span = max(int(dense_ids(keys, keys)), 1)
        for start in range(0, n, AT_ONCE):  # a piece stays in the cache for both steps
            piece = keys[start : start + AT_ONCE]
            piece *= max(size, 1)
            piece += codes[start : start + AT_ONCE]
        span *= max(size, 1)
    return keys, int(dense_ids(keys, keys))  # a number is read before another takes its place


def class_sizes(columns: Iterable[tuple[NDArray[Any], int]], n: int) -> NDArray[np.int64]:
    """How many records each class of `class_ids` has."""
    ids, count = class_ids(columns, n)
    return np.bincount(ids, minlength=count).astype(np.int64)


def first_of_each(ids: NDArray[np.integer[Any]], count: int) -> NDArray[np.int64]:
    """The first record of each of the numbers 0..count-1, all of which occur."""
    first = np.empty(count, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    return first
