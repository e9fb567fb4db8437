"""How long a query may take."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import duckdb

from shoal.errors import TimeLimitError

__all__ = ["Deadline"]


class Deadline:
    """A moment after which the work is given up: asked in our loops, enforced in DuckDB."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise `TimeLimitError` if the time is over."""
        if time.monotonic() > self._end:
            raise TimeLimitError(
                f"query: no answer within {self.seconds:g} seconds; ask for less, or give more "
                "time (--time)"
            )

    @contextlib.contextmanager
    def watching(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Interrupt what a connection does when the time is over."""
        left = max(0.0, self._end - time.monotonic())
        timer = threading.Timer(left, connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        except duckdb.InterruptException:
            self.check()
            raise KeyboardInterrupt from None
        finally:
            timer.cancel()
