"""What a release says of itself besides its table: its method, its budget, its series."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["SERIES_IN_FILES", "Before", "Budget", "MethodUsed", "SeriesPart", "Suppression"]

SERIES_IN_FILES = (
    "a release of a series is written to files: its table, that of its counterfeits and the "
    "record that the next one needs appear together; got a database"
)


@dataclass(frozen=True)
class MethodUsed:
    """The method behind a release, and what it has to say about it."""

    name: str
    options: Mapping[str, Any]
    recoding: str
    """``generalise`` or ``suppress``."""
    looked_at: str
    """What decided who is grouped with whom."""
    drawn: str
    """What of it the seed decided."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the method tells of its work, by name."""
    proof: str = ""
    """One sentence: what is proven about this release against the best possible one."""


@dataclass(frozen=True)
class Budget:
    """What ``max_loss`` bought: the largest level that fits, and what the next would lose."""

    max_loss: float
    name: str
    """What was searched: ``k`` or ``l``."""
    level: int
    loss: float
    trials: int
    next_loss: float | None = None
    """Loss of the level above, where it has a release."""


@dataclass(frozen=True)
class Before:
    """How many stood out in the input, by its quasi-identifiers: for the custodian alone."""

    records: int
    unique: int
    """Records that were alone with their values."""
    k: int
    few: int
    """Records that shared their values with fewer than k, themselves included."""


@dataclass(frozen=True)
class Suppression:
    """How many records were suppressed as outliers, and how; never which.

    Exact: for the custodian. What is public is how many the policy allowed at most.
    """

    records: int
    of: int
    by: str
    """``drop`` or ``star``."""


@dataclass(frozen=True, eq=False)
class SeriesPart:
    """What a release of a series keeps for the next one, and what it tells."""

    private: Mapping[str, Any]
    """For the record: who was published with which values, by keyed hash."""
    public: Mapping[str, Any]
    """For the manifest: which release it is, and how many counterfeits it has."""
    counterfeits: pa.Table | None = None
    """Classes that have counterfeits, and how many: published beside the release."""
    alone: Callable[[Sequence[Path]], AbstractContextManager[Mapping[Path, str]]] | None = None
    """Called with the record's path, and others that it replaces: nobody else continues the
    series while it is written, and these notes are written with it."""
