"""A proof that can be checked without its prover: weights that no group exceeds.

Every class that satisfies the models is a mixture of groups of the family: exactly `size`
records, at most ``caps[v]`` of them with value v of one sensitive column. If the records of no
such group together weigh more than `size` times what each of them loses, then the weights of all
records add up to no more than the loss of any release (`docs/bounds.md`). Weights are whole
numbers, so that the sums can be checked without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.families import Family

__all__ = ["Certificate"]

SCALE = 1 << 40
"""Units of a loss of 1, for weights that are made of floats."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Weights of all records, and the family of groups that they are for."""

    weights: NDArray[np.int64]
    """Of each record, in units."""
    scale: int
    """Units of a loss of 1 in an attribute of weight 1."""
    family: Family
    loss: float
    """What is claimed: no release has a lower GCP."""

    @classmethod
    def of(cls, weights: NDArray[np.float64], family: Family, loss: float) -> Certificate:
        """The certificate of weights that are floats: they are rounded down."""
        return cls(np.floor(weights * SCALE).astype(np.int64), SCALE, family, loss)
