"""Whose record is whose: persons of a table by keyed hash, and values by what they read as."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.codebook import SensitiveAttribute
from shoal.encoding.folding import UNKNOWN, fold
from shoal.encoding.values import distinct_values
from shoal.errors import InfeasibleError, InputError
from shoal.policy import Policy
from shoal.series.asking import Asked
from shoal.series.chain import Chain, Signature, keyed_hashes

__all__ = ["Numbering", "check_changed", "check_known", "hashes_of"]

Rows = NDArray[np.int64]


def hashes_of(column: pa.ChunkedArray, name: str, policy: Policy, key: bytes) -> list[bytes]:
    """Keyed hash of the person of each record, each person once, by what his name reads as.

    With ``twins = "distinct"`` names that differ in spelling are of different persons.

    Raises
    ------
    InputError
        A record is nobody's, or somebody has two.
    """
    distinct = distinct_values(column, policy.missing)
    if distinct.has_missing:
        nobody = int((distinct.codes < 0).sum())
        raise InputError(f"column {name!r}: {nobody:,} records do not say whose they are")
    if len(distinct.values) < len(distinct.codes):
        counts = np.bincount(distinct.codes)
        first = distinct.first_record(np.flatnonzero(counts > 1))
        raise InputError(
            f"column {name!r}: {int((counts > 1).sum()):,} persons have more than one record, the "
            f"first of them at record {first}; a series takes one record a person"
        )
    names = distinct.texts()
    if policy.twins == "fold":
        names = [fold(text) for text in names]
        if len(set(names)) < len(names):
            raise InputError(
                f"column {name!r}: {len(names) - len(set(names)):,} persons differ from another "
                "one in spelling only (blanks, upper and lower case, zeros before a number); a "
                'series takes one record a person: write them alike, or say twins = "distinct" '
                "if they are different persons"
            )
    hashes = keyed_hashes(key, names)
    return [hashes[code] for code in distinct.codes.tolist()]


def check_known(asked: Asked, numbers: Rows) -> None:
    """Refuse a table that has nothing to do with the chain, or more than it should."""
    chain, known = asked.chain, int((numbers >= 0).sum())
    if chain.last is None:
        return
    if asked.append and known:
        raise InputError(
            f"append: {known:,} persons of the table were published before; expected new ones "
            "only: give the whole table without append"
        )
    if not asked.append and not known:
        raise InputError(
            f"record {chain.last.path}: none of its {chain.persons:,} persons is in the table; is "
            "it another table's record? For new persons only, say append"
        )


class Numbering:
    """Sensitive values as numbers: those of the table, then those of the chain that are gone."""

    def __init__(self, column: SensitiveAttribute, chain: Chain, policy: Policy) -> None:
        self.folds = policy.twins == "fold" or column.kind != "categorical"
        self.labels: list[str | None] = []
        self._number: dict[str | None, int] = {}
        self.of_code = np.array([self._add(label) for label in column.labels], dtype=np.int64)
        self.signatures = [self._signature(own) for own in chain.signatures]

    def _add(self, label: str | None) -> int:
        key: str | None = label
        if self.folds:
            key = UNKNOWN if label is None else fold(label)
        if key not in self._number:
            self._number[key] = len(self.labels)
            self.labels.append(label)
        return self._number[key]

    def _signature(self, values: Iterable[str | None]) -> tuple[int, ...]:
        return tuple(sorted(self._add(value) for value in values))

    def texts(self, values: Iterable[int]) -> Signature:
        """A signature as it is kept: as the values were written."""
        return tuple(self.labels[value] for value in values)


def check_changed(value: Rows, signature: Rows, signatures: list[tuple[int, ...]], m: int) -> None:
    """Refuse persons whose value is none of those that they were published with.

    A value that changed to another one of the signature goes unnoticed by everybody.
    """
    changed = [
        row
        for row in np.flatnonzero(signature >= 0).tolist()
        if value[row] not in signatures[signature[row]]
    ]
    if changed:
        raise InfeasibleError(
            f"{len(changed):,} persons, the first at record {changed[0] + 1}, have a sensitive "
            "value now that is none of those they were published with: whoever compares releases "
            "would see that it changed, and from what; leave them out, or give them as new "
            "persons where they are not known to be the same"
        )
    small = [row for row in np.flatnonzero(signature >= 0) if len(signatures[signature[row]]) < m]
    if small:
        raise InfeasibleError(
            f"{len(small):,} persons were published among fewer than m = {m} values, and keep these"
        )
