"""What a check of a release found: model by model, for all classes or for a part of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import VerificationError
from shoal.models import Finding, Model

__all__ = ["Check", "Verification"]


@dataclass(frozen=True)
class Check:
    """One model on one sensitive column (or on class sizes): asked and reached."""

    model: str
    asked: str
    column: str | None
    reached: int | float | None
    holds: bool
    failing_classes: int
    unchecked: str | None = None
    """Why it could not be checked from the release alone, if so."""
    reader: str | None = None
    """Whose quasi-identifiers the classes are made of, where there are several readers."""
    facts: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Further numbers that the model reports, by name."""
    counted: str = "classes"
    """What `failing_classes` counts: of treated columns it is records."""
    source: tuple[Model, Finding] | None = field(default=None, repr=False, compare=False)
    """What it was made from, so that checks of parts can be made one."""

    @classmethod
    def of(cls, model: Model, column: str | None, finding: Finding) -> Check:
        """What a model found in the classes of a release, or of a part of it."""
        return cls(
            model=model.name,
            asked=str(model),
            column=column,
            reached=finding.level,
            holds=finding.failing == 0,
            failing_classes=finding.failing,
            facts=finding.facts,
            source=(model, finding),
        )

    @classmethod
    def merge(cls, parts: Sequence[Check]) -> Check:
        """One check of those of the same model, column and reader on parts of the classes."""
        first = parts[0]
        if len({(check.asked, check.column, check.reader) for check in parts}) > 1:
            raise ValueError("parts: expected checks of one model on one column for one reader")
        sources = [check.source for check in parts if check.source is not None]
        if len(sources) == len(parts):
            model, _ = sources[0]
            whole = cls.of(model, first.column, model.merge([found for _, found in sources]))
            return replace(whole, reader=first.reader)
        failing = sum(check.failing_classes for check in parts)
        reasons = [check.unchecked for check in parts if check.unchecked]
        return replace(
            first,
            holds=failing == 0,
            failing_classes=failing,
            unchecked=reasons[0] if reasons and not failing else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            **({"reader": self.reader} if self.reader else {}),
            "model": self.model,
            "asked": self.asked,
            "column": self.column,
            "reached": self.reached,
            "holds": self.holds,
        }
        if self.failing_classes:
            plain["failing_classes"] = self.failing_classes
        if self.unchecked:
            plain["unchecked"] = self.unchecked
        return {**plain, **self.facts}

    def __str__(self) -> str:
        about = f" on {self.column}" if self.column else ""
        what = f"{self.reader}: {self.asked}{about}" if self.reader else f"{self.asked}{about}"
        if self.unchecked:
            return f"{what}: not checked: {self.unchecked}"
        if self.holds:
            return f"{what}: holds, reached {self.reached}"
        return f"{what}: fails in {self.failing_classes} {self.counted}"


@dataclass(frozen=True, eq=False)
class Verification:
    """What a check of a released table found."""

    checks: tuple[Check, ...]
    class_sizes: NDArray[np.int64]
    """Records in each equivalence class."""
    mismatches: tuple[str, ...] = ()
    """Where the release is not what its manifest says it is, one line each."""
    signed: bool = False
    """Whether a key was given, and the manifest is signed by it."""

    @classmethod
    def merge(cls, parts: Sequence[Verification]) -> Verification:
        """The verification of a release from those of its parts, each of whole classes.

        Every number is exactly that of the whole: counts add up, and levels
        merge by the rule of their model.
        """
        checks = zip(*(part.checks for part in parts), strict=True)
        sizes = np.concatenate([part.class_sizes for part in parts])
        return cls(tuple(Check.merge(same) for same in checks), sizes)

    @property
    def ok(self) -> bool:
        """True when everything could be checked, and everything is as it should be."""
        return self.holds and self.complete

    @property
    def holds(self) -> bool:
        """True when nothing that could be checked is wrong: no model, nothing the manifest says."""
        return not self.mismatches and all(check.holds for check in self.checks)

    @property
    def complete(self) -> bool:
        """True when every model could be checked from what is published."""
        return not any(check.unchecked for check in self.checks)

    @property
    def records(self) -> int:
        return int(self.class_sizes.sum())

    @property
    def classes(self) -> int:
        return len(self.class_sizes)

    def raise_if_failed(self) -> None:
        """Raise `VerificationError` naming the first thing that is wrong."""
        for check in self.checks:
            if not check.holds:
                raise VerificationError(f"the release does not satisfy {check}")
        for mismatch in self.mismatches:
            raise VerificationError(f"the release is not what its manifest says: {mismatch}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "ok": self.ok,
            "holds": self.holds,
            "complete": self.complete,
            "signed": self.signed,
            "records": self.records,
            "classes": self.classes,
            "smallest_class": int(self.class_sizes.min()) if self.classes else 0,
            "models": [check.to_dict() for check in self.checks],
            "mismatches": list(self.mismatches),
        }

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        verdict = "FAILED" if not self.holds else "verified" if self.ok else "checked in part"
        lines = [f"{verdict}: {self.records:,} records in {self.classes:,} classes"]
        lines += ["  signed by the key"] if self.signed else []
        lines += [f"  not as the manifest says: {mismatch}" for mismatch in self.mismatches]
        return "\n".join([*lines, *(f"  {check}" for check in self.checks)])
