"""The engine that holds all records in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.bounds import Bound
from shoal.encoding.classes import class_sizes
from shoal.encoding.encode import encode
from shoal.encoding.exposure import exposed
from shoal.encoding.publish import Published, publish
from shoal.encoding.recode import RecodedColumn
from shoal.encoding.released_span import by_what_is_kept
from shoal.encoding.rest import left_over, settled
from shoal.encoding.table import EncodedTable, Recoding
from shoal.engines.base import Decision, Engine, Measured
from shoal.engines.memory.bound import bound_of
from shoal.engines.memory.budget import best_l, strongest
from shoal.engines.memory.outliers import Kept, partition_kept, with_stars
from shoal.engines.memory.partition import partition_eligible, recode_merging_equal_texts
from shoal.errors import InfeasibleError
from shoal.io.frames import to_arrow
from shoal.io.write import sha256_of
from shoal.metrics.loss import measure
from shoal.models import check_eligible
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.release import Budget, MethodUsed, Release, Suppression
from shoal.verification.check import Verification, check_release, check_separated

__all__ = ["Draft", "Encoded", "MemoryEngine", "Source"]


class Source(NamedTuple):
    """The microdata as they came."""

    table: pa.Table
    kind: str
    """What the caller brought: the release is of the same kind."""
    path: Path | None = None
    """The input's file, if it was one."""
    rest: tuple[str, ...] = ()
    """Columns about which the policy's ``rest`` decided."""
    sha256: str | None = None
    """Of that file, for the private record."""


class Encoded(NamedTuple):
    """The microdata and their codes: what is not recoded is published from the source."""

    source: Source
    table: EncodedTable


class Draft(NamedTuple):
    """A release that is not yet known to satisfy its models."""

    kept: Kept
    recoding: Recoding
    recoded: tuple[RecodedColumn, ...]
    published: Published
    persons: NDArray[np.int32] | None
    """Person of each released record, where persons are declared."""


class MemoryEngine(Engine[Source, Encoded, Kept, Draft]):
    """All records at once, on the threads of one machine."""

    name = "memory"
    summary = "all records in memory: tables that fit into it several times"

    def read(self, data: Any, policy: Policy) -> Source:
        """An Arrow table from whatever the caller has."""
        self.report("read", 0, 1)
        path = Path(data) if isinstance(data, str | Path) else None
        table, kind = to_arrow(data, policy.missing)
        # What is no regular file, as a pipe, cannot be read twice.
        digest = sha256_of(path) if path is not None and path.is_file() else None
        return Source(table, kind, path, sha256=digest)

    def settle(self, source: Source, policy: Policy) -> tuple[Source, Policy]:
        """Ask about the columns as soon as their names are known."""
        names = source.table.column_names
        complete, rest = settled(names, policy), left_over(names, policy)
        if rest and policy.rest == "drop":
            source = source._replace(table=source.table.drop_columns(list(rest)))
        return source._replace(rest=rest), complete

    def encode(self, source: Source, policy: Policy) -> Encoded:
        """Codes of all records."""
        self.report("encode", 0, 1)
        return Encoded(source, encode(source.table, policy))

    def decide(self, encoded: Encoded, plan: Plan) -> Decision:
        """The best l, the strongest level within a budget of loss, and what to warn of."""
        self.report("partition", 0, 1)
        table = encoded.table
        budget: Budget | None = None
        if plan.policy.l == "auto":
            plan = plan.decided(l=best_l(table.codebook))
        if plan.open:
            plan, budget = strongest(table, plan, self.report)
        check_eligible(table.codebook, plan.models)
        cautions = plan.method.cautions(plan.seen(table), plan.models, plan.options)
        known = exposed(encoded.source.table, table, plan.policy, plan.policy.k or 0)
        return Decision(plan, budget, tuple(known), tuple(cautions))

    def partition(self, encoded: Encoded, plan: Plan) -> Kept:
        """Groups by the plan's method, of the records that are kept."""
        if plan.policy.suppressible(encoded.table.n):
            return partition_kept(encoded.table, plan, self.report)
        return Kept(encoded.table, partition_eligible(encoded.table, plan, self.report))

    def recode(self, encoded: Encoded, kept: Kept, plan: Plan) -> Draft:
        """Recode and publish what is kept, and as stars what is suppressed but released."""
        self.report("recode", 0, 1)
        source, person, outcome = encoded.source.table, kept.table.person, kept.outcome
        recoding, recoded = recode_merging_equal_texts(kept.table, plan.models, outcome.recoding)
        released = recoded
        if kept.rows is not None and plan.policy.suppress_by == "star":
            released = with_stars(recoded, kept.rows, encoded.table.n)
            person = encoded.table.person
        elif kept.rows is not None:
            source = source.take(pa.array(kept.rows))
        published = publish(source, released, plan.policy, outcome.separated)
        persons = None if person is None else person[published.rows]
        return Draft(kept, recoding, released, published, persons)

    def verify(self, draft: Draft, plan: Plan) -> Verification:
        """Check the published table, or both of them."""
        self.report("verify", 0, 1)
        tables, models, policy = draft.published, plan.models, plan.policy
        if tables.sensitive_table is not None:
            return check_separated(tables.table, tables.sensitive_table, models, policy)
        return check_release(tables.table, tables.qi, models, policy, person=draft.persons)

    def with_outliers(self, encoded: Encoded, kept: Kept, plan: Plan) -> Kept | None:
        """Groups of all records, where some were suppressed."""
        # Stars can join a class that was starred anyway and, counting persons, break it.
        if not kept.suppressed:
            return None
        if plan.policy.max_loss is not None:
            raise InfeasibleError(
                "max_loss: no release without the outliers holds; leave out max_suppressed"
            )
        return Kept(encoded.table, partition_eligible(encoded.table, plan, self.report))

    def measure(
        self, encoded: Encoded, draft: Draft, verification: Verification, plan: Plan
    ) -> Measured:
        """Loss of the release, and the classes that its readers see."""
        self.report("measure", 0, 1)
        kept, source = draft.kept, encoded.source.table
        sizes = verification.class_sizes
        if kept.outcome.separated is not None:  # told apart by exact quasi-identifiers
            sizes = class_sizes(kept.table.columns(), kept.table.n)
        stars = [column.starred() for column in draft.recoded]
        loss = measure(kept.table, draft.recoding, sizes, stars, kept.suppressed)
        if kept.rows is None:
            return Measured(loss, sizes)
        own = by_what_is_kept(source, kept.rows, kept.table, draft.recoding, plan.policy)
        return Measured(loss, sizes, measure(*own, sizes, stars, kept.suppressed))

    def bound(self, encoded: Encoded, draft: Draft, plan: Plan) -> Bound | None:
        """A bound for all records, whatever was suppressed; none for exact quasi-identifiers."""
        if not plan.proves or draft.kept.outcome.separated is not None:
            return None
        return bound_of(encoded.table, plan, self.report)

    def release(
        self,
        encoded: Encoded,
        draft: Draft,
        verification: Verification,
        measured: Measured,
        bound: Bound | None,
        decision: Decision,
    ) -> Release:
        """The released tables with all that is known about them."""
        plan, table = decision.plan, encoded.table
        return Release(
            table=draft.published.table,
            policy=plan.policy,
            models=plan.models,
            qi=draft.published.qi,
            loss=measured.loss,
            verification=verification,
            method=_method_used(plan, draft.kept),
            class_sizes=measured.class_sizes,
            kinds=table.codebook.kinds,
            released_loss=measured.released,
            bound=bound,
            budget=decision.budget,
            seed=plan.seed,
            suppressed=_suppression(plan, draft.kept, table.n),
            exposed=decision.exposed,
            cautions=decision.cautions,
            kind=encoded.source.kind,
            persons=draft.persons,
            source=encoded.source.path,
            rest=encoded.source.rest,
            source_sha256=encoded.source.sha256,
            sensitive_table=draft.published.sensitive_table,
        )


def _method_used(plan: Plan, kept: Kept) -> MethodUsed:
    outcome = kept.outcome
    options = plan.options.model_dump()
    return MethodUsed(plan.method.name, options, plan.recoding, outcome.facts, outcome.proof)


def _suppression(plan: Plan, kept: Kept, records: int) -> Suppression | None:
    """Outliers, where some were allowed."""
    if plan.policy.max_suppressed is None:
        return None
    return Suppression(kept.suppressed, records, plan.policy.suppress_by)
