"""Which nodes of a tree become butterflies: chosen from the leaves up.

Every node is either one butterfly or keeps those of its children. Cells too
small to stand alone are carried up until they are enough for a butterfly of
their own: they need not coarsen their large neighbours.

What a wing would lose in a node is estimated by runs of k records along the
wing's curve, in time linear in the records. A node whose body alone loses as
much as its children is not looked at: most large ones are not.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.butterfly.tree import cells_loss
from shoal.kernels.costs import SET, Costs, range_loss
from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import inner_kernel, kernel

CHILDREN = 0
OWN = 1
CARRIED = 2

LESS = 1 - 1e-9
"""What is less by rounding alone does not pay."""


class Wings(NamedTuple):
    """The private attributes of all readers, one wing after the other."""

    costs: Costs
    first: np.ndarray  # int64 (V+1,): attributes of wing v are first[v]..first[v+1]-1
    codes: np.ndarray  # int32 (P, n): of the records along the wing's own curve
    k: np.ndarray  # int64 (V,)
    alone: np.ndarray  # uint32 (V, n): places on the curve, cell by cell in tree order, ascending
    ranks: np.ndarray  # uint32 (V, n): the same, ascending in ever larger nodes
    start: np.ndarray  # int64 (M+1,): where the records of a cell begin, in tree order
    rows: np.ndarray  # int64 (n,): records, cell by cell in tree order; empty if sizes decide
    seen: np.ndarray  # int64 (sum of sizes,): stamp of the last run that met the value
    stamp: np.ndarray  # int64 (1,)


class Choice(NamedTuple):
    """What was chosen for the nodes, and which cells are carried up: linked lists of places."""

    loss: np.ndarray  # float64 (nodes,): of all butterflies below the node
    kind: np.ndarray  # int64 (nodes,)
    formed: np.ndarray  # int64 (nodes,): first cell of the butterfly of carried cells, or -1
    head: np.ndarray  # int64 (nodes,): first carried cell, or -1
    tail: np.ndarray  # int64 (nodes,)
    carried: np.ndarray  # int64 (nodes,): records carried
    following: np.ndarray  # int64 (M,): next cell of a list, or -1
    ready: np.ndarray  # bool (nodes,): the ranks of the node are ascending


def new_choice(nodes, cells):
    """Room for what is chosen."""
    whole = [np.full(nodes, -1, dtype=np.int64) for _ in range(5)]
    following = np.full(cells, -1, dtype=np.int64)
    return Choice(np.zeros(nodes), *whole, following, np.zeros(nodes, dtype=np.bool_))


@inner_kernel
def _run_loss(wings, row, ranks, k):
    """Loss of one attribute in runs of k, the last one longer, summed over the records."""
    codes = wings.codes[row]
    total = 0.0
    runs = max(1, len(ranks) // k)
    for run in range(runs):
        begin = run * k
        end = begin + k if run < runs - 1 else len(ranks)
        lo = codes[ranks[begin]]
        hi = lo
        for i in range(begin + 1, end):
            code = codes[ranks[i]]
            lo = min(lo, code)
            hi = max(hi, code)
        if wings.costs.form[row] != SET:
            total += (end - begin) * range_loss(wings.costs, row, lo, hi)
            continue
        if lo == hi:
            continue
        wings.stamp[0] += 1
        distinct = 0
        for i in range(begin, end):
            value = wings.costs.start[row] + codes[ranks[i]]
            distinct += wings.seen[value] != wings.stamp[0]
            wings.seen[value] = wings.stamp[0]
        total += (end - begin) * distinct / wings.costs.size[row]
    return total * wings.costs.weight[row]


@inner_kernel
def wing_loss(wings, v, ranks):
    """Estimated loss of one wing on records in ascending order of their ranks."""
    total = 0.0
    for row in range(wings.first[v], wings.first[v + 1]):
        total += _run_loss(wings, row, ranks, wings.k[v])
    return total


@inner_kernel
def _merge(ranks, middle, spare):
    """Make one ascending sequence of two neighbouring ones."""
    spare[:middle] = ranks[:middle]
    i, j, out = 0, middle, 0
    while i < middle:
        if j < len(ranks) and ranks[j] < spare[i]:
            ranks[out] = ranks[j]
            j += 1
        else:
            ranks[out] = spare[i]
            i += 1
        out += 1


@inner_kernel
def _make_ready(tree, wings, choice, node, spare):
    """Bring the ranks of a node into ascending order, whatever its children's are in."""
    begin, end = wings.start[tree.begin[node]], wings.start[tree.end[node]]
    right = tree.right[node]
    halves = right > 0 and choice.ready[node + 1] and choice.ready[right]
    for v in range(len(wings.k)):
        if halves:
            middle = wings.start[tree.begin[right]]
            _merge(wings.ranks[v, begin:end], middle - begin, spare)
        elif tree.end[node] - tree.begin[node] > 1:
            wings.ranks[v, begin:end] = np.sort(wings.ranks[v, begin:end])
    choice.ready[node] = True


@inner_kernel
def _may_be(check, wings, weight, begin, end):
    """Whether the records of neighbouring cells may be a class."""
    if weight < check.rules.smallest:
        return False
    if check.sizes_only:
        return True
    reset(check.tally)
    for i in range(begin, end):
        add(check.tally, check.records, wings.rows[i])
    return tally_holds(check)


@inner_kernel
def _list_may_be(check, wings, choice, node):
    """Whether the cells that a node carries may be a class."""
    if choice.carried[node] < check.rules.smallest:
        return False
    if check.sizes_only:
        return True
    reset(check.tally)
    place = choice.head[node]
    while place >= 0:
        for i in range(wings.start[place], wings.start[place + 1]):
            add(check.tally, check.records, wings.rows[i])
        place = choice.following[place]
    return tally_holds(check)


@inner_kernel
def _list_cells(tree, choice, node, cells):
    """Write the cells that a node carries; returns how many."""
    count = 0
    place = choice.head[node]
    while place >= 0:
        cells[count] = tree.order[place]
        count += 1
        place = choice.following[place]
    return count


@inner_kernel
def _list_ranks(wings, choice, node, v, spare):
    """Write the ranks of the records that a node carries, ascending; returns how many."""
    count = 0
    place = choice.head[node]
    while place >= 0:
        for i in range(wings.start[place], wings.start[place + 1]):
            spare[count] = wings.alone[v, i]
            count += 1
        place = choice.following[place]
    spare[:count] = np.sort(spare[:count])
    return count


@inner_kernel
def _drop_carried(choice, node):
    choice.head[node], choice.tail[node], choice.carried[node] = -1, -1, 0


@inner_kernel
def _carry_all(tree, choice, node):
    """Carry every cell of a leaf."""
    begin, end = tree.begin[node], tree.end[node]
    for place in range(begin, end):
        choice.following[place] = place + 1 if place + 1 < end else -1
    choice.head[node], choice.tail[node] = begin, end - 1
    choice.carried[node] = tree.weight[node]
    choice.kind[node], choice.loss[node] = CARRIED, 0.0


@inner_kernel
def _carry_both(choice, node, right):
    """What both children carry is carried by their parent."""
    left = node + 1
    choice.kind[node] = CHILDREN
    choice.loss[node] = choice.loss[left] + choice.loss[right]
    choice.carried[node] = choice.carried[left] + choice.carried[right]
    first = left if choice.head[left] >= 0 else right
    choice.head[node], choice.tail[node] = choice.head[first], choice.tail[first]
    if first == left and choice.head[right] >= 0:
        choice.following[choice.tail[left]] = choice.head[right]
        choice.tail[node] = choice.tail[right]


@inner_kernel
def _own_loss(tree, wings, choice, node, spare):
    """Loss of the node as one butterfly."""
    _make_ready(tree, wings, choice, node, spare)
    begin, end = wings.start[tree.begin[node]], wings.start[tree.end[node]]
    loss = tree.loss[node]
    for v in range(len(wings.k)):
        loss += wing_loss(wings, v, wings.ranks[v, begin:end])
    return loss


@kernel
def choose(tree, nodes, cells, costs, wings, check, worst, choice):
    """Choose butterflies for all nodes; ``worst`` is the most that a record can lose.

    Returns the place of the first cell that the root still carries, or -1.
    """
    spare = np.empty(wings.start[-1], np.uint32)
    part = np.empty(len(tree.order), np.int64)
    low, high = np.empty(len(cells.codes), np.int32), np.empty(len(cells.codes), np.int32)
    seen, stamp = np.zeros(costs.size.sum(), np.int64), np.zeros(1, np.int64)
    for node in range(nodes - 1, -1, -1):
        begin, end = wings.start[tree.begin[node]], wings.start[tree.end[node]]
        right = tree.right[node]
        if right == 0:
            choice.ready[node] = tree.end[node] - tree.begin[node] == 1
            if not _may_be(check, wings, tree.weight[node], begin, end):
                _carry_all(tree, choice, node)
                continue
            _drop_carried(choice, node)
            choice.kind[node] = OWN
            choice.loss[node] = _own_loss(tree, wings, choice, node, spare)
            continue
        _carry_both(choice, node, right)
        if _list_may_be(check, wings, choice, node):
            count = _list_cells(tree, choice, node, part)
            ncp = cells_loss(costs, cells, part[:count], low, high, seen, stamp)
            choice.loss[node] += choice.carried[node] * ncp
            for v in range(len(wings.k)):
                records = _list_ranks(wings, choice, node, v, spare)
                choice.loss[node] += wing_loss(wings, v, spare[:records])
            choice.formed[node] = choice.head[node]
            _drop_carried(choice, node)
        limit = choice.loss[node] + worst * choice.carried[node]
        if tree.loss[node] < limit and _may_be(check, wings, tree.weight[node], begin, end):
            own = _own_loss(tree, wings, choice, node, spare)
            if own < limit * LESS:
                choice.loss[node], choice.kind[node] = own, OWN
                _drop_carried(choice, node)
    return choice.head[0]


@kernel
def assign(tree, choice, group):
    """Number the butterflies: ``group[cell]``, -1 where a cell is left over. How many."""
    group[:] = -1
    stack = np.empty(len(tree.order) + 1, np.int64)
    stack[0] = 0
    top, count = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        if choice.kind[node] == OWN:
            for place in range(tree.begin[node], tree.end[node]):
                group[tree.order[place]] = count
            count += 1
        if choice.kind[node] != CHILDREN:
            continue
        place = choice.formed[node]
        if place >= 0:
            while place >= 0:
                group[tree.order[place]] = count
                place = choice.following[place]
            count += 1
        stack[top] = tree.right[node]
        stack[top + 1] = node + 1
        top += 2
    return count
