"""The tree itself: leaves in tree order, lowest common ancestors, levels."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import HierarchyError, OutputError, unknown
from shoal.hierarchy.rows import STAR, Row, check_tree, in_tree_order, read_arx, tree_rows

__all__ = ["Hierarchy"]


class Hierarchy:
    """A tree over text leaves, immutable. Make one with a ``from_...`` method or a builder.

    Leaf codes are positions in `leaves`. Leaves are in tree order, so the
    leaves below any node are a range of codes, and the lowest common ancestor
    (LCA) of a set of leaves is that of its smallest and largest code.

    A path that is shorter than the longest one is padded near the leaf, so
    that all rows have the same length and level 0 holds the leaves, level
    `height` the root. A label may repeat along a path (``White;White;*``);
    where one label stands for two nodes, one must contain the other, because
    a published label would mean nothing otherwise.
    """

    def __init__(self, rows: tuple[Row, ...], source: str) -> None:
        """Take rows that are known to be a tree, in tree order; see `from_rows`."""
        self._rows = rows
        self.source = source

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], source: str = "hierarchy") -> Hierarchy:
        """Tree from rows ``leaf, parent, ..., root``, all of the same length.

        Parameters
        ----------
        rows
            One row a leaf. The same row twice is fine.
        source
            What error messages call the hierarchy.

        Raises
        ------
        HierarchyError
            If the rows do not form one tree.
        """
        # a bare text would pass as a row of its characters
        taken = [(row,) if isinstance(row, str) else tuple(map(str, row)) for row in rows]
        return cls._checked(taken, range(1, len(taken) + 1), source)

    @classmethod
    def from_arx_csv(cls, path: str | Path) -> Hierarchy:
        """Tree from an ARX file: ``leaf;parent;...;root`` a line, no header, UTF-8.

        If the first record holds no ``;``, the separator is ``,``.
        """
        rows, lines = read_arx(Path(path))
        return cls._checked(rows, lines, str(path))

    @classmethod
    def from_tree(
        cls, tree: Mapping[str, Any] | Sequence[Any], root: str = STAR, source: str = "tree"
    ) -> Hierarchy:
        """Tree from nested tables and lists, as TOML or YAML give them.

        Keys are inner labels, list items are leaves, and so is a key with
        nothing below it. Leaves may be at different depths.
        """
        return cls._checked(tree_rows(tree, root, source), None, source)

    @classmethod
    def flat(cls, values: Iterable[str], source: str = "flat") -> Hierarchy:
        """The two-level tree: every value directly below the root ``*``."""
        return cls._checked([(value, STAR) for value in sorted(set(values))], None, source)

    @classmethod
    def _checked(cls, rows: Sequence[Row], lines: Sequence[int] | None, source: str) -> Hierarchy:
        check_tree(rows, lines, source)
        hierarchy = cls(in_tree_order(rows), source)
        hierarchy.spans  # noqa: B018  raises where a label stands for two disjoint nodes
        return hierarchy

    # Leaves and levels

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Leaf labels in tree order."""
        return tuple(row[0] for row in self._rows)

    @cached_property
    def codes(self) -> dict[str, int]:
        """Code of each leaf: its position in `leaves`."""
        return {leaf: code for code, leaf in enumerate(self.leaves)}

    @property
    def root(self) -> str:
        return self._rows[0][-1]

    @property
    def height(self) -> int:
        """Steps from a leaf to the root."""
        return self.levels - 1

    @property
    def levels(self) -> int:
        """Number of levels, leaves and root included: 2 for a flat tree."""
        return len(self._rows[0])

    def generalize(self, level: int) -> tuple[list[str], NDArray[np.int32]]:
        """Labels of one level in tree order, and for each leaf the index of its label."""
        if not 0 <= level <= self.height:
            raise HierarchyError(
                f"{self.source}: level must be between 0 and {self.height}, got {level}"
            )
        runs = self._runs[level]
        starts = np.flatnonzero(np.diff(runs, prepend=-1))
        return [self._rows[start][level] for start in starts], runs.copy()

    def above(self, level: int) -> Hierarchy:
        """The tree whose leaves are the nodes of one level, without what is below them."""
        starts = np.flatnonzero(np.diff(self._runs[level], prepend=-1))
        return Hierarchy(tuple(self._rows[start][level:] for start in starts), self.source)

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """First and last leaf code below each label, leaves and root included.

        A label that repeats along a path stands for its widest node.
        """
        spans: dict[str, tuple[int, int]] = {}
        for level in range(self.levels):  # from leaves to root, so wider ones come last
            starts = np.flatnonzero(np.diff(self._runs[level], prepend=-1)).tolist()
            for start, stop in zip(starts, [*starts[1:], len(self._rows)], strict=True):
                label = self._rows[start][level]
                inner = spans.get(label, (start, start))
                if not start <= inner[0] <= inner[1] < stop:
                    raise HierarchyError(
                        f"{self.source}: one label ({unknown([label])}) stands for two nodes, "
                        f"one of them in column {level + 1}; rename one of them"
                    )
                spans[label] = (start, stop - 1)
        return spans

    def restrict(self, values: Collection[str], column: str) -> Hierarchy:
        """The same tree with only the leaves in ``values``; empty inner nodes vanish.

        Raises
        ------
        HierarchyError
            If a value is not a leaf, or if there are no values.
        """
        wanted = set(values)
        strange = wanted.difference(self.codes)
        if strange:
            count = "1 value is" if len(strange) == 1 else f"{len(strange)} values are"
            raise HierarchyError(
                f"column {column!r}: {count} not in hierarchy {self.source}: {unknown(strange)}",
                [place for place, value in enumerate(values) if value in strange],
            )
        if not wanted:
            raise HierarchyError(f"column {column!r} has no values to put into {self.source}")
        if len(wanted) == len(self._rows):
            return self
        return Hierarchy(tuple(row for row in self._rows if row[0] in wanted), self.source)

    # Lowest common ancestors

    def climb(self, extra: int = 0) -> NDArray[np.float64]:
        """Loss of the LCA of each leaf i and leaf i + 1: ``leaves(LCA) / |A|``, of a star 1.

        The loss of any range of codes is the maximum over its neighbours. A node that is
        published as ``*`` says nothing, also where it does not cover a missing value.

        Parameters
        ----------
        extra
            Values of the column that are not leaves but count in |A|: 1 if
            the column has missing values.
        """
        pairs = np.arange(len(self._rows) - 1)
        level = self._meets[0, :-1]
        runs = self._runs[level, pairs]
        counts = np.zeros(len(pairs), dtype=np.int64)
        for k in np.unique(level):
            below = np.bincount(self._runs[k])
            counts[level == k] = below[runs[level == k]]
        says_nothing = [self._rows[i][k] == STAR for i, k in enumerate(level)]
        return np.where(says_nothing, 1.0, counts / float(len(self._rows) + extra))

    def lca_labels(self, lo: ArrayLike, hi: ArrayLike) -> tuple[list[str], NDArray[np.int32]]:
        """Labels of the LCA of many code ranges at once.

        Parameters
        ----------
        lo, hi
            First and last leaf code of each range.

        Returns
        -------
        labels
            The distinct labels that occur.
        index
            For each range, the position of its label in ``labels``.
        """
        first, last = np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64)
        length = last - first
        if first.size and (first.min() < 0 or last.max() >= len(self._rows) or length.min() < 0):
            raise IndexError(f"code ranges must satisfy 0 <= lo <= hi < {len(self._rows)}")
        # the window of length 2**row that starts at lo and the one that ends at hi cover the range
        row = np.frexp(np.maximum(length, 1))[1].astype(np.int64) - 1
        level = np.maximum(self._meets[row, first], self._meets[row, last - (1 << row)])
        labels, label_at = self._label_ids
        ids = label_at[np.where(length == 0, 0, level), first]
        used = np.zeros(len(labels), dtype=np.bool_)
        used[ids] = True
        index = (np.cumsum(used) - 1)[ids].astype(np.int32)
        return [labels[i] for i in np.flatnonzero(used)], index

    @cached_property
    def _label_ids(self) -> tuple[list[str], NDArray[np.int32]]:
        """All distinct labels, and the id of the label of each level and leaf."""
        ids: dict[str, int] = {}
        table = [[ids.setdefault(label, len(ids)) for label in row] for row in self._rows]
        return list(ids), np.ascontiguousarray(np.array(table, dtype=np.int32).T)

    @cached_property
    def _runs(self) -> NDArray[np.int32]:
        """Node number of each level and leaf: nodes of a level counted in tree order."""
        _, label_at = self._label_ids
        changes = label_at[:, 1:] != label_at[:, :-1]
        runs = np.zeros(label_at.shape, dtype=np.int32)
        np.cumsum(changes, axis=1, out=runs[:, 1:])
        return runs

    @cached_property
    def _meets(self) -> NDArray[np.int16]:
        """Sparse table over the level at which leaf i and leaf i + 1 meet.

        Row j holds the maxima of all windows of 2**j pairs. A last column of
        zeros lets a single leaf at the end look itself up.
        """
        count = len(self._rows)
        level = np.zeros(count, dtype=np.int16)
        level[:-1] = np.argmax(self._runs[:, 1:] == self._runs[:, :-1], axis=0)
        rows, width = [level], 1
        while 2 * width < count:
            row = rows[-1].copy()
            row[: count - width] = np.maximum(rows[-1][: count - width], rows[-1][width:])
            rows.append(row)
            width *= 2
        return np.stack(rows)

    # Out again

    def to_rows(self) -> tuple[Row, ...]:
        """Rows ``leaf, parent, ..., root`` in tree order; `from_rows` reads them back."""
        return self._rows

    def to_arx_csv(self, path: str | Path) -> None:
        """Write the tree in ARX's format."""
        # csv leaves a lone \r unquoted on some Python versions, and could not read it back
        odd = any("\r" in label for row in self._rows for label in row)
        try:
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(
                    file,
                    delimiter=";",
                    lineterminator="\n",
                    quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL,
                )
                writer.writerows(self._rows)
        except OSError as error:
            raise OutputError(
                f"cannot write hierarchy to {path}: {error.strerror or error}"
            ) from None

    def digest(self) -> str:
        """SHA-256 of the rows: equal trees have equal digests, whatever file they came from."""
        return hashlib.sha256(json.dumps(self._rows).encode("ascii")).hexdigest()

    def __len__(self) -> int:
        """Return the number of leaves."""
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return f"Hierarchy({self.source!r}, {len(self)} leaves, {self.levels} levels)"
