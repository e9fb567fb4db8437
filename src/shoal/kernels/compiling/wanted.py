"""Which kernels usual releases want, with the types of their arguments, known before they run.

`wanted.json` lists them by what is asked for, in the order in which a run comes to them, with
the size of their code: written by ``python -m shoal.warm --record``, which makes small
releases and notes what they used. So kernels can be compiled ahead, by several processes, and
counted while it happens. The list decides nothing: what is not on it is compiled when it is
met, and what no longer fits the source is passed over.
"""

import json
from functools import cache
from importlib import import_module
from pathlib import Path

import numba
from numba.core import types

from shoal.kernels.compiling.sources import PACKAGE
from shoal.kernels.compiling.store import Store

LIST = Path(__file__).with_name("wanted.json")
INSIDE = frozenset({"rules.holds"})
"""Kernels that Python calls, and many kernels too: once they are kept, those load them."""


def as_text(kind):
    """A type of Numba's as JSON: a name, or a list that begins with what it is."""
    if isinstance(kind, types.Array):
        return ["array", str(kind.dtype), kind.ndim, kind.layout, kind.mutable]
    if isinstance(kind, types.BaseNamedTuple):
        made = kind.instance_class
        return ["named", made.__module__, made.__qualname__, [as_text(each) for each in kind.types]]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", [as_text(each) for each in kind.types]]
    if isinstance(kind, types.Number | types.Boolean):
        return str(kind)
    raise ValueError(f"no text for {kind}")


def as_type(text):
    """The type that `as_text` wrote down."""
    if isinstance(text, str):
        return types.boolean if text == "bool" else getattr(types, text)
    what, *rest = text
    if what == "array":
        dtype, ndim, layout, mutable = rest
        return types.Array(as_type(dtype), ndim, layout, readonly=not mutable)
    inside = tuple(as_type(each) for each in rest[-1])
    if what == "tuple":
        return types.BaseTuple.from_types(inside)
    module, name, _ = rest
    if not module.startswith(PACKAGE + "."):
        raise ValueError(f"{module}: not a module of kernels")
    made = getattr(import_module(module), name)
    if len(made._fields) != len(inside):
        raise ValueError(f"{name}: other fields than when it was noted")
    return types.BaseTuple.from_types(inside, made)


@cache
def listed():
    """Kernels and their types by what a run is asked for; nothing if the list is not there."""
    try:
        return json.loads(LIST.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


UNKNOWN = object()


class Wanted:
    """One kernel and the types that it is wanted for; the larger its code, the longer it takes."""

    def __init__(self, name, texts, size=0):
        self.name, self.texts, self.size = name, texts, size
        self._paths = UNKNOWN

    def dispatcher(self):
        module, _, function = self.name.rpartition(".")
        return getattr(import_module(f"{PACKAGE}.{module}"), function)

    def types(self):
        return tuple(as_type(text) for text in self.texts)

    @property
    def paths(self):
        """Where its code may be kept, the last where it is written; None if it is not kept.

        Found once: Numba's context cannot be asked while something else is being compiled. Not
        by `cached_property`, whose lock (up to Python 3.11) another thread may hold that waits
        for the compiler: then neither would go on.
        """
        if self._paths is UNKNOWN:
            self._paths = self._found_paths()
        return self._paths

    def _found_paths(self):
        dispatcher = self.dispatcher()
        if not isinstance(dispatcher._cache, Store):
            return None
        dispatcher.targetctx.refresh()
        return tuple(dispatcher._cache.files(self.types(), dispatcher.targetctx))

    def is_there(self):
        """Whether it need not be compiled, or cannot be."""
        try:
            paths, loaded = self.paths, self.types() in self.dispatcher().overloads
        except (AttributeError, ImportError, TypeError, ValueError):
            return True  # the source has moved on
        return loaded or paths is None or any(path.exists() for path in paths)

    def kilobytes(self):
        """Size of what is kept of it."""
        sizes = (path.stat().st_size for path in self.paths or () if path.exists())
        return max(sizes, default=0) // 1000

    def compile(self):
        """Compile and keep it; whether that was possible."""
        try:
            self.dispatcher().compile(self.types())
        except (AttributeError, ImportError, TypeError, ValueError, numba.core.errors.NumbaError):
            return False
        return True


def wanted(*names):
    """What runs want, in their order and once each; of all runs if none is named."""
    found = {}
    for name in names or listed():
        for kernel, texts, size in listed().get(name, ()):
            found.setdefault(json.dumps([kernel, texts]), Wanted(kernel, texts, size))
    return list(found.values())


def missing(*names):
    """Those of `wanted` that have to be compiled yet."""
    return [each for each in wanted(*names) if not each.is_there()]


def dearest_first(kernels):
    """In the order in which helpers compile: what others need, then what takes longest."""
    return sorted(kernels, key=lambda each: (each.name not in INSIDE, -each.size))


class Left:
    """What of some kernels is still to be compiled, look by look."""

    def __init__(self, open_ends):
        self.open_ends = list(open_ends)
        self.total = len(self.open_ends)
        self.size = max(1, sum(each.size for each in self.open_ends))

    def look(self):
        """How many are done, of how many, and which share of their code that is."""
        self.open_ends = [each for each in self.open_ends if not each.is_there()]
        size = sum(each.size for each in self.open_ends)
        return self.total - len(self.open_ends), self.total, 1 - size / self.size


def noted(used):
    """Kernels as `store.USED` has them, for the list; those whose types have no text are left.

    Each with its size, which goes with the time that it takes to compile.
    """
    lines = []
    for module, function, kinds in used:
        try:
            texts = [as_text(kind) for kind in kinds]
        except ValueError:
            continue
        kernel = f"{module.removeprefix(PACKAGE + '.')}.{function}"
        line = [kernel, texts, Wanted(kernel, texts).kilobytes()]
        if line not in lines:
            lines.append(line)
    return lines


def write(found):
    """Write the list: a line a kernel, so that changes can be read."""
    parts = []
    for name in sorted(found):
        rows = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in found[name])
        parts.append(f"{json.dumps(name)}: [\n  {rows}\n]")
    LIST.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
