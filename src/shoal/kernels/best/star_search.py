"""Which attributes of each record are starred: a search over patterns, not over groups.

With stars, a group costs what it stars, however large it is. So a record need
only choose its pattern, the attributes it keeps: all records of one pattern that
agree in what it keeps are a cell, published alike, and every cell has to satisfy
the rules. A step moves a record to a cheaper cell, with partners where the cell
would fail without them; the cell that it leaves is dissolved if it would fail.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import BORROWED, inner_borrowed, kernel
from shoal.kernels.random import below, fraction

NONE = -1
DRAWS = 24
"""Records looked at for one partner."""
LARGEST = 64
"""A cell of more records is not dissolved."""
LONGEST_WALK = 256
"""Records of a cell that are looked at, to find some that it can spare."""


class Cells(NamedTuple):
    """All patterns of all records, and the pattern that each record has now."""

    price: np.ndarray  # float64 (patterns,): what the starred attributes cost
    cell: np.ndarray  # int32 (patterns, n): cell of a record under each pattern
    start: np.ndarray  # int64 (cells + 1,): who could belong to a cell, in `member`
    member: np.ndarray  # int32 (patterns * n,): first those worth asking, up to `middle`
    middle: np.ndarray  # int64 (cells,)
    value: np.ndarray  # int64 (n,): sensitive value
    count: np.ndarray  # int32 (cells, values): of the records that do belong to a cell
    size: np.ndarray  # int64 (cells,)
    now: np.ndarray  # int64 (n,): pattern of each record
    head: np.ndarray  # int32 (cells,): first record that does belong to a cell, or NONE
    next: np.ndarray  # int32 (n,): the next one
    last: np.ndarray  # int32 (n,): the one before


class Asked(NamedTuple):
    """At least `k` records, and of one value at most `share` / `whole` of them."""

    k: int
    share: int
    whole: int


class Trail(NamedTuple):
    """Moves made so far, to be undone if they do not pay."""

    record: np.ndarray  # int64
    pattern: np.ndarray  # int64: the one it came from


@inner_borrowed
def _most(cells, c):
    most = 0
    for v in range(cells.count.shape[1]):
        most = max(most, cells.count[c, v])
    return np.int64(most)


@inner_borrowed
def cell_holds(cells, asked, c):
    """Whether a cell satisfies what is asked, or is empty."""
    size = cells.size[c]
    if size == 0:
        return True
    return size >= asked.k and _most(cells, c) * asked.whole <= size * asked.share


@inner_borrowed
def _leave(cells, record):
    c = cells.cell[cells.now[record], record]
    cells.count[c, cells.value[record]] -= 1
    cells.size[c] -= 1
    before, after = cells.last[record], cells.next[record]
    if before == NONE:
        cells.head[c] = after
    else:
        cells.next[before] = after
    if after != NONE:
        cells.last[after] = before


@inner_borrowed
def _enter(cells, record, pattern):
    c = cells.cell[pattern, record]
    cells.count[c, cells.value[record]] += 1
    cells.size[c] += 1
    first = cells.head[c]
    cells.last[record] = NONE
    cells.next[record] = first
    if first != NONE:
        cells.last[first] = record
    cells.head[c] = record
    cells.now[record] = pattern


@inner_borrowed
def _put(cells, record, pattern):
    """Move a record; gives what it costs more."""
    added = cells.price[pattern] - cells.price[cells.now[record]]
    _leave(cells, record)
    _enter(cells, record, pattern)
    return added


@inner_borrowed
def _move(cells, trail, moves, record, pattern):
    trail.record[moves] = record
    trail.pattern[moves] = cells.now[record]
    return _put(cells, record, pattern)


@inner_borrowed
def _undo(cells, trail, moves):
    for m in range(moves - 1, -1, -1):
        _put(cells, trail.record[m], trail.pattern[m])


@inner_borrowed
def _partner(cells, asked, random, c, pattern, left):
    """The cheapest of some records that could join a cell and help it, or NONE.

    Their own cells do without them, or are the cell `left`, which is dissolved anyway.
    """
    begin = cells.start[c]
    reach = cells.start[c + 1] - begin
    near = cells.middle[c] - begin
    most = _most(cells, c)
    best = np.inf
    found = NONE
    for draw in range(min(DRAWS, 2 * reach)):
        among = near if near > 0 and draw % 3 > 0 else reach
        other = cells.member[begin + below(random, among)]
        old = cells.now[other]
        added = cells.price[pattern] - cells.price[old]
        if old == pattern or added >= best:
            continue
        count = cells.count[c, cells.value[other]] + 1
        if count > most and count * asked.whole > max(asked.k, cells.size[c] + 1) * asked.share:
            continue  # one more of its value than the cell, as large as it will be, can bear
        home = cells.cell[old, other]
        if home != left:
            _put(cells, other, pattern)
            fine = cell_holds(cells, asked, home)
            _put(cells, other, old)
            if not fine:
                continue
        best = added
        found = other
    return found


@inner_borrowed
def _shelter(cells, asked, record):
    """The cheapest pattern under which a record finds a cell that takes it in, or NONE."""
    now = cells.now[record]
    best = np.inf
    found = NONE
    for pattern in range(len(cells.price)):
        if cells.price[pattern] >= best or pattern == now:
            continue
        c = cells.cell[pattern, record]
        if cells.size[c] == 0 and (asked.k > 1 or asked.share < asked.whole):
            continue
        _put(cells, record, pattern)
        if cell_holds(cells, asked, c):
            best = cells.price[pattern]
            found = pattern
        _put(cells, record, now)
    return found


@inner_borrowed
def _dissolve(cells, asked, trail, moves, c):
    """Find another cell for every record of a cell: the moves then made, and what they cost.

    Infinite if one of them finds none.
    """
    added = 0.0
    if cells.size[c] > LARGEST:
        return moves, np.inf
    record = cells.head[c]
    while record != NONE:
        after = cells.next[record]
        shelter = _shelter(cells, asked, record)
        if shelter == NONE or moves == len(trail.record):
            return moves, np.inf
        added += _move(cells, trail, moves, record, shelter)
        moves += 1
        record = after
    return moves, added


@inner_borrowed
def _gather(cells, asked, random, trail, record, pattern):
    """Move a record and the partners it needs: moves and cost, infinite if that fails."""
    old = cells.now[record]
    left = cells.cell[old, record]
    c = cells.cell[pattern, record]
    added = _move(cells, trail, 0, record, pattern)
    moves = 1
    while not cell_holds(cells, asked, c):
        if moves == len(trail.record):
            return moves, np.inf
        other = _partner(cells, asked, random, c, pattern, left)
        if other == NONE:
            return moves, np.inf
        added += _move(cells, trail, moves, other, pattern)
        moves += 1
    if not cell_holds(cells, asked, left):
        moves, more = _dissolve(cells, asked, trail, moves, left)
        added += more
    return moves, added


@inner_borrowed
def _another_pattern(cells, random, old):
    """A random pattern that costs no more than the old one; if there is none at hand, that."""
    for _ in range(32):
        pattern = below(random, len(cells.price))
        if cells.price[pattern] <= cells.price[old]:
            return pattern
    return old


@kernel(**BORROWED)
def search_patterns(cells, asked, trail, random, active, steps, temperature):
    """So many steps that begin at a record of `active`; gives by how much the price fell."""
    gained = 0.0
    for _ in range(steps):
        record = active[below(random, len(active))]
        old = cells.now[record]
        if cells.price[old] == 0.0:
            continue
        pattern = _another_pattern(cells, random, old)
        if pattern == old:
            continue
        moves, added = _gather(cells, asked, random, trail, record, pattern)
        if added <= 0.0 or (
            temperature > 0.0 and added < np.inf and fraction(random) < np.exp(-added / temperature)
        ):
            gained -= added
        else:
            _undo(cells, trail, moves)
    return gained


@kernel
def count_cells(cells):
    """Put every record into the cell of the pattern that it has."""
    for record in range(len(cells.now)):
        _enter(cells, record, cells.now[record])


@inner_borrowed
def _one_star_more(cells, asked, record):
    """A pattern that keeps one attribute less: the one whose cell needs least then."""
    now = cells.now[record]
    found = 0
    least = np.inf
    attribute = 1
    while attribute <= now:
        if now & attribute:
            c = cells.cell[now ^ attribute, record]
            most = max(_most(cells, c), np.int64(cells.count[c, cells.value[record]] + 1))
            needs = max(most * asked.whole / asked.share, asked.k) - cells.size[c] - 1
            if needs < least:
                least = needs
                found = now ^ attribute
        attribute *= 2
    return found


@inner_borrowed
def _send_away(cells, asked, c):
    """Let a cell lose records of the value it has most often, until it holds."""
    while not cell_holds(cells, asked, c):
        record = cells.head[c]
        while record != NONE and not cell_holds(cells, asked, c):
            after = cells.next[record]
            if cells.count[c, cells.value[record]] == _most(cells, c):
                shelter = _shelter(cells, asked, record)
                if shelter == NONE:
                    shelter = _one_star_more(cells, asked, record)
                _put(cells, record, shelter)
            record = after


@inner_borrowed
def _spare(cells, asked, trail, record, c):
    """Move records of another cell to cell c, all stars: whether some helped that it can spare.

    Alone, a record can rarely leave a cell that just holds. One each of several values can,
    its most frequent among them; values that cell c has most of stay.
    """
    old = cells.now[record]
    home = cells.cell[old, record]
    most = _most(cells, c)
    moves = 0
    for _ in range(LONGEST_WALK):
        if record == NONE or moves == len(trail.record):
            break
        after = cells.next[record]
        value = cells.value[record]
        taken = cells.count[c, value] >= most
        for m in range(moves):
            taken = taken or cells.value[trail.record[m]] == value
        if not taken:
            _move(cells, trail, moves, record, 0)
            moves += 1
            if cell_holds(cells, asked, home):
                return True
        record = after
    _undo(cells, trail, moves)
    return False


@kernel(**BORROWED)
def satisfy_cells(cells, asked, random, trail, sequence, pattern, queue):
    """Make every cell satisfy what is asked; False if that fails.

    Cells, in the order of ``sequence`` (those with more stars later), take in records that
    their own cells can spare, or else send away some of the value they have too often. The
    last one, all stars, takes in what it needs, asking the cells of ``queue``'s records.
    ``pattern`` is that of each cell.
    """
    last = len(sequence) - 1
    for i in range(last):
        c = sequence[i]
        while not cell_holds(cells, asked, c):
            other = _partner(cells, asked, random, c, pattern[c], NONE)
            if other == NONE:
                _send_away(cells, asked, c)
                break
            _put(cells, other, pattern[c])
    c = sequence[last]
    for record in queue:
        if cell_holds(cells, asked, c):
            break
        if cells.now[record] > 0:
            _spare(cells, asked, trail, record, c)
    failing = 0
    for c in sequence:
        failing += 0 if cell_holds(cells, asked, c) else 1
    return failing == 0
