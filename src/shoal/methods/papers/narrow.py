"""The widest group as narrow as can be: option `narrow`, paper 004's equation 3.

For k-anonymity the optimum of the line takes as long as that of the loss. For l-diversity
all boundaries that the paper's section 4.1 leaves are tried, which small tables allow.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.papers.narrow import cases, narrow_groups, narrow_offsets
from shoal.methods.line import Diverse

__all__ = ["MOST", "narrow_along", "narrow_offsets"]

MOST = 2_000_000
"""Cases to look at; they take some hundredths of a second, and a dozen curves are tried."""


def narrow_along(spots: NDArray[np.float64]) -> Diverse:
    """Groups of different values, the widest of them narrowest, on a line with these places."""

    def groups(
        value: NDArray[np.int32], values: int, l: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        counts = np.bincount(value)
        found = cases(counts[counts > 0])
        if found > MOST:
            raise PolicyError(
                f"option narrow: with different sensitive values, expected at most {MOST:,} "
                f"cases (records of each value plus 1, multiplied, times 2 for each value); the "
                f"table has {found:.1e}: leave narrow out, or take a small table"
            )
        places: NDArray[np.int64]
        offsets: NDArray[np.int64]
        places, offsets = narrow_groups(value, values, l, spots)
        return places, offsets

    return groups
