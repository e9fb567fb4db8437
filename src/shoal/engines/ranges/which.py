"""Which runs are done in ranges, and why others want all records at once."""

from __future__ import annotations

from shoal.methods import methods_where
from shoal.models import whole_table_only
from shoal.plan import Plan

__all__ = ["range_size", "wants_the_whole"]

DISTANT = 4
"""Ranges are so many times as long where classes are compared with the whole table: short ones
are farther from it, and lose more (census, one million records, t = 0.3: 22% in four ranges)."""


def range_size(plan: Plan, records: int) -> int | None:
    """Records of a range; None where all records are grouped at once.

    It depends on the plan and the table alone, so that every engine decides alike, and the
    release of a seed is the same by all of them.
    """
    size = plan.method.by_range
    if size is not None and any(model.compares_with_table for model in plan.models):
        size *= DISTANT
    if size is None or records <= size or wants_the_whole(plan) is not None:
        return None
    return size


def wants_the_whole(plan: Plan) -> str | None:
    """Why a plan cannot be carried out range by range, with what to do instead; None: it can."""
    policy, method = plan.policy, plan.method
    if method.by_range is None:
        able = ", ".join(methods_where(lambda method: method.by_range is not None))
        return f"method {method.name} looks at all records at once; {able} do not"
    if policy.person_as is not None:
        return "pseudonyms are drawn for all persons at once; leave out person_as"
    if plan.readers:
        return "groups for several readers are found on all records at once"
    if beyond := whole_table_only(plan.models):
        return f"{beyond[0]} is about all groups together; ask for another reading of l"
    if policy.max_suppressed is not None or method.leaves_out(plan.options):
        return "outliers are found among all records; leave out max_suppressed"
    if policy.max_loss is not None:
        return "max_loss tries many releases of all records; give k or l"
    if policy.treat:
        return "treated columns are made from all records of a class; leave out treat"
    if policy.coarsen_open:
        return "coarsen = auto tries levels on all records; name the levels"
    if policy.time is not None:
        return "a time is given to one search of all records; give an effort"
    return None
