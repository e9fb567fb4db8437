"""What the code of a kernel depends on, as a digest: its source, and that of all it can call.

A kernel is compiled together with the kernels that it calls, which may lie in other files.
So the digest covers the file of the kernel and every kernel file that one imports, however
far away; time stamps play no part. `tests/test_kernel_store.py` holds that the lines found
here are the imports that Python sees.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = "shoal.kernels"
HOME = Path(__file__).resolve().parents[1]
IMPORT = re.compile(
    rf"^\s*(?:import|from) {re.escape(PACKAGE)}(?:\.([\w.]+))?(?: import ([\w, ]+))?", re.MULTILINE
)
NOT_CODE = frozenset(
    f"compiling.{name}" for name in ("folders", "sharing", "sources", "store", "wanted", "watching")
)
"""Where compiled code is kept and who is told: nothing of it decides what the code is."""


def is_ours(function):
    """Whether a function lies in a kernel file of ours, so that its digest says all about it."""
    return function.__module__.startswith(PACKAGE + ".")


@cache
def digest_of(module):
    """Digest of a kernel module and of all kernel modules that it imports, near and far."""
    digest = hashlib.sha256()
    for name in sorted(reached(module)):
        digest.update(name.encode() + b"\0" + read(name) + b"\0")
    return digest.hexdigest()


def reached(module):
    """Names, below the package, of a module and of what it imports."""
    found, open_ends = set(), [module.removeprefix(PACKAGE + ".")]
    while open_ends:
        name = open_ends.pop()
        if name not in found and name not in NOT_CODE:
            found.add(name)
            open_ends += imported(read(name).decode())
    return found


def imported(text):
    """The kernel modules that a source imports, read from its lines: parsing takes longer."""
    for home, names in IMPORT.findall(text):
        if HOME.joinpath(*home.split(".")).is_dir():  # `from folder import module, module`
            yield from (f"{home}.{name.strip()}".lstrip(".") for name in names.split(","))
        else:
            yield home


@cache
def read(name):
    """The source of a module, the same on systems that end lines otherwise."""
    path = HOME.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_bytes().replace(b"\r\n", b"\n")
