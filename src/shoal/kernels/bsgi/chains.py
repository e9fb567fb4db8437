"""Two columns in which the members of a group must differ: then groups always exist.

Let the values of the two columns be the two sides of a bipartite graph, and every
record an edge between its values. A group is a set of edges without a common end,
so grouping is edge colouring, and a value has at most as many records as there are
groups: enough colours (Koenig). What a greedy search leaves over finds its place
along alternating chains: where groups a and b are in each other's way, records that
hang together change from one to the other. The same chains make groups of equal
size (de Werra).
"""

import numpy as np

from shoal.kernels.bsgi.exchange import join_chain, quit_chain
from shoal.kernels.bsgi.index import NOBODY
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel


@inner_borrowed
def _holder(codes, chains, side, value, g):
    """The member of a group that has a value in a column, or NOBODY."""
    member = chains.first[g]
    while member != NOBODY and codes[side, member] != value:
        member = chains.following[member]
    return member


@inner_borrowed
def _length(codes, chains, a, b, side, row):
    """Records of the chain that begins with a member of a, its end in column `side` free in b."""
    length = 0
    while row != NOBODY:
        length += 1
        side = 1 - side
        row = _holder(codes, chains, side, codes[side, row], b)
        a, b = b, a
    return length


@inner_borrowed
def _flip(codes, chains, of, a, b, side, row):
    """The records of that chain change groups."""
    while row != NOBODY:
        side = 1 - side
        following = _holder(codes, chains, side, codes[side, row], b)
        quit_chain(chains, a, row)
        join_chain(chains, b, row)
        of[row] = b
        row = following
        a, b = b, a


@inner_borrowed
def _free(codes, chains, row):
    """The smallest group that has neither value of a record, and one without either; NOBODY."""
    host = NOBODY
    without_first, without_second = NOBODY, NOBODY
    for g in range(len(chains.first)):
        first = _holder(codes, chains, 0, codes[0, row], g) == NOBODY
        second = _holder(codes, chains, 1, codes[1, row], g) == NOBODY
        if first and second and (host == NOBODY or chains.size[g] < chains.size[host]):
            host = g
        if first and without_first == NOBODY:
            without_first = g
        if second and without_second == NOBODY:
            without_second = g
    return host, without_first, without_second


@kernel(**BORROWED)
def place_by_chains(codes, chains, rows, of):
    """Put the records `rows` into groups, however full they get. ``codes`` is int32 (2, n).

    No value may have more records than there are groups.
    """
    for row in rows:
        host, a, b = _free(codes, chains, row)
        if host == NOBODY:  # a lacks the first value, b the second: so shall a
            _flip(codes, chains, of, a, b, 1, _holder(codes, chains, 1, codes[1, row], a))
            host = a
        join_chain(chains, host, row)
        of[row] = host


@kernel(**BORROWED)
def even_out(codes, chains, of):
    """Make the sizes of all groups equal, or one apart."""
    while True:
        a, b = np.argmax(chains.size), np.argmin(chains.size)
        if chains.size[a] < chains.size[b] + 2:
            return
        _lend(codes, chains, of, a, b)


@inner_borrowed
def _lend(codes, chains, of, a, b):
    """Of two groups the larger one gives a record to the other, along a chain of odd length."""
    row = chains.first[a]
    while row != NOBODY:
        for side in range(2):
            if (
                _holder(codes, chains, side, codes[side, row], b) == NOBODY
                and _length(codes, chains, a, b, side, row) % 2 == 1
            ):
                _flip(codes, chains, of, a, b, side, row)
                return
        row = chains.following[row]
