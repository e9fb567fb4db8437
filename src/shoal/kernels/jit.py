"""The one decorator every kernel uses: compiled once, cached, free of the GIL.

Numba caches beside the source file or, where that is read-only, in the user's
cache directory. Where neither can be written (a container with a read-only
home), we point it at a temporary directory of our own. Numba unpickles what it
finds in a cache, so whoever can write there runs code as us: a directory that
another could have filled is not used, and kernels are then compiled anew.
"""

import os
import stat
import tempfile
import warnings
from pathlib import Path

import numba
from numba.core.options import DefaultOptions


def _find_cache():
    """Whether there is a cache that only we can write; points numba at ours if it needs one."""
    if os.environ.get("NUMBA_CACHE_DIR"):  # the user's own choice
        return True
    if os.access(Path(__file__).parent, os.W_OK) or _home_is_ours():
        return True
    user = getattr(os, "getuid", lambda: "user")()
    directory = Path(tempfile.gettempdir()) / f"shoal-kernels-{user}"
    if _made_for_us_alone(directory):
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(directory)
        return True
    warnings.warn(
        f"{directory}: not a folder that only you can write, so kernels are compiled in every "
        "run; set NUMBA_CACHE_DIR to a folder of yours",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


def _home_is_ours():
    """Whether numba's second choice can be written, and by nobody else."""
    home_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    existing = next((p for p in (home_cache, *home_cache.parents) if p.exists()), home_cache)
    return os.access(existing, os.W_OK) and not _shared(existing.stat())


def _made_for_us_alone(directory):
    """Make a folder, or take it if it is there, and ours, and closed to everybody else."""
    try:
        parent = directory.parent.stat()
        if _shared(parent) and not parent.st_mode & stat.S_ISVTX:
            return False  # others could put theirs in its place after we have looked
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()  # of a link itself
    except OSError:
        return False
    closed = not hasattr(os, "getuid") or not stat.S_IMODE(found.st_mode) & 0o077
    return stat.S_ISDIR(found.st_mode) and closed and _owner_is_us(found)


def _shared(found):
    """Whether everybody may write to it, or it belongs to another; unknown on Windows."""
    return hasattr(os, "getuid") and (bool(found.st_mode & 0o002) or not _owner_is_us(found))


def _owner_is_us(found):
    return not hasattr(os, "getuid") or found.st_uid == os.getuid()


CACHED = _find_cache()


# For kernels that own no array and need not count references to any: with tuples of arrays
# passed down, the counting takes half of the time, more with threads. The option is numba's
# own business; where a version does not know it, kernels are slower and just as right.
BORROWED = {"no_cfunc_wrapper": True}
if hasattr(DefaultOptions, "_nrt"):
    BORROWED["_nrt"] = False


def kernel(*signatures, **options):
    """``@kernel`` or ``@kernel("sig", fastmath=...)``: njit, cached, nogil.

    Nobody calls kernels from C, so they get no wrapper for that: compiling it costs time.
    """
    settings = {"cache": CACHED, "nogil": True, "no_cfunc_wrapper": True, **options}
    if len(signatures) == 1 and callable(signatures[0]):
        return numba.njit(**settings)(signatures[0])
    return numba.njit(*signatures, **settings)


def inner_kernel(function):
    """A kernel that only kernels call: without a wrapper for Python it compiles sooner."""
    return kernel(no_cpython_wrapper=True)(function)


def inner_borrowed(function):
    """An `inner_kernel` that owns no array: see `BORROWED`."""
    return kernel(**BORROWED, no_cpython_wrapper=True)(function)


def was_compiled(function):
    """Whether a kernel is in the cache, so that it need not be compiled; True if we cannot tell."""
    if not CACHED:
        return False
    try:
        return Path(function._cache._cache_file._index_path).exists()
    except AttributeError:  # where numba keeps it is numba's own business
        return True
