"""What a report is made from: the release, and whatever is at hand besides.

From the release and its manifest alone comes the public report. With the
private record and the original comes the custodian's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.spreadsheet import armed_names
from shoal.encoding.values import distinct_values
from shoal.errors import InputError, VerificationError
from shoal.io.frames import to_arrow
from shoal.io.paths import manifest_path
from shoal.io.read import read_table
from shoal.io.write import decoded, sha256_of
from shoal.models import sizes_only
from shoal.policy import Policy
from shoal.released.about import About
from shoal.released.cells import infer_reading
from shoal.verification.check import Verification, published_names, released_classes
from shoal.verification.files import verify
from shoal.verification.manifest import load_manifest, policy_from_manifest
from shoal.verification.record import load_record, persons_of

if TYPE_CHECKING:
    from shoal.release import Release

__all__ = ["Source", "View", "read_source", "source_of"]


@dataclass(frozen=True)
class View:
    """What one reader can link: all quasi-identifiers, or those of one of several readers."""

    reader: str | None
    qi: tuple[str, ...]
    sizes: NDArray[np.int64]
    """Records of each class, or persons where it is known whose each record is."""


@dataclass(frozen=True, eq=False)
class Source:
    """A release, read and checked again, with what is known of it."""

    path: Path
    sha256: str
    table: pa.Table
    policy: Policy
    """Roles and models, as far as manifest or policy tell them."""
    qi: tuple[str, ...]
    """Quasi-identifiers, as the policy names them."""
    verification: Verification | None
    """None where nobody says what was promised."""
    manifest: Mapping[str, Any] | None = None
    apart: bool = False
    """Sensitive values are in a table of their own."""
    record: Mapping[str, Any] | None = None
    original: pa.Table | None = None
    original_path: Path | None = None
    persons: NDArray[Any] | None = None
    """Whose record each is, as far as this report may know; within a class if by pseudonyms."""
    given: Any = None
    """The release as it was given: a file, or a `Release`."""

    @property
    def about(self) -> About:
        """How the released cells are to be read."""
        return About(self.policy, self.manifest, tuple(self.table.column_names))

    @property
    def custodian(self) -> bool:
        """Whether this is more than the public may know."""
        return self.record is not None or self.original is not None

    def told(self, *path: str) -> Any:
        """What the manifest says, by name; None if it does not."""
        part: Any = self.manifest or {}
        for name in path:
            part = part.get(name) if isinstance(part, Mapping) else None
        return part

    def views(self) -> list[View]:
        """The classes that each reader sees, and all readers together where there are several."""
        readers: list[tuple[str | None, tuple[str, ...]]] = [
            (name, reader.qi) for name, reader in self.policy.reader.items()
        ]
        all_of_them = "all readers together" if readers else None
        found = [*readers, (all_of_them, self.qi)]
        return [View(reader, qi, self._sizes(qi)) for reader, qi in found]

    def _sizes(self, qi: tuple[str, ...]) -> NDArray[np.int64]:
        ids, _ = self.classes(qi)
        return sizes_only(ids, person=self.persons).sizes

    @property
    def persons_hidden(self) -> bool:
        """The promises count persons, and who is one is not known to this report."""
        return self.policy.person is not None and self.persons is None

    def classes(self, qi: tuple[str, ...]) -> tuple[NDArray[np.int64], int]:
        """Class of each released record."""
        names = published_names(qi, self.table.column_names)
        return released_classes(self.table, names)


def read_source(
    release: str | Path,
    manifest: str | Path | None = None,
    *,
    policy: Policy | str | Path | None = None,
    record: str | Path | None = None,
    original: str | Path | None = None,
) -> Source:
    """Read a release and check it anew.

    Raises
    ------
    VerificationError
        The manifest is of another release, or one of the two was changed.
    InputError
        A file cannot be read, or record or original are of another run.
    """
    path = Path(release)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    claims = _claims(path, manifest, needed=record is not None)
    known = policy_from_manifest(claims, str(manifest or manifest_path(path))) if claims else None
    if known is None and policy is not None:
        known = Policy.of(policy, {})
    table = read_table(path)
    if known is not None and known.csv_safe:
        table = armed_names(table)
    checked = None
    if known is not None:
        checked = verify(path, manifest, record=record) if claims else verify(path, policy=known)
        if checked.mismatches:
            raise VerificationError(checked.mismatches[0])
    found = _record(record, path)
    original_path = _original(original, found, record)
    return Source(
        path=path,
        sha256=sha256_of(path),
        table=table,
        policy=known or Policy(),
        qi=known.qi if known is not None else _generalised(table),
        verification=checked,
        manifest=claims,
        apart=bool(claims and claims["release"].get("sensitive_table")),
        record=found,
        original=None if original_path is None else read_table(original_path),
        original_path=original_path,
        persons=_persons(table, known, record, path),
        given=path,
    )


def source_of(release: Release, original: Any = None) -> Source:
    """A release in memory, checked anew; with the original, the custodian's."""
    table = decoded(release.table)
    return Source(
        path=Path("release"),
        sha256="",
        table=table,
        policy=release.policy,
        qi=release.policy.qi,
        verification=release.verify(),
        manifest=release.manifest,
        apart=release.sensitive_table is not None,
        record=None if original is None else release.record,
        original=None if original is None else to_arrow(original, release.policy.missing)[0],
        persons=release.persons if original is not None else _pseudonyms(table, release.policy),
        given=release,
    )


def _persons(
    table: pa.Table, policy: Policy | None, record: str | Path | None, release: Path
) -> NDArray[Any] | None:
    """By the record, or by what is published."""
    if policy is None or policy.person is None:
        return None
    if record is not None:
        return persons_of(Path(record), release)
    return _pseudonyms(table, policy)


def _pseudonyms(table: pa.Table, policy: Policy) -> NDArray[Any] | None:
    name = policy.person_as
    if policy.person is None or name is None or name not in table.column_names:
        return None
    return distinct_values(table.column(name), ()).codes + 1


def _claims(path: Path, manifest: str | Path | None, needed: bool) -> dict[str, Any] | None:
    where = Path(manifest) if manifest is not None else manifest_path(path)
    if manifest is None and not needed and not where.exists():
        return None
    return load_manifest(where)


def _record(record: str | Path | None, release: Path) -> dict[str, Any] | None:
    if record is None:
        return None
    found = load_record(Path(record))
    if found["release"].get("sha256") != sha256_of(release):
        raise InputError(f"record {record}: is not of the release {release}, or that was changed")
    return found


def _original(
    given: str | Path | None, record: Mapping[str, Any] | None, named: str | Path | None
) -> Path | None:
    """The original's file: as given, or where the record says that it was; checked by its hash."""
    told = (record or {}).get("input") or {}
    name, digest = told.get("file"), told.get("sha256")
    if given is not None:
        path = Path(given)
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        if digest is not None and sha256_of(path) != digest:
            raise InputError(f"{path}: is not the table of the record {named} (SHA-256 differs)")
        return path
    if not isinstance(name, str) or record is None or named is None:
        return None
    for folder in (Path(named).parent, Path(str(record.get("base", ".")))):
        path = folder / name
        if path.is_file() and digest is not None and sha256_of(path) == digest:
            return path
    return None


def _generalised(table: pa.Table) -> tuple[str, ...]:
    """Columns that look generalised, where nobody says which are."""
    return tuple(
        name
        for name in table.column_names
        if infer_reading(distinct_values(table.column(name), ()).texts()).generalised
    )
