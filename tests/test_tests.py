"""The tests themselves: what several of them need is in a module of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import conformance
import golden
from shoal.models import MODELS, models_of
from shoal.policy import Policy

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


def early_returns(function: ast.AST) -> list[int]:
    """Lines of a function, without those inside it, that end it before its last assertion."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found, left = [], list(ast.iter_child_nodes(function))
    while left:
        node = left.pop()
        if isinstance(node, ast.Return):
            found.append(node.lineno)
        if not isinstance(node, inner):
            left += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_no_test_ends_early(path):
    """A return skips assertions unseen; `assume` and `reject` make hypothesis draw again."""
    tests = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert not {test.name: lines for test in tests if (lines := early_returns(test))}


def names_of(settings: Iterable[dict[str, Any]]) -> set[str]:
    return {model.name for asked in settings for model in models_of(Policy.parse(**asked))}


def test_every_model_is_asked_of_every_method():
    """All but one that few methods promise: `test_methods` knows which."""
    assert names_of(conformance.MODELS) | {"unique-l"} == set(MODELS)
    assert names_of(golden.MODELS.values()) == set(MODELS)
