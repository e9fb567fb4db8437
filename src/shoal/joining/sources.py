"""The releases to join: their tables, what is known of them, and what must hold for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.encoding.classes import class_sizes
from shoal.encoding.spreadsheet import armed_names
from shoal.encoding.values import distinct_values
from shoal.errors import InputError, PolicyError
from shoal.io.addresses import address_of
from shoal.io.databases import read_stored
from shoal.io.frames import to_arrow
from shoal.io.paths import manifest_path
from shoal.models import KAnonymity, Model, models_of, views_of
from shoal.policy import Policy
from shoal.release import Release
from shoal.released.about import About
from shoal.verification.check import published_names
from shoal.verification.manifest import checked_manifest, load_manifest, policy_from_manifest

__all__ = ["Asked", "Source", "asked_of", "open_source", "open_sources", "own_k"]


@dataclass(frozen=True, eq=False)
class Source:
    """One release: its table and what is known of its cells."""

    name: str
    table: pa.Table
    about: About
    own: tuple[tuple[str, ...], ...]
    """Sets of quasi-identifiers that it was made for; empty if nobody says."""
    promised: Policy | None
    """Models and readers of its manifest."""
    second: Any = None
    """The sensitive values by group, a file or a table, of a release in two tables."""

    @property
    def generalised(self) -> list[str]:
        """Attributes it generalises, as far as somebody says: by their own names, not as bounds."""
        claimed = (self.about.manifest or {}).get("policy", {}).get("qi", ())
        return [*map(str, claimed), *(name for names in self.own for name in names)]

    def attributes(self, wanted: Iterable[str]) -> list[str]:
        """What it publishes; two bounds are one attribute where its name is wanted."""
        pairs = {name: self.about.pair(name) for name in wanted}
        halves = {half for pair in pairs.values() if pair for half in pair}
        whole = [name for name in self.table.column_names if name not in halves]
        return whole + [name for name, pair in pairs.items() if pair]


class Asked(NamedTuple):
    """What must hold in the join: k on these quasi-identifiers, for this reader."""

    reader: str | None
    qi: tuple[str, ...]
    k: int
    models: tuple[Model, ...] = ()
    """What was promised of sensitive columns."""
    sensitive: tuple[str, ...] = ()


def open_sources(
    releases: Sequence[Any], policy: Policy, own: Sequence[tuple[str, ...]]
) -> list[Source]:
    """Read the releases and the manifests beside them."""
    if isinstance(releases, str | Path) or len(releases) < 2:
        raise PolicyError("releases: expected at least two releases of one table")
    own = own or [()] * len(releases)
    if len(own) != len(releases):
        raise PolicyError(f"qi: expected one list, or one a release; got {len(own)}")
    sources = [
        open_source(release, number, policy, sets)
        for number, (release, sets) in enumerate(zip(releases, own, strict=True), start=1)
    ]
    first = sources[0]
    for other in sources[1:]:
        if other.table.num_rows != first.table.num_rows:
            raise InputError(
                f"{other.name} has {other.table.num_rows:,} records and {first.name} "
                f"{first.table.num_rows:,}: they are no releases of one table"
            )
    if first.table.num_rows == 0:
        raise InputError("the releases are empty: they have no records to join")
    return sources


def open_source(
    release: Any, number: int, policy: Policy, own: tuple[str, ...] = (), *, apart: bool = False
) -> Source:
    """Read one release and the manifest beside it; `number` names it where no file does.

    With `apart` also one in two tables (anatomy), which cannot be joined with others.
    """
    name = str(release) if isinstance(release, str | Path) else f"release {number}"
    claims, second = None, None
    if (address := address_of(release)) is not None:
        name, stored = str(address), read_stored(address)
        release, second = stored.table, stored.second
        claims = checked_manifest(stored.manifest, name) if stored.manifest else None
    claims = claims or _claims(release)
    second = second if second is not None else _second_of(release, claims)
    if second is not None and not apart:
        raise PolicyError(f"{name}: a release in two tables (anatomy) cannot be joined yet")
    if isinstance(release, Release):
        policy = _with_trees(policy, release.policy)
    about = About(_without_strange_trees(policy, claims), claims)
    data = release.table if isinstance(release, Release) else release
    dialect = (policy.encoding, policy.delimiter) if claims is None else ()  # a release has its own
    table, _ = to_arrow(data, about.missing, *dialect)
    table = armed_names(table) if about.csv_safe else table
    promised = policy_from_manifest(claims, name) if claims is not None else None
    sets = (own,) if own else _known_sets(claims, promised)
    columns = tuple(table.column_names)
    return Source(name, table, replace(about, columns=columns), sets, promised, second)


def _second_of(release: Any, claims: Mapping[str, Any] | None) -> Any:
    """The second table of a release in two: its own, or the file that the manifest names."""
    if isinstance(release, Release):
        return release.sensitive_table
    told = (claims or {}).get("release", {}).get("sensitive_table")
    if told is None:
        return None
    try:
        return Path(release).with_name(told["file"])
    except (KeyError, TypeError, ValueError):
        raise InputError("the manifest does not name the sensitive table") from None


def _with_trees(policy: Policy, made_with: Policy) -> Policy:
    """What a release at hand knows of its columns, under what was given for all of them."""
    known = {
        name: {**getattr(made_with, name), **getattr(policy, name)}
        for name in ("kind", "order", "hierarchy")
    }
    missing = tuple(dict.fromkeys((*made_with.missing, *policy.missing)))
    return policy.model_copy(update={**known, "missing": missing, "base": made_with.base})


def _without_strange_trees(policy: Policy, claims: Mapping[str, Any] | None) -> Policy:
    """The policy less the trees that a release, by its manifest, was made without."""
    if claims is None:
        return policy
    made = claims["policy"]
    without = [n for n in made.get("qi", ()) if n not in made.get("hierarchy", {})]
    trees = {name: tree for name, tree in policy.hierarchy.items() if name not in without}
    return policy.model_copy(update={"hierarchy": trees})


def _claims(release: Any) -> dict[str, Any] | None:
    if isinstance(release, Release):
        return release.manifest
    if isinstance(release, str | Path) and manifest_path(Path(release)).exists():
        return load_manifest(manifest_path(Path(release)))
    return None


def _known_sets(
    claims: Mapping[str, Any] | None, promised: Policy | None
) -> tuple[tuple[str, ...], ...]:
    if claims is None or promised is None:
        return ()
    if promised.reader:
        return tuple(reader.qi for reader in promised.reader.values())
    return (tuple(map(str, claims["policy"].get("qi", ()))),)


def own_k(source: Source, qi: Sequence[str]) -> int:
    """Records in the smallest class of a release by itself, on what it was made for."""
    sizes = []
    for names in source.own or (qi,):
        columns = source.table.column_names
        here = [name for name in published_names(names, columns) if name in columns]
        cells = [distinct_values(source.table.column(name), ()) for name in here]
        keys = [(cell.codes + 1, len(cell.values) + 1) for cell in cells]
        sizes.append(int(class_sizes(keys, source.table.num_rows).min()))
    return min(sizes)


def asked_of(
    sources: Sequence[Source], k: int | None, qi: Sequence[str], policy: Policy
) -> list[Asked]:
    """What must hold: as given, as all manifests say of their readers, or k on the union."""
    promises = [source.promised for source in sources if source.promised is not None]
    secret = dict.fromkeys(name for p in (*promises, policy) for name in p.sensitive)
    sensitive = tuple(secret) if not policy.sensitive else policy.sensitive
    readers = promises[0].reader if len(promises) == len(sources) else {}
    if not qi and readers and all(_same_readers(promises[0], other) for other in promises):
        return _for_readers(promises[0], k, _about_values(promises, policy), sensitive)
    if not qi:
        known = [name for source in sources for names in source.own for name in names]
        qi = tuple(dict.fromkeys([*known, *policy.qi]))
    if not qi:
        raise PolicyError("qi: name the quasi-identifiers, or keep the manifests by the releases")
    models = _about_values(promises, policy)
    ks = [model.k for p in (*promises, policy) for model in _sizes_asked(p)]
    ks = ks or [model.smallest_class for model in models]  # l values need as many records
    if k is None and not ks:
        raise PolicyError("k: expected a whole number; got none, and no manifest promises one")
    asked = KAnonymity.of(k if k is not None else max(ks)).k
    return [Asked(None, tuple(qi), asked, models, sensitive)]


def _about_values(promises: Sequence[Policy], policy: Policy) -> tuple[Model, ...]:
    """Models of sensitive values that were promised; those that were given override them."""
    given = _of_values(policy)
    if given and not (policy.sensitive or any(promise.sensitive for promise in promises)):
        raise PolicyError(f"sensitive: name the columns for {given[0]}, or keep the manifests")
    models = [model for promise in promises for model in _of_values(promise)]
    return given or tuple(dict.fromkeys(models))


def _of_values(policy: Policy) -> tuple[Model, ...]:
    """Models of sensitive values; an l that a table is yet to decide promises nothing."""
    auto = {"l": None} if policy.l == "auto" else {}
    decided = policy.model_copy(update={"k": policy.k or 1, **auto})
    return tuple(model for model in models_of(decided) if model.about_sensitive)


def _same_readers(a: Policy, b: Policy) -> bool:
    return (a.reader, a.k, a.collusion_k) == (b.reader, b.k, b.collusion_k)


def _for_readers(
    policy: Policy, k: int | None, models: tuple[Model, ...], sensitive: tuple[str, ...]
) -> list[Asked]:
    asked = []
    for view in views_of(policy):
        together = view.name not in policy.reader
        own = k if k is not None and not together else _k_of(view.models)
        if own is None:
            raise PolicyError(f"k: expected one for reader {view.name!r}; got none")
        about = () if together else models
        asked.append(Asked(view.name, view.qi, KAnonymity.of(own).k, about, sensitive))
    return asked


def _k_of(models: Iterable[Model]) -> int | None:
    return next((model.k_asked for model in models if model.k_asked is not None), None)


def _sizes_asked(policy: Policy) -> list[KAnonymity]:
    ks = [policy.k, policy.collusion_k, *(reader.k for reader in policy.reader.values())]
    return [KAnonymity.of(k) for k in ks if k is not None]
