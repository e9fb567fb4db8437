"""How often an attack succeeds, how sure that is, and whether it means anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Found", "Rate", "Skipped", "wilson"]


def wilson(right: float, of: int, z: float = 1.96) -> tuple[float, float]:
    """Interval of a rate, at 95 percent; all of 0 to 1 where nothing was tried."""
    if not of:
        return 0.0, 1.0
    share, square = right / of, z * z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Rate:
    """Successes among trials; expected ones where an attacker guesses among several."""

    right: float
    of: int

    @property
    def share(self) -> float:
        return self.right / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.right, self.of)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = self.interval
        return {
            "rate": round(self.share, 6),
            "of": self.of,
            "wilson": [round(low, 6), round(high, 6)],
        }


@dataclass(frozen=True)
class Found:
    """What one attack achieved against people in the release, and against people who are not.

    What works as well against people who are not in the release is knowledge about people,
    not about somebody: only what goes beyond that is the release's fault.
    """

    attack: str
    about: str
    """What the attacker knows, or what he wants to know."""
    main: Rate
    """Against people of the release."""
    control: Rate | None
    """Against people who are not in it; None where none were given."""
    baseline: float
    """What guessing without the release achieves."""
    coverage: float
    """Share of the people for whom the attack says anything at all."""
    promised: float = 0.0
    """What is tolerated of this attack, since the release promises no less; 0 for nothing."""
    without: Rate | None = None
    """The same against people of the release by who has not seen their classes, if tried."""

    @property
    def risk(self) -> float | None:
        """``(main - control) / (1 - control)``, not below 0; None without a control."""
        if self.control is None:
            return None
        left = 1 - self.control.share
        return max(0.0, (self.main.share - self.control.share) / left) if left > 0 else 0.0

    @property
    def meaningless(self) -> str:
        """Why the result says nothing; empty if it says something."""
        if not self.main.of:
            return "nobody was attacked"
        if self.main.share <= self.baseline:
            return "no better than guessing without the release"
        if self.main.share <= self.promised:
            return f"no more than is tolerated ({self.promised:.3g})"
        if self.control is not None and self.main.interval[0] <= self.control.interval[1]:
            return "people who are not in the release fare as badly"
        if (
            self.control is None  # which counts where there is one
            and self.without is not None
            and self.main.interval[0] <= self.without.interval[1]
        ):
            return "the same is told without the classes that people are in"
        return ""

    @property
    def flagged(self) -> bool:
        """Whether the attack beats guessing, the promises and, if there is one, the control.

        For certain: by intervals that do not meet.
        """
        least = max(self.baseline, self.promised)
        return not self.meaningless and self.main.interval[0] > least

    @property
    def beats_guessing(self) -> bool:
        """Whether it is right more often than guessing without the release, for certain."""
        return bool(self.main.of) and self.main.interval[0] > self.baseline

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        risk = self.risk
        return {
            "attack": self.attack,
            "about": self.about,
            "main": self.main.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            **({} if self.without is None else {"without_target": self.without.to_dict()}),
            "baseline": round(self.baseline, 6),
            **({"promised": round(self.promised, 6)} if self.promised else {}),
            "coverage": round(self.coverage, 6),
            "risk": None if risk is None else round(risk, 6),
            "flagged": self.flagged,
            "meaningless": self.meaningless or None,
        }

    def __str__(self) -> str:
        low, high = self.main.interval
        told = f"{self.attack} ({self.about}): {self.main.share:.2%} [{low:.2%}, {high:.2%}]"
        if self.control is not None:
            told += f", control {self.control.share:.2%}"
        if self.without is not None:
            told += f", without the target {self.without.share:.2%}"
        told += f", guessing {self.baseline:.2%}, coverage {self.coverage:.0%}"
        if self.risk is not None:
            told += f"; risk {self.risk:.2%}"
        return f"{told}: {self.meaningless or ('FLAGGED' if self.flagged else 'not certain')}"


@dataclass(frozen=True)
class Skipped:
    """An attack that was not tried, and why."""

    attack: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"attack": self.attack, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.attack}: not tried: {self.reason}"
