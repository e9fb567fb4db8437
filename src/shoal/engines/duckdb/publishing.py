"""Classes into the released file or parts, in canonical order (`shoal.engines.ranges.publishing`).

Classes of all ranges are ranked by their texts; records are dealt out to stretches of ranks,
and every stretch is sorted and written by itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.exposing import Sample
from shoal.engines.ranges.folder import first_of_parts, part_name
from shoal.engines.ranges.grouping import flow
from shoal.engines.ranges.publishing import Classes, Layout
from shoal.engines.ranges.spill import Scattered, Spill, private
from shoal.io.write import Writer
from shoal.progress import Report

__all__ = ["PEOPLE", "Files", "write_files"]

PEOPLE = "people.parquet"
STRETCH = 1 << 17
"""Records that are sorted at once."""
ROOM = 16_000_000
"""Bytes of dealt-out records that may wait in memory."""


class Files(NamedTuple):
    """The release in one file or in parts, in their order."""

    digests: dict[Path, str]
    qi: tuple[str, ...]
    names: list[str]
    sample: Sample
    """Some of its records."""
    line: int
    """Bytes that no line of it exceeds, if it is CSV."""


def write_files(
    coded: Coded,
    rows: Sequence[tuple[Any, int]],
    classes: Classes,
    target: tuple[Path, str | None],
    spill: Spill,
    report: Report,
) -> Files:
    """Write the release.

    Parameters
    ----------
    coded, classes
        What the numbers in the rows stand for.
    rows
        The files of the ranges' records, each with the number of its first class. They have
        a column ``class``; others have a sign before their names, so that none is called so.
    target
        The file to write, or the folder; and what stands between its cells, if it is CSV.
    spill, report
        Where records may lie, and who is told how far it is.
    """
    rank, records, published = classes.ranked()
    start = np.cumsum(records) - records
    in_parts = target[0].is_dir()
    part = np.zeros(len(start), dtype=np.int64)
    if in_parts:
        part[first_of_parts(start)[1:]] = 1
        part = np.cumsum(part)
    stretch = start // STRETCH + part  # none lies in two parts
    _, first, of_rank = np.unique(stretch, return_index=True, return_inverse=True)
    scattered = Scattered(spill, "sorted", len(first), ROOM)
    done = 0
    for pieces, begin in rows:
        for batch in pieces.read():
            own = rank[np.asarray(batch.column("class")).astype(np.int64) + begin]
            numbered = batch.set_column(0, "class", pa.array(own.astype(np.uint32)))
            scattered.add(numbered, of_rank[own])
            done += batch.num_rows
            report("recode", done, coded.records)
        pieces.remove()
    scattered.flush()
    layout = Layout(coded, published)
    people = People(spill) if coded.stage.person is not None else None
    writing = _Writing(target, in_parts)
    sample = Sample(coded.records)
    try:
        done = 0
        tables = flow(
            lambda part: layout.table(scattered.take(part)), range(len(first)), coded.workers
        )
        for (table, persons), number in zip(tables, part[first].tolist(), strict=True):
            writing.write(table, number)
            if people is not None:
                people.write(persons)
            if layout.policy.plain:
                sample.add(layout.named(table))
            done += table.num_rows
            report("write", done, coded.records)
        if people is not None:
            people.close()
        writing.close()
    except BaseException:
        writing.abandon()
        raise
    return Files(writing.digests, layout.qi, layout.names, sample, writing.longest)


class _Writing:
    """One file, or the parts of a folder, one after the other."""

    def __init__(self, target: tuple[Path, str | None], in_parts: bool) -> None:
        self.target, self.in_parts = target, in_parts
        self.digests: dict[Path, str] = {}
        self.longest = 0
        self.path: Path | None = None
        self.writer: Writer | None = None

    def write(self, table: pa.Table, part: int) -> None:
        """The next records, which lie in this part."""
        path, delimiter = self.target
        path = path / part_name(part) if self.in_parts else path
        if path != self.path:
            self.close()
            os.close(private(str(path), os.O_CREAT | os.O_WRONLY))
            self.path, self.writer = path, Writer(path, path, delimiter)
        assert self.writer is not None
        self.writer.write(table)

    def close(self) -> None:
        """End the file that is written."""
        if self.writer is not None and self.path is not None:
            self.digests[self.path] = self.writer.close()
            self.longest = max(self.longest, self.writer.longest)

    def abandon(self) -> None:
        if self.writer is not None:
            self.writer.abandon()


class People:
    """Whose each record of the release is: a file beside it in our folder, never published."""

    def __init__(self, spill: Spill) -> None:
        path = spill.file(PEOPLE)
        os.close(private(str(path), os.O_CREAT | os.O_WRONLY))
        self.writer = pa.parquet.ParquetWriter(path, pa.schema({"person": pa.int32()}))

    def write(self, persons: pa.Array) -> None:
        self.writer.write_table(pa.table({"person": persons}))

    def close(self) -> None:
        self.writer.close()
