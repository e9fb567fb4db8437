"""Does a release keep the signatures? Decided from its text and who stands where, in integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import VerificationError
from shoal.verification.check import released_classes

__all__ = ["check_signatures"]

Rows = NDArray[np.int64]


def check_signatures(
    released: pa.Table,
    qi: Sequence[str],
    value: Rows,
    signature: Rows,
    signatures: Sequence[tuple[int, ...]],
    m: int,
) -> None:
    """Raise unless every class splits into groups that have each value of a signature once.

    Parameters
    ----------
    released, qi
        The table as published.
    value, signature
        Of each released row: its sensitive value, and the signature of its group.
    signatures
        Their values, as numbers.
    m
        How many different values a group has at least.
    """
    ids, _ = released_classes(released, qi)
    span = max(1, len(signatures), int(value.max(initial=0)) + 1)
    pairs, rows = np.unique(ids * span + signature, return_counts=True)
    expected: dict[tuple[int, int], int] = {}
    for pair, count in zip(pairs.tolist(), rows.tolist(), strict=True):
        class_, number = divmod(pair, span)
        own = signatures[number]
        if len(own) < m or len(set(own)) < len(own) or count % len(own):
            raise VerificationError("a class does not split into groups of a person's values")
        for one in own:
            place = class_, one
            expected[place] = expected.get(place, 0) + count // len(own)
    found, counts = np.unique(ids * span + value, return_counts=True)
    there = {divmod(p, span): c for p, c in zip(found.tolist(), counts.tolist(), strict=True)}
    if there != expected:
        raise VerificationError("a class does not have the values that its persons keep")
