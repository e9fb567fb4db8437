"""The manifest's keys and values, pinned for a few releases; it is made from the release.

``python tests/test_manifest.py`` writes ``tests/manifests.json`` anew. That is right only
where a manifest is meant to change.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import shoal
from golden import ROLES, mixed
from shoal.errors import ShoalWarning

PINNED = Path(__file__).with_name("manifests.json")

READERS = {"reader": {"a": ["age", "place"], "b": ["level", "place"]}, "collusion_k": 2}
CASES: dict[str, dict[str, Any]] = {
    "trees and orders": {**ROLES, "k": 4, "l": 2, "method": "hilbert"},
    "bound": {**ROLES, "k": 3, "method": "best", "effort": "instant", "bound": True},
    "persons in the input's order": {
        **ROLES, "k": 3, "method": "mondrian", "person": "who", "keep_order": True,
        "identifier": ["income"], "option": {"relaxed": True},
    },
    "two tables": {**ROLES, "l": 3, "method": "anatomy", "seed": 7},
    "readers": {
        **{name: value for name, value in ROLES.items() if name not in {"qi", "kind"}},
        **READERS, "k": 4, "method": "butterfly",
        "hierarchy": {"place": ROLES["hierarchy"]["place"]},
    },
    "budget": {**ROLES, "max_loss": 0.4, "method": "hilbert"},
    "budget of l": {**ROLES, "k": 2, "max_loss": 0.5, "search": "l", "method": "mondrian"},
    "the best l": {**ROLES, "l": "auto", "method": "hilbert"},
    "outliers": {**ROLES, "k": 4, "method": "hilbert", "max_suppressed": "10%"},
    "stars": {
        **ROLES, "k": 4, "l": 2, "method": "hilbert", "max_suppressed": "10%",
        "suppress_by": "star", "layout": "bounds", "csv_safe": True,
    },
    "warned": {**ROLES, "k": 4, "method": "tp", "coarsen": {"place": 1}},
}  # fmt: skip


def manifest(settings: dict[str, Any]) -> dict[str, Any]:
    """The manifest of one release as JSON has it; versions are those of the machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        found = shoal.anonymize(mixed(120, 1), **{"seed": 0, **settings}).manifest
    plain: dict[str, Any] = json.loads(json.dumps(found))
    assert list(plain.pop("versions")) == ["shoal", "python", "numpy", "numba", "pyarrow"]
    return plain


@pytest.mark.parametrize("case", CASES)
def test_keys_and_values_are_the_same_as_ever(case: str) -> None:
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))[case]
    found = manifest(CASES[case])
    assert found == pinned
    assert json.dumps(found) == json.dumps(pinned)  # in the same order too


if __name__ == "__main__":
    made = {case: manifest(settings) for case, settings in CASES.items()}
    PINNED.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
