"""What no release of the table can undercut, within a share of the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.effort import DEFAULT_EFFORT
from shoal.encoding.table import EncodedTable
from shoal.plan import Plan
from shoal.progress import Report

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["BOUND_SHARE", "below", "bound_of", "load_bound"]

Progress = Callable[[float, float], None] | None

BOUND_SHARE = 0.25
"""Of the time that is given, what goes into the bound."""


def bound_of(
    table: EncodedTable,
    plan: Plan,
    report: Report,
    limit: Limit = NO_LIMIT,
    lost: NDArray[np.float64] | None = None,
) -> Bound | None:
    """What no release of the table under the plan's models and recoding can undercut.

    None where the `limit` of a plan with a time has passed. `lost` is what each record loses in
    a release: there the search for a bound begins.
    """
    report("bound", 0, 1)
    load_bound(table, plan, min(1.0, limit.left) if limit.given else None)
    if limit.up:
        return None
    seconds = limit.left if limit.given else plan.policy.seconds
    return below(table, plan, seconds, lambda done, total: report("bound", done, total), lost)


def load_bound(table: EncodedTable, plan: Plan, seconds: float | None) -> None:
    """Compile on a few records what is compiled on first use, outside of the time."""
    least = max(4, *(m.smallest_class for m in plan.models))
    below(table.take(np.arange(min(table.n, 4 * least))), plan, seconds)


def below(
    table: EncodedTable,
    plan: Plan,
    seconds: float | None,
    progress: Progress = None,
    lost: NDArray[np.float64] | None = None,
) -> Bound:
    """A bound under the plan's models, for its readers if it has any, within so many seconds."""
    # Most methods ask for no bound, and its kernels take a while to be imported.
    from shoal.bounds import lower_bound
    from shoal.bounds.readers import bound_for_readers

    policy = plan.policy
    effort = policy.effort or (DEFAULT_EFFORT if policy.seconds is None else "max")
    asked: dict[str, Any] = {"effort": effort, "seconds": seconds, "progress": progress}
    asked["suppressible"] = policy.max_suppressed is not None
    if plan.readers:
        return bound_for_readers(plan.seen(table), plan.readers, **asked)
    return lower_bound(plan.seen(table), plan.models, lost=lost, **asked)
