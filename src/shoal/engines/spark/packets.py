"""What tasks hand each other: rows of a kind, a number and a packet of bytes.

Spark moves few large cells at a fraction of what many small rows cost it. A packet holds many
records as an Arrow stream, or facts about them; what it is for its kind says, and its number
says where it goes: to a range, or to a part of the release.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.ranges.spill import split_by

__all__ = [
    "SCHEMA", "Row", "as_batch", "by_number", "dealt", "facts", "packed", "rows_of", "told",
    "unpacked",
]  # fmt: skip

SCHEMA = "kind string, number int, packet binary"
"""Of every data frame between two steps, as Spark writes it."""
OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Row(NamedTuple):
    """One packet."""

    kind: str
    number: int
    packet: bytes


def packed(table: pa.Table | pa.RecordBatch) -> bytes:
    """Records as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=OPTIONS) as stream:
        stream.write(table)
    whole: bytes = sink.getvalue().to_pybytes()
    return whole


def unpacked(packet: bytes) -> pa.Table:
    """The records of a packet, in one chunk."""
    return pa.ipc.open_stream(packet).read_all().combine_chunks()


def facts(known: Any) -> bytes:
    """What a task has found, for the driver or another task of the same run."""
    return pickle.dumps(known, pickle.HIGHEST_PROTOCOL)


def told(packet: bytes) -> Any:
    """What another task has found; it is as trusted as the tasks themselves, which Spark pickles"""
    return pickle.loads(packet)


def as_batch(row: Row) -> pa.RecordBatch:
    """One row as Spark takes it."""
    kind, number, packet = row
    return pa.RecordBatch.from_arrays(
        [pa.array([kind]), pa.array([number], pa.int32()), pa.array([packet], pa.binary())],
        names=["kind", "number", "packet"],
    )


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of what Spark hands over."""
    for batch in batches:
        kinds, numbers, packets = batch.columns
        for kind, number, packet in zip(kinds, numbers, packets, strict=True):
            yield Row(kind.as_py(), number.as_py(), packet.as_buffer())


def by_number(rows: Iterable[Row]) -> Iterator[tuple[int, list[Row]]]:
    """All rows of a task by their numbers, ascending; what is handed out is given back."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.number, []).append(row)
    for number in sorted(found):
        yield number, found.pop(number)


def dealt(kind: str, batch: pa.RecordBatch, part: NDArray[np.integer[Any]]) -> Iterator[Row]:
    """The records of a batch in packets, one to a part."""
    if not batch.num_rows:
        return
    for number, own in split_by(batch, part):
        yield Row(kind, number, packed(own))
