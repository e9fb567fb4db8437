"""Imports point one way: what is below knows nothing of what is above (DESIGN section 5)."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import shoal

SOURCE = Path(shoal.__file__).parent

LAYERS = [
    ["_version", "errors", "effort", "kernels", "model_settings", "progress"],
    ["policy", "hierarchy", "io"],
    ["encoding", "datasets"],
    ["models", "metrics"],
    ["methods", "verification", "released"],
    ["bounds", "plan"],
    ["engines", "release", "summary"],
    ["pipeline", "recipient", "joining"],
    ["explore"],
    ["report"],
    ["cli"],
]
LAYER_OF = {name: depth for depth, names in enumerate(LAYERS) for name in names}

VERIFICATION_MAY_KNOW = {"errors", "policy", "model_settings", "encoding", "models"}


def modules():
    return sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def home(path: Path) -> str:
    """First part of a module's name under shoal: a package or a single file."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> set[str]:
    """Parts of shoal that a module imports when it runs."""
    found = set()

    def visit(node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shoal"):
            parts = node.module.split(".")
            found.update([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        if isinstance(node, ast.Import):
            found.update(a.name.split(".")[1] for a in node.names if a.name.startswith("shoal."))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    here = home(path)
    assert here in LAYER_OF, f"give {here} a place in LAYERS"
    for other in imports(path) - {"__version__"}:
        below = LAYER_OF[other] < LAYER_OF[here] or other == here
        beside = LAYER_OF[other] == LAYER_OF[here] and here not in imports_of(other)
        assert below or beside, f"{here} imports {other}, which is above it"


@cache
def imports_of(part: str) -> set[str]:
    return set().union(*(imports(p) for p in modules() if home(p) == part))


def test_verification_knows_no_method():
    assert imports(SOURCE / "verification" / "check.py") <= VERIFICATION_MAY_KNOW


def test_kernels_know_arrays_only():
    for path in (SOURCE / "kernels").rglob("*.py"):
        assert imports(path) <= {"kernels"}, path.name


def test_public_names_are_the_curated_ones():
    assert sorted(shoal.__all__) == [
        "Hierarchy", "Policy", "Release", "__version__", "anonymize", "compare", "datasets",
        "errors", "inspect", "join_check", "query", "verify",
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
