"""How many people can be in each class: weights of points inside boxes that may overlap.

The dual of `shoal.kernels.boxes.add_overlapping`, on the same tree: a node that lies
wholly in a box counts with the sum of its weights, without a look at its points.
"""

import numpy as np

from shoal.kernels.boxes import DEPTH, PARTLY, WITHIN, build, relation
from shoal.kernels.jit import kernel


@kernel
def build_tree(tree, points):
    """The tree of all points, which must all be of one value."""
    return build(tree, points, 0)


@kernel
def count_within(tree, points, weight, before, boxes, first, beyond, counts):
    """Sum of the weights of the points in each of the boxes first..beyond-1.

    ``before[i]`` is the sum of the weights of the points ``tree.order[:i]``. Boxes are
    independent of each other: threads may share all arrays.
    """
    stack = np.empty(2 * DEPTH, dtype=np.int64)
    for box in range(first, beyond):
        total = before[0]
        stack[0] = 0
        top = 0
        while top >= 0:
            node = stack[top]
            top -= 1
            found = relation(boxes, box, tree.low[node], tree.high[node])
            if found == WITHIN:
                total += before[tree.end[node]] - before[tree.begin[node]]
            elif found == PARTLY and tree.child[node]:
                stack[top + 1] = tree.child[node]
                stack[top + 2] = tree.child[node] + 1
                top += 2
            elif found == PARTLY:
                for i in range(tree.begin[node], tree.end[node]):
                    point = tree.order[i]
                    if relation(boxes, box, points.codes[point], points.codes[point]) == WITHIN:
                        total += weight[point]
        counts[box] = total
