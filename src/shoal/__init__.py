"""Shoal turns a table about people into one that can be published.

Nobody in a release can be picked out, nothing sensitive can be pinned on
anybody, as little as possible is lost, and the release carries its own proof.

>>> import shoal
>>> release = shoal.anonymize(shoal.datasets.census(1000), qi=["age", "gender"], k=5)
>>> release.verify().ok
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal._version import __version__

if TYPE_CHECKING:
    from shoal import datasets, errors
    from shoal.attacks import attack
    from shoal.explore.compare import compare
    from shoal.explore.inspection import inspect
    from shoal.hierarchy import Hierarchy
    from shoal.joining import join_check
    from shoal.pipeline import anonymize
    from shoal.policy import Policy
    from shoal.recipient import expand, pool, query
    from shoal.release import Release
    from shoal.risks import risk
    from shoal.series import series_check
    from shoal.verification.files import verify

__all__ = [
    "Hierarchy",
    "Policy",
    "Release",
    "__version__",
    "anonymize",
    "attack",
    "compare",
    "datasets",
    "errors",
    "expand",
    "inspect",
    "join_check",
    "pool",
    "query",
    "risk",
    "series_check",
    "verify",
]

# Names are looked up when first used: `import shoal` alone loads neither numpy nor numba.
_HOMES = {
    "Hierarchy": "shoal.hierarchy",
    "Policy": "shoal.policy",
    "Release": "shoal.release",
    "anonymize": "shoal.pipeline",
    "attack": "shoal.attacks",
    "compare": "shoal.explore.compare",
    "expand": "shoal.recipient",
    "inspect": "shoal.explore.inspection",
    "join_check": "shoal.joining",
    "pool": "shoal.recipient",
    "query": "shoal.recipient",
    "risk": "shoal.risks",
    "series_check": "shoal.series",
    "verify": "shoal.verification.files",
}
_MODULES = frozenset({"datasets", "errors", "sklearn"})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"shoal.{name}")
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
