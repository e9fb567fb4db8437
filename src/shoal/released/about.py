"""What is known of a release besides its cells: from its manifest, or a policy at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from shoal.errors import InputError
from shoal.hierarchy import Hierarchy, hierarchy_from_spec
from shoal.notation import NOTATIONS
from shoal.policy import KINDS, Kind, Policy
from shoal.released.cells import Reading

__all__ = ["About"]

BOUNDS = ("_min", "_max")


@dataclass(frozen=True)
class About:
    """A release's manifest and policy, each of which may be missing."""

    policy: Policy
    manifest: Mapping[str, Any] | None = None
    columns: tuple[str, ...] = ()
    """Names of the release's columns."""
    kinds: Mapping[str, Any] = field(init=False)
    settings: Mapping[str, Any] = field(init=False)
    """The policy as the manifest tells it: trees and orders are hashes there."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", self._table("kinds"))
        object.__setattr__(self, "settings", self._table("policy"))

    def _table(self, *path: str) -> Mapping[str, Any]:
        part: Any = self.manifest or {}
        for name in path:
            part = part.get(name, {})
            if not isinstance(part, Mapping):
                raise InputError(f"the manifest's {name!r} is no table; is it damaged?")
        return cast("Mapping[str, Any]", part)

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that mean a missing value; a release always writes an empty cell."""
        declared = self.settings.get("missing", ())
        return tuple(dict.fromkeys(("", *map(str, declared), *self.policy.missing)))

    @property
    def csv_safe(self) -> bool:
        return self.policy.csv_safe or bool(self.settings.get("csv_safe"))

    @property
    def has_stars(self) -> bool:
        """Whether any cell may be suppressed: the manifest counts them."""
        return self._table("loss").get("stars") != 0

    def pair(self, name: str) -> tuple[str, str] | None:
        """The two columns of an attribute in the bounds layout; None if it is one column."""
        low, high = (name + end for end in BOUNDS)
        split = name not in self.columns and {low, high} <= set(self.columns)
        return (low, high) if split else None

    def names(self) -> list[str]:
        """What can be asked for: the columns, and attributes that are two columns."""
        pairs = [name.removesuffix(BOUNDS[0]) for name in self.columns]
        return [*self.columns, *(name for name in pairs if self.pair(name))]

    def declared(self) -> list[str]:
        """Names that manifest and policy give: a file without a header has records for names."""
        told = self._table("release").get("columns")
        named = [str(name) for name in told] if isinstance(told, list) else []
        pairs = [name.removesuffix(BOUNDS[0]) for name in named if name.endswith(BOUNDS[0])]
        return [*named, *pairs, *self.policy.qi]

    def generalised(self, name: str) -> bool | None:
        """Whether a column's cells are to be parsed; None if nobody says."""
        published = self._table("release").get("qi")
        if isinstance(published, list):
            return name in published or any(name + end in published for end in BOUNDS)
        return name in self.policy.qi if self.policy.qi else None

    def reading(self, name: str, guess: Reading) -> Reading:
        """How to read a column's cells; `guess` from their looks where nothing is declared."""
        kind = self.kind(name) or guess.kind
        notation = self.notation(name) or guess.notation
        if not guess.generalised:
            return Reading(kind, False, order=self.policy.order.get(name), notation=notation)
        tree, labels = self._tree(name)
        if self._is_tree_of_intervals(name):  # its labels speak for themselves
            kind, tree, labels = "numeric", None, False
        order = self.policy.order.get(name)
        hidden = order is None and name in self._table("policy", "order")
        return Reading(kind, True, tree, labels, order, hidden, notation)

    def notation(self, name: str) -> str | None:
        """How its dates and numbers are written; None: plainly, or nobody says."""
        told = self.policy.notation.get(name) or self._table("policy", "notation").get(name)
        if told is not None and told not in NOTATIONS:
            raise InputError(
                f"the manifest gives column {name!r} an unknown notation; is it damaged?"
            )
        return told

    def kind(self, name: str) -> Kind | None:
        """The declared kind of a column; None if nobody says."""
        if name in self.policy.kind:
            return self.policy.kind[name]
        if name in self.policy.order:
            return "ordinal"
        if name in self.policy.hierarchy:
            return "categorical"
        kind = self.kinds.get(name)
        if kind is not None and kind not in KINDS:
            raise InputError(f"the manifest gives column {name!r} an unknown kind; is it damaged?")
        return cast("Kind | None", kind)

    def _is_tree_of_intervals(self, name: str) -> bool:
        spec = self.policy.hierarchy.get(name)
        if spec is not None:
            return isinstance(spec, dict) and "intervals" in spec
        return self._source(name) == "intervals"

    def _source(self, name: str) -> str | None:
        """What the manifest says the column's hierarchy was made from; None without one."""
        told = self._table("policy", "hierarchy").get(name)
        return str(told.get("from")) if isinstance(told, Mapping) else None

    def _tree(self, name: str) -> tuple[Hierarchy | None, bool]:
        """The column's tree, and whether there are labels whose tree is not at hand."""
        spec = self.policy.hierarchy.get(name)
        if spec is None:
            return None, self._source(name) not in {None, "flat"}
        if spec == "flat":
            return None, False
        tree = _whole_tree(spec, name, self.policy.base)
        return tree, tree is None


def _whole_tree(spec: str | dict[str, Any], column: str, base: Path) -> Hierarchy | None:
    """The tree with all its leaves; None where they follow from values only the publisher has."""
    if isinstance(spec, str):
        return Hierarchy.from_arx_csv(base / spec)
    if "tree" in spec:
        return Hierarchy.from_tree(spec["tree"], str(spec.get("root", "*")), f"tree of {column!r}")
    if isinstance(spec.get("groups"), Mapping) and "other" not in spec:
        values = [str(value) for group in spec["groups"].values() for value in group]
        return hierarchy_from_spec(spec, values, column, base)
    return None
