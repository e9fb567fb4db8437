"""Which files belong to a release, and whether they may be written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.errors import OutputError, PolicyError
from shoal.io.read import file_format
from shoal.io.several import named_files, would_be_read

__all__ = ["check_not_kept", "check_targets", "manifest_path", "record_path", "sensitive_path"]


def manifest_path(release: Path) -> Path:
    """Where the manifest of a release lies unless said otherwise."""
    if not release.name:
        raise OutputError("the release needs a file name; got an empty one")
    return release.with_name(release.name + ".manifest.json")


def record_path(release: Path) -> Path:
    """Where the private record of a release lies unless said otherwise."""
    return release.with_name(release.name + ".record.json")


def sensitive_path(release: Path) -> Path:
    """Where the second table of a release in two tables lies: ``r.csv``, ``r.sensitive.csv``."""
    endings = release.suffixes[-2:] if release.suffix.lower() == ".gz" else release.suffixes[-1:]
    ending = "".join(endings)
    return release.with_name(f"{release.name.removesuffix(ending)}.sensitive{ending}")


def check_targets(
    source: Path | None,
    target: Path,
    manifest: Path,
    record: Path | None = None,
    kept: Mapping[Path, str] | None = None,
) -> None:
    """Refuse targets that cannot or must not be written, before any work.

    `source` is the input: a file, a folder or a pattern. `kept` are files that the run was
    asked with, and what each is.
    """
    beside = {"manifest": manifest, **({"record": record} if record is not None else {})}
    try:
        _check_targets(source, target, beside)
        for path in (target, *beside.values()):
            check_not_kept(path, kept or {})
    except OSError as error:  # a name that the system does not accept
        raise OutputError(f"{error.filename}: {error.strerror}") from None
    except ValueError:
        raise PolicyError("a file name holds a null byte; is the policy damaged?") from None


def check_not_kept(target: Path, kept: Mapping[Path, str]) -> None:
    """Refuse to write over a file that the run was asked with."""
    for path, what in kept.items():
        if _same_file(target, path):
            raise PolicyError(f"{target}: is {what}; choose another name")


def _check_targets(source: Path | None, target: Path, beside: dict[str, Path]) -> None:
    files = [] if source is None else named_files(source)
    if any(_same_file(file, target) for file in files):
        raise PolicyError(f"{target}: the output is the input; choose another name")
    if source is not None and would_be_read(target, source):
        raise PolicyError(
            f"{target}: lies among the files of the input {source}, and would be read as one of "
            "them the next time; choose another folder"
        )
    taken = [target, *files]
    for what, path in beside.items():
        if any(_same_file(path, other) for other in taken):
            raise PolicyError(f"{path}: the {what} needs a file of its own")
        taken.append(path)
    file_format(target)
    for path in (target, *beside.values()):
        if path.is_dir():
            raise OutputError(f"{path}: is a directory; expected a file name")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no directory {path.parent}")


def _same_file(a: Path, b: Path) -> bool:
    if a.exists() and b.exists():
        return a.samefile(b)
    return a.resolve() == b.resolve()
