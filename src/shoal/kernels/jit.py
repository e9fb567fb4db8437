"""The decorators that every kernel uses: compiled once, kept by content, free of the GIL.

`compiling/` says how: `lean` compiles, `store` keeps, `folders` says where. A kernel outside
of the package (in a test) is compiled in every run.
"""

import numba
from numba.core.options import DefaultOptions

from shoal.kernels.compiling import lean, watching
from shoal.kernels.compiling.folders import own_folder
from shoal.kernels.compiling.sources import is_ours
from shoal.kernels.compiling.store import Store, is_kept

__all__ = ["BORROWED", "CACHED", "inner_borrowed", "inner_kernel", "kernel", "was_compiled"]

CACHED = own_folder() is not None
"""Whether kernels compiled here are kept."""
WATCH = watching.WATCH

# For kernels that own no array and need not count references to any: with tuples of arrays
# passed down, the counting takes half of the time, more with threads. The option is numba's
# own business; where a version does not know it, kernels are slower and just as right.
BORROWED = {"no_cfunc_wrapper": True}
if hasattr(DefaultOptions, "_nrt"):
    BORROWED["_nrt"] = False


def kernel(*signatures, **options):
    """``@kernel`` or ``@kernel(option=...)``: njit, kept, nogil.

    Nobody calls kernels from C, so they get no wrapper for that: compiling it costs time.
    """
    settings = {"nogil": True, "no_cfunc_wrapper": True, **options}
    inner = settings.get("no_cpython_wrapper", False)
    if lean.LEAN:
        settings["pipeline_class"] = lean.InnerCompiler if inner else lean.OuterCompiler

    def compiled(function):
        dispatcher = lean.without_constants(numba.njit(**settings)(function))
        if is_ours(function) and not (inner and lean.LEAN):
            dispatcher._cache = Store(function)
        return dispatcher

    return compiled(*signatures) if signatures else compiled


def inner_kernel(function):
    """A kernel that only kernels call: without a wrapper for Python it compiles sooner."""
    return kernel(no_cpython_wrapper=True)(function)


def inner_borrowed(function):
    """An `inner_kernel` that owns no array: see `BORROWED`."""
    return kernel(**BORROWED, no_cpython_wrapper=True)(function)


def was_compiled(dispatcher):
    """Whether a kernel is kept, so that it need not be compiled."""
    return is_kept(dispatcher)
