"""Individual risk with sampling weights (Benedetti and Franconi 1998), of records and households.

The table is a sample; the weights of a class sum to an estimate of the people F who share its
values. With p = f/F the risk is the expectation of 1/F given f, F - f being negative binomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["household_risks", "individual_risks"]

Floats = NDArray[np.float64]


def individual_risks(sizes: NDArray[np.int64], people: NDArray[Any]) -> Floats:
    """Risk of the records of each class.

    f = 1: ``q ln(1/p)`` with ``q = p/(1-p)``; f = 2: ``q - q**2 ln(1/p)``;
    f > 2: ``p / (f - 1 + p)``; and 1/f where the class is all of the population (p = 1).
    """
    f = sizes.astype(np.float64)
    p = np.minimum(f / people, 1.0)
    whole = p > 1 - 1e-7  # the formulas lose all their digits there, and tend to 1/f
    q = np.divide(p, 1 - p, out=np.zeros_like(p), where=~whole)
    log = -np.log(p)
    risk = p / (f - 1 + p)
    risk = np.where(f == 1, q * log, risk)
    risk = np.where(f == 2, q - q**2 * log, risk)
    # near p = 1 the formula of f = 2 subtracts nearly equal numbers; 1/f is the most it can be
    return np.asarray(np.clip(np.where(whole, 1 / f, risk), 0.0, 1 / f))


def household_risks(risks: Floats, household: NDArray[np.integer[Any]]) -> Floats:
    """Of each record the chance that somebody of its household is picked out.

    ``1 - product(1 - r)`` over the members.
    """
    with np.errstate(divide="ignore"):
        logs = np.log1p(-risks)
    missed = np.bincount(household, weights=logs)
    return np.asarray(-np.expm1(missed)[household])
