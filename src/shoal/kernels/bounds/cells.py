"""All cells of a table: products of one node of every attribute with enough records in them.

A *node* of an attribute is what a group can be published as: a value, a node of its tree, a
range, a set of values. Attributes are taken one after the other, and of the members of a
node so far those stay that are in a node of the next one. A part is dropped with all that
would come of it where it

- has too few records for a group,
- is not spanned by its members: a smaller node holds them all, at no higher price,
- costs more than any group of its members can weigh, by what weights are at most.

One attribute, the scanned one, has no nodes: members lie in the order of its codes, and
whoever reads a cell looks at the ranges of these himself.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel


class Nodes(NamedTuple):
    """The nodes of all attributes but the scanned one, attribute after attribute."""

    start: np.ndarray  # int64 (d + 1,): where the nodes of each attribute begin
    price: np.ndarray  # int64 (nodes,): of each record, rounded down
    low: np.ndarray  # int32 (nodes,): least code; of a set its bits, see `mask`
    high: np.ndarray  # int32 (nodes,): largest code
    mask: np.ndarray  # uint64 (nodes,): values of a set; 0: all codes from low to high
    closed: np.ndarray  # int8 (nodes,): whether members have to span it
    gap_start: np.ndarray  # int64 (d + 1,): where each attribute begins in `closure`
    size: np.ndarray  # int64 (d,): codes; 0: a set
    closure: np.ndarray  # int32: node of the codes lo..hi, at gap_start + lo * size + hi
    code_start: np.ndarray  # int64 (d + 1,): where each attribute begins in `of_code`
    of_code: np.ndarray  # int64 (codes + 1,): where the nodes with a code begin in `with_code`
    with_code: np.ndarray  # int32: nodes with each code, ascending


class Cells(NamedTuple):
    """Cells with their members in the order of the scanned codes."""

    member: np.ndarray  # int32 (pairs,): points
    offset: np.ndarray  # int64 (cells + 1,): where the members of each cell begin
    price: np.ndarray  # int64 (cells,): of all attributes but the scanned one


@kernel
def enumerate_cells(nodes, codes, count, ceiling, size, order, member, offset, price, work):
    """Write down all cells; how many, or -1 if there is no room for them, -2 if out of work.

    ``codes`` (D, d) has no column of the scanned attribute; ``order`` are the points in the
    order of its codes. ``ceiling`` is what each point weighs at most. ``work[0]`` counts
    what was looked at and is to stay below ``work[1]``.
    """
    d = codes.shape[1]
    n = len(order)
    cells = 0
    written = 0
    offset[0] = 0
    most = len(nodes.price)
    # per level: its members, the nodes still to be looked at, and the price so far
    lists = np.empty((d + 1, n), dtype=np.int32)
    length = np.zeros(d + 1, dtype=np.int64)
    spent = np.zeros(d + 1, dtype=np.int64)
    todo = np.empty((d + 1, most), dtype=np.int32)
    left = np.zeros(d + 1, dtype=np.int64)
    chosen = np.zeros(d + 1, dtype=np.int64)
    records = np.zeros(most, dtype=np.int64)
    heap = np.zeros(size, dtype=np.int64)
    for i in range(n):  # a slice would have its errors compiled, which take longer than the rest
        lists[0, i] = order[i]
    length[0] = n
    level = 0
    if d > 0:
        left[0] = _wanted(nodes, codes, count, size, 0, lists[0], n, records, todo[0])
    while level >= 0:
        if level == d:
            m = length[d]
            if cells + 1 >= len(offset) or written + m > len(member):
                return -1
            for i in range(m):
                member[written + i] = lists[d, i]
            written += m
            price[cells] = spent[d]
            cells += 1
            offset[cells] = written
            level -= 1
            continue
        if left[level] == 0:
            level -= 1
            continue
        left[level] -= 1
        node = todo[level, left[level]]
        chosen[level] = node
        work[0] += length[level]
        if work[0] > work[1]:
            return -2
        m = _inside(nodes, codes, level, node, lists[level], length[level], lists[level + 1])
        spent[level + 1] = spent[level] + nodes.price[node]
        if not _spanned(nodes, codes, chosen, level, lists[level + 1], m):
            continue
        if _most(count, ceiling, lists[level + 1], m, size, heap) <= size * spent[level + 1]:
            continue
        length[level + 1] = m
        level += 1
        if level < d:
            left[level] = _wanted(
                nodes, codes, count, size, level, lists[level], m, records, todo[level]
            )
    return cells


@inner_kernel
def _wanted(nodes, codes, count, size, a, members, m, records, todo):
    """Nodes of the attribute with enough records among the members, into `todo`; how many."""
    begin, end = nodes.start[a], nodes.start[a + 1]
    for node in range(begin, end):
        records[node] = 0
    for i in range(m):
        p = members[i]
        at = nodes.code_start[a] + codes[p, a]
        for j in range(nodes.of_code[at], nodes.of_code[at + 1]):
            records[nodes.with_code[j]] += count[p]
    wanted = 0
    for node in range(begin, end):
        if records[node] >= size:
            todo[wanted] = node
            wanted += 1
    return wanted


@inner_kernel
def _inside(nodes, codes, a, node, members, m, into):
    """Members whose code is in the node; how many."""
    kept = 0
    mask = nodes.mask[node]
    if mask:
        for i in range(m):
            p = members[i]
            if mask >> np.uint64(codes[p, a]) & np.uint64(1):
                into[kept] = p
                kept += 1
        return kept
    low, high = nodes.low[node], nodes.high[node]
    for i in range(m):
        p = members[i]
        if low <= codes[p, a] <= high:
            into[kept] = p
            kept += 1
    return kept


@inner_kernel
def _spanned(nodes, codes, chosen, level, members, m):
    """Whether no attribute so far has a smaller node with all members."""
    for a in range(level + 1):
        node = chosen[a]
        if not nodes.closed[node]:
            continue
        if nodes.mask[node]:
            seen = np.uint64(0)
            for i in range(m):
                seen |= np.uint64(1) << np.uint64(codes[members[i], a])
                if seen == nodes.mask[node]:
                    break
            if seen != nodes.mask[node]:
                return False
            continue
        low = high = codes[members[0], a]
        for i in range(1, m):
            code = codes[members[i], a]
            low = min(low, code)
            high = max(high, code)
            if low == nodes.low[node] and high == nodes.high[node]:
                break
        if nodes.closure[nodes.gap_start[a] + low * nodes.size[a] + high] != node:
            return False
    return True


@inner_kernel
def _most(count, weight, members, m, size, heap):
    """What the `size` heaviest records of the members weigh."""
    held = 0
    total = 0
    for i in range(m):
        p = members[i]
        w = weight[p]
        if held == size and w <= heap[0]:
            continue
        for _ in range(count[p]):
            if held < size:
                at = held
                held += 1
                total += w
                while at > 0 and heap[(at - 1) >> 1] > w:
                    heap[at] = heap[(at - 1) >> 1]
                    at = (at - 1) >> 1
                heap[at] = w
            elif w > heap[0]:
                total += w - heap[0]
                at = 0
                while True:
                    child = 2 * at + 1
                    if child >= size:
                        break
                    if child + 1 < size and heap[child + 1] < heap[child]:
                        child += 1
                    if heap[child] >= w:
                        break
                    heap[at] = heap[child]
                    at = child
                heap[at] = w
            else:
                break
    return total
