"""Engines by name: what carries a release out, in memory or in files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.errors import PolicyError
from shoal.progress import Report, silent

if TYPE_CHECKING:
    from shoal.engines.base import Engine

__all__ = ["DEFAULT", "ENGINES", "get_engine"]

ENGINES = {
    "memory": "shoal.engines.memory.engine:MemoryEngine",
    "duckdb": "shoal.engines.duckdb.engine:DuckDBEngine",
    "spark": "shoal.engines.spark.engine:SparkEngine",
}
"""Name to "module:class": importing the registry imports nothing else."""
DEFAULT = "memory"


def get_engine(name: str = DEFAULT, report: Report = silent) -> Engine[Any, Any, Any, Any]:
    """The engine registered as `name`, which tells `report` how far it is."""
    if name not in ENGINES:
        raise PolicyError(f"engine: expected one of {', '.join(sorted(ENGINES))}; got {name!r}")
    module, attribute = ENGINES[name].split(":")
    engine: Engine[Any, Any, Any, Any] = getattr(import_module(module), attribute)(report)
    return engine
