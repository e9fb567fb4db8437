"""How much memory a table takes on its way to a release, and what to do where there is too little.

The constants are estimates of what is held at once, not measured peaks: a guess to plan by,
not a promise.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

__all__ = ["advice", "available", "bytes_for", "in_words"]

BASE = 330_000_000
"""The program itself, with what is compiled."""
A_RECORD = 220
"""Bytes a record takes, besides its cells: keys, order, groups, the text that is written."""
A_CELL = 36
"""Bytes a cell takes: as it was read, as a code, in working copies, as it is published."""
SAFE = 0.9
"""Share of the free memory that a run may count on."""


def bytes_for(records: int, columns: int) -> int:
    """Memory that a release of so many records and columns takes at its peak, about."""
    return BASE + records * (A_RECORD + A_CELL * columns)


def available() -> int | None:
    """Free memory of the machine, or of what a container leaves us; None where nobody says."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        free = next(line for line in text.splitlines() if line.startswith("MemAvailable"))
        found = int(free.split()[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        try:
            found = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return None
    return min(found, _limit_of_container() or found)


def _limit_of_container() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        return max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None


def in_words(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6))} MB"


def advice(table: pa.Table, free: int | None = None) -> str | None:
    """What to say where a table will hardly fit into memory; None where it does."""
    free = available() if free is None else free
    needed = bytes_for(table.num_rows, table.num_columns)
    if free is None or needed <= SAFE * free + table.nbytes:  # the table is in memory already
        return None
    return (
        f"{table.num_rows:,} records of {table.num_columns} columns need about {in_words(needed)} "
        f"of memory, and {in_words(free)} are free; drop columns that are not needed, release "
        "the table in parts by region or year, or take a machine with more"
    )
