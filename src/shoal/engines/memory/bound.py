"""What no release of the table can undercut, within a share of the time."""

from __future__ import annotations

import numpy as np

from shoal.bounds import Bound, lower_bound
from shoal.effort import DEFAULT_EFFORT, EFFORTS
from shoal.encoding.table import EncodedTable
from shoal.plan import Plan
from shoal.progress import Report

__all__ = ["BOUND_SHARE", "bound_of"]

BOUND_SHARE = 0.25
"""Of the time that is given, what goes into the bound."""


def bound_of(table: EncodedTable, plan: Plan, report: Report) -> Bound:
    """What no release of the table under the plan's models and recoding can undercut."""
    policy, models = plan.policy, plan.models
    report("bound", 0, 1)
    effort = policy.effort or (DEFAULT_EFFORT if policy.seconds is None else "max")
    seconds = EFFORTS[effort].seconds_for_bound(table.n)
    if policy.seconds is not None:
        seconds = policy.seconds * BOUND_SHARE
    seen = plan.seen(table)
    suppressible = policy.max_suppressed is not None
    # What compiles on first use is compiled on a few records, outside of the time.
    few = seen.take(np.arange(min(table.n, 4 * max(4, *(m.smallest_class for m in models)))))
    lower_bound(few, models, effort=effort, seconds=seconds, suppressible=suppressible)
    return lower_bound(
        seen,
        models,
        effort=effort,
        seconds=seconds,
        progress=lambda done, total: report("bound", done, total),
        suppressible=suppressible,
    )
