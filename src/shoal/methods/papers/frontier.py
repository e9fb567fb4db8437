"""Groups of different values as paper 004 makes them: options `frontier` and `enhance`.

Ghinita, Karras, Kalnis and Mamoulis (VLDB 2007), Figures 8 and 9. The groups that
`shoal.methods.line` makes by itself are nested, not staggered, and lose less.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.papers.frontier import frontier_groups
from shoal.methods.line import Diverse

__all__ = ["frontier_along"]


def frontier_along(spots: NDArray[np.float64] | None = None) -> Diverse:
    """Figure 8; with the place of each record on the line, the enhancement of Figure 9."""
    return partial(frontier_groups, spot=spots)
