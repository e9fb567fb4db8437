"""Spark's data frames, as far as they are used: maps over Arrow batches, and moves by a number.

Only what Spark Connect has too: no RDDs, no broadcast variables, no context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from shoal.engines.spark.packets import SCHEMA, Row
from shoal.engines.spark.working import FULL, OnBatches, OnRows, shipped, what_failed
from shoal.errors import OutputError, ShoalError

__all__ = [
    "collected", "each_to", "is_frame", "kept", "mapped", "only", "quoted", "row_frame", "told",
]  # fmt: skip

Step = TypeVar("Step", bound=Callable[..., Any])
Frame = Any
"""A `pyspark.sql.DataFrame`; PySpark is there only for who asks for it."""


def is_frame(data: Any) -> bool:
    """Whether data are a data frame of Spark, classic or by Connect."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pyspark"


def quoted(name: str) -> str:
    """A column's name as Spark reads it: dots and backticks have no meaning."""
    return "`" + name.replace("`", "``") + "`"


def mapped(frame: Frame, task: OnBatches | OnRows) -> Frame:
    """What a task makes of every partition."""
    blob = shipped(task)

    def run(batches: Iterable[Any]) -> Any:  # Spark takes functions only, and pickles this one
        from shoal.engines.spark.working import carried_out

        return carried_out(blob, batches)

    return frame.mapInArrow(run, SCHEMA)


def only(frame: Frame, *kinds: str) -> Frame:
    """Rows of some kinds."""
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    return frame.where(f"kind IN ({listed})")


def each_to(frame: Frame, parts: int) -> Frame:
    """Rows in the partition of their number, of which there are so many."""
    if parts == 1:
        return frame.repartition(1)
    if hasattr(frame, "repartitionById"):  # Spark 4.1: a number to a partition
        return frame.repartitionById(parts, "number")
    return frame.repartition(parts, "number")  # by a hash: some partitions get several numbers


def kept(frame: Frame) -> Frame:
    """The frame on the disks of the executors once it is made: it is read several times."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def collected(frame: Frame) -> list[Row]:
    """Rows on the driver: facts, never records of the input."""
    return [Row(row[0], row[1], bytes(row[2])) for row in frame.collect()]


def row_frame(session: Any, rows: Sequence[Row]) -> Frame:
    """Rows of the driver's as a frame."""
    listed = [(kind, number, bytearray(packet)) for kind, number, packet in rows]
    return session.createDataFrame(listed, SCHEMA)


def told(step: Step) -> Step:
    """A step of the engine whose failures are told in our words: Spark's quote rows."""

    @wraps(step)
    def carried_out(*arguments: Any, **named: Any) -> Any:
        try:
            return step(*arguments, **named)
        except ShoalError:
            raise
        except Exception as error:
            raise _ours(error) from None

    return cast(Step, carried_out)


def _ours(error: Exception) -> Exception:
    """An error of Spark's in our words; others as they are."""
    known = what_failed(error)
    if known is not None:
        return known
    if type(error).__module__.split(".")[0] not in {"pyspark", "py4j", "grpc"}:
        return error
    if "No space left on device" in str(error):
        return OutputError(FULL)
    if "ModuleNotFoundError" in str(error) and "shoal" in str(error):
        return OutputError(
            "engine spark: the Python of an executor has no package shoal; install it there "
            "(or ship it: spark.archives, spark.executorEnv.PYTHONPATH)"
        )
    what = getattr(error, "getCondition", getattr(error, "getErrorClass", lambda: None))
    try:
        condition = what()
    except Exception:
        condition = None
    named = type(error).__name__ + (f", {condition}" if condition else "")
    return OutputError(
        f"engine spark: Spark failed ({named}); its own log says why, and nothing was published"
    )
