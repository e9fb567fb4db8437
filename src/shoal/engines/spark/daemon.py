"""The Python of an executor with everything loaded, which then forks a worker for every task.

``spark.python.daemon.module = shoal.engines.spark.daemon``: what a task needs is imported once
an executor, and not once a worker. Sessions that Shoal starts ask for it; in others it is a
setting that saves some seconds.
"""

from __future__ import annotations

import contextlib
from importlib import import_module

__all__ = ["main"]

NEEDED = (
    "numba",
    "pandas",  # Spark's worker looks for it
    *(f"shoal.engines.spark.{name}" for name in ("grouping", "publishing", "exposing", "check")),
    *(f"shoal.methods.{name}" for name in ("best.method", "bsgi", "hilbert")),
)


def main() -> None:
    """Load, then wait for tasks."""
    from pyspark import daemon

    for name in NEEDED:
        with contextlib.suppress(ImportError):
            import_module(name)
    daemon.manager()


if __name__ == "__main__":
    main()
