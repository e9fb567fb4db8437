"""Check a released file: against what its manifest claims, or against models given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, PolicyError
from shoal.io.frames import to_arrow
from shoal.io.paths import manifest_path
from shoal.io.write import sha256_of
from shoal.models import models_of
from shoal.policy import Policy
from shoal.verification.check import Verification, check_release, check_separated, published_names
from shoal.verification.manifest import load_manifest, policy_from_manifest

__all__ = ["verify"]


def verify(
    release: Any,
    manifest: str | Path | None = None,
    policy: Policy | str | Path | None = None,
    *,
    sensitive_table: Any = None,
    **settings: Any,
) -> Verification:
    """Check a released table against its manifest, or against models given here.

    Parameters
    ----------
    release
        A file name, or a table as `shoal.anonymize` takes it.
    manifest
        The manifest's file name; beside the release if not given.
    policy, **settings
        Where there is no manifest: roles and models to check, by name.
    sensitive_table
        The second table of a release in two tables (method anatomy), where
        there is no manifest to name it.
    """
    if policy is not None or settings:
        return _check(release, sensitive_table, Policy.of(policy, settings))
    if manifest is None and not isinstance(release, str | Path):
        raise PolicyError("verify: give the manifest, or the columns and models to check")
    path = Path(manifest) if manifest is not None else manifest_path(Path(release))
    claims = load_manifest(path)
    policy = policy_from_manifest(claims, path)
    if isinstance(release, str | Path):
        _check_digest(Path(release), claims["release"])
        if other := claims["release"].get("sensitive_table"):
            sensitive_table = _beside(Path(release), other, path)
            _check_digest(sensitive_table, other)
    return _check(release, sensitive_table, policy)


def _beside(release: Path, claims: Any, manifest: Path) -> Path:
    """The second table, which a manifest names without a folder: it lies beside the first."""
    try:
        return release.with_name(claims["file"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"manifest {manifest}: does not name the sensitive table") from None


def _check(release: Any, sensitive_table: Any, policy: Policy) -> Verification:
    table = _table(release, policy)
    models = models_of(policy)
    if sensitive_table is not None:
        if len(policy.sensitive) != 1:
            raise PolicyError("a release in two tables has one sensitive column: name it")
        return check_separated(table, _table(sensitive_table, policy), models, policy)
    if not policy.qi:
        raise PolicyError("qi: name the quasi-identifiers of the release, with --qi")
    return check_release(table, published_names(policy.qi, table.column_names), models, policy)


def _table(data: Any, policy: Policy) -> pa.Table:
    table, _ = to_arrow(data, policy.missing)
    if table.num_rows == 0:
        raise InputError("the release is empty: it has no records to check")
    return table


def _check_digest(path: Path, claims: dict[str, Any]) -> None:
    claimed = claims.get("sha256")
    if path.is_file() and claimed is not None and sha256_of(path) != claimed:
        raise InputError(
            f"{path}: is not the file its manifest describes (SHA-256 differs); "
            "find the right manifest, or check with --qi and -k"
        )
