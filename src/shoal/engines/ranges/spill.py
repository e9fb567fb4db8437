"""A folder of our own for what does not fit into memory, and the pieces that lie in it.

Nobody else may look into it, and it is gone in the end: of a run that was killed the next run
on the same place removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import OutputError
from shoal.io.together import is_dead, owner_mark

__all__ = ["Pieces", "Scattered", "Spill", "private", "smallest_type", "split_by"]

PREFIX = ".shoal-spill."
OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Spill:
    """A private folder that does not outlive its run."""

    def __init__(self, place: Path | None) -> None:
        place = Path(tempfile.gettempdir()) if place is None else place
        try:
            if not place.is_dir():
                raise OutputError(f"temp: {place} is no folder")
            _remove_dead(place)
            self.path = place / f"{PREFIX}{owner_mark()}"
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise OutputError(f"temp: {place}: {error.strerror or error}") from None
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        self._remove()

    def file(self, name: str) -> Path:
        return self.path / name


def private(path: str, flags: int) -> int:
    """Opens a file, as `open` asks for it, that nobody else may look into once it is there."""
    return os.open(path, flags, 0o600)


def _remove_dead(place: Path) -> None:
    """Remove folders of runs that were killed."""
    with contextlib.suppress(OSError):
        for path in place.iterdir():
            if path.name.startswith(PREFIX) and is_dead(path.name) and _is_ours(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and (
        not hasattr(os, "geteuid") or path.stat().st_uid == os.geteuid()
    )


class Pieces:
    """Batches one after the other in a file; each says itself of which types it is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, *batches: pa.RecordBatch) -> None:
        """Write some more."""
        with open(self.path, "ab", opener=private) as file:
            for batch in batches:
                with pa.ipc.new_stream(file, batch.schema, options=OPTIONS) as stream:
                    stream.write_batch(batch)

    def read(self) -> Iterator[pa.RecordBatch]:
        """All of them, in their order."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            end = self.path.stat().st_size
            while file.tell() < end:
                with pa.ipc.open_stream(file) as stream:
                    yield from stream

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class Scattered:
    """Records that are dealt out to many files by a number each: a sort that needs no memory."""

    def __init__(self, spill: Spill, name: str, parts: int, room: int) -> None:
        self.pieces = [Pieces(spill.file(f"{name}-{part}.arrow")) for part in range(parts)]
        self.room = room
        """Bytes that may wait in memory before they are written."""
        self.waiting: list[list[pa.RecordBatch]] = [[] for _ in range(parts)]
        self.bytes = 0
        self.lock = threading.Lock()

    def add(self, batch: pa.RecordBatch, part: NDArray[np.integer]) -> None:  # type: ignore[type-arg]
        """Deal out the records of a batch."""
        if not batch.num_rows:
            return
        for number, own in split_by(batch, part):
            self.waiting[number].append(own)
        self.bytes += batch.nbytes
        if self.bytes > self.room:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        for pieces, batches in zip(self.pieces, self.waiting, strict=True):
            if batches:
                pieces.append(*pa.Table.from_batches(batches).combine_chunks().to_batches())
                batches.clear()
        self.bytes = 0

    def take(self, part: int) -> list[pa.RecordBatch]:
        """The batches of a part; its file is gone afterwards."""
        found = list(self.pieces[part].read())
        self.pieces[part].remove()
        return found


def split_by(
    batch: pa.RecordBatch, part: NDArray[np.integer[Any]]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The records of each part, in their order."""
    order = np.argsort(part, kind="stable")
    there, first = np.unique(part[order], return_index=True)
    batch = batch.take(pa.array(order))
    ends = [*first[1:].tolist(), len(order)]
    for number, begin, end in zip(there.tolist(), first.tolist(), ends, strict=True):
        yield number, batch.slice(begin, end - begin)


def smallest_type(values: int) -> type[np.unsignedinteger]:  # type: ignore[type-arg]
    """The smallest type for the numbers below `values`."""
    return np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.uint32
