"""Groups of records that differ in every column, by going through all ways to make them.

With three columns or more it is NP-hard to say whether there are such groups. Records take
a group one after the other, first whoever has the fewest groups to choose from; where
nobody can go on, the last choice is taken back. What a number of steps does not find is
unknown; what ends before has gone through all there is.
"""

# ruff: noqa: E741  (l is the word for it)

from shoal.kernels.jit import inner_kernel, kernel

NONE = -1
FOUND, IMPOSSIBLE, WEARY = 1, 0, -1


@kernel
def conflicts_of(codes, conflict):
    """Fill ``conflict``, bool (n, n): whether two records have a value in common."""
    for a in range(codes.shape[1]):
        for b in range(codes.shape[1]):
            for s in range(len(codes)):
                if codes[s, a] == codes[s, b]:
                    conflict[a, b] = True


@inner_kernel
def _join(conflict, of, size, barred, row, group, step):
    """A record joins a group (step 1), or leaves it (step -1)."""
    of[row] = group if step > 0 else NONE
    size[group] += step
    for other in range(len(of)):
        if conflict[row, other]:
            barred[other, group] += step


@inner_kernel
def _hardest(of, barred, rank, used):
    """Who has the fewest groups to choose from, empty ones counted as one; the next by rank."""
    found, fewest = NONE, 0
    for row in range(len(of)):
        if of[row] != NONE:
            continue
        free = 0
        for group in range(used):
            if barred[row, group] == 0:
                free += 1
        if found == NONE or free < fewest or (free == fewest and rank[row] < rank[found]):
            found, fewest = row, free
    return found


@inner_kernel
def _next_group(of, size, barred, row, after, l, used):
    """The next group after one that a record may join, so that all can still be filled."""
    left = 0
    for other in range(len(of)):
        left += of[other] == NONE
    lacking = 0
    for group in range(len(size)):
        lacking += max(0, l - size[group])
    for group in range(after + 1, min(used + 1, len(size))):
        if barred[row, group] == 0 and (size[group] < l or left > lacking):
            return group
    return NONE


@kernel
def differing_groups(conflict, l, rank, steps, of, size, barred, path):
    """Put all records into ``len(size)`` groups of at least l; whether it worked.

    ``of``, int64 (n,), all NONE, is filled with groups; ``size`` and ``barred``, int64 (G,)
    and (n, G), are zeros, ``path``, int64 (n,), scratch. ``rank`` breaks ties.
    """
    depth = 0
    after = NONE
    if l * len(size) > len(of):
        return IMPOSSIBLE
    used = 0  # groups 0..used-1 have members: the others are all alike
    row = _hardest(of, barred, rank, min(used + 1, len(size)))
    while True:
        steps -= 1
        if steps < 0:
            return WEARY
        group = _next_group(of, size, barred, row, after, l, used)
        if group != NONE:
            _join(conflict, of, size, barred, row, group, 1)
            used = max(used, group + 1)
            path[depth] = row
            depth += 1
            if depth == len(of):
                return FOUND
            row = _hardest(of, barred, rank, min(used + 1, len(size)))
            after = NONE
            continue
        if depth == 0:
            return IMPOSSIBLE
        depth -= 1
        row = path[depth]
        after = of[row]
        _join(conflict, of, size, barred, row, after, -1)
        while used > 0 and size[used - 1] == 0:
            used -= 1
