"""The Python of an executor with everything loaded, which then forks a worker for every task.

``spark.python.daemon.module = shoal.engines.spark.daemon``: what a task needs is imported once
an executor, and not once a worker. Sessions that Shoal starts ask for it; in others it is a
setting that saves some seconds.
"""

from __future__ import annotations

from pyspark import daemon

__all__ = ["main"]


def main() -> None:
    """Wait for tasks."""
    daemon.manager()


if __name__ == "__main__":
    main()
