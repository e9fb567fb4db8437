"""What an engine does: the steps from microdata to a verified release.

`shoal.pipeline.anonymize` calls them in the order in which they stand here. An engine
decides where records lie and in which pieces they are worked on. What a release must
satisfy, what it loses and how a method groups records is the same code for every engine.

Four types are an engine's own, and go from step to step unseen: the ``Source`` that was
read, the ``Table`` of codes that methods work on, the ``Groups`` they make, and the
``Draft``, a release that is not yet known to hold.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.io.addresses import Place
from shoal.metrics.disclosure import Disclosure
from shoal.metrics.loss import Loss
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.progress import Report, silent
from shoal.release import Budget, Release
from shoal.verification.check import Verification

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["Decision", "Engine", "Measured"]

WORTH_NOTING = 0.001
"""Part of the loss by which a search must have come down to be noted again."""

Source = TypeVar("Source")
Table = TypeVar("Table")
Groups = TypeVar("Groups")
Draft = TypeVar("Draft")


class Decision(NamedTuple):
    """A plan in which nothing is open any more, and what was learnt on the way."""

    plan: Plan
    budget: Budget | None = None
    """What ``max_loss`` bought."""
    groups: Any = None
    """Groups that show that it fits, where it was searched: no partition may lose more."""
    exposed: tuple[str, ...] = ()
    """What plain columns give away, counted in the input: for the custodian alone."""
    cautions: tuple[str, ...] = ()
    """What the method says before the work starts."""
    left_open: tuple[str, ...] = ()
    """Settings that the table decided: ``l`` (auto), and the k or l that ``max_loss`` searched."""


class Measured(NamedTuple):
    """What a release lost."""

    loss: Loss
    class_sizes: NDArray[np.int64]
    """Records that share their published quasi-identifiers."""
    released: Loss | None = None
    """Relative to the records that are kept, where some were suppressed."""
    disclosure: Mapping[str, Disclosure] = MappingProxyType({})
    """How far each sensitive column can be inferred, where records are counted."""


class Engine(ABC, Generic[Source, Table, Groups, Draft]):
    """One way to carry out a plan; registered in `shoal.engines`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line: what it is for."""

    def __init__(self, report: Report = silent) -> None:
        self.report = self._noting(report)
        """Told how far the work is; every step names its stage."""
        self.searched: list[tuple[float, float]] = []
        """Seconds and loss, whenever a search had found something better."""
        self._began = time.perf_counter()
        self.limit = NO_LIMIT
        """Until when all steps after reading should be done."""

    def _noting(self, report: Report) -> Report:
        """The same, with the losses of a search kept."""

        def noted(stage: str, done: float, total: float, loss: float | None = None) -> None:
            better = not self.searched or (loss or 0) < self.searched[-1][1] * (1 - WORTH_NOTING)
            if loss is not None and stage == "partition" and better:
                self.searched.append((round(time.perf_counter() - self._began, 3), loss))
            report(stage, done, total, loss)

        return noted

    def refusal(self, plan: Plan, target: Place | None) -> str | None:
        """Why a plan cannot be carried out here; None: it can."""
        return None

    def accept(self, plan: Plan, target: Place | None) -> None:
        """Refuse a plan that cannot be carried out here, before any data is read.

        `target` is where the release will be written, if that is known.
        """

    def discard(self) -> None:
        """Remove whatever the run has put down: it failed, or was stopped."""

    def start_clock(self, policy: Policy) -> None:
        """From now on the policy's time runs, if it has one."""
        self._began = time.perf_counter()
        self.limit = Limit.after(policy.seconds)

    @abstractmethod
    def read(self, data: Any, policy: Policy) -> Source:
        """The microdata: a table of the caller's kind, or a file."""

    @abstractmethod
    def settle(self, source: Source, policy: Policy) -> tuple[Source, Policy]:
        """A role for every column that goes out, or `PolicyError`; the others are left out."""

    @abstractmethod
    def treat(self, source: Source, policy: Policy, seed: int) -> Source:
        """Plain and sensitive numbers as they are to be seen (the policy's ``treat``)."""

    @abstractmethod
    def encode(self, source: Source, policy: Policy) -> Table:
        """Values as codes: the domains, what mixing them costs, the codes of the records."""

    @abstractmethod
    def coarsen(self, table: Table, plan: Plan) -> tuple[Table, Plan]:
        """Choose the levels of attributes that the plan leaves open, and climb to them."""

    @abstractmethod
    def decide(self, table: Table, plan: Plan) -> Decision:
        """Put in what the plan leaves to the table, and refuse what no release can satisfy."""

    @abstractmethod
    def partition(self, table: Table, decision: Decision) -> Groups:
        """Groups of records that satisfy the models; without outliers, if the plan allows it."""

    @abstractmethod
    def recode(self, table: Table, groups: Groups, plan: Plan) -> Draft:
        """The table as it would be published."""

    @abstractmethod
    def verify(self, draft: Draft, plan: Plan) -> Verification:
        """Check every model on what would be published, and on nothing else."""

    @abstractmethod
    def with_outliers(self, table: Table, groups: Groups, plan: Plan) -> Groups | None:
        """Groups of all records, in place of groups that do not hold without outliers.

        None where no record was left out: then there is nothing to take back.
        """

    @abstractmethod
    def measure(
        self, table: Table, draft: Draft, verification: Verification, plan: Plan
    ) -> Measured:
        """What was lost."""

    @abstractmethod
    def bound(self, table: Table, draft: Draft, plan: Plan) -> Bound | None:
        """What no release could have kept, where the plan asks for it."""

    @abstractmethod
    def release(
        self,
        table: Table,
        draft: Draft,
        verification: Verification,
        measured: Measured,
        bound: Bound | None,
        decision: Decision,
    ) -> Release:
        """The release, with everything that its manifest tells."""
