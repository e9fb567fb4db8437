"""A release as a folder of Parquet parts: all of it under its name, or nothing.

Parts are put into a folder beside the target that gets its name when it is whole. The manifest,
which lists the hash of every part, comes last: a folder without one is no release.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import OutputError
from shoal.io.paths import check_folder, manifest_path, record_path
from shoal.io.together import atomic_file
from shoal.release import Release, dump_claims
from shoal.verification.hashes import hash_of_parts
from shoal.verification.manifest import manifest_of
from shoal.verification.record import record_of

__all__ = ["PART", "Beside", "fingerprint_of_files", "first_of_parts", "part_name", "write_folder"]

PART = 1 << 19
"""Records of a part of the release, about: whole classes."""


def first_of_parts(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first class of each part, by how many records come before each class."""
    firsts: NDArray[np.int64] = np.unique(starts // PART, return_index=True)[1].astype(np.int64)
    return firsts


def fingerprint_of_files(digests: Mapping[Any, str], in_parts: bool) -> str:
    """The hash of the one file, or one hash of the hashes of all parts, in their order."""
    return hash_of_parts(digests.values()) if in_parts else next(iter(digests.values()))


def part_name(number: int, ending: str = ".parquet") -> str:
    return f"part-{number:05d}{ending}"


class Beside(NamedTuple):
    """What is asked of manifest and record; see `Release.write`."""

    manifest: str | Path | None = None
    record: str | Path | None = None
    keep_record: bool = True
    command: Sequence[str] | None = None
    generation: str | None = None


def write_folder(
    release: Release,
    target: Path,
    digests: Mapping[str, str],
    beside: Beside,
    mark: str,
    put: Callable[[Path], Any],
) -> Path:
    """Parts into a folder, then the record, the manifest last: all, or none.

    Parameters
    ----------
    release, target, beside
        What is written, and where.
    digests
        The SHA-256 of each part by its name, in their order.
    mark
        What names of unfinished files of this run end with.
    put
        Puts the parts into a folder that it is given, if they are what was verified.
    """
    check_folder(target)
    proof = Path(beside.manifest) if beside.manifest is not None else manifest_path(target)
    named = Path(beside.record) if beside.record else record_path(target)
    secret = named if beside.keep_record else None
    run = {"generation": beside.generation or token_hex(16)}
    made = {"command": list(beside.command)} if beside.command else {}
    listed = [{"file": name, "sha256": digest} for name, digest in digests.items()]
    where = {"file": target.name, "sha256": release.digest_of(None, target), "parts": listed}
    staged = target.with_name(f".{target.name}.{mark}.partial")
    written: list[Path] = []
    try:
        staged.mkdir()
        put(staged)
        there = {file.name for file in staged.iterdir()}
        if not set(digests) <= there:
            raise OutputError(f"{target}: executors and driver do not see the same folder")
        for name in there - set(digests):
            (staged / name).unlink()  # of a task that was killed
        staged.replace(target)
        written.append(target)
        if secret is not None:
            with atomic_file(secret, private=True) as temporary:
                dump_claims(temporary, {**record_of(release), **run, **made}, where)
            written.append(secret)
        with atomic_file(proof) as temporary:
            dump_claims(temporary, {**manifest_of(release), **run}, where)
    except BaseException:
        for path in (staged, *written):
            _remove(path)
        raise
    return target


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
