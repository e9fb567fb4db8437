"""The tests themselves: what several of them need is in a module of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = sorted(Path(__file__).parent.glob("*.py"))


def imported(path: Path) -> set[str]:
    """Names of all modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_nothing_imports_a_test_module(path):
    others = sorted(name for name in imported(path) if name.startswith("test_"))
    assert not others, f"move what {path.name} needs of {others} into tables.py or guarantees.py"
