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
NO_ROOM = ("no space left", "disk quota", "disk full", "max_temp_directory_size")
"""What DuckDB says then; its words are looked at and not passed on."""
FULL_FOLDER = "engine duckdb: no room is left in the folder of temp; name another (--temp DIR)"


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
            if any(word in str(error).lower() for word in NO_ROOM):
                raise OutputError(FULL_FOLDER) from None
            raise OutputError(
                f"engine duckdb: DuckDB failed ({type(error).__name__}), not for want of room; "
                "choose engine = memory, and please report it"
            ) from None
        except OSError as error:
            if error.errno in FULL:
                raise OutputError(FULL_FOLDER) from None
            place = f"{error.filename}: " if error.filename else ""
            raise OutputError(
                f"engine duckdb: {place}{error.strerror or 'cannot be read or written'}"
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
