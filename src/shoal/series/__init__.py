"""Releases of one table that grows and shrinks, safe together (Xiao and Tao, SIGMOD 2007).

Each release may be diverse on its own and yet, laid over the one before, tell
what somebody has. `chain` keeps who was published with which values, `buckets`
says who may stand in for whom, `invariant` makes groups that keep it, `cohorts`
does so for k without sensitive values, `engine` puts both into the flow, and
`check` attacks what came out.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.series.check import series_check
    from shoal.series.result import SeriesCheck

__all__ = ["SeriesCheck", "series_check"]
_HOMES = {"series_check": "shoal.series.check", "SeriesCheck": "shoal.series.result"}


def __getattr__(name: str) -> Any:
    """Looked up when asked for: every release asks for this room, few are of a series."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'shoal.series' has no attribute {name!r}")
