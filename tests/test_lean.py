"""Kernels compiled the lean way and as Numba does it by itself: the same releases."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RELEASES = """
import hashlib, json
import shoal
from shoal.kernels.compiling import lean
people, found = shoal.datasets.census(500), {}
asked = {"qi": ["age", "gender", "education"], "sensitive": "occupation", "rest": "drop", "k": 5}
for method, l in (("hilbert", None), ("hilbert", 3), ("mondrian", 3)):
    release = shoal.anonymize(people, method=method, l=l, seed=1, **asked)
    assert release.verification.ok and release.verification.class_sizes.min() >= 5
    rows = json.dumps(release.table.to_pydict())
    found[f"{method} {l}"] = hashlib.sha256(rows.encode()).hexdigest()
print(json.dumps([lean.LEAN, found]))
"""


@pytest.mark.heavy
def test_both_ways_of_compiling_make_the_same_releases(tmp_path):
    told = {}
    for way in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", RELEASES],
            env={**os.environ, "SHOAL_LEAN": way, "NUMBA_CACHE_DIR": str(tmp_path / way)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        told[way] = done.stdout.splitlines()[-1]
    assert told["0"].startswith("[false, ")
    assert told["1"].startswith("[true, ")
    assert told["0"].removeprefix("[false") == told["1"].removeprefix("[true")
