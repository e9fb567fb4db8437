"""From microdata to a verified release: read, encode, partition, recode, verify, measure."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from shoal.engines import get_engine
from shoal.engines.base import Engine
from shoal.errors import ShoalWarning
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.progress import Progress, reporting
from shoal.release import Release
from shoal.watching import in_notebook, watched

__all__ = ["anonymize", "carry_out"]


def anonymize(
    data: Any, policy: Policy | str | Path | None = None, *,
    progress: Progress | bool | None = None, **settings: Any,
) -> Release:  # fmt: skip
    """Turn microdata into a release that satisfies its models, or raise.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB table, or the name of a file.
    policy
        A `Policy`, the name of a policy file, or nothing if `settings` say it all.
    progress
        Called as ``progress(stage, done, total)`` now and then; if it has a
        parameter ``loss``, with the loss so far of an any-time method, or None.
        True shows a bar, False nothing; by default there is one in a notebook.
    **settings
        Settings of `Policy` by name; they override the policy's own.

    Returns
    -------
    Release
        Verified: if a model did not hold there would be an error instead.

    Examples
    --------
    >>> import shoal
    >>> patients = shoal.datasets.hospital()
    >>> shoal.anonymize(patients, qi=["age", "gender", "education"], identifier="name",
    ...                 sensitive="disease", k=2).verification.ok
    True
    """
    plan = Plan.of(Policy.of(policy, settings))  # what is wrong with it is said before the work
    if callable(progress):
        return carry_out(plan, data, progress, stacklevel=3)
    with watched(quiet=not (in_notebook() if progress is None else progress)) as report:
        return carry_out(plan, data, report, stacklevel=3)


def carry_out(
    plan: Plan,
    data: Any,
    progress: Progress | None = None,
    *,
    engine: Engine[Any, Any, Any, Any] | None = None,
    stacklevel: int = 2,
) -> Release:
    """The release of microdata by a plan, by the usual engine; see `anonymize`."""
    engine = engine or get_engine(report=reporting(progress))
    microdata = engine.read(data, plan.policy)
    engine.start_clock(plan.policy)
    source, settled = engine.settle(microdata, plan.policy)
    decided = ("qi", "plain", "identifier", "notation")
    plan = plan.with_settings(**{name: getattr(settled, name) for name in decided})
    source = engine.treat(source, plan.policy, plan.seed)
    table, plan = engine.coarsen(engine.encode(source, plan.policy), plan)
    decision = engine.decide(table, plan)
    plan = decision.plan
    by_method = (f"method {plan.method.name}: {caution}" for caution in decision.cautions)
    for caution in (*decision.exposed, *by_method):
        warnings.warn(ShoalWarning(caution), stacklevel=stacklevel)
    groups = engine.partition(table, decision)
    draft = engine.recode(table, groups, plan)
    verification = engine.verify(draft, plan)
    if not verification.holds and (everybody := engine.with_outliers(table, groups, plan)):
        draft = engine.recode(table, everybody, plan)
        verification = engine.verify(draft, plan)
    verification.raise_if_failed()
    measured = engine.measure(table, draft, verification, plan)
    bound = engine.bound(table, draft, plan)
    release = engine.release(table, draft, verification, measured, bound, decision)
    for line in release.unprotected:
        warnings.warn(ShoalWarning(line), stacklevel=stacklevel)
    return release
