"""What else tells records apart: persons, plain columns and spellings, as fingerprints.

Methods look at none of these, but the order of the records must not depend on the order
they came in, also among those that are equal in every code.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import distinct_values, is_present
from shoal.kernels.fingerprint import text_fingerprints
from shoal.policy import Policy

__all__ = ["marks_of", "same_person", "words_of_persons"]

Marks = NDArray[np.uint64]

MISSING = np.uint64(0)
OTHER = np.uint8(0xA5)
"""Changes the bytes of a text for its second fingerprint."""


def marks_of(
    source: pa.Table, policy: Policy, spelt: Collection[str] = (), person: Marks | None = None
) -> Marks | None:
    """Fingerprints of the columns that codes do not cover, shape (columns, n); None: no column.

    Persons, where they are declared, come first; `person` are theirs, where their column is not
    in the source. `spelt` names sensitive columns in which different texts have one code: each
    is published as it is spelt.
    """
    coded = {*policy.qi, *policy.sensitive, *policy.identifier, policy.person} - set(spelt)
    names = [name for name in source.column_names if name not in coded]
    if policy.person is not None and person is None:
        names = [policy.person, *names]
    found = [_marks(source.column(name)) for name in names]
    found = found if person is None else [person, *found]
    return np.stack(found) if found else None


def words_of_persons(column: pa.ChunkedArray, missing: tuple[str, ...]) -> Marks:
    """Two words for each record, shape (2, n): the mark of its person's cell, and another one.

    Both together, 128 bits, say who it is where names are too many to be kept. Where nobody is
    named the second is 0.
    """
    distinct = distinct_values(column, ())
    data, offsets = _texts(distinct.values)
    again = text_fingerprints(data ^ OTHER, offsets)
    again[~np.asarray(is_present(distinct.values, missing))] = MISSING
    words = np.zeros((2, len(distinct.values) + 1), dtype=np.uint64)
    words[:, :-1] = text_fingerprints(data, offsets), again
    found: Marks = words[:, distinct.codes]
    return found


def same_person(words: Marks) -> Marks:
    """The words by which two records are of one person; all that name nobody are of one."""
    return np.where(words[1] == MISSING, MISSING, words)


def _marks(column: pa.ChunkedArray) -> Marks:
    """Fingerprint of each cell; that of a missing one is 0."""
    try:
        distinct = distinct_values(column, ())
    except pa.ArrowNotImplementedError:  # nested values have no dictionary
        return _fingerprints(pa.array([str(cell) for cell in column.to_pylist()]))
    marks: Marks = np.append(_fingerprints(distinct.values), MISSING)[distinct.codes]
    return marks


def _fingerprints(values: pa.Array) -> Marks:
    """Of distinct values, none of them missing, by their texts."""
    found: Marks = text_fingerprints(*_texts(values))
    return found


def _texts(values: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of their texts, one after the other, and where each begins."""
    try:
        texts = values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        texts = pa.array([str(value) for value in values.to_pylist()], pa.large_string())
    _, places, data = texts.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    written = np.frombuffer(data, dtype=np.uint8) if data else np.zeros(0, dtype=np.uint8)
    return written, offsets
