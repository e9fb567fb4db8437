"""Until when work may go on: one limit, handed from the run down to what takes the time.

Only a *time* is measured by the clock. Efforts count steps, so that their results
depend on the table, the policy and the seed and not on the machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["NO_LIMIT", "Limit", "now", "seconds_for"]


def now() -> float:
    """Seconds from some moment on; every limit reads its clock here."""
    return time.monotonic()


@dataclass(frozen=True)
class Limit:
    """A moment after which nothing new is begun."""

    end: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Limit:
        """So many seconds from now; None: never."""
        return NO_LIMIT if seconds is None else cls(now() + seconds)

    @property
    def given(self) -> bool:
        """Whether there is one at all."""
        return self.end < math.inf

    @property
    def left(self) -> float:
        """Seconds that remain, 0 at least."""
        return max(0.0, self.end - now()) if self.given else math.inf

    @property
    def up(self) -> bool:
        """Whether it has passed."""
        return self.given and now() >= self.end

    def share(self, part: float) -> Limit:
        """The limit of what may take this part of the time that is left."""
        return Limit(now() + part * self.left) if self.given else self

    def before(self, seconds: float) -> Limit:
        """The limit of what must leave so many seconds to others."""
        return Limit(self.end - seconds) if self.given else self


NO_LIMIT = Limit()
"""Of efforts: they count steps."""


def seconds_for(work: Callable[[], object]) -> float:
    """How long something takes."""
    begun = now()
    work()
    return now() - begun
