"""The examples run, and do what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import shoal

GATE = Path(__file__).parents[1] / "examples" / "gate.sh"


def gate(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """The gate as CI runs it, with this Python's shoal."""
    own = folder / "bin"
    own.mkdir(exist_ok=True)
    command = own / "shoal"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal "$@"\n')
    command.chmod(0o755)
    path = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", str(GATE), name], cwd=folder, env=path, capture_output=True, text=True, check=False
    )


def test_gate_lets_a_sound_release_pass_and_stops_a_changed_one(tmp_path):
    people = shoal.datasets.census(200)
    release = shoal.anonymize(people, qi=["age", "gender"], k=5, rest="drop", method="hilbert")
    path = Path(release.write(tmp_path / "release.csv"))
    passed = gate(tmp_path, path.name)
    assert passed.returncode == 0, passed.stderr
    assert json.loads((tmp_path / "verified.json").read_text())
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    stopped = gate(tmp_path, path.name)
    assert stopped.returncode == 1
    assert "is not published" in stopped.stderr
