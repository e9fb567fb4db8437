"""Which files a name stands for: itself, those of a folder, or those of a pattern."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.io.read import file_format

__all__ = ["is_several", "named_files", "would_be_read"]

PATTERN = frozenset("*?[")


def is_several(data: Any) -> bool:
    """Whether data are named by a folder or a pattern, not by one file."""
    if not isinstance(data, str | Path):
        return False
    return Path(data).is_dir() or (not Path(data).exists() and bool(PATTERN & set(str(data))))


def named_files(data: str | Path) -> list[Path]:
    """The files that a name stands for, in their order; of a folder, those that are data."""
    path = Path(data)
    if not is_several(data):
        return [path]
    if not path.is_dir():
        named = [Path(name) for name in glob.glob(str(data))]  # noqa: PTH207
    elif any(_is_partition(inner) for inner in path.iterdir()):
        named = [file for file in path.rglob("*")
                 if all("=" in folder for folder in file.relative_to(path).parts[:-1])]  # fmt: skip
    else:
        named = list(path.iterdir())
    return sorted(file for file in named if file.is_file() and _is_data(file))


def _is_partition(path: Path) -> bool:
    """Whether it is a folder of hive, such as ``year=2024``."""
    return path.is_dir() and "=" in path.name and not path.name.startswith((".", "_"))


def would_be_read(target: Path, source: Path) -> bool:
    """Whether a file, once it is written, would be one of those that a folder or pattern names."""
    if not is_several(source):
        return False
    if source.is_dir():
        inside = source.resolve()
        return target.parent.resolve() == inside or (
            inside in target.resolve().parents
            and any(_is_partition(inner) for inner in source.iterdir())
        )
    return target.absolute().match(str(source.absolute()))


def _is_data(path: Path) -> bool:
    """Not what systems put beside data: ``_SUCCESS``, ``.crc``, manifests and records."""
    if path.name.startswith((".", "_")):
        return False
    try:
        return file_format(path) in {"csv", "parquet"}
    except InputError:
        return False
