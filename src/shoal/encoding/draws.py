"""Random numbers for the records of a treated column, from the secret seed.

In the order of what records hold, so that the order of rows leaves no trace; and by SHAKE, so
that whoever knows the draws of all others learns none.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from shoal.treatments import Treatment

__all__ = ["Draws"]

Rows = NDArray[np.int64]


class Draws:
    """Random words for the records of a column, in the order of what the records hold."""

    def __init__(self, seed: int, name: str, one: Treatment, order: Rows | None) -> None:
        # With the amount: of one draw on two scales, the value is twice the one less the other.
        asked = f"{one.how}\0{one.amount}\0{one.share}\0{one.random}"
        self.key = f"shoal treat\0{seed}\0{asked}\0{name}".encode()
        self.order = order
        self.like: Rows | None = None

    def once_for(self, persons: Rows, codes: Rows) -> Draws:
        """With one draw for all records of a person that have one value."""
        assert self.order is not None
        pairs = np.stack([persons, codes])[:, self.order]
        _, first, pair = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        like = np.empty(len(self.order), dtype=np.int64)
        like[self.order] = self.order[first[pair.ravel()]]
        self.like = like
        return self

    def words(self, kind: str) -> NDArray[np.uint64]:
        """64 random bits a record. SHAKE: who knows the values of all others learns no draw."""
        assert self.order is not None
        stream = hashlib.shake_256(self.key + b"\0" + kind.encode()).digest(8 * len(self.order))
        found = np.empty(len(self.order), dtype=np.uint64)
        found[self.order] = np.frombuffer(stream, dtype="<u8")
        return found if self.like is None else found[self.like]

    def shares(self, kind: str) -> NDArray[np.float64]:
        """A number between 0 and 1 a record, neither of both."""
        return ((self.words(kind) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53

    def normal(self) -> NDArray[np.float64]:
        """Standard normal numbers (Box and Muller)."""
        radius = np.sqrt(-2.0 * np.log(self.shares("radius")))
        return np.asarray(radius * np.cos(2.0 * np.pi * self.shares("angle")))
