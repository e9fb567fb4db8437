"""Privacy models inside compiled loops: the fast twin of `shoal.models`.

A method that tries millions of groups asks `holds` about a histogram it keeps
up to date; it never errs on the unsafe side (floats are compared with a margin
against the method), and verification decides anew, exactly.
"""

from typing import NamedTuple

import numpy as np


class Rules(NamedTuple):
    """Models and sensitive columns, flattened.

    Histograms of all sensitive columns lie one after the other in one array:
    value v of column s is at ``start[s] + v``.
    """

    kind: np.ndarray  # int64 (R,): which rule, a constant of this module
    column: np.ndarray  # int64 (R,): index of the sensitive column, -1 for class size
    a: np.ndarray  # int64 (R,): first integer parameter
    b: np.ndarray  # int64 (R,): second
    x: np.ndarray  # float64 (R,): float parameter
    smallest: int  # no class of fewer records (persons) can pass
    start: np.ndarray  # int64 (S+1,)
    total: np.ndarray  # int64 (sum of domains,): histogram of the whole table
    number: np.ndarray  # float64 (sum of domains,): number behind a value, NaN if none
    ordered: np.ndarray  # bool (S,)
