"""From microdata to a verified release: read, encode, partition, recode, verify, measure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from shoal.budget import best_l, strongest
from shoal.classes import class_ids, class_sizes
from shoal.encode import encode
from shoal.errors import PolicyError, ShoalWarning
from shoal.frames import to_arrow
from shoal.manifest import build_manifest
from shoal.methods import get_method
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.repair import merge_along
from shoal.metrics.loss import gcp, measure
from shoal.models import (
    KE,
    Model,
    TCloseness,
    check_eligible,
    models_of,
    union_closed,
    views_of,
    whole_table_only,
)
from shoal.policy import Policy
from shoal.publish import Published, publish
from shoal.recode import RecodedColumn, recode
from shoal.release import Release
from shoal.table import EncodedTable, Partition, Recoding
from shoal.verification import Verification, check_release, check_separated

__all__ = ["anonymize", "check_published", "partition", "settled"]

Progress = Callable[[str, float, float], None]


def _unwatched(stage: str, done: float, total: float) -> None:
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
        Called as ``progress(stage, done, total)`` now and then.
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
    report = progress or _unwatched
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
    concerns = _concerns(table, policy)
    outcome = partition(table, policy, report)
    report("recode", 0, 1)
    recoding, recoded = settled(table, models, outcome)
    published = publish(source, recoded, policy, outcome.separated)
    report("verify", 0, 1)
    persons = None if table.person is None else table.person[published.rows]
    verification = check_published(published, models, policy, persons)
    verification.raise_if_failed()
    report("measure", 0, 1)
    sizes = verification.class_sizes
    if outcome.separated is not None:  # records are told apart by exact quasi-identifiers
        sizes = class_sizes([(c.codes, c.size) for c in table.qi], table.n)
    loss = measure(table, recoding, sizes, [column.starred() for column in recoded])
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
        loss=loss.to_dict(),
        published=published,
        class_sizes=sizes,
        concerns=concerns,
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


def partition(table: EncodedTable, policy: Policy, report: Progress = _unwatched) -> Outcome:
    """Groups of records that satisfy the policy's models, by its method."""
    models = models_of(policy)
    method, options = _method(policy, models)
    check_eligible(table, models)
    views = views_of(policy) if policy.reader else ()
    run = Run(policy.seed, lambda done, total: report("partition", done, total), views)
    if _recoding(policy, method) == "generalise":
        return method.run(table, models, options, run)
    outcome = method.run(table.suppressing(), models, options, run)
    return replace(outcome, recoding=replace(outcome.recoding, stars=True))


def _concerns(table: EncodedTable, policy: Policy) -> Sequence[str]:
    """Warn, before the work starts, of what the user may not expect."""
    models = models_of(policy)
    method, options = _method(policy, models)
    check_eligible(table, models)
    seen = table.suppressing() if _recoding(policy, method) == "suppress" else table
    concerns = method.concerns(seen, models, options)
    for concern in concerns:
        warnings.warn(ShoalWarning(f"method {method.name}: {concern}"), stacklevel=3)
    return concerns


def _decided(
    table: EncodedTable, policy: Policy, report: Progress
) -> tuple[Policy, dict[str, Any]]:
    """The policy, with the k or l put in that it leaves to the table or a budget of loss."""
    if policy.l == "auto":
        policy = policy.override(l=best_l(table))
    if policy.max_loss is None:
        return policy, {}
    return strongest(table, policy, lambda p: gcp(table, partition(table, p, report).recoding))


def _suited(policy: Policy, models: Sequence[Model]) -> str:
    """The method that loses least: distances between distributions want Mondrian's classes."""
    if policy.reader:
        return "butterfly"
    if whole_table_only(models):
        return "bsgi"
    return "mondrian" if any(isinstance(m, TCloseness | KE) for m in models) else "hilbert"


def _method(policy: Policy, models: Sequence[Model]) -> tuple[Method, Options]:
    """The method asked for, or the one that suits the models, with its checked options."""
    method = get_method(policy.method or _suited(policy, models))
    if reason := method.refusal(models):
        raise PolicyError(f"method {method.name}: {reason}")
    if policy.recoding not in {None, *method.recodings}:
        can = " or ".join(method.recodings)
        raise PolicyError(f"method {method.name}: expected recoding {can}; got {policy.recoding}")
    try:
        return method, method.options(**policy.option)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        known = ", ".join(method.options.model_fields) or "none"
        message = problem["msg"][0].lower() + problem["msg"][1:]
        raise PolicyError(
            f"option {where!r} of method {method.name}: {message}; its options: {known}"
        ) from None


def _recoding(policy: Policy, method: Method) -> str:
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
