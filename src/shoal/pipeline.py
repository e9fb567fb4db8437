"""From microdata to a verified release: read, encode, partition, recode, verify, measure."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from shoal.engines import get_engine
from shoal.engines.base import Engine
from shoal.engines.choosing import chosen
from shoal.engines.spark.frames import is_frame
from shoal.errors import ShoalWarning
from shoal.io.addresses import Address, Place, address_of, place_of
from shoal.io.paths import check_targets, manifest_path, record_path
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.progress import Progress, reporting
from shoal.release import Release, files_asked_with
from shoal.series.beginning import engine_for_series
from shoal.watching import in_notebook, watched

__all__ = ["anonymize", "carry_out"]


def anonymize(
    data: Any, policy: Policy | str | Path | None = None, *,
    progress: Progress | bool | None = None, out: str | Path | None = None,
    after: str | Path | None = None, append: bool = False, **settings: Any,
) -> Release:  # fmt: skip
    """Turn microdata into a release that satisfies its models, or raise.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB table, or the name of a file, of a folder of
        CSV or Parquet files, a pattern such as ``"people/*.parquet"``, or the address of a
        table in a database: ``"postgresql://user@host/db?table=people"``.
    policy
        A `Policy`, the name of a policy file, or nothing if `settings` say it all.
    progress
        Called as ``progress(stage, done, total)`` now and then; if it has a
        parameter ``loss``, with the loss so far of an any-time method, or None.
        True shows a bar, False nothing; by default there is one in a notebook.
    out
        Where the release is written, with its manifest and record, when it is verified. A
        release that does not fit into memory should be told so: it is written once then.
    after
        The record of the release before, where this one continues a series.
    append
        The table has new persons only, and so has this release of the series.
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
    target = None if out is None else place_of(out)
    data = address_of(data) or data
    if target is not None:
        source = place_of(data) if isinstance(data, str | Path | Address) else None
        asked_with = files_asked_with(plan.policy)
        proof = manifest_path(target) if isinstance(target, Path) else None
        folders = plan.policy.engine in {"duckdb", "spark"} or is_frame(data)
        check_targets(source, target, proof, record_path(target), asked_with, folders=folders)
    before = None if after is None else Path(after)
    if callable(progress):
        release = carry_out(
            plan, data, progress, target=target, after=before, append=append, stacklevel=3
        )
    else:
        with watched(quiet=not (in_notebook() if progress is None else progress)) as report:
            release = carry_out(
                plan, data, report, target=target, after=before, append=append, stacklevel=3
            )
    if target is not None:
        try:
            release.write(target)
        except BaseException:
            release.close()
            raise
    return release


def carry_out(
    plan: Plan,
    data: Any,
    progress: Progress | None = None,
    *,
    engine: Engine[Any, Any, Any, Any] | None = None,
    target: Place | None = None,
    after: Path | None = None,
    append: bool = False,
    again: bool = False,
    stacklevel: int = 2,
) -> Release:
    """The release of microdata by a plan, to be written to a target; see `anonymize`.

    An engine that is given is used as it is; else the plan's is, or one that suits the table.
    A release `after` another one continues its series; `again`: it is one that there is already.
    """
    data = address_of(data) or data
    if engine is None:
        engine, plan = engine_for_series(
            plan, reporting(progress), target, after, append=append, again=again
        )
    if engine is None:
        name, why = chosen(plan, data, target)
        if why is not None:
            warnings.warn(ShoalWarning(why), stacklevel=stacklevel)
        engine = get_engine(name, reporting(progress))
    try:
        engine.accept(plan, target)
        return _carried_out(engine, plan, data, stacklevel + 1)
    except BaseException:
        engine.discard()
        raise


def _carried_out(
    engine: Engine[Any, Any, Any, Any], plan: Plan, data: Any, stacklevel: int
) -> Release:
    """The steps, one after the other."""
    microdata = engine.read(data, plan.policy)
    engine.start_clock(plan.policy)
    source, settled = engine.settle(microdata, plan.policy)
    decided = ("qi", "plain", "identifier", "notation", "order")
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
