"""From microdata to a verified release: read, encode, partition, recode, verify, measure."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.bounds import Bound, lower_bound
from shoal.effort import DEFAULT_EFFORT, EFFORTS
from shoal.encoding.classes import class_ids, class_sizes
from shoal.encoding.encode import encode
from shoal.encoding.publish import Published, publish
from shoal.encoding.recode import RecodedColumn, recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.budget import best_l, strongest
from shoal.engines.memory.outliers import Sifted, sift, with_stars
from shoal.errors import InfeasibleError, PolicyError, ShoalWarning
from shoal.io.frames import to_arrow
from shoal.methods import default_for, get_method, methods_where
from shoal.methods.base import Method, Options, Outcome, Report, Run
from shoal.methods.merging import merge_along
from shoal.metrics.loss import measure
from shoal.models import (
    Model,
    check_eligible,
    models_of,
    union_closed,
    views_of,
)
from shoal.policy import Policy
from shoal.release import Release
from shoal.verification.check import Verification, check_release, check_separated
from shoal.verification.manifest import build_manifest

__all__ = ["anonymize", "check_published", "partition", "settled"]

Progress = Callable[..., None]
"""Called as ``progress(stage, done, total)``, with ``loss`` too if it has such a parameter."""

BOUND_SHARE = 0.25
"""Of the time that is given, what goes into the bound."""


def _unwatched(stage: str, done: float, total: float, loss: float | None = None) -> None:
    """Progress that nobody watches."""


def anonymize(
    data: Any, policy: Policy | str | Path | None = None, *, progress: Progress | None = None,
    **settings: Any,
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
    report = _reporting(progress)
    policy = Policy.of(policy, settings)
    if policy.max_loss is None:  # what is wrong with these is said before the work
        guess = policy.override(l=2) if policy.l == "auto" else policy
        _method(guess, models_of(guess))

    report("read", 0, 1)
    source, kind = to_arrow(data, policy.missing)
    report("encode", 0, 1)
    table = encode(source, policy)
    report("partition", 0, 1)
    policy, found = _decided(table, policy, report)
    models = models_of(policy)
    method, options = _method(policy, models)
    cautions = _cautions(table, policy)
    sifted = _sift(table, policy, report)
    drafted = _draft(source, table, sifted, policy, report)
    if not drafted.verification.ok and sifted.suppressed:
        # Stars can join a class that was starred anyway and, counting persons, break it.
        if found:
            raise InfeasibleError(
                "max_loss: no release without the outliers holds; leave out max_suppressed"
            )
        sifted = Sifted(table, partition(table, policy, report))
        drafted = _draft(source, table, sifted, policy, report)
    published, recoding, recoded, persons, verification = drafted
    verification.raise_if_failed()
    report("measure", 0, 1)
    outcome = sifted.outcome
    sizes = verification.class_sizes
    if outcome.separated is not None:  # records are told apart by exact quasi-identifiers
        sizes = class_sizes(table.columns(), table.n)
    stars = [column.starred() for column in recoded]
    bound = _bound(table, policy, report) if outcome.separated is None else None
    loss = measure(sifted.table, recoding, sizes, stars, sifted.suppressed)
    manifest = build_manifest(
        policy,
        table,
        verification,
        method={
            "name": method.name,
            "options": options.model_dump(),
            "recoding": _recoding(policy, method),
            **outcome.facts,
            **({"proof": outcome.proof} if outcome.proof else {}),
            **({"budget": found} if found else {}),
        },
        loss=loss,
        bound=bound,
        published=published,
        class_sizes=sizes,
        cautions=cautions,
    )
    return Release(
        table=published.table,
        policy=policy,
        models=models,
        qi=published.qi,
        loss=loss,
        verification=verification,
        manifest=manifest,
        kind=kind,
        persons=persons,
        source=Path(data) if isinstance(data, str | Path) else None,
        sensitive_table=published.sensitive_table,
    )


def _reporting(progress: Progress | None) -> Report:
    """A report that hands the loss on to those who take it."""
    if progress is None:
        return _unwatched
    try:
        told_the_loss = "loss" in inspect.signature(progress).parameters
    except (TypeError, ValueError):  # some callables of C do not say what they take
        told_the_loss = False
    if told_the_loss:
        return lambda stage, done, total, loss=None: progress(stage, done, total, loss=loss)
    return lambda stage, done, total, loss=None: progress(stage, done, total)


def _proves(policy: Policy, method: Method[Any]) -> bool:
    """Whether a bound is worked out; it is one for groups that hold for all attributes."""
    wanted = method.anytime if policy.bound is None else policy.bound
    return wanted and not policy.reader


def _bound(table: EncodedTable, policy: Policy, report: Report) -> Bound | None:
    """What no release of the table under these models and this recoding can undercut."""
    models = models_of(policy)
    method, _ = _method(policy, models)
    if not _proves(policy, method):
        return None
    report("bound", 0, 1)
    effort = policy.effort or (DEFAULT_EFFORT if policy.seconds is None else "max")
    seconds = EFFORTS[effort].seconds_for_bound(table.n)
    if policy.seconds is not None:
        seconds = policy.seconds * BOUND_SHARE
    seen = table.suppressing() if _recoding(policy, method) == "suppress" else table
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


class _Draft(NamedTuple):
    """A release before it is known to satisfy its models."""

    published: Published
    recoding: Recoding
    recoded: tuple[RecodedColumn, ...]
    persons: NDArray[np.int32] | None
    verification: Verification


def _draft(
    source: pa.Table, table: EncodedTable, sifted: Sifted, policy: Policy, report: Report
) -> _Draft:
    """Recode, publish and check what is kept, and as stars what is suppressed but released."""
    models = models_of(policy)
    report("recode", 0, 1)
    recoding, recoded = settled(sifted.table, models, sifted.outcome)
    person = sifted.table.person
    if sifted.kept is not None and policy.suppress_by == "star":
        recoded, person = with_stars(recoded, sifted.kept, table.n), table.person
    elif sifted.kept is not None:
        source = source.take(pa.array(sifted.kept))
    published = publish(source, recoded, policy, sifted.outcome.separated)
    report("verify", 0, 1)
    persons = None if person is None else person[published.rows]
    verification = check_published(published, models, policy, persons)
    return _Draft(published, recoding, recoded, persons, verification)


def _sift(table: EncodedTable, policy: Policy, report: Report) -> Sifted:
    """The partition of the records that are kept, by the policy's method."""
    if not policy.suppressible(table.n):
        return Sifted(table, partition(table, policy, report))
    method, _ = _method(policy, models_of(policy))
    return sift(table, policy, method, partition, report)


def partition(table: EncodedTable, policy: Policy, report: Report = _unwatched) -> Outcome:
    """Groups of records that satisfy the policy's models, by its method."""
    models = models_of(policy)
    method, options = _method(policy, models)
    check_eligible(table.codebook, models)
    views = views_of(policy) if policy.reader else ()

    def watch(done: float, total: float, loss: float | None = None) -> None:
        report("partition", done, total, loss)

    seconds = policy.seconds
    if seconds is not None and _proves(policy, method):
        seconds *= 1 - BOUND_SHARE
    run = Run(policy.seed, watch, views, policy.effort, seconds)
    if _recoding(policy, method) == "generalise":
        return method.run(table, models, options, run)
    outcome = method.run(table.suppressing(), models, options, run)
    return replace(outcome, recoding=replace(outcome.recoding, stars=True))


def _cautions(table: EncodedTable, policy: Policy) -> Sequence[str]:
    """Warn, before the work starts, of what the user may not expect."""
    models = models_of(policy)
    method, options = _method(policy, models)
    check_eligible(table.codebook, models)
    seen = table.suppressing() if _recoding(policy, method) == "suppress" else table
    cautions = method.cautions(seen, models, options)
    for caution in cautions:
        warnings.warn(ShoalWarning(f"method {method.name}: {caution}"), stacklevel=3)
    return cautions


def _decided(table: EncodedTable, policy: Policy, report: Report) -> tuple[Policy, dict[str, Any]]:
    """The policy, with the k or l put in that it leaves to the table or a budget of loss."""
    if policy.l == "auto":
        policy = policy.override(l=best_l(table.codebook))
    if policy.max_loss is None:
        return policy, {}
    return strongest(table.codebook, policy, lambda p: _sift(table, p, report).loss)


def _method(policy: Policy, models: Sequence[Model]) -> tuple[Method[Any], Options]:
    """The method asked for, or the one that suits the models, with its checked options."""
    method = get_method(policy.method or default_for(models, bool(policy.reader)))
    options = method.parse_options(policy.option)
    if reason := method.refusal(
        models,
        options,
        recoding=policy.recoding,
        sensitive=len(policy.sensitive),
        persons=policy.person is not None,
    ):
        raise PolicyError(f"method {method.name}: {reason}")
    for setting in ("effort", "time"):
        if getattr(policy, setting) is not None and not method.anytime:
            able = methods_where(lambda other: other.anytime)
            others = f"; {' and '.join(able)} does" if able else ""
            raise PolicyError(f"method {method.name} takes no {setting}{others}")
    return method, options


def _recoding(policy: Policy, method: Method[Any]) -> str:
    return policy.recoding or method.recodings[0]


def settled(
    table: EncodedTable, models: Sequence[Model], outcome: Outcome
) -> tuple[Recoding, tuple[RecodedColumn, ...]]:
    """The recoding, with groups merged where equal released texts would break a model.

    Two groups can be published under the same text and then are one class.
    That harms no model that is closed under union, but persons who are in both
    can break others.
    """
    recoding = outcome.recoding
    recoded = recode(table, recoding)
    if union_closed(models, table.person is not None) or len(set(recoding.partitions)) > 1:
        return recoding, recoded
    while True:
        ids, count = class_ids([(c.index, len(c.texts)) for c in recoded], table.n)
        if count == recoding.partitions[0].groups:
            return recoding, recoded
        classes = _in_order(ids, count, recoding.partitions[0])
        merged = merge_along(classes, recoding.seen(table), models)
        recoding = replace(recoding, partitions=(merged,) * len(table.qi))
        recoded = recode(table, recoding)


def _in_order(ids: NDArray[np.int64], count: int, partition: Partition) -> Partition:
    """Classes in the order in which the partition's groups first meet them: near ones together."""
    numbers = np.empty_like(ids)
    numbers[partition.order], _ = class_ids([(ids[partition.order], count)], len(ids))
    return Partition.from_group_ids(numbers)


def check_published(
    published: Published,
    models: Sequence[Model],
    policy: Policy,
    persons: NDArray[np.int32] | None,
) -> Verification:
    """Verify a release, in one table or two."""
    if published.sensitive_table is not None:
        return check_separated(published.table, published.sensitive_table, models, policy)
    return check_release(published.table, published.qi, models, policy, person=persons)
