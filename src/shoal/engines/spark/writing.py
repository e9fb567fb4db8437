"""From groups to files, on the driver: what is known of both, and one file of all parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shoal.engines.ranges.engine import endings_of
from shoal.engines.ranges.exposing import Sample
from shoal.engines.ranges.publishing import Before
from shoal.engines.spark.frames import collected, mapped, row_frame
from shoal.engines.spark.packets import Row, told
from shoal.engines.spark.publishing import JoinParts, Written
from shoal.metrics.loss import LossSums
from shoal.verification.hashes import hash_of_parts

__all__ = ["Draft", "Grouped", "hash_of_all", "joined"]


class Grouped(NamedTuple):
    """Records in groups, range by range, and what is known of them all."""

    frame: Any
    ranges: int
    loss: LossSums
    before: Before
    facts: dict[str, Any]
    proof: str
    first_persons: dict[int, int]
    """The number of the first person of each range, where persons are declared."""


class Draft(NamedTuple):
    """Written files that are not yet known to satisfy their models."""

    parts: tuple[Written, ...]
    files: tuple[Path, ...]
    digests: dict[str, str]
    fingerprint: str
    qi: tuple[str, ...]
    names: list[str]
    sample: Sample
    grouped: Grouped
    people: tuple[Path, ...] = ()
    """Whose each record of each part is, where persons are declared."""


def joined(
    session: Any, folder: Path, parts: Sequence[Written], target: Path, delimiter: str | None
) -> tuple[tuple[Path, ...], str]:
    """The release as one file, which one task puts together; and its SHA-256."""
    name = f"release{''.join(endings_of(target))}"
    if len(parts) == 1 and name.endswith(".parquet"):  # it is one already
        return (folder / parts[0].name,), parts[0].sha256
    listed = [part.name for part in parts]
    one = row_frame(session, [Row("join", 0, b"")]).repartition(1)
    (row,) = collected(mapped(one, JoinParts(folder, listed, name, delimiter)))
    for part in listed:
        (folder / part).unlink()
    digest: str = told(row.packet)
    return (folder / name,), digest


def hash_of_all(parts: Sequence[Written]) -> str:
    """One hash of the hashes of all parts, in their order."""
    return hash_of_parts(part.sha256 for part in parts)
