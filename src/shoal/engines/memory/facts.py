"""What a release says about itself besides its cells: how it was made, and who stood out before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_sizes
from shoal.encoding.exposure import exposed_in_release, left_empty, unprotected
from shoal.encoding.publish import Published
from shoal.encoding.table import EncodedTable, Recoding
from shoal.engines.memory.outliers import Kept
from shoal.metrics.disclosure import Disclosure, disclosures
from shoal.metrics.loss import record_losses
from shoal.metrics.outliers import Outliers, outliers_of
from shoal.models import needs_sensitive
from shoal.plan import Plan
from shoal.release import Before, MethodUsed, Suppression
from shoal.verification.chances import risk_of

__all__ = [
    "before_of", "disclosure_of", "exposed_in", "loss_held_by", "lost_by_all", "method_used",
    "proof_of_rest", "suppression_of", "unprotected_in",
]  # fmt: skip


def before_of(table: EncodedTable, plan: Plan) -> tuple[Before, dict[str, float]]:
    """How many stand out in the microdata, and what a prosecutor gets of it."""
    sizes = class_sizes(table.columns(), table.n)
    k, unique = plan.policy.k or 2, int(np.count_nonzero(sizes == 1))
    before = Before(table.n, unique, k, int(sizes[sizes < k].sum()))
    return before, {**risk_of(sizes), "unique_records": unique}


def method_used(plan: Plan, kept: Kept) -> MethodUsed:
    outcome = kept.outcome
    return MethodUsed(
        plan.method.name,
        plan.options.model_dump(),
        plan.recoding,
        plan.looked_at,
        plan.method.drawn,
        outcome.facts,
        outcome.proof,
    )


def exposed_in(published: Published, plan: Plan) -> tuple[str, ...]:
    """What plain columns give away, as far as what is published tells."""
    policy = plan.policy
    return tuple(exposed_in_release(published.table, published.qi, policy, policy.k or 0))


def unprotected_in(published: Published, plan: Plan) -> tuple[str, ...]:
    """Sensitive columns that no model is about, and classes left without a mean.

    As far as what is published tells.
    """
    table, qi, policy = published.table, published.qi, plan.policy
    without = tuple(left_empty(table, qi, policy))
    if needs_sensitive(plan.models):
        return without
    return (*unprotected(table, qi, policy), *without)


def suppression_of(plan: Plan, kept: Kept, records: int) -> Suppression | None:
    """Outliers, where some were allowed."""
    if plan.policy.max_suppressed is None:
        return None
    return Suppression(kept.suppressed, records, plan.policy.suppress_by)


def loss_held_by(kept: Kept, recoding: Recoding) -> Outliers | None:
    """Where the loss sits; nothing of quasi-identifiers that are published exactly."""
    return None if kept.outcome.separated is not None else outliers_of(kept.table, recoding)


def disclosure_of(kept: Kept, recoding: Recoding, plan: Plan) -> dict[str, Disclosure]:
    """Paper 002's Theorem 3, where groups are of records and published with their values."""
    if plan.policy.person is not None or kept.outcome.separated is not None:
        return {}
    if not kept.table.sensitive:
        return {}
    columns = kept.table.sensitive
    found = disclosures(kept.table, recoding, range(len(columns)), seed=plan.seed)
    return {columns[s].name: risk for s, risk in sorted(found.items()) if risk is not None}


def lost_by_all(table: EncodedTable, kept: Kept, recoding: Recoding) -> NDArray[np.float64]:
    """What each record of the table loses in the release; one that is suppressed, all."""
    lost = record_losses(*kept.priced(recoding))
    if kept.rows is None:
        return lost
    every = np.full(table.n, float(table.costs.weight.sum()))
    every[kept.rows] = lost
    return every


def proof_of_rest(kept: Kept, found: Kept) -> str:
    """What is proven of records that were grouped once more: still the same, if they lose as much.

    What a method proves of them alone says nothing about other records to leave out.
    """
    if found.loss <= kept.loss + 1e-12:
        return kept.outcome.proof
    proof = found.outcome.proof
    return proof and f"of the records that are kept: {proof}"
