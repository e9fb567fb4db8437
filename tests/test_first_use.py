"""Kernels are compiled once: the second run finds them all in the cache, wherever that is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import shoal
people = shoal.datasets.census(300)
roles = dict(qi=["age", "gender", "country"], sensitive="occupation")
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
from shoal.kernels.costs import attribute_losses
print(was_compiled(attribute_losses))
import shoal
shoal.anonymize(shoal.datasets.census(50), qi=["age"], k=5, method="mondrian")
print(was_compiled(attribute_losses))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_where_nothing_can_be_written_the_cache_goes_to_a_temporary_folder(tmp_path):
    script = """
import os
os.access = lambda path, mode: False  # a read-only installation and a read-only home
import shoal.kernels.jit, numba
print(numba.config.CACHE_DIR)
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["TMPDIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip().startswith(str(tmp_path))
