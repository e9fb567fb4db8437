"""Files that belong together, written all or none.

Each is written under a temporary name beside its target; when all are complete
they are renamed, one after the other, under a lock beside the first. If one of
the renames fails, those before it are taken back. Before the first rename the
lock's file says which are to come: whoever finds it after the writer died
finishes them, and whoever only reads knows that the files are of different
runs. Temporary files carry the process that writes them, so that those of dead
ones are recognised and removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import socket
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from shoal.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows: no lock, the rest works
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "all_or_none", "atomic_file", "is_dead", "locked", "owner_mark", "partial_name", "remove_stale",
    "unfinished",
]  # fmt: skip

SUFFIX = ".partial"


@contextlib.contextmanager
def atomic_file(target: Path, private: bool = False) -> Iterator[Path]:
    """Give a temporary path beside `target`; on success it takes the target's place.

    With `private`, nobody else may read it, from its creation on.
    """
    with _written(target, 0o600 if private else None) as temporary:
        yield temporary
        _flush(temporary)
        temporary.replace(target)


@contextlib.contextmanager
def all_or_none(
    targets: Sequence[Path],
    *,
    lock_beside: Path,
    private: Path | None = None,
    obsolete: Sequence[Path] = (),
) -> Iterator[list[Path]]:
    """Give a temporary path for each target; on success all of them take their places.

    Parameters
    ----------
    targets
        They are renamed from the last to the first.
    lock_beside
        The file beside which the lock lies.
    private
        The one of the targets that nobody else may read, from its creation on.
    obsolete
        Files of an earlier run that have no place beside the new ones: they go with it.
    """
    with contextlib.ExitStack() as files, _lock(lock_beside) as journal:
        _finish(journal)
        written = [
            files.enter_context(_written(target, 0o600 if target == private else None))
            for target in targets
        ]
        yield written
        for temporary in written:
            _flush(temporary)
        pairs = list(zip(written, targets, strict=True))[::-1]
        kept = [files.enter_context(_kept(path)) for path in (*targets[::-1], *obsolete)]
        _note(journal, pairs)
        try:
            _replace(pairs, obsolete)
        except KeyboardInterrupt:  # too late to stop: a part of them is in place
            _replace(pairs, obsolete)
            raise
        except OSError as error:
            _take_back(kept)
            _note(journal, [])
            reason = error.strerror or error
            raise OutputError(f"{lock_beside}: cannot be written: {reason}") from None


@contextlib.contextmanager
def _written(target: Path, mode: int | None = None) -> Iterator[Path]:
    """A temporary path that is gone in the end, whatever happens; a target keeps its mode."""
    remove_stale(target)
    temporary = target.with_name(partial_name(target))
    try:
        if mode is None and target.is_file():
            mode = stat.S_IMODE(target.stat().st_mode)
        if mode is not None:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode & 0o600))
            temporary.chmod(mode)
        yield temporary
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


Old = tuple[Path, Path | None]
"""A file that may be replaced, and where it is kept until all are; None: there was none."""


@contextlib.contextmanager
def _kept(path: Path) -> Iterator[Old]:
    """A second name for what lies at a path, gone in the end."""
    if not os.path.lexists(path):
        yield path, None
        return
    second = path.with_name(partial_name(path))
    try:
        _also_named(path, second)
        yield path, second
    finally:
        with contextlib.suppress(OSError):
            second.unlink()


def _also_named(path: Path, second: Path) -> None:
    """A link; a copy where the file system has none."""
    try:
        os.link(path, second, follow_symlinks=False)
    except (OSError, NotImplementedError):
        os.close(os.open(second, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        shutil.copy2(path, second)


def _take_back(kept: Sequence[Old]) -> None:
    """Put everything back as it was before the first rename."""
    left = []
    for path, second in kept:
        try:
            if second is None:
                path.unlink(missing_ok=True)
            else:
                second.replace(path)
        except OSError:
            left.append(path.name)
    if left:
        raise OutputError(
            f"{kept[0][0]}: cannot be written, and {', '.join(left)} cannot be put back: "
            "release and manifest may be of different runs; write the release again"
        )


def _replace(pairs: Sequence[tuple[Path, Path]], obsolete: Sequence[Path]) -> None:
    _rename(pairs)
    for path in obsolete:
        path.unlink(missing_ok=True)


def _rename(pairs: Sequence[tuple[Path, Path]]) -> None:
    for temporary, target in pairs:
        if temporary.exists():
            temporary.replace(target)


# The lock, and what is noted in it


def lock_path(target: Path) -> Path:
    """The lock beside a file."""
    return target.with_name(f".{target.name}.lock")


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Nobody else writes what belongs to a file meanwhile."""
    with _lock(target):
        yield


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[IO[str]]:
    """Hold the lock beside a file; its own file is gone afterwards."""
    path = lock_path(target)
    try:
        file = _held(path)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"{target}: cannot be written: its lock {path}: {reason}") from None
    with file:
        try:
            yield file
        finally:  # a writer that is killed leaves it as it is: then something may be to be done
            with contextlib.suppress(OSError):
                path.unlink()


LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
"""A link in the lock's place is not followed: we would write where it points to."""


def _is_ours(file: IO[str]) -> bool:
    """Whether a file is a plain one of our own: what another wrote says nothing to us."""
    found = os.fstat(file.fileno())
    owned = found.st_uid == os.geteuid() if hasattr(os, "geteuid") else True
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1 and owned


def _held(path: Path) -> IO[str]:
    """The lock's file, opened and locked; another writer's is waited for."""
    while True:
        file = os.fdopen(os.open(path, LOCK_FLAGS, 0o600), "r+", encoding="utf-8")
        if not _is_ours(file):
            file.close()
            raise OutputError(f"{path}: is in the way, and no lock of ours; remove it")
        if fcntl is None:
            return file
        with contextlib.suppress(OSError):  # file systems without locks: as good as it gets
            fcntl.flock(file, fcntl.LOCK_EX)
        # Whoever held it has removed the file: then this is a lock of nothing.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


def _note(journal: IO[str], pairs: Sequence[tuple[Path, Path]]) -> None:
    """Write down which files are to be renamed, so that it survives us; nothing when done."""
    journal.seek(0)
    journal.truncate()
    if pairs:
        json.dump([[temporary.name, str(target.resolve())] for temporary, target in pairs], journal)
    journal.flush()
    os.fsync(journal.fileno())


def _noted(journal: IO[str]) -> list[tuple[Path, Path]]:
    """What is still to be renamed."""
    journal.seek(0)
    try:
        noted: Any = json.load(journal)
        targets = [(name, Path(target)) for name, target in noted]
        return [(target.with_name(name), target) for name, target in targets]
    except (ValueError, TypeError, OSError):  # empty: nothing was begun, or all is done
        return []


def _finish(journal: IO[str]) -> None:
    """Rename what a writer that died between two renames left to be done."""
    pairs = _noted(journal)
    if any(_is_partial(temporary, target) for temporary, target in pairs):
        _rename([pair for pair in pairs if _is_partial(*pair)])
    _note(journal, [])


def _is_partial(temporary: Path, target: Path) -> bool:
    return temporary.name.startswith(f".{target.name}.") and temporary.name.endswith(SUFFIX)


def unfinished(target: Path) -> bool:
    """Whether a writer died, or is, between the renames of what belongs to this file."""
    try:
        with lock_path(target).open(encoding="utf-8") as journal:
            return any(temporary.exists() for temporary, _ in _noted(journal))
    except OSError:
        return False


# Temporary names


def partial_name(target: Path) -> str:
    """A name for an unfinished file that says who writes it."""
    return f".{target.name}.{owner_mark()}{SUFFIX}"


def owner_mark() -> str:
    """What a temporary name ends with: which process it belongs to, and a word of its own."""
    return f"{os.getpid():x}-{_started(os.getpid())}-{_host()}-{_token()}"


def _token() -> str:
    return secrets.token_hex(4)


def remove_stale(target: Path) -> None:
    """Remove unfinished files of this target whose writers are dead."""
    with contextlib.suppress(OSError):
        for path in target.parent.iterdir():
            if _is_partial(path, target) and is_dead(path.name):
                with contextlib.suppress(OSError):
                    path.unlink()


def is_dead(name: str) -> bool:
    """Whether the process that a temporary name tells of was one of this machine and is gone."""
    try:
        pid, started, host, _ = name.removesuffix(SUFFIX).rpartition(".")[2].split("-")
        return host == _host() and _started(int(pid, 16)) != started
    except ValueError:  # not one of ours
        return False


def _started(pid: int) -> str:
    """When a process began, as its machine counts; another process of that number differs."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return format(int(facts.rpartition(")")[2].split()[19]), "x")
    except (OSError, IndexError, ValueError):
        return "gone" if Path("/proc/self/stat").exists() else _alive(pid)


def _alive(pid: int) -> str:
    """Where the system does not tell when a process began: whether it is there."""
    if os.name == "posix":  # elsewhere signal 0 would reach it
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return "gone"
        except OSError:
            pass
    return "0"


def _host() -> str:
    """This machine, or the container whose process numbers we see."""
    space = ""
    with contextlib.suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{socket.gethostname()} {space}".encode()).hexdigest()[:6]
