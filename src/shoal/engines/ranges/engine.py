"""What engines that work range by range have in common, wherever the records are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.noting import AMBIGUOUS, notation_of, unclear
from shoal.engines.base import Decision, Engine, Measured
from shoal.engines.ranges.coded import Coded, Staged
from shoal.engines.ranges.publishing import Before
from shoal.engines.ranges.which import wants_the_whole
from shoal.io.addresses import Place
from shoal.io.paths import is_folder
from shoal.io.read import file_format
from shoal.metrics.loss import LossSums
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.release import Before as StoodOut
from shoal.release import MethodUsed
from shoal.verification.result import Verification

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["RangesEngine", "endings_of", "known_format", "notations_of", "refusal_of"]

Source = TypeVar("Source")


class InRanges(Protocol):
    """Records in groups, range by range, and what is known of them all."""

    @property
    def loss(self) -> LossSums: ...
    @property
    def before(self) -> Before: ...
    @property
    def facts(self) -> dict[str, Any]: ...
    @property
    def proof(self) -> str: ...


class HasGroups(Protocol):
    """A draft that knows how it came about."""

    @property
    def grouped(self) -> Any: ...


class HasNames(Protocol):
    """Written files whose quasi-identifiers are known."""

    @property
    def qi(self) -> tuple[str, ...]: ...


Groups = TypeVar("Groups", bound=InRanges)
Draft = TypeVar("Draft", bound=HasGroups)


class RangesEngine(Engine[Source, Coded, Groups, Draft], Generic[Source, Groups, Draft]):
    """Steps that are the same wherever records are, and what a release tells of itself."""

    target: Place | None = None
    """Where the release will go: it is written in that format."""
    path: Place | None = None
    """The input, if it was a file or an address."""
    exposed: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()

    def treat(self, source: Source, policy: Policy, seed: int) -> Source:
        """Nothing: a policy that treats columns is refused before."""
        return source

    def coarsen(self, table: Coded, plan: Plan) -> tuple[Coded, Plan]:
        """Levels are given."""
        return table, plan

    def with_outliers(self, table: Coded, groups: Groups, plan: Plan) -> Groups | None:
        """Nobody is left out."""
        return None

    def measure(
        self, table: Coded, draft: Draft, verification: Verification, plan: Plan
    ) -> Measured:
        """What all ranges lost, in the classes of the whole."""
        self.report("measure", 0, 1)
        sizes = verification.class_sizes
        return Measured(draft.grouped.loss.in_classes(sizes).loss(), sizes)

    def bound(self, table: Coded, draft: Draft, plan: Plan) -> Bound | None:
        """None: a bound looks at all records; the release says so."""
        return None

    def _told(
        self,
        table: Coded,
        files: HasNames,
        groups: Groups,
        verification: Verification,
        measured: Measured,
        decision: Decision,
        persons: NDArray[np.int32] | None,
    ) -> dict[str, Any]:
        """What a release tells of itself, but for where it lies."""
        plan, policy, found = decision.plan, decision.plan.policy, groups.before
        disclosure = ["disclosure"] if policy.sensitive and policy.person is None else []
        return {
            "policy": policy,
            "models": plan.models,
            "qi": files.qi,
            "loss": measured.loss,
            "verification": verification,
            "method": MethodUsed(
                plan.method.name, plan.options.model_dump(), plan.recoding, plan.looked_at,
                plan.method.drawn, groups.facts, groups.proof,
            ),
            "class_sizes": measured.class_sizes,
            "kinds": table.book.kinds,
            "seed": plan.seed,
            "exposed": self.exposed,
            "unprotected": self.unprotected,
            "exposed_in_input": decision.exposed,
            "cautions": decision.cautions,
            "not_worked_out": (*disclosure, *(["bound"] if plan.proves else [])),
            "risk_before": {
                "highest": round(1 / found.smallest, 9),
                "average": round(found.classes / table.records, 9),
                "unique_records": found.unique,
            },
            "before": StoodOut(table.records, found.unique, policy.k or 2, found.few),
            "source": self.path,
            "persons": persons,
        }  # fmt: skip


def refusal_of(plan: Plan, target: Place | None) -> str | None:
    """Why a plan cannot be carried out here."""
    policy = plan.policy
    if reason := wants_the_whole(plan):
        return reason
    if policy.keep_order:
        return "rows are written in canonical order; leave out keep_order"
    if policy.weight_as == "round":
        return "weights are rounded in memory; round them in the input, or drop them"
    if policy.bound:
        return "a bound looks at all records at once; leave out bound"
    if isinstance(target, Path) and not (is_folder(target) or known_format(target)):
        return f"{target}: it writes CSV and Parquet, and folders of Parquet"
    return None


def endings_of(path: Path) -> list[str]:
    endings = [suffix.lower() for suffix in path.suffixes]
    return endings[-2:] if endings[-1:] == [".gz"] else endings[-1:]


def notations_of(stage: Staged, policy: Policy) -> dict[str, str]:
    """How dates and numbers are written, told by all values of a column."""
    found = {}
    for name in (*policy.qi, *policy.sensitive):
        if name in policy.notation:
            found[name] = policy.notation[name]
            continue
        as_texts = policy.kind.get(name) in {"categorical", "ordinal"}
        if as_texts or name in policy.order or name in policy.hierarchy:
            continue
        told = notation_of(stage.values[name].values(policy.missing, None).values, policy.decimal)
        if told == AMBIGUOUS:
            raise unclear(name)
        if told is not None:
            found[name] = told
    return found


def known_format(path: Path) -> bool:
    """Whether a release can be written under this name part by part."""
    return file_format(path) in {"csv", "parquet"}
