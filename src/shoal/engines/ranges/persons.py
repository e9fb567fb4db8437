"""Persons of several records: all of them go to one range, where they are counted together.

A person's home is the bucket along the curve in which one of their records lies: a hash of who
they are under the seed says which one, so that homes lie as records do. (The first of their
buckets would crowd all homes at the curve's beginning.) Every record of theirs goes to the range
that has their home. So no person is in two ranges, ranges satisfy models that count persons by
themselves, and classes of different ranges can be published alike: nobody is in both.

Names are too many to be kept in memory. Two words stand for each (`shoal.encoding.marks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.marks import same_person
from shoal.encoding.table import Codes
from shoal.kernels.fingerprint import fingerprints
from shoal.kernels.random import seed_words

__all__ = [
    "PART", "STAGED", "PersonCounts", "home_of", "numbered", "parted", "staged_words", "words_in",
]  # fmt: skip

Words = NDArray[np.uint64]
STAGED = pa.binary(16)
"""How the two words of a record lie in files."""
PART = 1_000_000
"""Records whose persons are looked at together, about."""


class PersonCounts:
    """How many persons a table has, and how many have each sensitive value."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.persons = 0
        self.columns = [np.zeros(size, dtype=np.int64) for size in sizes]

    def add(self, person: Codes, sensitive_codes: Codes) -> None:
        """Count records in; those of a person all come at once."""
        self.persons += len(np.unique(person))
        for counts, codes in zip(self.columns, sensitive_codes, strict=True):
            pairs = np.unique(person.astype(np.int64) * len(counts) + codes)
            counts += np.bincount(pairs % len(counts), minlength=len(counts))


def staged_words(words: Words) -> pa.Array:
    """The words of records as a column."""
    data = np.ascontiguousarray(words.T)
    return pa.FixedSizeBinaryArray.from_buffers(STAGED, len(data), [None, pa.py_buffer(data)])


def words_in(column: pa.Array | pa.ChunkedArray) -> Words:
    """The words of records from a column, shape (2, n)."""
    if isinstance(column, pa.ChunkedArray):
        chunks = [words_in(chunk) for chunk in column.chunks]
        return np.concatenate(chunks, axis=1) if chunks else np.zeros((2, 0), dtype=np.uint64)
    whole = np.frombuffer(column.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(whole[column.offset : column.offset + len(column)].T)


def numbered(words: Words) -> Codes:
    """A number for the person of each record, from 0 on."""
    first, second = same_person(words)
    order = np.lexsort((second, first))
    new = np.zeros(len(order), dtype=np.int32)
    new[1:] = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    person = np.empty(len(order), dtype=np.int32)
    person[order] = np.cumsum(new)
    return person


def home_of(person: Codes, mark: Words, bucket: NDArray[Any], seed: int) -> NDArray[Any]:
    """The home of each record's person.

    Parameters
    ----------
    person
        Whose each record is, as numbers from 0 on; all records of a person are there.
    mark
        The mark of each record's person (`shoal.encoding.marks`).
    bucket
        Where each record lies.
    seed
        Of the release.
    """
    if not len(person):
        return bucket
    order = np.lexsort((bucket, person))
    records = np.bincount(person)
    starts = np.cumsum(records) - records
    who = np.full(len(records), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(who, person, mark)  # whoever is not named can have different marks
    nothing = np.zeros((0, len(who)), dtype=np.int32)
    drawn = fingerprints(nothing, nothing, who.reshape(1, -1), seed_words(seed, "home"))
    chosen = starts + (drawn % records.astype(np.uint64)).astype(np.int64)
    found: NDArray[Any] = bucket[order[chosen]][person]
    return found


def parted(words: Words, parts: int) -> NDArray[np.int64]:
    """One of so many parts for each record, the same for all records of a person."""
    return np.asarray(same_person(words)[0] % np.uint64(parts), dtype=np.int64)
