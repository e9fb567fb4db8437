"""Kernels release the GIL: a few threads use all cores without a second process."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")

ALONE = 1 << 15
"""Fewer records than this are not worth a second thread."""


def on_threads(function: Callable[..., Result], *columns: Sequence[Any]) -> tuple[Result, ...]:
    """``tuple(map(function, *columns))`` on as many threads as there are cores."""
    threads = min(len(columns[0]), os.cpu_count() or 1)
    if threads < 2:
        return tuple(map(function, *columns))
    with stopping(ThreadPoolExecutor(threads)) as pool:
        return tuple(pool.map(function, *columns))


@contextmanager
def stopping(pool: ThreadPoolExecutor) -> Iterator[ThreadPoolExecutor]:
    """A pool that Ctrl-C does not wait for: what has begun ends unheard, the rest never begins."""
    try:
        yield pool
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
