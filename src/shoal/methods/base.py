"""What a method is: an algorithm that partitions an encoded table under models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.methods.sparseness import hardly_repeats
from shoal.models import View, whole_table_only
from shoal.models.base import Model

__all__ = ["Method", "Options", "Outcome", "Report", "Run", "Watcher"]


class Options(BaseModel):
    """Options of a method: frozen, and an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Watcher(Protocol):
    """Who is told how far a method is and, while it still improves, the loss so far."""

    def __call__(self, done: float, total: float, loss: float | None = None) -> None: ...


class Report(Protocol):
    """Who is told how far the work is and, where a method improves on it, the loss so far."""

    def __call__(
        self, stage: str, done: float, total: float, loss: float | None = None
    ) -> None: ...


def _silent(done: float, total: float, loss: float | None = None) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Run:
    """What a method may use besides table, models and options."""

    seed: int = 0
    progress: Watcher = _silent
    """Called as progress(done, total) now and then, with the loss (GCP) so far if it falls."""
    views: tuple[View, ...] = ()
    """What must hold for each of several readers; a method that looks at the models
    alone, on all quasi-identifiers, satisfies every one of them."""
    effort: str | None = None
    """How hard an any-time method searches; None: as it thinks best."""
    seconds: float | None = None
    """How long an any-time method may search; None: as its effort says."""


@dataclass(frozen=True)
class Outcome:
    """A method's answer: the recoding and what it can say about it for the manifest."""

    recoding: Recoding
    """Which groups share released quasi-identifiers."""
    facts: dict[str, Any] = field(default_factory=dict)
    proof: str = ""
    """One sentence: what is proven about this release against the best possible one."""
    separated: Partition | None = None
    """Groups whose sensitive values are published apart, in a table of their own (anatomy)."""


class Method(ABC):
    """One algorithm in the registry `shoal.methods`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `shoal methods`."""
    promise: ClassVar[str]
    """What it guarantees, and for which models."""
    options: ClassVar[type[Options]] = Options
    recodings: ClassVar[tuple[str, ...]] = ("generalise", "suppress")
    """Policy values of `recoding` that the method can do, its natural one first."""
    keeps_parts: ClassVar[bool] = False
    """Whether, where it suppresses, it keeps parts of records that few others share."""
    unique_groups: ClassVar[bool] = False
    """Whether it can promise models that look at all groups at once (unique distinct l)."""

    anytime: ClassVar[bool] = False
    """Whether it searches as long as `Run.effort` and `Run.seconds` say."""

    def refusal(self, models: Sequence[Model]) -> str | None:
        """Why the method cannot promise these models, in words that follow its name; or None."""
        beyond = () if self.unique_groups else whole_table_only(models)
        return f"cannot promise {beyond[0]}; bsgi and anatomy can" if beyond else None

    def concerns(
        self, table: EncodedTable, models: Sequence[Model], options: Options
    ) -> Sequence[str]:
        """What the user should know before the work starts: warnings, one line each."""
        starves = table.qi[0].suppressed and not self.keeps_parts
        return hardly_repeats(table, models) if starves else ()

    @abstractmethod
    def run(
        self, table: EncodedTable, models: Sequence[Model], options: Options, run: Run
    ) -> Outcome:
        """Partition the table so that every group satisfies every model.

        The table as a whole is known to satisfy the models (the pipeline has
        checked eligibility), and to have at least one record.
        """
