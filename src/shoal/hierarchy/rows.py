"""Rows ``leaf, parent, ..., root``: where they come from, and that they form a tree."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError, unknown

__all__ = ["NUMBER", "STAR", "Row", "check_tree", "in_tree_order", "read_arx", "tree_rows"]

Row = tuple[str, ...]
STAR = "*"
"""What says nothing: a suppressed value, and usually the root of a tree."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?", re.ASCII)


def check_tree(rows: Sequence[Row], lines: Sequence[int] | None, source: str) -> None:
    """Raise `HierarchyError` unless the rows form one tree.

    ``lines`` holds the line of each row in ``source``, or is None where the
    source has no lines worth naming.
    """
    if not rows:
        raise HierarchyError(f"{source} is empty: expected at least one row leaf;parent;...;root")

    def at(i: int) -> str:
        return "" if lines is None else f" (line {lines[i]})"

    def label(i: int, level: int) -> str:
        """A label of the policy as it is; of a file, which may be the wrong one, its place."""
        if lines is None:
            return repr(rows[i][level])
        return f"line {lines[i]}, column {level % len(rows[i]) + 1}: {unknown([rows[i][level]])}"

    _check_shape(rows, at, source)
    path_of: dict[str, int] = {}
    for i, row in enumerate(rows):
        first = path_of.setdefault(row[0], i)
        if rows[first] != row:
            raise HierarchyError(
                f"{source} lists a leaf twice with different paths"
                + (f": {row[0]!r}" if lines is None else f": lines {lines[first]} and {lines[i]}")
            )
        if row[-1] != rows[0][-1]:
            raise HierarchyError(
                f"{source} has two roots ({label(0, -1)}; {label(i, -1)}): "
                "every row must end with the same label"
            )
    for level in range(1, len(rows[0]) - 1):
        first_of: dict[str, int] = {}
        for i, row in enumerate(rows):
            first = first_of.setdefault(row[level], i)
            if rows[first][level + 1] != row[level + 1]:
                one = repr(row[level]) if lines is None else "one label"
                raise HierarchyError(
                    f"{source} is not a tree: {one} has two parents "
                    f"({label(first, level + 1)}; {label(i, level + 1)})"
                )


def _check_shape(rows: Sequence[Row], at: Any, source: str) -> None:
    width = len(rows[0])
    if width < 2:
        raise HierarchyError(
            f"{source}{at(0)}: expected at least a leaf and a root, got {len(rows[0])} label"
        )
    for i, row in enumerate(rows):
        if len(row) != width:
            raise HierarchyError(
                f"{source}{at(i)}: expected {width} labels as in the first row, got {len(row)}"
            )
        if "" in row[1:]:
            raise HierarchyError(
                f"{source}{at(i)}: label {row.index('', 1) + 1} is empty; only a leaf may be"
            )


def in_tree_order(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows without repeats, every subtree contiguous.

    Siblings stay in order of first appearance. If all leaves are numbers, or
    all are ISO dates, they are put in their natural order first: neighbours
    in value then become neighbours in code, whatever the order of the file.
    """
    distinct = list(dict.fromkeys(rows))
    if all(NUMBER.fullmatch(row[0]) for row in distinct):
        distinct.sort(key=lambda row: Decimal(row[0]))
    elif all(_ISO_DATE.fullmatch(row[0]) for row in distinct):
        distinct.sort(key=lambda row: row[0])
    ranks: list[dict[str, int]] = [{} for _ in distinct[0]]
    for row in distinct:
        for rank, label in zip(ranks, row, strict=True):
            rank.setdefault(label, len(rank))

    def path_from_root(row: Row) -> list[int]:
        return [rank[label] for rank, label in zip(reversed(ranks), reversed(row), strict=True)]

    return tuple(sorted(distinct, key=path_from_root))


def read_arx(path: Path) -> tuple[list[Row], list[int]]:
    """Rows of an ARX hierarchy file and the line each one ends on.

    The separator is ``;``. A file whose first record holds no ``;`` is read
    with ``,``. Blank lines are skipped, labels are taken as they stand.
    """
    text = _read_text(path)
    try:
        sniffed = next(csv.reader(io.StringIO(text, newline=""), delimiter=";"), [])
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=";" if len(sniffed) != 1 else ",", strict=True
        )
        numbered = [(tuple(row), reader.line_num) for row in reader if row]
    except csv.Error as error:
        raise HierarchyError(f"{path} is not a well-formed CSV file: {error}") from None
    return [row for row, _ in numbered], [line for _, line in numbered]


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError(f"hierarchy file {path} does not exist") from None
    except IsADirectoryError:
        raise HierarchyError(f"hierarchy file {path} is a folder, expected a CSV file") from None
    except OSError as error:
        raise HierarchyError(
            f"hierarchy file {path} cannot be read: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"hierarchy file {path} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from None


def tree_rows(tree: Any, root: str, source: str) -> list[Row]:
    """Rows of a nested mapping or list; short paths are padded near the leaf."""
    if not isinstance(tree, (Mapping, list, tuple)):
        raise HierarchyError(
            f"{source}: expected a tree of tables and lists, got {type(tree).__name__}"
        )
    try:
        paths = list(_paths(tree, (root,), source))
    except RecursionError:
        raise HierarchyError(f"{source}: nested too deep to be a tree of values") from None
    height = max(map(len, paths), default=0)
    return [(path[0],) * (height - len(path)) + path for path in paths]


def _paths(node: Any, above: Row, source: str) -> Iterator[Row]:
    if isinstance(node, Mapping):
        for label, below in node.items():
            path = (_label(label, source), *above)
            # a label with nothing below it is a leaf itself
            if below is None or (isinstance(below, (Mapping, list, tuple)) and not below):
                yield path
            else:
                yield from _paths(below, path, source)
    elif isinstance(node, (list, tuple)):
        for item in node:
            yield from _paths(item, above, source)
    else:
        yield (_label(node, source), *above)


def _label(value: Any, source: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        raise HierarchyError(f"{source}: a label is null, expected text, a number or a date")
    return str(value)
