"""What can be asked of one column of a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Constant", "Test"]


@dataclass(frozen=True)
class Constant:
    """A value of the query, as text, and what SQL took it for."""

    kind: Literal["number", "text", "date", "bool"]
    text: str


@dataclass(frozen=True)
class Test:
    """A column against values. All other comparisons are made of these four."""

    __test__ = False  # pytest: this is no test case

    column: str
    op: Literal["in", "<", "<=", "null"]
    values: tuple[Constant, ...] = ()
