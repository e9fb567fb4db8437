"""From microdata to a verified release: read, encode, partition, recode, verify, measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from shoal.classes import class_ids
from shoal.encode import encode
from shoal.errors import InputError, PolicyError
from shoal.frames import to_arrow
from shoal.manifest import build_manifest, load_manifest, policy_from_manifest
from shoal.methods import get_method
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.repair import merge_along
from shoal.metrics.loss import measure
from shoal.models import (
    Model,
    build_models,
    check_eligible,
    union_closed,
    whole_table_only,
)
from shoal.policy import Policy
from shoal.publish import publish
from shoal.recode import STAR, RecodedColumn, recode
from shoal.release import Release, manifest_path
from shoal.table import EncodedTable, Partition, Recoding
from shoal.verification import Verification, check_release
from shoal.write import sha256_of

__all__ = ["anonymize", "models_of", "verify"]

Progress = Callable[[str, float, float], None]


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
    report = progress or (lambda stage, done, total: None)
    policy = _policy(policy, settings)
    models = models_of(policy)
    method, options = _method(policy, models)

    report("read", 0, 1)
    source, kind = to_arrow(data, policy.missing)
    report("encode", 0, 1)
    table = encode(source, policy)
    check_eligible(table, models)
    report("partition", 0, 1)
    run = Run(policy.seed, lambda done, total: report("partition", done, total))
    outcome = method.run(table, models, options, run)
    report("recode", 0, 1)
    recoding, recoded = _settled(table, models, outcome)
    published = publish(source, recoded, policy)
    report("verify", 0, 1)
    persons = None if table.person is None else table.person[published.rows]
    verification = check_release(published.table, published.qi, models, policy, person=persons)
    verification.raise_if_failed()
    report("measure", 0, 1)
    loss = measure(table, recoding, verification.class_sizes, [_starred(c) for c in recoded])
    manifest = build_manifest(
        policy,
        table,
        verification,
        method={"name": method.name, "options": options.model_dump(), **outcome.facts},
        loss=loss.to_dict(),
        qi=published.qi,
        columns=published.table.column_names,
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
    )


def verify(
    release: Any, manifest: str | Path | None = None, policy: Policy | None = None,
    **settings: Any,
) -> Verification:  # fmt: skip
    """Check a released table against its manifest, or against models given here.

    Parameters
    ----------
    release
        A file name, or a table as `anonymize` takes it.
    manifest
        The manifest's file name; beside the release if not given.
    policy, **settings
        Where there is no manifest: roles and models to check, by name.
    """
    if policy is not None or settings:
        policy = _policy(policy, settings)
        return _check(release, policy.qi, policy)
    if manifest is None and not isinstance(release, str | Path):
        raise PolicyError("verify: give the manifest, or the columns and models to check")
    path = Path(manifest) if manifest is not None else manifest_path(Path(release))
    claims = load_manifest(path)
    policy = policy_from_manifest(claims, path)
    if isinstance(release, str | Path):
        _check_digest(Path(release), claims)
    return _check(release, policy.qi, policy)


def models_of(policy: Policy) -> tuple[Model, ...]:
    """The models a policy asks for."""
    return build_models(
        k=policy.k, l=policy.l, l_reading=policy.l_reading, c=policy.c,
        t=policy.t, alpha=policy.alpha, e=policy.e,
    )  # fmt: skip


def _policy(policy: Policy | str | Path | None, settings: dict[str, Any]) -> Policy:
    if isinstance(policy, str | Path):
        policy = Policy.load(policy)
    return policy.override(**settings) if policy is not None else Policy.parse(**settings)


def _method(policy: Policy, models: Sequence[Model]) -> tuple[Method, Options]:
    """The method asked for, or the one that suits the models, with its checked options."""
    only_k = all(not model.about_sensitive for model in models)
    method = get_method(policy.method or ("hilbert" if only_k else "mondrian"))
    refused = whole_table_only(models)
    if refused:
        raise PolicyError(f"method {method.name}: cannot promise {refused[0]}; no method here can")
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


def _settled(
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
        merged = merge_along(Partition.from_group_ids(ids), table, models)
        recoding = Recoding.single(merged, len(table.qi))
        recoded = recode(table, recoding)


def _starred(column: RecodedColumn) -> NDArray[np.bool_]:
    star = column.texts.index(STAR) if STAR in column.texts else -1
    starred: NDArray[np.bool_] = (column.text_of_group == star)[column.groups]
    return starred


def _check(release: Any, qi: Sequence[str], policy: Policy) -> Verification:
    table, _ = to_arrow(release, policy.missing)
    if table.num_rows == 0:
        raise InputError("the release is empty: it has no records to check")
    names = [name for column in qi for name in _published_names(column, table.column_names)]
    return check_release(table, names, models_of(policy), policy)


def _published_names(column: str, names: Sequence[str]) -> list[str]:
    """A quasi-identifier as it is called in a release: itself, or its two bounds."""
    bounds = [f"{column}_min", f"{column}_max"]
    return bounds if column not in names and set(bounds) <= set(names) else [column]


def _check_digest(path: Path, claims: dict[str, Any]) -> None:
    claimed = claims["release"].get("sha256")
    if path.is_file() and claimed is not None and sha256_of(path) != claimed:
        raise InputError(
            f"{path}: is not the file its manifest describes (SHA-256 differs); "
            "find the right manifest, or check with --qi and -k"
        )
