"""Kernels are compiled once: the second run finds them all in the cache, wherever that is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import shoal
people = shoal.datasets.census(300)
roles = dict(qi=["age", "gender", "country"], sensitive="occupation", rest="drop")
shoal.anonymize(people, **roles, k=5, method="hilbert")
shoal.anonymize(people, **roles, k=5, l=2, method="mondrian")
"""


def run(cache: Path) -> dict[str, int]:
    """Run once; the cache's files and when each was written."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=environment)
    return {str(p): p.stat().st_mtime_ns for p in cache.rglob("*") if p.is_file()}


def test_the_second_run_compiles_nothing(tmp_path):
    first = run(tmp_path)
    assert len(first) > 10
    assert run(tmp_path) == first


def test_whether_a_kernel_was_compiled_can_be_told(tmp_path):
    script = """
from shoal.kernels.jit import was_compiled
from shoal.kernels.costs import range_losses
print(was_compiled(range_losses))
import shoal
shoal.anonymize(shoal.datasets.census(50), qi=["age"], k=5, method="mondrian",
                rest="drop")
print(was_compiled(range_losses))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "True"]


READ_ONLY = """
import os
access = os.access
os.access = lambda path, mode: str(path).startswith(os.environ["TMPDIR"]) and access(path, mode)
# so: a read-only installation and a read-only home
from shoal.kernels.compiling.folders import own_folder
print(own_folder() or "")
"""
ONE_KERNEL = """
from shoal.kernels.jit import CACHED, kernel
@kernel
def one(x):
    return x + 1
print(one(1), CACHED)
"""


def run_read_only(temporary: Path, script: str = READ_ONLY) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["TMPDIR"] = str(temporary)
    return subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True
    )


def test_where_nothing_can_be_written_the_cache_is_a_temporary_folder_of_our_own(tmp_path):
    folder = tmp_path / f"shoal-kernels-{os.getuid()}"
    for _ in range(2):  # made, then found
        done = run_read_only(tmp_path)
        assert (done.stdout.strip(), done.stderr) == (str(folder), "")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def wider(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def linked(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "elsewhere")


def of_another(folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)


def replaceable(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)  # without the sticky bit anybody can rename what is in it


@pytest.mark.parametrize("planted", [wider, linked, of_another, replaceable])
def test_a_folder_that_another_could_have_filled_is_no_cache(tmp_path, planted):
    # What is found there is loaded and run: a file of another's ran as us.
    folder = tmp_path / f"shoal-kernels-{os.getuid()}"
    planted(folder)
    done = run_read_only(tmp_path, READ_ONLY + ONE_KERNEL)
    assert done.stdout.split() == ["2", "False"]  # no folder, and the kernel runs
    assert done.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr
    assert [*folder.iterdir()] == []


def test_a_home_that_everybody_can_write_is_no_cache(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    script = f"import os; os.environ['XDG_CACHE_HOME'] = {str(home)!r}\n{READ_ONLY}"
    assert run_read_only(tmp_path, script).stdout.strip().startswith(str(tmp_path / "shoal-k"))
    assert [*home.iterdir()] == []


@pytest.mark.parametrize("planted", [wider, linked, of_another])
def test_a_folder_in_the_home_that_another_could_have_filled_is_no_cache(tmp_path, planted):
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    (home / "shoal").mkdir(parents=True)
    temporary.mkdir(mode=0o700)
    planted(home / "shoal" / "kernels")
    script = "from shoal.kernels.compiling.folders import own_folder; print(own_folder() or '')"
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment |= {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(temporary / f"shoal-kernels-{os.getuid()}")


def test_kernels_are_kept_in_the_home_for_us_alone(tmp_path):
    script = "from shoal.kernels.compiling.folders import own_folder; print(own_folder())"
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True
    )
    folder = tmp_path / "cache" / "shoal" / "kernels"
    assert done.stdout.strip() == str(folder)
    assert (
        stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    )


def with_named(folder: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    script = "from shoal.kernels.compiling.folders import own_folder; print(own_folder() or '')"
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(temporary)},
    )  # fmt: skip


def read_only(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)


@pytest.mark.parametrize("there", [None, read_only])
def test_a_folder_the_user_names_is_used(tmp_path, there):
    named = tmp_path / "named"
    named.mkdir()
    named.chmod(0o1777)  # as a temporary folder is
    if there is not None:
        there(named / "shoal-kernels")
    for _ in range(2):
        done = with_named(named, tmp_path)
        assert (done.stdout.strip(), done.stderr) == (str(named / "shoal-kernels"), "")
    assert stat.S_IMODE((named / "shoal-kernels").stat().st_mode) in (0o700, 0o755)


@pytest.mark.parametrize("planted", [wider, linked, of_another, replaceable])
def test_a_named_folder_that_another_could_have_filled_is_no_cache(tmp_path, planted):
    """With NUMBA_CACHE_DIR=/tmp, which many an instruction says, a file of another's ran as us."""
    named, home = tmp_path / "named", tmp_path / "home"
    named.mkdir()
    planted(named / "shoal-kernels")
    done = with_named(named, home)
    assert done.stdout.strip() == str(home / "shoal" / "kernels")
    assert done.stderr.count("RuntimeWarning") == 1
