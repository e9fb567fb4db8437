"""What can go wrong outside of us: no room, no memory. Errors say so, and show no cell.

After every step what it held is given back, so that the peak is that of one step.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import duckdb
import pyarrow as pa

from shoal.errors import OutputError, ShoalError

__all__ = ["told"]

Step = TypeVar("Step", bound=Callable[..., Any])
FULL = (errno.ENOSPC, errno.EDQUOT)


def told(step: Step) -> Step:
    """A step of the engine whose failures are told in our words: others quote rows."""

    @wraps(step)
    def carried_out(*arguments: Any, **named: Any) -> Any:
        try:
            return step(*arguments, **named)
        except ShoalError:
            raise
        except (duckdb.OutOfMemoryException, pa.ArrowMemoryError, MemoryError):
            raise OutputError(
                "engine duckdb: the memory of this run is too little; give more with memory "
                "(--memory 2GB)"
            ) from None
        except duckdb.Error as error:
            raise OutputError(
                f"engine duckdb: DuckDB failed ({type(error).__name__}); is there room in the "
                "folder of temp (--temp DIR)?"
            ) from None
        except OSError as error:
            why = "no room is left" if error.errno in FULL else error.strerror or "cannot write"
            raise OutputError(
                f"engine duckdb: {why} in the folder of temp; name another (--temp DIR)"
            ) from None
        finally:
            _give_back()

    return cast(Step, carried_out)


def _give_back() -> None:
    """Hand memory that a step no longer needs back to the system: the next has its own needs."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # C libraries other than GNU's
            ctypes.CDLL(None).malloc_trim(0)
