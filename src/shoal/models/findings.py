"""What a model finds in classes, in a form that adds up: parts give the numbers of the whole.

A part holds whole classes. `Model.finding` looks at the classes of one part,
`Model.merge` makes one finding of those of several parts, exactly as if all
their classes had been looked at together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Finding", "Level", "of_kind"]

Kind = TypeVar("Kind", bound="Finding")

Level = int | float | None
"""The strictest parameter that classes satisfy; None where there is none to judge."""


@dataclass(frozen=True)
class Finding:
    """How classes stand with one model; a model that needs more to merge keeps it in its own."""

    failing: int
    """Classes that do not satisfy the model."""
    level: Level
    """The strictest parameter that all classes satisfy."""
    facts: dict[str, int] = field(default_factory=dict)
    """Further numbers for the manifest, by name."""


def of_kind(kind: type[Kind], findings: Iterable[Finding]) -> list[Kind]:
    """The findings of a model that keeps more in them; those of another model are a mistake."""
    own: list[Kind] = []
    for finding in findings:
        if not isinstance(finding, kind):
            raise TypeError(f"expected a {kind.__name__}; got a {type(finding).__name__}")
        own.append(finding)
    return own
