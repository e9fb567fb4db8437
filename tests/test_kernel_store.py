"""Compiled kernels are kept by content: nothing stale is run, nothing equal compiled twice."""

from __future__ import annotations

import ast
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from numba import njit, typeof

import shoal
from shoal.kernels.compiling import sources, store
from shoal.kernels.jit import kernel

SOURCE = Path(shoal.__file__).parent
KERNELS = SOURCE / "kernels"
CALLER = """
from shoal.kernels.callee import callee
from shoal.kernels.jit import kernel
@kernel
def caller(x):
    return callee(x) + 1
"""
CALLEE = """
from shoal.kernels.jit import inner_kernel
@inner_kernel
def callee(x):
    return x * {factor}
"""
RUN = """
from shoal.kernels.caller import caller
print(caller(5), sum(caller.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with two kernels in two files."""
    target = tmp_path / "here" / "shoal"
    ignored = shutil.ignore_patterns("__pycache__", "_compiled")
    shutil.copytree(KERNELS / "compiling", target / "kernels" / "compiling", ignore=ignored)
    for name in ("__init__.py", "_version.py", "kernels/__init__.py", "kernels/jit.py"):
        shutil.copy(SOURCE / name, target / name)
    (target / "kernels" / "caller.py").write_text(CALLER, encoding="utf-8")
    (target / "kernels" / "callee.py").write_text(CALLEE.format(factor=2), encoding="utf-8")
    return target


def called(package: Path, cache: Path, **more: str) -> list[int]:
    """What the caller gives for 5, and how often it came from the cache, in a new process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", RUN], check=True, capture_output=True, text=True,
        env={**environment, **more},
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


def test_a_changed_kernel_in_another_file_is_noticed(package, tmp_path):
    # Numba looks at the caller's file only: it went on running the old callee.
    cache = tmp_path / "cache"
    assert called(package, cache) == [11, 0]
    assert called(package, cache) == [11, 1]
    (package / "kernels" / "callee.py").write_text(CALLEE.format(factor=3), encoding="utf-8")
    assert called(package, cache) == [16, 0]
    (package / "kernels" / "callee.py").write_text(CALLEE.format(factor=2), encoding="utf-8")
    assert called(package, cache) == [11, 1]  # what was compiled before is still right


def test_it_survives_copies_and_new_time_stamps(package, tmp_path):
    cache = tmp_path / "cache"
    assert called(package, cache) == [11, 0]
    moved, copied = tmp_path / "there" / "shoal", tmp_path / "copied"
    shutil.copytree(package, moved, ignore=shutil.ignore_patterns("__pycache__"))
    for path in moved.rglob("*.py"):
        os.utime(path, (1, 1))
    shutil.copytree(cache, copied)
    assert called(moved, copied) == [11, 1]


def test_a_damaged_file_is_compiled_anew(package, tmp_path):
    cache = tmp_path / "cache"
    called(package, cache)
    (file,) = cache.rglob("*.kernel")
    whole = file.read_bytes()
    for damaged in (whole[:-1], b"", whole[:40] + b"x" + whole[41:]):
        file.write_bytes(damaged)
        assert called(package, cache) == [11, 0]
        assert called(package, cache) == [11, 1]


def test_files_are_ours_alone(package, tmp_path):
    cache = tmp_path / "cache"
    called(package, cache)
    (file,) = cache.rglob("*.kernel")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_cache_that_cannot_be_written_is_no_error(package, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, where a folder is needed", encoding="utf-8")
    assert called(package, blocked) == [11, 0]


def test_imports_found_in_the_text_are_those_python_sees():
    for path in KERNELS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        seen = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("shoal."):
                assert node.level == 0
                whole = (
                    node.module == sources.PACKAGE
                    or (KERNELS / Path(*node.module.split(".")[2:])).is_dir()
                )
                seen |= {f"{node.module}.{n.name}" for n in node.names} if whole else {node.module}
            elif isinstance(node, ast.Import):
                seen |= {n.name for n in node.names if n.name.startswith("shoal.")}
        found = {f"{sources.PACKAGE}.{name}" for name in sources.imported(text)}
        assert found == seen, path


def test_the_digest_reaches_what_is_imported_far_away():
    reached = sources.reached("shoal.kernels.best.search")
    assert {"best.search", "best.growing", "pricing", "jit", "compiling.lean"} <= reached
    assert not reached & sources.NOT_CODE
    assert sources.digest_of("shoal.kernels.best.search") != sources.digest_of("shoal.kernels.dp")


def test_named_tuples_of_one_name_are_told_apart():
    class Pair(NamedTuple):
        first: int
        second: int

    def elsewhere() -> type[tuple[int, int]]:
        class Pair(NamedTuple):
            second: int
            first: int

        return Pair

    one, other = typeof(Pair(1, 2)), typeof(elsewhere()(1, 2))
    assert str(one) == str(other)
    assert store.described((one,)) != store.described((other,))


def test_constants_make_no_signature_of_their_own():
    @kernel
    def inside(x, y):
        return x + y

    @njit
    def around(x):
        return inside(x, 1) + inside(x, 2) + inside(x, x)

    assert around(5) == 23
    assert len(inside.signatures) == 1
    assert not re.search("Literal", str(inside.signatures))
