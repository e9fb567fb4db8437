"""A tree, edited node by node: rename, move, put into a new group, take a group away.

A tree is the rows of ARX's format: each value, then what it becomes, level by level, up to the
top, which all rows share. A node is named by a level and a row that passes through it. A value
that stands directly below a higher node repeats itself on the levels between, as in ARX.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import HierarchyError
from shoal.studio.texts import text

__all__ = [
    "Branch",
    "Node",
    "Row",
    "branches",
    "grouped",
    "moved",
    "node_of",
    "removed",
    "renamed",
]

Row = tuple[str, ...]
Node = tuple[int, int]
"""Level and row."""


class Branch:
    """A node as it is shown, with what is below it."""

    def __init__(self, node: Node, rows: Sequence[Row], members: Sequence[int]) -> None:
        self.level, self.row = node
        self.label = rows[self.row][self.level]
        self.below: list[Branch] = []
        self.shown = len(members)
        """Values of it that are listed."""
        self.size = self.shown
        """Values of it in all."""

    @property
    def name(self) -> str:
        """How a form calls it."""
        return f"{self.level}-{self.row}"


def branches(rows: Sequence[Row], sizes: Sequence[Sequence[int]] = ()) -> Branch:
    """The top of a tree, with all below it; `sizes` are values below each node, by row."""
    top = len(rows[0]) - 1

    def branch(level: int, members: list[int]) -> Branch:
        while level and level < top and _alone(rows, level, members):
            level -= 1
        found = Branch((level, members[0]), rows, members)
        if sizes:
            found.size = sizes[members[0]][level]
        if level:
            parts: dict[str, list[int]] = {}
            for row in members:
                parts.setdefault(rows[row][level - 1], []).append(row)
            found.below = [branch(level - 1, part) for part in parts.values()]
        return found

    return branch(top, list(range(len(rows))))


def _alone(rows: Sequence[Row], level: int, members: Sequence[int]) -> bool:
    """Whether a node has but one below it, of its own name: shown as one."""
    return all(rows[row][level - 1] == rows[row][level] for row in members)


def node_of(name: str, rows: Sequence[Row]) -> Node:
    """A node by the name that a form gives.

    Raises
    ------
    HierarchyError
        There is none of it.
    """
    level, _, row = name.partition("-")
    if all(part.isascii() and part.isdecimal() and len(part) < 9 for part in (level, row)):
        node = (int(level), int(row))
        if rows and node[0] < len(rows[0]) and node[1] < len(rows):
            return node
    raise HierarchyError(text("hierarchies.no_node"))


def _members(rows: Sequence[Row], node: Node) -> list[int]:
    level, row = node
    path = rows[row][level:]
    return [place for place, other in enumerate(rows) if other[level:] == path]


def _reach(rows: Sequence[Row], node: Node) -> int:
    """The highest level on which a node still goes by its own name, and alone."""
    level, row = node
    members, top = _members(rows, node), len(rows[0]) - 1
    while level + 1 < top and rows[row][level + 1] == rows[row][level]:
        if len(_members(rows, (level + 1, row))) > len(members):
            break
        level += 1
    return level


def _inner(rows: Sequence[Row], node: Node) -> None:
    if not 0 < node[0] < len(rows[0]) - 1:
        raise HierarchyError(text("hierarchies.only_groups"))


def _named(name: str) -> str:
    name = name.strip()
    if not name:
        raise HierarchyError(text("hierarchies.no_name"))
    return name


def renamed(rows: Sequence[Row], node: Node, name: str) -> list[Row]:
    """The tree in which a group has another name; values keep theirs."""
    _inner(rows, node)
    name, level, last = _named(name), node[0], _reach(rows, node)
    among = set(_members(rows, node))
    return [
        (*row[:level], *[name] * (last - level + 1), *row[last + 1 :]) if place in among else row
        for place, row in enumerate(rows)
    ]


def moved(rows: Sequence[Row], nodes: Sequence[Node], target: Node) -> list[Row]:
    """The tree in which nodes stand directly below another; a group onto its like joins it."""
    if not nodes:
        raise HierarchyError(text("hierarchies.nothing_ticked"))
    into = target[0]
    path = rows[target[1]][into:]
    if into == 0:
        raise HierarchyError(text("hierarchies.into_group"))
    found = list(rows)
    for node in nodes:
        level, label = node[0], rows[node[1]][node[0]]
        if level > into:
            raise HierarchyError(text("hierarchies.into_smaller"))
        kept = min(level + 1, into)
        for place in _members(rows, node):
            found[place] = (*rows[place][:kept], *[label] * (into - kept), *path)
    return _without_empty_levels(found)


def grouped(rows: Sequence[Row], nodes: Sequence[Node], name: str) -> list[Row]:
    """The tree in which nodes make a new group, beside the one that the first was in."""
    if not nodes:
        raise HierarchyError(text("hierarchies.nothing_ticked"))
    name = _named(name)
    level = max(node[0] for node in nodes)
    if level == len(rows[0]) - 1:
        raise HierarchyError(text("hierarchies.only_groups"))
    if any(node[0] < level > _reach(rows, node) for node in nodes):
        raise HierarchyError(text("hierarchies.one_level"))
    found = list(rows)
    if level + 1 == len(rows[0]) - 1:  # no level is left between them and the top
        found = [(*row[:-1], row[-2], row[-1]) for row in rows]
    above = found[nodes[0][1]][level + 2 :]
    for node in nodes:
        for place in _members(rows, node):
            found[place] = (*found[place][: level + 1], name, *above)
    return _without_empty_levels(found)


def removed(rows: Sequence[Row], nodes: Sequence[Node]) -> list[Row]:
    """The tree without some groups: what was in them stands where they stood."""
    if not nodes:
        raise HierarchyError(text("hierarchies.nothing_ticked"))
    found = list(rows)
    for node in sorted(nodes, reverse=True):
        _inner(rows, node)
        level, last = node[0], _reach(rows, node)
        for place in _members(rows, node):
            row = found[place]
            found[place] = (*row[:level], *[row[level - 1]] * (last - level + 1), *row[last + 1 :])
    return _without_empty_levels(found)


def _without_empty_levels(rows: Sequence[Row]) -> list[Row]:
    """Levels on which nothing becomes coarser are left out."""
    top = len(rows[0]) - 1
    kept = [
        level
        for level in range(top + 1)
        if level in {0, top} or any(row[level] != row[level - 1] for row in rows)
    ]
    return [tuple(row[level] for level in kept) for row in rows]
