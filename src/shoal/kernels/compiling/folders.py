"""Which folder may hold compiled kernels: loading one runs it, so others must not have filled it.

In this order: the folder that the user names (`NUMBA_CACHE_DIR`), the user's cache
(`~/.cache/shoal/kernels`), a temporary folder of our own. Each is made for us alone (0700), and
is not used if it belongs to another, is open to others, or is a link. In a folder that the user
names there may be kernels that the system's owner compiled: those count as ours, and others
may read them. A name alone says nothing: `NUMBA_CACHE_DIR=/tmp` is in many an instruction.
"""

import contextlib
import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path


@cache
def own_folder():
    """The folder for kernels compiled here; None if there is none that only we can write."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        folder = Path(named) / "shoal-kernels"
        if _nobody_else_filled(folder):
            return folder
        warnings.warn(
            f"{folder}: others can write there, and compiled kernels are run: not used; name a "
            "folder that only you can write",
            RuntimeWarning,
            stacklevel=2,
        )
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    user = getattr(os, "getuid", lambda: "user")()
    temporary = Path(tempfile.gettempdir()) / f"shoal-kernels-{user}"
    if home.is_absolute() and _could_be_ours(home) and _made_for_us_alone(home, "shoal/kernels"):
        return home / "shoal" / "kernels"
    if _made_for_us_alone(temporary.parent, temporary.name):
        return temporary
    warnings.warn(
        f"{temporary}: not a folder that only you can write, so kernels are compiled in every "
        "run; set NUMBA_CACHE_DIR to a folder of yours",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _could_be_ours(home):
    """Whether a folder, or the one that it would be made in, is ours and not open to everybody."""
    existing = next((p for p in (home, *home.parents) if p.exists()), home)
    try:
        return os.access(existing, os.W_OK) and not _shared(existing.stat())
    except OSError:
        return False


def _made_for_us_alone(parent, name):
    """Make a folder, or take it if it is there, and ours, and closed to everybody else."""
    directory = parent / name
    try:
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        above = directory.parent.stat()
        if _shared(above) and not above.st_mode & stat.S_ISVTX:
            return False  # others could put theirs in its place after we have looked
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()  # of a link itself
    except OSError:
        return False
    closed = not hasattr(os, "getuid") or not stat.S_IMODE(found.st_mode) & 0o077
    ours = stat.S_ISDIR(found.st_mode) and closed and _owner_is_us(found)
    return ours and os.access(directory, os.W_OK)


def _nobody_else_filled(folder):
    """Whether what lies in a folder, if it is there, is by us or by the owner of the system."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        above = folder.parent.stat()
        if above.st_mode & 0o002 and not above.st_mode & stat.S_ISVTX:
            return False
        if not _is_trusted(above):
            return False
        with contextlib.suppress(OSError):  # one that is only read is as good
            folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return True  # nothing is there, and nothing can be put there
    if not hasattr(os, "getuid"):
        return stat.S_ISDIR(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and _is_trusted(found) and not found.st_mode & 0o022


def _is_trusted(found):
    return _owner_is_us(found) or found.st_uid == 0


def _shared(found):
    """Whether everybody may write to it, or it belongs to another; unknown on Windows."""
    return hasattr(os, "getuid") and (bool(found.st_mode & 0o002) or not _owner_is_us(found))


def _owner_is_us(found):
    return not hasattr(os, "getuid") or found.st_uid == os.getuid()
