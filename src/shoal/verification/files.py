"""Check a released file: against what its manifest claims, or against models given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.spreadsheet import armed_names
from shoal.errors import InputError, PolicyError, ShoalError, VerificationError
from shoal.io.addresses import Address, address_of
from shoal.io.databases import read_published
from shoal.io.frames import normalised, to_arrow
from shoal.io.paths import manifest_path
from shoal.models import models_of
from shoal.policy import Policy
from shoal.verification.check import (
    Verification,
    check_release,
    check_separated,
    published_names,
    released_classes,
)
from shoal.verification.claims import (
    about_columns,
    about_findings,
    about_second_table,
    hidden_orders,
)
from shoal.verification.hashes import release_differs, table_differs
from shoal.verification.manifest import (
    checked_manifest,
    load_manifest,
    policy_from_manifest,
    with_orders,
)
from shoal.verification.record import of_different_runs, persons_of
from shoal.verification.result import Check
from shoal.verification.signing import (
    check_report_signature,
    check_signature,
    sign_manifest,
    sign_report,
)

__all__ = ["sign", "verify"]

NULLS = ("",)
"""What is missing in a released file: empty cells, whatever the manifest calls missing."""


def verify(
    release: Any,
    manifest: str | Path | Mapping[str, Any] | None = None,
    policy: Policy | str | Path | None = None,
    *,
    sensitive_table: Any = None,
    key: str | Path | None = None,
    record: str | Path | None = None,
    report: str | Path | None = None,
    memory: str | None = None,
    **settings: Any,
) -> Verification:
    """Check a released table against its manifest, or against models given here.

    Parameters
    ----------
    release
        A file name, a folder of parts, the address of a table in a database, or a table as
        `shoal.anonymize` takes it.
    manifest
        The manifest or its file name; beside the release if not given.
    policy, **settings
        Where there is no manifest: roles and models to check, by name.
    sensitive_table
        The second table of a release in two tables (method anatomy); a
        manifest names the file of it.
    key
        A public key, by which the manifest must be signed (`shoal sign`).
    record
        The release's private record, for its custodian: it says whose records are whose,
        so that models which count persons can be checked.
    report
        A report of the release, which must be signed by the `key`, too.
    memory
        What the check may take, as ``"1GB"``; by default what is free. A CSV or Parquet file, or
        a folder of parts, that needs more is grouped by DuckDB and never read whole.
    """
    if report is not None and key is None:
        raise PolicyError("report: the signature of a report is checked with a key; give one")
    if record is not None and (policy is not None or settings):
        raise PolicyError("record: a record goes with a manifest; give no models")
    if key is not None and (policy is not None or settings or isinstance(manifest, Mapping)):
        raise PolicyError("key: a signature is of a manifest's file; give no models, but the file")
    if policy is not None or settings:
        policy = Policy.of(policy, settings)
        second = None if sensitive_table is None else _table(sensitive_table, policy)
        alone = release if second is None else _table(release, policy)
        with _opened(alone, policy, memory) as table:
            return _check(table, second, policy)
    if (address := address_of(release)) is not None:
        return _verify_in_database(address, manifest, key, record)
    is_file = isinstance(release, str | Path)
    if key is not None and not is_file:
        raise PolicyError("key: a signature is of a released file; give its name, not a table")
    if record is not None and not is_file:
        raise PolicyError("record: a record is of a released file; give its name, not a table")
    if manifest is None and not is_file:
        raise PolicyError("verify: give the manifest, or the columns and models to check")
    if isinstance(manifest, Mapping):
        named, claims = "given", checked_manifest(manifest, "given")
    else:
        path = Path(manifest) if manifest is not None else manifest_path(Path(release))
        named, claims = str(path), load_manifest(path)
    changed = [] if key is None else check_signature(Path(named), claims, Path(key))
    if key is not None and report is not None:
        changed += check_report_signature(Path(report), claims, Path(key))
    told = claims.get("release")
    if not isinstance(told, Mapping):
        raise InputError(f"manifest {named}: lacks 'release'")
    if is_file:
        changed += release_differs(Path(release), told, named)
        if changed and of_different_runs(Path(release), claims):
            raise InputError(
                f"{release}: the release and its manifest are of different runs (a write was "
                "interrupted, or one of them was moved); write the release again"
            )
        if other := told.get("sensitive_table"):
            sensitive_table = _beside(Path(release), other, named)
            changed += table_differs(sensitive_table, other, named)
        if other := told.get("counterfeits"):
            changed += table_differs(_beside(Path(release), other, named), other, named)
    try:
        persons = None
        if record is not None and not changed:
            persons = persons_of(Path(record), Path(release))
        found = _compared(release, sensitive_table, claims, named, changed, persons, memory)
        return replace(found, signed=key is not None and found.holds)
    except ShoalError:
        if changed:  # what is wrong with a file that was changed is that it was changed
            raise VerificationError(changed[0]) from None
        raise


def _verify_in_database(
    address: Address,
    manifest: str | Path | Mapping[str, Any] | None,
    key: str | Path | None,
    record: str | Path | None,
) -> Verification:
    """Check a table against the manifest that the database has of it, or another one."""
    if key is not None or record is not None:
        what = "key" if key is not None else "record"
        raise PolicyError(f"{what}: goes with a released file, not with a table in a database")
    found = read_published(address)
    claims: Mapping[str, Any] = found.manifest
    if isinstance(manifest, Mapping):
        claims = manifest
    elif manifest is not None:
        claims = load_manifest(Path(manifest))
    claims = checked_manifest(claims, str(address))
    told = claims.get("release")
    if not isinstance(told, Mapping) or told.get("hashed") != "rows":
        raise InputError(f"manifest of {address}: is not of a table in a database")
    apart = told.get("sensitive_table")
    pairs: list[tuple[Any, str | None]] = [(told.get("sha256"), found.sha256)]
    if isinstance(apart, Mapping):
        pairs.append((apart.get("sha256"), found.second_sha256))
    changed = [
        f"{address}: is not the table its manifest describes (SHA-256 of its rows differs); it was "
        "changed, or the manifest is another's"
        for claimed, there in pairs
        if claimed != there
    ][:1]
    second = None if found.second is None else normalised(found.second)
    try:
        return _compared(normalised(found.table), second, claims, str(address), changed, None)
    except ShoalError:
        if changed:
            raise VerificationError(changed[0]) from None
        raise


def sign(
    release: str | Path,
    key: str | Path,
    manifest: str | Path | None = None,
    report: str | Path | None = None,
) -> list[Path]:
    """Sign a release's manifest with a private key, if nothing is wrong with the release.

    With a report, that too, together with the manifest it is about. Gives the files written.
    """
    path = Path(manifest) if manifest is not None else manifest_path(Path(release))
    verify(release, path).raise_if_failed()
    content = load_manifest(path)
    signed = [sign_report(Path(report), content, Path(key))] if report is not None else []
    return [sign_manifest(path, content, Path(key)), *signed]


def _compared(
    release: Any,
    sensitive_table: Any,
    claims: Mapping[str, Any],
    named: str,
    changed: list[str],
    persons: NDArray[np.int32] | None,
    memory: str | None = None,
) -> Verification:
    """Check the models that the policy of a manifest asks for, and whatever else it says."""
    policy = policy_from_manifest(claims, named)
    alone = release if sensitive_table is None else _table(release, policy)
    with _opened(alone, policy, memory) as table:
        return _compared_table(table, sensitive_table, claims, policy, changed, persons)


def _compared_table(
    table: Any,
    sensitive_table: Any,
    claims: Mapping[str, Any],
    policy: Policy,
    changed: list[str],
    persons: NDArray[np.int32] | None,
) -> Verification:
    """The same of a table, or of a file that takes its place."""
    second = None if sensitive_table is None else _table(sensitive_table, policy)
    qi = published_names(policy.qi, table.column_names)
    found = [*changed, *about_columns(claims, policy, table.column_names, qi)]
    if second is not None:
        found += about_second_table(policy, second.column_names)
    there = [*table.column_names, *(second.column_names if second is not None else ())]
    needed = [*qi, *policy.sensitive, *([policy.person_as] if policy.person_as else [])]
    if lacking := [name for name in needed if name not in there]:
        says = f"the policy has column {lacking[0]!r}, and the release does not"
        raise VerificationError(found[0] if found else says)
    try:
        verification = _check(table, second, with_orders(policy, claims, table), persons)
    except PolicyError as error:  # nobody gave a policy: what does not fit is the manifest
        raise VerificationError(f"the file does not fit its manifest: {error}") from None
    hidden = hidden_orders(claims)
    checks = tuple(_without_order(check, hidden) for check in verification.checks)
    verification = replace(verification, checks=checks)
    in_memory = isinstance(table, pa.Table)
    sizes = _class_sizes(table, qi) if in_memory else verification.class_sizes
    found += about_findings(claims, policy, verification, sizes, table)
    return replace(verification, mismatches=tuple(found))


def _class_sizes(table: pa.Table, qi: list[str]) -> NDArray[np.int64]:
    ids, count = released_classes(table, qi)
    return np.bincount(ids, minlength=count).astype(np.int64)


def _without_order(check: Check, hidden: set[str]) -> Check:
    """A distance between ranks cannot be checked where nobody says which value has which."""
    by_rank = check.source is not None and check.source[0].uses_order
    if check.column not in hidden or not by_rank:
        return check
    reason = f"the manifest does not publish the order of {check.column}; check with --policy"
    return replace(check, reached=None, holds=True, failing_classes=0, unchecked=reason)


def _beside(release: Path, claims: Any, manifest: str) -> Path:
    """The second table, which a manifest names without a folder: it lies beside the first."""
    try:
        return release.with_name(claims["file"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"manifest {manifest}: does not name the sensitive table") from None


def _check(
    table: Any,
    sensitive_table: pa.Table | None,
    policy: Policy,
    persons: NDArray[np.int32] | None = None,
) -> Verification:
    models = models_of(policy)
    if sensitive_table is not None:
        if len(policy.sensitive) != 1:
            raise PolicyError("a release in two tables has one sensitive column: name it")
        return check_separated(table, sensitive_table, models, policy)
    if not policy.qi:
        raise PolicyError("qi: name the quasi-identifiers of the release, with --qi")
    qi = published_names(policy.qi, table.column_names)
    if not isinstance(table, pa.Table):
        found: Verification = table.check(qi, models, policy)
        return found
    return check_release(table, qi, models, policy, person=persons)


@contextmanager
def _opened(release: Any, policy: Policy, memory: str | None) -> Iterator[Any]:
    """The released table; or, of a file that does not fit into memory, what answers in its place.

    The room of engines knows this one, so it is looked up only when it is asked for.
    """
    large = None
    if isinstance(release, str | Path) and address_of(release) is None:
        verifying = import_module("shoal.engines.duckdb.verifying")
        large = verifying.large_file(Path(release), policy, memory)
    if large is None:
        yield _table(release, policy)
        return
    try:
        yield large
    finally:
        large.close()


def _table(data: Any, policy: Policy) -> pa.Table:
    table, _ = to_arrow(data, NULLS)
    if table.num_rows == 0:
        raise InputError("the release is empty: it has no records to check")
    return armed_names(table) if policy.csv_safe else table
