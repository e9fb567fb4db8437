"""Groups of records with different sensitive values, drawn from the largest buckets.

A bucket holds the records of one sensitive value. Taking one record from each
of the l largest buckets, again and again, leaves at most l - 1 records over if
the table is eligible (Xiao & Tao, VLDB 2006, section 5).
"""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel


@inner_kernel
def _larger(left, a, b):
    """Whether bucket a comes before bucket b: more records left, then the lower value."""
    return left[a] > left[b] or (left[a] == left[b] and a < b)


@inner_kernel
def _sift_down(heap, size, left, i):
    while True:
        top = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < size and _larger(left, heap[child], heap[top]):
                top = child
        if top == i:
            return
        heap[i], heap[top] = heap[top], heap[i]
        i = top


@inner_kernel
def _sift_up(heap, left, i):
    while i > 0 and _larger(left, heap[i], heap[(i - 1) // 2]):
        parent = (i - 1) // 2
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent


@kernel
def draw_groups(records, starts, diversity, groups):
    """Give each record a group of l records with l different values.

    Parameters
    ----------
    records, starts
        CSR: the records of value v are ``records[starts[v]:starts[v+1]]``, in
        the order in which they are drawn.
    diversity : int
        The l of the groups.
    groups : int64 (n,)
        Filled with group numbers; -1 marks the residual records.

    Returns
    -------
    int
        The number of groups.
    """
    m = len(starts) - 1
    left = np.empty(m, dtype=np.int64)
    heap = np.empty(m, dtype=np.int64)
    size = 0
    for v in range(m):
        left[v] = starts[v + 1] - starts[v]
        if left[v] > 0:
            heap[size] = v
            size += 1
            _sift_up(heap, left, size - 1)
    taken = np.empty(diversity, dtype=np.int64)
    count = 0
    while size >= diversity:
        for i in range(diversity):  # the l largest buckets leave the heap ...
            taken[i] = heap[0]
            size -= 1
            heap[0] = heap[size]
            _sift_down(heap, size, left, 0)
        for i in range(diversity):  # ... give one record each, and return if any are left
            v = taken[i]
            left[v] -= 1
            groups[records[starts[v] + left[v]]] = count
            if left[v] > 0:
                heap[size] = v
                size += 1
                _sift_up(heap, left, size - 1)
        count += 1
    for i in range(size):
        v = heap[i]
        for j in range(left[v]):
            groups[records[starts[v] + j]] = -1
    return count
