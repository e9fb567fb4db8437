"""Tables to try things on: the papers' examples, and a census of any size.

None of them holds data about real people. `DATASETS` lists them by name; `shoal.datasets.hard`
makes tables on which the optimum is NP-hard to find.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from shoal.datasets.census import census, census_hierarchies
from shoal.datasets.papers import ages_weights, disease, hospital, traffic_accidents, xray

__all__ = [
    "DATASETS",
    "ages_weights",
    "census",
    "census_hierarchies",
    "disease",
    "hospital",
    "traffic_accidents",
    "xray",
]

DATASETS: dict[str, Callable[..., pa.Table]] = {
    "hospital": hospital,
    "disease": disease,
    "traffic-accidents": traffic_accidents,
    "ages-weights": ages_weights,
    "xray": xray,
    "census": census,
}
"""Every data set by name; `census` also takes ``n`` and ``seed``."""
