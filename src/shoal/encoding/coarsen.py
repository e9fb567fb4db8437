"""Coarser values before anything else: an attribute climbs to a level of its hierarchy.

Paper 000, section 5.6: suppression loses nearly everything where attributes
have large domains, so dates become years and postcodes lose their last digits
first. The released values are then nodes of that level, or whatever a method
makes of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SPAN, TREE, Attribute, coordinates
from shoal.errors import PolicyError
from shoal.hierarchy.rows import STAR

__all__ = ["coarsened"]


def coarsened(column: Attribute, level: int) -> tuple[Attribute, NDArray[np.int32]]:
    """The attribute with the nodes of one level of its tree for values, and the node of each code.

    The loss stays that of the original values: a node costs its leaves / |A|
    even where nothing else is mixed with it, and ``*`` costs 1.
    """
    tree = column.hierarchy
    assert tree is not None
    if not 0 <= level <= tree.height:
        raise PolicyError(
            f"coarsen of {column.name!r}: expected a level from 0 to {tree.height}, "
            f"the height of its hierarchy; got {level}"
        )
    if level == 0:
        return column, np.arange(column.size, dtype=np.int32)
    nodes, node_of_leaf = tree.generalize(level)
    missing = int(column.has_missing)
    node_of_code = np.append(node_of_leaf, [len(nodes)] * missing).astype(np.int32)
    starts = np.flatnonzero(np.diff(node_of_leaf, prepend=-1))
    leaves = np.diff(np.append(starts, len(node_of_leaf)))
    says_nothing = np.array([node == STAR for node in nodes])
    alone = np.where(says_nothing, 1.0, np.where(leaves > 1, leaves / column.size, 0.0))
    above = tree.above(level)
    form = TREE if above.height > 1 else SPAN
    # Between two nodes the tree is climbed as between the leaves that border on each other.
    borders = [*(starts[1:] - 1), *([len(node_of_leaf) - 1] * missing)]
    size = len(nodes) + missing
    coarser = replace(
        column,
        labels=[*nodes, *[None] * missing],
        form=form,
        position=np.arange(size, dtype=np.float64),
        coordinate=coordinates(np.arange(len(nodes)) / max(1, len(nodes) - 1), column.has_missing),
        climb=column.climb[borders] if form == TREE else np.zeros(0),
        hierarchy=above,
        values=None,
        floor=np.append(alone, [0.0] * missing),
    )
    return coarser, node_of_code
