"""Groups along a line of which the widest is as narrow as can be: equation 3 of paper 004.

For groups of at least k neighbours that is a dynamic programme like that of
`shoal.kernels.dp`, with the largest extent in the place of the sum.

For groups of l or more different values the paper's section 4.1 gives the shape of an
optimum. Let no extent be above w. Every group lies in the window of width w that begins at
its first record; order the groups by where their windows begin. Two records of one value
whose groups lie in the other order can be exchanged: each is in the window of the other's
group, because the windows are equally wide. So some optimum takes the records of every value
in the order of its groups, and its first group has the first record of the line. A state is
how many records of each value are taken; the next group has the first record that is left,
and of other values the first that is left or none. Groups of 2l records or more can be
divided (the paper's Lemma 2).

Of the groups with the least widest extent those with the least sum of size times extent are
taken: a second pass over the same states, with groups that are too wide left out.
"""

# ruff: noqa: E741  (l is the word for it)

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

NEVER = np.inf


@kernel
def narrow_prefixes(spot, k, limit, least, size):
    """Cheapest cut of the first 0..n records, and the size of the last group of each.

    With an infinite `limit` the cost is the largest extent, else the sum of size times
    extent over groups within it. ``least`` and ``size`` have n + 1 entries.
    """
    least[:] = NEVER
    least[0] = 0.0
    for end in range(k, len(least)):
        for s in range(k, min(2 * k - 1, end) + 1):
            extent = spot[end - 1] - spot[end - s]
            before = least[end - s]
            cost = before + s * extent if limit < NEVER else max(before, extent)
            if extent <= limit and cost < least[end]:
                least[end] = cost
                size[end] = s


def narrow_offsets(spot, k):
    """Offsets of the cut into groups of k..2k-1 (all, if n < 2k) whose widest is narrowest."""
    n = len(spot)
    if n < 2 * k:
        return np.array([0, n], dtype=np.int64)
    least, size = np.empty(n + 1), np.zeros(n + 1, dtype=np.int64)
    narrow_prefixes(spot, k, NEVER, least, size)
    narrow_prefixes(spot, k, least[n], least, size)
    ends = [n]
    while ends[-1] > 0:
        ends.append(ends[-1] - int(size[ends[-1]]))
    return np.array(ends[::-1], dtype=np.int64)


def cases(counts):
    """States times choices of a table with so many records of each value."""
    return int(np.prod([int(c) + 1 for c in counts], dtype=object)) << max(0, len(counts) - 1)


@inner_kernel
def _front(state, stride, start, place, front):
    """The first untaken record of each value that has one, and its value, by place: how many."""
    found = 0
    for value in range(len(stride)):
        count = start[value + 1] - start[value]
        record = start[value] + state // stride[value] % (count + 1)
        if record == start[value + 1]:
            continue
        at = found
        while at > 0 and place[front[at - 1, 0]] > place[record]:
            front[at, 0], front[at, 1] = front[at - 1, 0], front[at - 1, 1]
            at -= 1
        front[at, 0], front[at, 1] = record, value
        found += 1
    return found


@kernel
def narrow_states(place, start, stride, l, limit, least, choice, front):
    """Least cost of what is left in every state, and the next group of each, as bits of values.

    ``place[start[v]:start[v + 1]]`` are the places of the records of value v, ascending;
    ``front`` (m, 2) is scratch. The cost is as in `narrow_prefixes`.
    """
    least[:] = NEVER
    least[-1] = 0.0
    for state in range(len(least) - 2, -1, -1):
        found = _front(state, stride, start, place, front)
        first = place[front[0, 0]]
        for others in range(1 << (found - 1)):
            after, bits, members, last = state + stride[front[0, 1]], 1 << front[0, 1], 1, first
            for i in range(1, found):
                if others >> (i - 1) & 1:
                    after += stride[front[i, 1]]
                    bits |= 1 << front[i, 1]
                    members += 1
                    last = place[front[i, 0]]
            if members < l or members >= 2 * l or last - first > limit:
                continue
            extent = last - first
            rest = least[after]
            cost = rest + members * extent if limit < NEVER else max(rest, extent)
            if cost < least[state]:
                least[state] = cost
                choice[state] = bits


def narrow_groups(value, values, l, spot):
    """Places and offsets of groups of l or more different values, the widest narrowest.

    Parameters
    ----------
    value, values
        Value of each record along the line, and how many there may be.
    l
        Fewest different values of a group; the line must be l-eligible.
    spot
        Ascending place of each record on the line.
    """
    present, codes = np.unique(value, return_inverse=True)
    by_value = np.argsort(codes, kind="stable").astype(np.int64)
    counts = np.bincount(codes, minlength=len(present))
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    stride = np.concatenate([[1], np.cumprod(counts + 1)]).astype(np.int64)
    place = spot[by_value].astype(np.float64)
    least, choice = np.empty(stride[-1]), np.zeros(stride[-1], dtype=np.int64)
    front = np.zeros((len(present), 2), dtype=np.int64)
    states = (place, start, stride[:-1], l)
    narrow_states(*states, NEVER, least, choice, front)
    widest = least[0]
    assert widest < NEVER, "an eligible line has groups"
    narrow_states(*states, widest, least, choice, front)
    places, offsets, state = [], [0], 0
    taken = np.zeros(len(present), dtype=np.int64)
    while state < len(least) - 1:
        members = [v for v in range(len(present)) if choice[state] >> v & 1]
        places += [int(by_value[start[v] + taken[v]]) for v in members]
        taken[members] += 1
        state += int(stride[members].sum())
        offsets.append(len(places))
    return np.array(places, dtype=np.int64), np.array(offsets, dtype=np.int64)
