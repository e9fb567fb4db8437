"""Is a released file, or every part of a released folder, the one that its manifest describes?

A folder of parts has one hash, too: that of the hashes of its parts, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.io.several import named_files
from shoal.io.write import sha256_of

__all__ = ["fingerprint_of", "hash_of_parts", "release_differs", "table_differs"]

OF_SYSTEMS = ("_SUCCESS", ".*.crc", ".DS_Store")
"""Files that Spark and systems leave in folders, and that nobody reads as records."""


def hash_of_parts(digests: Iterable[str]) -> str:
    """One hash of the hashes of all parts, in their order."""
    return sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def fingerprint_of(release: Path) -> str:
    """The hash of a released file, or of a folder with the parts that are there."""
    if not release.is_dir():
        return sha256_of(release)
    parts = sorted(named_files(release), key=lambda part: (len(part.name), part.name))
    return hash_of_parts(sha256_of(part) for part in parts)


def release_differs(path: Path, claims: Mapping[str, Any], manifest: str) -> list[str]:
    """A line for each difference of a file or folder to what a manifest says of its bytes."""
    if not path.is_dir():
        return table_differs(path, claims, manifest)
    if "parts" not in claims:
        raise InputError(f"{path}: expected a file; manifest {manifest} lists no parts of a folder")
    listed = _listed(claims, manifest)
    found = []
    if claims.get("sha256") != hash_of_parts(listed.values()):
        found.append("release.sha256 is not that of the parts that the manifest lists")
    there = {entry.name: entry for entry in sorted(path.iterdir()) if not _of_systems(entry)}
    for name, digest in listed.items():
        if name in there:
            found += _differs(there[name], digest)
    return found + _misnamed(path, listed, there)


def table_differs(path: Path, claims: Mapping[str, Any], manifest: str) -> list[str]:
    """One line if a file is not the one that a manifest describes; nothing if it is."""
    claimed = claims.get("sha256")
    if not isinstance(claimed, str):
        raise InputError(
            f"manifest {manifest}: has no SHA-256 of {path.name}, so nothing ties it to the file; "
            "check with --qi and -k instead"
        )
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: expected a file")
    return _differs(path, claimed) if path.exists() else []  # it is said when it is read


def _differs(path: Path, digest: str) -> list[str]:
    if path.is_file() and sha256_of(path) == digest:
        return []
    return [
        f"{path}: is not the file its manifest describes (SHA-256 differs); it was changed, or the "
        "manifest is another's"
    ]


def _misnamed(folder: Path, listed: Mapping[str, str], there: Mapping[str, Path]) -> list[str]:
    """Parts that are missing, that nobody knows, or that have another's name."""
    lacking = [name for name in listed if name not in there]
    added = [name for name in there if name not in listed]
    found = []
    known = {sha256_of(there[name]): name for name in added if lacking and there[name].is_file()}
    for name in lacking:
        renamed = known.pop(listed[name], None)
        if renamed is None:
            found.append(f"{folder}: part {name} is missing; it was removed, or not all was copied")
        else:
            added.remove(renamed)
            found.append(f"{folder}: part {name} was renamed to {renamed}; give it its name back")
    return found + [
        f"{folder}: has {name}, which its manifest does not list; it was added, or the manifest "
        "is another's"
        for name in added
    ]


def _listed(claims: Mapping[str, Any], manifest: str) -> dict[str, str]:
    """The hash of each part by its name, in their order."""
    damaged = InputError(f"manifest {manifest}: 'parts' is no list of files with their SHA-256")
    listed: dict[str, str] = {}
    parts = claims["parts"]
    for part in parts if isinstance(parts, list | tuple) else [None]:
        name, digest = (
            (part.get("file"), part.get("sha256")) if isinstance(part, Mapping) else (None, None)
        )
        if not isinstance(name, str) or not isinstance(digest, str) or name in listed:
            raise damaged
        if name in {"", ".", ".."} or set("/\\\0") & set(name):  # nothing outside of the folder
            raise damaged
        listed[name] = digest
    if not listed:
        raise damaged
    return listed


def _of_systems(entry: Path) -> bool:
    return entry.is_file() and any(fnmatchcase(entry.name, one) for one in OF_SYSTEMS)
