"""What is read: a data frame of the caller's, or files; and what one pass over it tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shoal.engines.ranges.coded import Staged
from shoal.engines.ranges.spill import Pieces
from shoal.engines.spark.frames import each_to, mapped, quoted, row_frame
from shoal.engines.spark.profiling import (
    FILE,
    FilesIn,
    FrameIn,
    Profile,
    ReadFrom,
    Wanted,
    merged_profiles,
    shares_of,
)
from shoal.policy import Policy

__all__ = ["Source", "packets_of", "stage_of"]


class Source(NamedTuple):
    """The input, and after one pass its packets."""

    names: list[str]
    frame: Any = None
    """A data frame of the caller's; None: files are read."""
    files: tuple[Path, ...] = ()
    delimiter: str | None = None
    rest: tuple[str, ...] = ()
    staged: Any = None
    stage: Staged | None = None


def packets_of(
    session: Any, source: Source, coded: Sequence[str], plain: Sequence[str], policy: Policy
) -> Any:
    """The records in packets, with profiles of them."""
    wanted = Wanted(tuple(coded), tuple(plain), policy.person, policy.missing)
    if source.frame is not None:
        some = [f"{quoted(name)} AS c{n}" for n, name in enumerate(wanted.names)]
        return mapped(source.frame.selectExpr(*some), FrameIn(wanted))
    shares = shares_of(source.files)
    how = ReadFrom(tuple(source.names), policy.missing, policy.encoding, policy.delimiter)
    listed = each_to(row_frame(session, shares), len(shares))
    return mapped(listed, FilesIn(how, wanted))


def stage_of(
    source: Source, profiles: Sequence[Profile], published: Sequence[str], plain: Sequence[str],
    person: str | None,
) -> Staged:  # fmt: skip
    """What is known of the records, which executors keep."""
    profile, merged = merged_profiles(profiles)
    values: dict[str, Any] = {}
    for name, growing in merged.items():
        growing.numbered = source.frame is None
        values[name] = growing.in_order()
    files = tuple((str(file), number * FILE) for number, file in enumerate(source.files))
    nothing = Pieces(Path(os.devnull))
    return Staged(
        tuple(published),
        values,
        tuple(plain),
        profile.types,
        nothing,
        profile.records,
        files,
        person,
    )
