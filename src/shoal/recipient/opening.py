"""A release at hand: its table, what is known of it, and how its cells are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.encoding.spreadsheet import armed_names
from shoal.errors import InputError, PolicyError
from shoal.io.addresses import address_of
from shoal.io.databases import read_database, read_stored
from shoal.io.frames import to_arrow
from shoal.io.paths import manifest_path
from shoal.policy import Policy
from shoal.recipient.apart import open_apart
from shoal.recipient.columns import Released
from shoal.release import Release
from shoal.released.about import About
from shoal.verification.manifest import load_manifest

__all__ = ["SETTINGS", "Opened", "open_release"]

SETTINGS = ("qi", "kind", "order", "hierarchy", "missing", "notation")
"""Settings of a policy that help to read a release."""


class Opened(NamedTuple):
    """A release that was read."""

    released: Released
    kind: str
    """The kind of table that came, for what goes back."""
    notes: tuple[str, ...]
    """What is only guessed."""


def open_release(
    release: Any,
    manifest: str | Path | None,
    policy: Policy | str | Path | None,
    sensitive_table: Any,
    settings: Mapping[str, Any],
    *,
    asked_by: str,
) -> Opened:
    """Read a `Release`, a released file or table, with the manifest or policy at hand.

    A table of a database is read with the manifest that the database has of it.

    `asked_by` is the name of what asks, for messages.
    """
    release, stored, sensitive_table = _from_database(release, sensitive_table)
    known, claims, notes = _knowledge(release, manifest or stored, policy, settings, asked_by)
    about = About(known, claims)
    table, kind = _read(release, about)
    second = _second(release, sensitive_table, claims, about)
    about = About(known, claims, tuple(table.column_names))
    apart = None if second is None else open_apart(table, second, about)
    return Opened(Released(table, about, apart), kind, notes)


def _from_database(release: Any, second: Any) -> tuple[Any, dict[str, Any] | None, Any]:
    """A release of a database, its manifest and second table, all of one moment."""
    address = address_of(release)
    if address is None or address.table is None:
        return release if address is None else read_database(address), None, second
    published = read_stored(address)
    given = published.second if second is None else second
    return published.table, published.manifest or None, given


def _read(source: Any, about: About) -> tuple[pa.Table, str]:
    """A table as it was before it was made safe for spreadsheets, and the kind that came."""
    release = source if isinstance(source, Release) else None
    table, kind = to_arrow(source if release is None else release.table, about.missing)
    table = armed_names(table) if about.csv_safe else table
    return table, kind if release is None else release.kind


def _second(
    release: Any, given: Any, claims: Mapping[str, Any] | None, about: About
) -> pa.Table | None:
    """The second table of a release in two: given, the release's own, or named by its manifest."""
    if given is None and isinstance(release, Release):
        given = release.sensitive_table
    told = (claims or {}).get("release", {}).get("sensitive_table")
    if given is None and told is not None and isinstance(release, str | Path):
        try:
            given = Path(release).with_name(told["file"])
        except (KeyError, TypeError, ValueError):
            raise InputError("the manifest does not name the sensitive table") from None
    return None if given is None else _read(given, about)[0]


def _knowledge(
    release: Any,
    manifest: str | Path | Mapping[str, Any] | None,
    policy: Policy | str | Path | None,
    settings: Mapping[str, Any],
    asked_by: str,
) -> tuple[Policy, dict[str, Any] | None, tuple[str, ...]]:
    """Policy, manifest, and a note if there is neither."""
    unknown = [name for name in settings if name not in SETTINGS]
    if unknown:
        raise PolicyError(
            f"{asked_by}: unknown setting {unknown[0]!r}; expected one of {', '.join(SETTINGS)}"
        )
    if isinstance(policy, str | Path):
        policy = Policy.load(policy)
    if policy is None and isinstance(release, Release):
        policy = release.policy
    given = policy is not None or bool(settings)
    policy = policy.override(**settings) if policy is not None else Policy.parse(**settings)
    if isinstance(manifest, Mapping):
        return policy, dict(manifest), ()
    if manifest is not None:
        return policy, load_manifest(Path(manifest)), ()
    if isinstance(release, Release):
        return policy, release.manifest, ()
    if isinstance(release, str | Path) and manifest_path(Path(release)).exists():
        return policy, load_manifest(manifest_path(Path(release))), ()
    note = "there is no manifest: what the columns are is guessed from their cells"
    return policy, None, () if given else (note,)
