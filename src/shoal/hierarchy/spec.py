"""What a policy may say about a column's hierarchy, and the tree it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError
from shoal.hierarchy import builders
from shoal.hierarchy.tree import Hierarchy

__all__ = ["hierarchy_from_spec"]

_ALLOWED = (
    '"flat", the path of an ARX CSV file, or a table with one of '
    "tree, intervals, prefixes, dates, groups"
)

_BUILDERS: dict[str, tuple[Callable[..., Hierarchy], tuple[str, ...]]] = {
    "intervals": (builders.intervals, ("widths", "breaks", "origin")),
    "prefixes": (builders.prefixes, ("keep",)),
    "dates": (builders.dates, ("levels",)),
}


def hierarchy_from_spec(
    spec: str | Path | Mapping[str, Any] | Hierarchy,
    values: Sequence[str],
    column: str,
    base: Path | str = ".",
) -> Hierarchy:
    """Tree that a policy's ``hierarchy`` entry means, restricted to the column's values.

    Parameters
    ----------
    spec
        ``"flat"``; the path of an ARX CSV file; one of the tables
        ``{"tree": {...}, "root": "*"}``, ``{"intervals": {"widths": [...]}}``,
        ``{"prefixes": {...}}``, ``{"dates": {...}}``,
        ``{"groups": {...}, "other": "label"}``; or a tree.
    values
        The distinct texts of the column.
    column
        Its name, for messages.
    base
        Folder that a relative path starts from: where the policy file is.
    """
    if not values:
        raise HierarchyError(f"column {column!r} has no values: leave its hierarchy out")
    if isinstance(spec, Hierarchy):
        tree = spec
    elif isinstance(spec, (str, Path)):
        tree = _from_text(spec, values, column, Path(base))
    elif isinstance(spec, Mapping):
        tree = _from_table(spec, values, column)
    else:
        raise HierarchyError(
            f"column {column!r}: hierarchy must be {_ALLOWED}; got {type(spec).__name__}"
        )
    return tree.restrict(values, column)


def _from_text(spec: str | Path, values: Iterable[str], column: str, base: Path) -> Hierarchy:
    if spec == "flat":
        return Hierarchy.flat(values, f"flat hierarchy of {column!r}")
    path = base / spec
    try:
        found = path.exists()
    except (OSError, ValueError):  # no name of a file at all: too long, or with a NUL in it
        found = False
    if not found:
        raise HierarchyError(
            f"column {column!r}: hierarchy {str(spec)!r} is no file in {base}; expected {_ALLOWED}"
        )
    return Hierarchy.from_arx_csv(path)


def _from_table(spec: Mapping[str, Any], values: Iterable[str], column: str) -> Hierarchy:
    kinds = [key for key in ("tree", "groups", *_BUILDERS) if key in spec]
    if len(kinds) != 1:
        raise HierarchyError(
            f"column {column!r}: hierarchy must be {_ALLOWED}; got a table with {_names(spec)}"
        )
    kind = kinds[0]
    source = f"{kind} of column {column!r}"
    beside = {"tree": ("root",), "groups": ("other",)}.get(kind, ())
    _only(spec, (kind, *beside), source)
    if kind == "tree":
        return Hierarchy.from_tree(spec["tree"], str(spec.get("root", "*")), source)
    if kind == "groups":
        return builders.groups(values, spec["groups"], spec.get("other"), source)
    build, options = _BUILDERS[kind]
    given = spec[kind]
    if not isinstance(given, Mapping):
        raise HierarchyError(
            f"{source}: expected a table with {' or '.join(options)}, got {type(given).__name__}"
        )
    _only(given, options, source)
    return build(values, **given, source=source)


def _only(given: Mapping[str, Any], allowed: Sequence[str], source: str) -> None:
    unknown = [key for key in given if key not in allowed]
    if unknown:
        raise HierarchyError(
            f"{source}: unknown option {unknown[0]!r}; allowed are {', '.join(allowed)}"
        )


def _names(spec: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, spec)) or "nothing"
