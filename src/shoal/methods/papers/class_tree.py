"""A binary hierarchy over the classes of any method: paper 003, section 4.2.2.

"In case the ECs are computed by other algorithms, the hierarchy can be easily constructed
through a binary clustering of all the ECs": a binary R-tree, loaded from above. Classes are
divided at the median of the attribute in which the middles of their boxes lie farthest
apart, and each half again, until a class is alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition, extents
from shoal.kernels.butterfly.tree import Tree, new_tree

__all__ = ["tree_over"]


def tree_over(table: EncodedTable, classes: Partition) -> tuple[Tree, int]:
    """The tree whose leaves are the classes, and its number of nodes."""
    middles = _middles(table, classes)
    tree = new_tree(table.n)
    nodes = placed = 0
    waiting: list[tuple[NDArray[np.int64], int | None]] = [(np.arange(classes.groups), None)]
    while waiting:
        some, parent = waiting.pop()
        node, nodes = nodes, nodes + 1
        if parent is not None:
            tree.right[parent] = node
        size = int(classes.sizes[some].sum())
        tree.begin[node], tree.end[node], tree.right[node] = placed, placed + size, 0
        if len(some) == 1:
            begin, end = classes.offsets[some[0]], classes.offsets[some[0] + 1]
            tree.order[placed : placed + size] = classes.order[begin:end]
            placed += size
            continue
        left, right = _halves(middles, some)
        # in preorder the left child is next, the right one when all below the left is done
        waiting += [(right, node), (left, None)]
    return tree, nodes


def _middles(table: EncodedTable, classes: Partition) -> NDArray[np.float64]:
    """Middle of the box of each class, an axis as long as its attribute weighs: (d, classes)."""
    middles = np.zeros((len(table.qi), classes.groups))
    for a, attribute in enumerate(table.qi):
        low, high = extents(table.codes[a], classes, None)
        place = attribute.coordinate * attribute.weight
        middles[a] = (place[low] + place[high]) / 2
    return middles


def _halves(
    middles: NDArray[np.float64], some: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    there = middles[:, some]
    widest = int(np.argmax(np.ptp(there, axis=1))) if len(there) else 0
    along = np.argsort(there[widest], kind="stable") if len(there) else np.arange(len(some))
    middle = len(some) // 2
    return some[along[:middle]], some[along[middle:]]
