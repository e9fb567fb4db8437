"""The one decorator every kernel uses: compiled once, cached, free of the GIL.

Numba caches beside the source file or, where that is read-only, in the user's
cache directory. Where neither can be written (a container with a read-only
home), we point it at a temporary directory rather than fail.
"""

import os
import tempfile
from pathlib import Path

import numba
from numba.core.options import DefaultOptions


def _ensure_cache_can_be_written():
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    beside_source = Path(__file__).parent
    home_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    existing = next((p for p in (home_cache, *home_cache.parents) if p.exists()), home_cache)
    if not os.access(beside_source, os.W_OK) and not os.access(existing, os.W_OK):
        user = getattr(os, "getuid", lambda: "user")()
        directory = Path(tempfile.gettempdir()) / f"shoal-kernels-{user}"
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(directory)


_ensure_cache_can_be_written()


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
    settings = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **options}
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
    try:
        return Path(function._cache._cache_file._index_path).exists()
    except AttributeError:  # where numba keeps it is numba's own business
        return True
