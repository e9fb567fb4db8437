"""Compiled kernels, kept by content: those that came with the package, then those made here.

One file a kernel, signature and target. Its name is a digest of all that decides the code:
the kernel's source and that of every kernel it can call (`sources`), the versions of Python,
Numba and LLVM, the processor, the types of the arguments. So nothing can be stale, copies
and other checkouts share what is equal, and there is no index that two processes could spoil.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as ll
import numba
from numba.core import compiler, config, types
from numba.core.caching import _Cache
from numba.core.serialize import dumps

from shoal.kernels.compiling import lean, sharing
from shoal.kernels.compiling.folders import own_folder
from shoal.kernels.compiling.sources import HOME, digest_of

SHIPPED = HOME / "_compiled"
"""Kernels that came with the package: as trusted as its source, and never written in use."""
LEVELS = {
    "x86-64-v3": "sse3 ssse3 sse4.1 sse4.2 popcnt cx16 avx avx2 bmi bmi2 f16c fma lzcnt movbe",
    "x86-64-v2": "sse3 ssse3 sse4.1 sse4.2 popcnt cx16",
}
"""Common levels of processors that kernels are shipped for, the best first: what each can do."""
SUFFIX = ".kernel"
MONTHS = 60 * 24 * 3600
"""Seconds after which a file that nobody has loaded is removed."""
DAY = 24 * 3600
BUILDING = bool(os.environ.get("SHOAL_NOTHING_SHIPPED"))
"""Whether kernels are compiled to be shipped, so that those shipped before do not count."""
USED = []
"""Kernels of this process, in the order in which they were wanted: module, name, types."""


class Store(_Cache):
    """Numba's cache of one kernel."""

    def __init__(self, py_func):
        self.module, self.function = py_func.__module__, py_func.__qualname__
        self._on = True

    @property
    def cache_path(self):
        return str(own_folder())

    def enable(self):
        self._on = True

    def disable(self):
        self._on = False

    def flush(self):
        """Nothing is kept in memory."""

    def stem(self, target):
        """How the names of this kernel's files begin: all but its signature decides that."""
        text = "\0".join((self.module, self.function, digest_of(self.module), compilers(), target))
        short = f"{self.module.rpartition('.')[2]}.{self.function}".replace("<", "").replace(
            ">", ""
        )
        return f"{short}-{_digest(text)[:20]}-"

    def file(self, signature, target):
        """Name of the file for types of arguments."""
        return f"{self.stem(target)}{_digest(described(signature))[:20]}{SUFFIX}"

    def own_file(self, signature, context):
        """Name of the file that is compiled here, for this processor."""
        return self.file(signature, _target(context.codegen()))

    def files(self, signature, context):
        """Paths to look at, in turn."""
        for level in levels() if SHIPPED.is_dir() and not BUILDING else ():
            yield SHIPPED / self.file(signature, level)
        if own_folder() is not None:
            yield own_folder() / self.own_file(signature, context)

    def load_overload(self, signature, context):
        context.refresh()
        USED.append((self.module, self.function, signature))
        if not self._on:
            return None
        found = self._kept(signature, context)
        if found is None and sharing.SHARES:
            share, name = sharing.SHARES[-1], self.own_file(signature, context)
            if not share.take(name):
                share.wait(name)
                found = self._kept(signature, context)
        return found

    def _kept(self, signature, context):
        for path in self.files(signature, context):
            content = _read(path)
            if content is not None:
                return compiler.CompileResult._rebuild(context, *content)
        return None

    def save_overload(self, signature, result):
        folder = own_folder()
        name = self.file(signature, _target(result.library.codegen))
        if self._on and folder is not None and not result.library.has_dynamic_globals:
            with contextlib.suppress(OSError):  # a full disk: the next run compiles again
                _write(folder / name, dumps(result._reduce()))
        for share in sharing.SHARES:
            share.give_back(name)


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def compilers():
    """Who turns source into code, with settings that change it."""
    names = ("OPT", "LOOP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
    versions = (sys.implementation.cache_tag, platform.machine(), numba.__version__)
    settings = (f"{name}={getattr(config, name, None)}" for name in names)
    plain = () if lean.LEAN else ("plain",)
    return " ".join((*versions, llvmlite.__version__, *settings, *plain))


def described(signature):
    """Types as text, with the homes of named tuples: two may share a name and differ inside."""
    arguments = signature.args if hasattr(signature, "args") else signature
    return f"{signature} {' '.join(_homes(arguments))}"


def _homes(kinds):
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            made = getattr(kind, "instance_class", None)
            if made is not None:
                yield f"{made.__module__}.{made.__qualname__}{made._fields}"
            yield from _homes(kind.types)


def _target(codegen):
    return str(codegen.magic_tuple())


@cache
def levels():
    """Targets of shipped kernels whose code this processor can run, the best first."""
    try:
        able = ll.get_host_cpu_features()
    except RuntimeError:
        return ()
    triple = ll.get_process_triple()
    fit = (name for name, needs in LEVELS.items() if all(able.get(n) for n in needs.split()))
    return tuple(str((triple, name, "")) for name in fit)


def _read(path):
    """What a file holds; None if there is none, or not all of it."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        return None  # a damaged copy
    with contextlib.suppress(OSError):  # say that it is in use, once a day
        if path.parent != SHIPPED and time.time() - path.stat().st_mtime > DAY:
            os.utime(path)
    return pickle.loads(data[32:])


def _write(path, data):
    """A whole file or none; whoever else writes it has the same content."""
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="new-")  # only we can read it
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _tidy(path.parent)


@cache
def _tidy(folder):
    """Remove, once a process, what nobody has used for long: other sources, other versions."""
    old = time.time() - MONTHS
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX) or entry.name.startswith("new-"):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < old:
                        Path(entry.path).unlink()


def is_kept(dispatcher):
    """Whether some signature of a kernel need not be compiled."""
    cache_of = dispatcher._cache
    if not isinstance(cache_of, Store):
        return False
    context = dispatcher.targetctx
    context.refresh()
    stems = [(SHIPPED, cache_of.stem(level)) for level in levels()]
    if own_folder() is not None:
        stems.append((own_folder(), cache_of.stem(_target(context.codegen()))))
    return any(any(folder.glob(f"{stem}*{SUFFIX}")) for folder, stem in stems)
