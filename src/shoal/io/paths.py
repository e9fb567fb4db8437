"""Which files belong to a release, and whether they may be written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.errors import OutputError, PolicyError
from shoal.io.addresses import Address, Place
from shoal.io.parts import file_and_part
from shoal.io.read import file_format
from shoal.io.several import named_files, would_be_read
from shoal.io.statistics import WRITABLE

__all__ = [
    "check_folder", "check_not_kept", "check_targets", "counterfeits_path", "is_folder",
    "manifest_path", "record_path", "sensitive_path",
]  # fmt: skip


def manifest_path(release: Place) -> Path:
    """Where the manifest of a release lies unless said otherwise."""
    if not release.name:
        raise OutputError("the release needs a file name; got an empty one")
    return release.with_name(release.name + ".manifest.json")


def record_path(release: Place) -> Path:
    """Where the private record of a release lies unless said otherwise."""
    return release.with_name(release.name + ".record.json")


def sensitive_path(release: Path) -> Path:
    """Where the second table of a release in two tables lies: ``r.csv``, ``r.sensitive.csv``."""
    return _beside(release, "sensitive")


def counterfeits_path(release: Path) -> Path:
    """Where a release of a series says how many counterfeits its classes have."""
    return _beside(release, "counterfeits")


def _beside(release: Path, word: str) -> Path:
    endings = release.suffixes[-2:] if release.suffix.lower() == ".gz" else release.suffixes[-1:]
    ending = "".join(endings)
    return release.with_name(f"{release.name.removesuffix(ending)}.{word}{ending}")


def check_targets(
    source: Place | None,
    target: Place,
    manifest: Path | None,
    record: Path | None = None,
    kept: Mapping[Path, str] | None = None,
    *,
    folders: bool = False,
) -> None:
    """Refuse targets that cannot or must not be written, before any work.

    `source` is the input: a file, a folder, a pattern, or the address of a database. `kept` are
    files that the run was asked with, and what each is. With `folders` a target whose name has
    no ending is a folder of parts.
    """
    named = {"manifest": manifest, "record": record}
    beside = {what: path for what, path in named.items() if path is not None}
    read = source if isinstance(source, Path) else None
    written = target if isinstance(target, Path) else None
    try:
        if isinstance(target, Address):
            _check_table(source, target)
        _check_targets(read, written, beside, folders and is_folder(written))
        for path in (*([written] if written is not None else []), *beside.values()):
            check_not_kept(path, {**(kept or {}), **_databases(source, target)})
    except OSError as error:  # a name that the system does not accept
        raise OutputError(f"{error.filename}: {error.strerror}") from None
    except ValueError:
        raise PolicyError("a file name holds a null byte; is the policy damaged?") from None


def check_not_kept(target: Path, kept: Mapping[Path, str]) -> None:
    """Refuse to write over a file that the run was asked with."""
    for path, what in kept.items():
        if _same_file(target, path):
            raise PolicyError(f"{target}: is {what}; choose another name")


def _check_table(source: Place | None, target: Address) -> None:
    """Refuse a table that cannot be the release's."""
    if target.table is None:
        raise OutputError(f"{target}: a release is written to a table; expected ?table=NAME")
    if isinstance(source, Address) and (source.reach, source.schema, source.table) == (
        target.reach, target.schema, target.table,
    ):  # fmt: skip
        raise PolicyError(f"{target}: the output is the input; choose another name")


def _databases(*places: Place | None) -> dict[Path, str]:
    """Files that are databases of a run: no release, manifest or record may be written there."""
    files = [place.file for place in places if isinstance(place, Address)]
    return {file: "a database of the run" for file in files if file is not None}


def is_folder(target: Place | None) -> bool:
    """Whether a release is written as a folder of parts: its name has no ending."""
    return isinstance(target, Path) and not target.suffix


def check_folder(target: Path) -> None:
    """Refuse a folder that is there: parts of another release would lie among ours."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target}: exists and is not empty; remove it, or choose another name")
    if not target.parent.is_dir():
        raise OutputError(f"{target}: there is no directory {target.parent}")


def _check_targets(
    source: Path | None, target: Path | None, beside: dict[str, Path], folder: bool
) -> None:
    files = [] if source is None else [file_and_part(file)[0] for file in named_files(source)]
    taken = [*files]
    if target is not None and folder:
        check_folder(target)
        if source is not None and _same_file(source, target):
            raise PolicyError(f"{target}: the output is the input; choose another name")
    elif target is not None:
        _check_file(source, target, files)
        taken.append(target)
    for what, path in beside.items():
        if any(_same_file(path, other) for other in taken):
            raise PolicyError(f"{path}: the {what} needs a file of its own")
        taken.append(path)
    for path in (*([target] if target is not None and not folder else []), *beside.values()):
        if path.is_dir():
            raise OutputError(f"{path}: is a directory; expected a file name")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no directory {path.parent}")


def _check_file(source: Path | None, target: Path, files: list[Path]) -> None:
    """Refuse a file that is one of the input's, or would be."""
    if any(_same_file(file, target) for file in files):
        raise PolicyError(f"{target}: the output is the input; choose another name")
    if source is not None and would_be_read(target, source):
        raise PolicyError(
            f"{target}: lies among the files of the input {source}, and would be read as one of "
            "them the next time; choose another folder"
        )
    check_writable(target)


def check_writable(target: Path) -> None:
    """Refuse a format that is read only."""
    known, ending = file_format(target), target.suffix.lower()
    read_only = known in {"sheet", "fixed"} or ending in {".zst", ".zip"}
    if read_only or (known == "statistics" and ending not in WRITABLE):
        raise OutputError(
            f"{target}: such files are read only; write .csv, .parquet, .arrow, .jsonl, .sav, .dta"
        )


def _same_file(a: Path, b: Path) -> bool:
    if a.exists() and b.exists():
        return a.samefile(b)
    return a.resolve() == b.resolve()
