"""What else tells records apart: persons, plain columns and spellings, as fingerprints.

Methods look at none of these, but the order of the records must not depend on the order
they came in, also among those that are equal in every code.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import distinct_values
from shoal.kernels.fingerprint import text_fingerprints
from shoal.policy import Policy

__all__ = ["marks_of"]

Marks = NDArray[np.uint64]

MISSING = np.uint64(0)


def marks_of(source: pa.Table, policy: Policy, spelt: Collection[str] = ()) -> Marks | None:
    """Fingerprints of the columns that codes do not cover, shape (columns, n); None: no column.

    Persons, where they are declared, come first. `spelt` names sensitive columns in which
    different texts have one code: each is published as it is spelt.
    """
    coded = {*policy.qi, *policy.sensitive, *policy.identifier, policy.person} - set(spelt)
    names = [name for name in source.column_names if name not in coded]
    if policy.person is not None:
        names = [policy.person, *names]
    return np.stack([_marks(source.column(name)) for name in names]) if names else None


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
    try:
        texts = values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        texts = pa.array([str(value) for value in values.to_pylist()], pa.large_string())
    _, places, data = texts.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[texts.offset :][: len(texts) + 1]
    written = np.frombuffer(data, dtype=np.uint8) if data else np.zeros(0, dtype=np.uint8)
    found: Marks = text_fingerprints(written, offsets)
    return found
