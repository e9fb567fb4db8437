"""What a report is made from: the release, and whatever is at hand besides.

From the release and its manifest alone comes the public report. With the
private record and the original comes the custodian's.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.scene import check_original
from shoal.encoding.spreadsheet import armed_names
from shoal.encoding.values import distinct_values
from shoal.errors import InputError, PolicyError, ShoalError, VerificationError
from shoal.io.addresses import Address, Place, address_of
from shoal.io.databases import read_published
from shoal.io.frames import normalised, to_arrow
from shoal.io.paths import manifest_path, record_path, sensitive_path
from shoal.io.read import read_table
from shoal.io.write import decoded, sha256_of
from shoal.models import sizes_only
from shoal.policy import Policy
from shoal.released.about import About
from shoal.released.cells import Reading, infer_reading
from shoal.verification.check import Verification, published_names, released_classes
from shoal.verification.files import verify
from shoal.verification.hashes import fingerprint_of
from shoal.verification.manifest import load_manifest, policy_from_manifest
from shoal.verification.record import load_record, persons_of, policy_from_record

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
    kept: Mapping[Path, str] = field(default_factory=dict)
    """Files that a report must never be written over, and what each is."""
    shown: str = ""
    """What a release that is no file is called."""
    policy_given: bool = False
    """The policy was given, not published: it may tell values that nobody has seen."""

    @property
    def about(self) -> About:
        """How the released cells are to be read."""
        return About(self.policy, self.manifest, tuple(self.table.column_names))

    @property
    def name(self) -> str:
        """What the release is called in the report."""
        return self.shown or self.path.name

    @property
    def custodian(self) -> bool:
        """Whether this is more than the public may know."""
        return self.record is not None or self.original is not None or self.policy_given

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
    release: str | Place,
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
    if (address := address_of(release)) is not None:
        return _in_database(address, manifest, policy, record, original)
    assert not isinstance(release, Address)
    path = Path(release)
    if not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: no such file")
    claims = _claims(path, manifest, needed=record is not None)
    known = policy_from_manifest(claims, str(manifest or manifest_path(path))) if claims else None
    asked = None if policy is None else Policy.of(policy, {})
    known = known or asked
    table = to_arrow(path)[0] if path.is_dir() else read_table(path)
    if table.num_rows == 0:
        raise InputError(f"{path}: has no records")
    if known is not None and known.csv_safe:
        table = armed_names(table)
    checked = None
    if known is not None:
        checked = verify(path, manifest, record=record) if claims else verify(path, policy=known)
        if checked.mismatches:
            raise VerificationError(checked.mismatches[0])
    found = _record(record, path)
    original_path = _original(original, found, record)
    private = _policy_of_record(found, path) if found is not None else asked
    before = None if original_path is None else _as_read(original_path, found, private)
    if before is not None and not ((found or {}).get("input") or {}).get("sha256"):
        _check_original(path, before, private, len(table))
    if known is not None and private is not None and (found is not None or before is not None):
        known = _with_trees(known, private)
    return Source(
        path=path,
        sha256=fingerprint_of(path),
        table=table,
        policy=known or Policy(),
        qi=known.qi if known is not None else _generalised(table),
        verification=checked,
        manifest=claims,
        apart=bool(claims and claims["release"].get("sensitive_table")),
        record=found,
        original=before,
        original_path=original_path,
        kept=_kept(path, manifest, record, original_path, policy),
        policy_given=claims is None and asked is not None,
        persons=_persons(table, known, record, path),
        given=path,
    )


def _in_database(
    address: Address,
    manifest: str | Path | None,
    policy: Policy | str | Path | None,
    record: str | Path | None,
    original: Any,
) -> Source:
    """A release of a database with its manifest: what the public may know."""
    if record is not None or original is not None or policy is not None:
        raise PolicyError(
            f"{address}: with --record, --original or --policy a report is of a released file; of "
            "a table in a database there is the public one"
        )
    published = read_published(address)
    claims = published.manifest if manifest is None else load_manifest(Path(manifest))
    known = policy_from_manifest(claims, str(manifest or address))
    table = normalised(published.table)
    checked = verify(address, manifest)
    if checked.mismatches:
        raise VerificationError(checked.mismatches[0])
    return Source(
        path=Path(address.name), shown=str(address), sha256=published.sha256, policy=known,
        table=armed_names(table) if known.csv_safe else table, qi=known.qi, verification=checked,
        manifest=claims, apart=published.second is not None,
        persons=_persons(table, known, None, Path(address.name)), given=table,
    )  # fmt: skip


def source_of(release: Release, original: Any = None) -> Source:
    """A release in memory, checked anew; with the original, the custodian's."""
    table = decoded(release.table)
    before = None if original is None else to_arrow(original, release.policy.missing)[0]
    if before is None:  # as whoever has the manifest reads it: no orders, no trees
        policy = policy_from_manifest(release.manifest, "of the release")
    else:
        policy = release.policy
        _check_original(release, before, None, len(table))
    return Source(
        path=Path("release"),
        sha256="",
        table=table,
        policy=policy,
        qi=policy.qi,
        verification=release.verify(),
        manifest=release.manifest,
        apart=release.sensitive_table is not None,
        record=None if original is None else release.record,
        original=before,
        persons=release.persons if original is not None else _pseudonyms(table, release.policy),
        given=release,
        kept={release.source: "the table that was released"}
        if isinstance(release.source, Path)
        else {},
    )


def _check_original(release: Any, original: pa.Table, policy: Policy | None, records: int) -> None:
    """Refuse an original that is not what the release was made of, as attacks do."""
    if len(original) < records:
        raise InputError(
            f"original: has {len(original):,} records, the release {records:,}; expected the "
            "table it was made of"
        )
    with suppress(PolicyError):  # orders or trees are not at hand, or there are two tables
        check_original(release, original, policy or Policy.parse())


def _with_trees(known: Policy, private: Policy) -> Policy:
    """What is promised in public, with what only the custodian knows of the values."""
    names = ("kind", "order", "hierarchy", "missing", "base")
    return known.model_copy(update={name: getattr(private, name) for name in names})


def _as_read(original: Path, record: Mapping[str, Any] | None, private: Policy | None) -> pa.Table:
    """The original, with the encoding and the delimiter that the release was made with."""
    told = (record or {}).get("policy") or {}
    how = private or Policy.parse(**{n: told[n] for n in ("encoding", "delimiter") if n in told})
    return read_table(original, encoding=how.encoding, delimiter=how.delimiter)


def _policy_of_record(record: Mapping[str, Any], path: Path) -> Policy | None:
    """The policy that the record keeps, if it and its trees are at hand."""
    try:
        policy = policy_from_record(dict(record), path)[0]
        about = About(policy)
        for name in policy.qi:
            about.reading(name, Reading("categorical", True))
    except ShoalError:
        return None
    return policy


def _kept(
    release: Path,
    manifest: str | Path | None,
    record: str | Path | None,
    original: Path | None,
    policy: Any,
) -> dict[Path, str]:
    """Files that a report is made of, or that lie beside the release: none is written over."""
    found = {
        release: "the release",
        manifest_path(release): "the manifest",
        record_path(release): "the private record",
        sensitive_path(release): "the release's sensitive table",
    }
    named = [(manifest, "the manifest"), (record, "the private record"), (original, "the original")]
    named += [(policy, "the policy")] if isinstance(policy, str | Path) else []
    found |= dict.fromkeys(_told_originals(record_path(release)), "the original")
    return found | {Path(path): what for path, what in named if path is not None}


def _told_originals(record: Path) -> list[Path]:
    """Where the original is by the record beside a release, also of a public report."""
    try:
        told = load_record(record)
        name = told["input"]["file"]
        return [Path(folder) / name for folder in (record.parent, told.get("base", "."))]
    except (ShoalError, KeyError, TypeError):  # there is none, or it was no file
        return []


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
    if found["release"].get("sha256") != fingerprint_of(release):
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
