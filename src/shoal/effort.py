"""What each effort of an any-time method is worth: one table for the search and its bound.

This module imports nothing heavy: the policy and the command line read the names here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = [
    "DEFAULT_EFFORT",
    "EFFORTS",
    "USUAL_RECORDS",
    "BoundSteps",
    "Effort",
    "EffortName",
    "time_factor",
]

EffortName = Literal["instant", "fast", "normal", "max"]

DEFAULT_EFFORT: EffortName = "fast"
"""The effort where none is given."""
USUAL_RECORDS = 30_000
"""Records for which the times of efforts are said."""
GROWTH, LARGEST_FACTOR = 0.38, 2.6
"""Time grows with this power of the records, up to so many times the usual one."""


def time_factor(records: int) -> float:
    """How many times as long as `USUAL_RECORDS` these may take: less than in proportion.

    Examples
    --------
    >>> time_factor(3_000), time_factor(30_000), round(time_factor(1_000_000), 1)
    (0.1, 1.0, 2.6)
    """
    share = records / USUAL_RECORDS
    return share if share <= 1 else min(LARGEST_FACTOR, float(share**GROWTH))


@dataclass(frozen=True)
class BoundSteps:
    """What an effort spends on the bound. Each begins with all that the one before does."""

    boxes: tuple[int, ...] = ()
    """Candidates to look at for the box of a record, in turns."""
    rounds: tuple[int, ...] = ()
    """Candidates to look at for the slack of a record, round by round of the dual."""
    cells: int = 0
    """Rounds of the dual over cells, where there are not too many."""
    programme: int = 60
    """Steps of the linear programme of stars, where there is one."""
    exact: bool = False
    """Whether tables of a few records are solved by trying all partitions."""


@dataclass(frozen=True)
class Effort:
    """What one effort spends. It counts steps, so that its result can be repeated."""

    seconds: float
    """The search takes about so long, on two cores at `USUAL_RECORDS` records: its steps are
    counted such that it does. Each effort adds this as a stage to those before it."""
    rounds: int
    """Rounds of that stage of the search."""
    start_seconds: float
    """A start that would take longer, by what is counted of it, is not tried."""
    bound_seconds: float
    """The bound takes about so long, at up to `USUAL_RECORDS` records: it counts steps too."""
    bound: BoundSteps

    def seconds_for_bound(self, records: int) -> float:
        """The bound of a table of so many records takes about so long at most."""
        return float(self.bound_seconds * max(1.0, time_factor(records)) ** 0.5)


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        "instant": Effort(0.4, 4, 4.0, 0.5, BoundSteps()),
        "fast": Effort(4.0, 12, 40.0, 2.0, BoundSteps((2_000,), cells=40, programme=300)),
        "normal": Effort(
            30.0, 60, 400.0, 25.0, BoundSteps((2_000, 20_000), (1_000,) * 3, 400, programme=1_000)
        ),
        "max": Effort(
            300.0,
            300,
            4_000.0,
            300.0,
            BoundSteps(
                (2_000, 20_000),
                (1_000,) * 3 + (5_000,) * 16,
                cells=4_000,
                programme=5_000,
                exact=True,
            ),
        ),
    }
)
"""Efforts by name, in ascending order."""
