"""Imports point one way: what is below knows nothing of what is above (DESIGN section 5)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from rooms import DEPTH, PICTURE, SOURCE, home, imports, imports_of, modules, picture

VERIFICATION_MAY_KNOW = {"errors", "policy", "model_settings", "encoding", "models"}


def test_the_source_is_the_one_that_runs():
    assert Path(shoal.__file__).parent.name == SOURCE.name


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    here = home(path)
    assert here in DEPTH, f"give {here} a place in LAYERS of tests/rooms.py"
    for other in imports(path):
        below = DEPTH[other] < DEPTH[here] or other == here
        beside = DEPTH[other] == DEPTH[here] and here not in imports_of(other)
        assert below or beside, f"{here} imports {other}, which is above it"


def test_every_room_of_the_picture_exists():
    assert set(DEPTH) == {home(path) for path in modules()}


def test_the_picture_shows_the_source():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run: python tests/rooms.py"


@pytest.mark.parametrize("name", ["check.py", "result.py"])
def test_verification_knows_no_method(name):
    assert imports(SOURCE / "verification" / name) - {"verification"} <= VERIFICATION_MAY_KNOW


def test_kernels_know_arrays_only():
    for path in (SOURCE / "kernels").rglob("*.py"):
        assert imports(path) <= {"kernels"}, path.name


def test_public_names_are_the_curated_ones():
    assert sorted(shoal.__all__) == [
        "Hierarchy", "Policy", "Release", "__version__", "anonymize", "attack", "compare",
        "datasets", "errors", "expand", "inspect", "join_check", "pool", "query", "risk",
        "series_check", "verify",
    ]  # fmt: skip
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert callable(shoal.verify)
    assert callable(shoal.inspect)


@pytest.mark.parametrize("heavy", ["numpy", "numba", "pyarrow", "duckdb", "rich"])
def test_help_loads_nothing_heavy(heavy):
    script = (
        "import sys; from shoal.cli import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: pass\n"
        f"assert {heavy!r} not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_modules_stay_readable():
    for path in modules():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 450, f"{path.relative_to(SOURCE)} has {lines} lines: split it"


def test_the_page_names_every_room():
    page = PICTURE.with_suffix(".md").read_text(encoding="utf-8")
    rooms = page.split("## Rooms")[1].split("## Contracts")[0]
    for room in set(DEPTH) - {"_version"}:
        assert f"`{room}`" in rooms, f"docs/architecture.md does not name {room}"
