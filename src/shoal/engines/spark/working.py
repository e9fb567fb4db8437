"""A task where it is carried out: in a Python process of an executor, which has the package.

A task is unpickled once a process. What goes wrong is told without a cell: Spark hands the
text of an error to the driver, and keeps it in its logs.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import re
import zlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

import shoal.errors
from shoal.engines.spark.packets import Row, as_batch, rows_of
from shoal.errors import OutputError, ShoalError

__all__ = [
    "OnBatches", "OnRows", "TaskError", "carried_out", "in_our_words", "shipped", "what_failed",
]  # fmt: skip

MARK = "shoal-task-failed:"
KEPT = 4
"""Tasks that a process keeps: those of a run follow each other."""
FULL = "engine spark: no room is left on a disk of an executor, or in the folder of temp"
LITTLE = "engine spark: a task ran out of memory; give executors more (docs/scale.md says how much)"


class TaskError(Exception):
    """An error of a task, which says itself what the driver has to say."""


class OnBatches(ABC):
    """A task on the batches of a data frame of somebody else."""

    @abstractmethod
    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        """What comes of them."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        return self.rows(batches)


class OnRows(ABC):
    """A task on packets."""

    @abstractmethod
    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """What comes of them."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        return self.rows(rows_of(batches))


_known: OrderedDict[bytes, Any] = OrderedDict()


def shipped(task: OnBatches | OnRows) -> bytes:
    """A task as it travels."""
    return zlib.compress(pickle.dumps(task, pickle.HIGHEST_PROTOCOL), 1)


def _task(blob: bytes) -> Any:
    """The task of these bytes, unpickled once."""
    if blob not in _known:
        _known[blob] = pickle.loads(zlib.decompress(blob))
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[blob]


def carried_out(blob: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Carry out a task that was shipped."""
    return in_our_words(lambda given: map(as_batch, _task(blob).run(given)), batches)


def in_our_words(
    work: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Work whose errors say no more than ours do."""
    try:
        _one_thread()
        yield from work(batches)
    except ShoalError as error:
        failed = (type(error).__name__, str(error))
    except (MemoryError, pa.ArrowMemoryError):
        failed = ("OutputError", LITTLE)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = error.strerror or "cannot be read or written"
        failed = ("OutputError", FULL if full else f"engine spark: {reason}")
    except Exception as error:
        where = _place_of(error)
        failed = ("OutputError", f"engine spark: a task failed ({type(error).__name__}{where})")
    else:
        return
    raise TaskError(f"{MARK}{json.dumps(failed)}{MARK}")


def _place_of(error: BaseException) -> str:
    """Where in our source an error arose: it tells who looks for it more than its text may."""
    at, place = error.__traceback__, ""
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if f"{os.sep}shoal{os.sep}" in file:
            place = f" in {file.rpartition(f'{os.sep}shoal{os.sep}')[2]}, line {at.tb_lineno}"
        at = at.tb_next
    return place


def _one_thread() -> None:
    """Spark counts a task as one core, and runs as many as there are."""
    import numba

    numba.set_num_threads(1)


def what_failed(error: BaseException) -> ShoalError | None:
    """The error of ours that a task ended with, from what Spark says; None: it was none."""
    found = re.search(f"{MARK}(.*?){MARK}", str(error), re.DOTALL)
    if found is None:
        return None
    try:
        name, text = json.loads(found[1])
    except ValueError:
        return OutputError("engine spark: a task failed")
    kind = getattr(shoal.errors, name, OutputError)
    known: ShoalError = kind(text)
    return known
