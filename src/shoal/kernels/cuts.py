"""Mondrian: a table cut again and again at the median of its widest attribute.

Codes of a record, and its row number, lie bit-packed in as few 63-bit words as
they need (one for a usual census), and the words are permuted so that a node
of the tree is a range ``begin:end``. A node costs time in proportion to its
records, whatever the size of the domains. Three shortcuts save most of the
work, none changes the answer:

* The codes of a node bound those of its parts, so a width that was inherited
  is an upper bound; it is made exact only when it would decide.
* A scan for the extent of codes stops when it has met the inherited bounds.
* An attribute whose strict cuts all leave too few records on a side is spent:
  it has no strict cut further down either, because sides only get smaller.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_width
from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel

# Called from one place: part of its caller, so that LLVM does not optimise it twice.
spliced = kernel(**BORROWED, no_cpython_wrapper=True, inline="always")

WORD_BITS = 63  # int64 without its sign: numba turns mixed signedness into floats
DEPTH = 64  # the smaller part goes first, so log2(n) nodes wait at most
BUCKETS = 2048  # counters of one histogram pass: they stay in the L1 cache
CHUNK = 256  # codes scanned between two looks at the bounds

INHERITED = 0  # the width of the attribute is an upper bound
EXACT = 1
TRIED = 2  # no allowable cut in this node

EQUALS_BY_LOT = np.uint64(2)  # bit of a key: which of equally wide attributes is a lot, too
BEYOND = 1 << 32  # number of a lot that is about no attribute

CUT = 0
FORBIDDEN = 1
TOO_SMALL = 2


class Rows(NamedTuple):
    """Packed records in tree order; fields are the attributes, then the row number."""

    words: np.ndarray  # int64 (W, n)
    spare: np.ndarray  # int64 (n,): a node may overwrite its own range
    word: np.ndarray  # int64 (d+1,): which word holds the field
    shift: np.ndarray  # int64 (d+1,)
    mask: np.ndarray  # int64 (d+1,): before the shift
    first: np.ndarray  # bool (n,): the record begins a group


class Scratch(NamedTuple):
    """What one thread needs: the waiting nodes and its counters."""

    begin: np.ndarray  # int64 (DEPTH,)
    end: np.ndarray  # int64 (DEPTH,)
    lo: np.ndarray  # int64 (DEPTH, d): no code of the node is smaller
    hi: np.ndarray  # int64 (DEPTH, d): no code of the node is larger
    width: np.ndarray  # float64 (DEPTH, d): no loss is larger
    spent: np.ndarray  # bool (DEPTH, d): every strict cut leaves a side too small
    state: np.ndarray  # int64 (d,): of the attributes in the current node
    counts: np.ndarray  # int64 (BUCKETS,)
    seen: np.ndarray  # int64 (sum of sizes,): stamp of the last node with the code
    stamp: np.ndarray  # int64 (1,)


def field_layout(sizes, n):
    """Word, shift and unshifted mask of each attribute and of the row number."""
    word, shift, mask = [], [], []
    used = []
    for size in [*sizes, n]:
        bits = max(int(size) - 1, 0).bit_length()
        place = next((w for w, u in enumerate(used) if u + bits <= WORD_BITS), len(used))
        if place == len(used):
            used.append(0)
        word.append(place)
        shift.append(used[place])
        mask.append((1 << bits) - 1)
        used[place] += bits
    return len(used), *(np.array(x, dtype=np.int64) for x in (word, shift, mask))


def pack(matrix, sizes):
    """`Rows` of an int32 code matrix of shape (d, n), every record its own number."""
    d, n = matrix.shape
    count, word, shift, mask = field_layout(sizes, n)
    words = np.zeros((count, n), dtype=np.int64)
    words[word[d]] = np.arange(n, dtype=np.int64) << shift[d]
    for a in range(d):
        put_field(words[word[a]], matrix[a], shift[a])
    first = np.zeros(n, dtype=np.bool_)
    return Rows(words, np.empty(n, dtype=np.int64), word, shift, mask, first)


def new_scratch(sizes):
    """Scratch of one thread."""
    integers = partial(np.zeros, dtype=np.int64)
    nodes = (DEPTH, len(sizes))
    return Scratch(
        *(integers(DEPTH), integers(DEPTH), integers(nodes), integers(nodes)),
        *(np.zeros(nodes), np.zeros(nodes, dtype=np.bool_)),
        *(integers(len(sizes)), integers(BUCKETS), integers(int(np.sum(sizes))), integers(1)),
    )


@kernel
def put_field(word, codes, shift):
    """Write one attribute's codes into its bits."""
    for i in range(len(word)):
        word[i] |= np.int64(codes[i]) << shift


@inner_borrowed
def extent(part, mask, lo, hi):
    """Smallest and largest masked value; stops once the bounds lo and hi are met."""
    smallest, largest = hi, lo
    for chunk in range(0, len(part), CHUNK):
        for value in part[chunk : chunk + CHUNK]:
            code = value & mask
            smallest = min(smallest, code)
            largest = max(largest, code)
        if smallest == lo and largest == hi:
            break
    return smallest, largest


@inner_borrowed
def distinct_share(part, shift, mask, size, seen, stamp, bound):
    """Distinct codes / size, 0 for a single one; stops once the bound is met."""
    distinct = 0
    for value in part:
        code = (value >> shift) & mask
        if seen[code] != stamp:
            seen[code] = stamp
            distinct += 1
            if distinct / size >= bound:
                break
    return distinct / size if distinct > 1 else 0.0


@inner_borrowed
def tighten(rows, costs, scratch, top, a):
    """Make the bounds and the width of one attribute exact."""
    part = rows.words[rows.word[a], scratch.begin[top] : scratch.end[top]]
    shift, mask = rows.shift[a], rows.mask[a]
    lo, hi = extent(part, mask << shift, scratch.lo[top, a] << shift, scratch.hi[top, a] << shift)
    scratch.lo[top, a] = lo >> shift
    scratch.hi[top, a] = hi >> shift
    if costs.form[a] == SET:
        scratch.stamp[0] += 1
        seen = scratch.seen[costs.start[a] : costs.start[a] + costs.size[a]]
        scratch.width[top, a] = distinct_share(
            part, shift, mask, costs.size[a], seen, scratch.stamp[0], scratch.width[top, a]
        )
    else:
        scratch.width[top, a] = range_width(costs, a, lo >> shift, hi >> shift)
    scratch.state[a] = EXACT


@inner_borrowed
def lot(key, begin, end, number):
    """A number from 0 up to 1 that a node draws, whenever and by whomever it is cut."""
    x = key
    for part in (begin, end, number):
        x = (x ^ np.uint64(part)) * np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(29)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(32)
    return float(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner_borrowed
def widest(width, state, key, begin, end):
    """The attribute to look at next; -1: none is left.

    Of equals the earlier one or, if the key says so, one by lot.
    """
    best = -1
    most = 0.0
    by_lot = key & EQUALS_BY_LOT != np.uint64(0)
    for a in range(len(width)):
        if state[a] == TRIED or width[a] < most or width[a] <= 0.0:
            continue
        if width[a] > most or (by_lot and lot(key, begin, end, a) > lot(key, begin, end, best)):
            best = a
            most = width[a]
    return best


@inner_borrowed
def count_codes(part, shift, mask, base, span, step, counts):
    """Histogram of the codes in base..base+span-1, 2**step codes a bucket."""
    for bucket in range(((span - 1) >> step) + 1):
        counts[bucket] = 0
    for value in part:
        code = ((value >> shift) & mask) - base
        if 0 <= code < span:
            counts[code >> step] += 1


@inner_borrowed
def median(part, shift, mask, lo, hi, counts):
    """The floor(n/2)-th smallest code, how many are smaller, how many equal it.

    A wide range is narrowed to the bucket of the median, pass by pass, so that
    neither time nor memory depends on the domain.
    """
    limit = min(len(counts), max(128, len(part)))
    base, span, below = lo, hi - lo + 1, 0
    while True:
        step = 0
        while ((span - 1) >> step) >= limit:
            step += 1
        count_codes(part, shift, mask, base, span, step, counts)
        bucket = 0
        while below + counts[bucket] < len(part) // 2:
            below += counts[bucket]
            bucket += 1
        base += bucket << step
        if step == 0:
            return base, below, counts[bucket]
        span = min(span - (bucket << step), 1 << step)


@inner_borrowed
def sides_hold(rows, begin, end, a, pivot, ties, check):
    """Whether the records on each side of a cut satisfy all models."""
    key = rows.words[rows.word[a], begin:end]
    row = rows.words[rows.word[-1], begin:end]
    for side in range(2):
        reset(check.tally)
        equal = 0
        for i in range(len(key)):
            code = (key[i] >> rows.shift[a]) & rows.mask[a]
            right = code >= pivot
            if code == pivot:
                right = equal >= ties
                equal += 1
            if right == side:
                add(check.tally, check.records, (row[i] >> rows.shift[-1]) & rows.mask[-1])
        if not tally_holds(check):
            return False
    return True


@inner_borrowed
def first_attempt(below, equal, n, share):
    """Which cut is tried first, 0 with the median on the left, 1 with it on the right.

    By lot (`share` from 0 up to 1), and the more evenly a cut divides the node the more
    likely it is.
    """
    left = float(min(below + equal, n - below - equal)) ** 2
    right = float(min(below, n - below)) ** 2
    return 1 if share * (left + right) > left else 0


@spliced
def choose_pivot(rows, begin, end, a, middle, check, halves, key):
    """The first allowable cut around the median code.

    Strict: "at most the median" and "below the median", by lot one of them first. If
    any cut of the attribute leaves enough records on both sides, one of these two does:
    every other cut has a side inside a side of theirs. Halves: the records at the
    median are divided, the first ones to the left, so that each side gets half.

    Returns a verdict (CUT, FORBIDDEN by a model, or all TOO_SMALL), the pivot,
    how many records with the pivot's code join those below it, and the size of
    the left side.
    """
    code, below, equal = middle
    n = end - begin
    verdict = TOO_SMALL
    turn = 0
    if not halves and key != np.uint64(0):
        turn = first_attempt(below, equal, n, lot(key, begin, end, BEYOND))
    for attempt in range(1 if halves else 2):
        with_median = not halves and attempt == turn
        pivot = code + 1 if with_median else code
        ties = n // 2 - below if halves else 0
        size = below + (equal if with_median else ties)
        if min(size, n - size) < max(1, check.rules.smallest):
            continue
        if check.sizes_only or sides_hold(rows, begin, end, a, pivot, ties, check):
            return CUT, pivot, ties, size
        verdict = FORBIDDEN
    return verdict, 0, 0, 0


@spliced
def widest_cut(rows, costs, check, scratch, top, halves, key):
    """The cut of the widest attribute that has an allowable one.

    Returns attribute, pivot, ties and size of the left side; attribute -1 if
    there is none.
    """
    begin, end = scratch.begin[top], scratch.end[top]
    a = widest(scratch.width[top], scratch.state, key, begin, end)
    while a >= 0:
        if scratch.state[a] == INHERITED:
            tighten(rows, costs, scratch, top, a)
        else:
            part = rows.words[rows.word[a], begin:end]
            lo, hi = scratch.lo[top, a], scratch.hi[top, a]
            middle = median(part, rows.shift[a], rows.mask[a], lo, hi, scratch.counts)
            verdict, pivot, ties, size = choose_pivot(
                rows, begin, end, a, middle, check, halves, key
            )
            if verdict == CUT:
                return a, pivot, ties, size
            scratch.state[a] = TRIED
            if verdict == TOO_SMALL:
                scratch.spent[top, a] = True
        a = widest(scratch.width[top], scratch.state, key, begin, end)
    return -1, 0, 0, 0


@spliced
def find_cut(rows, costs, check, relaxed, key, scratch, top):
    """The widest strict cut or, when relaxed and there is none, the widest into halves."""
    if (scratch.end[top] - scratch.begin[top]) // 2 >= check.rules.smallest:
        for halves in range(2 if relaxed else 1):
            for a in range(len(costs.size)):
                skip = scratch.spent[top, a] and not halves
                scratch.state[a] = TRIED if skip else INHERITED
            cut = widest_cut(rows, costs, check, scratch, top, halves, key)
            if cut[0] >= 0:
                return cut
    return -1, 0, 0, 0


@inner_borrowed
def divide(key, column, spare, mask, pivot, ties):
    """Bring the records below the pivot, and the first `ties` at it, to the front. Stable.

    `key` may be `column` itself. Both places are written and one of them kept,
    which costs less than a branch that cannot be foreseen.
    """
    left = 0
    right = 0
    for i in range(len(key)):
        code = key[i] & mask
        value = column[i]
        tie = (code == pivot) & (ties > 0)
        goes_left = (code < pivot) | tie
        ties -= tie
        column[left] = value
        spare[right] = value
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        column[left + i] = spare[i]


@spliced
def apply_cut(rows, begin, end, a, pivot, ties):
    """Permute the words of a node so that its two parts are ranges."""
    own = rows.word[a]
    mask = rows.mask[a] << rows.shift[a]
    pivot = pivot << rows.shift[a]
    key = rows.words[own, begin:end]
    spare = rows.spare[begin:end]
    for w in range(len(rows.words)):
        if w != own:
            divide(key, rows.words[w, begin:end], spare, mask, pivot, ties)
    divide(key, key, spare, mask, pivot, ties)


@spliced
def push_parts(costs, scratch, top, cut):
    """Replace the top node by its parts, the smaller one above."""
    a, pivot, ties, size = cut
    begin, end = scratch.begin[top], scratch.end[top]
    middle = begin + size
    left = top + 1 if size <= end - middle else top
    right = 2 * top + 1 - left
    for i in range(len(costs.size)):
        scratch.lo[top + 1, i] = scratch.lo[top, i]
        scratch.hi[top + 1, i] = scratch.hi[top, i]
        scratch.width[top + 1, i] = scratch.width[top, i]
        scratch.spent[top + 1, i] = scratch.spent[top, i]
    scratch.begin[left], scratch.end[left] = begin, middle
    scratch.begin[right], scratch.end[right] = middle, end
    scratch.hi[left, a] = pivot if ties > 0 else pivot - 1
    scratch.lo[right, a] = pivot
    if costs.form[a] != SET:
        for part in (left, right):
            scratch.width[part, a] = range_width(costs, a, scratch.lo[part, a], scratch.hi[part, a])


@kernel(**BORROWED)
def carve(rows, costs, check, relaxed, key, scratch, begin, end, grain, waiting):
    """Cut the records begin:end into groups; parts above `grain` are left to the caller.

    These, two at most, are written to `waiting` as (begin, end), and their
    number is returned. Each group's first record is marked in ``rows.first``,
    so the order of the work does not show in the result.
    """
    left_over = 0
    scratch.begin[0], scratch.end[0] = begin, end
    for a in range(len(costs.size)):
        scratch.lo[0, a] = 0
        scratch.hi[0, a] = costs.size[a] - 1
        scratch.width[0, a] = 1.0
        scratch.spent[0, a] = False
    top = np.int64(0)  # typed: a literal would compile everything below twice
    while top >= 0:
        n = scratch.end[top] - scratch.begin[top]
        if n > grain and n < end - begin:
            waiting[left_over, 0] = scratch.begin[top]
            waiting[left_over, 1] = scratch.end[top]
            left_over += 1
            top -= 1
            continue
        cut = find_cut(rows, costs, check, relaxed, key, scratch, top)
        if cut[0] < 0:
            rows.first[scratch.begin[top]] = True
            top -= 1
            continue
        apply_cut(rows, scratch.begin[top], scratch.end[top], cut[0], cut[1], cut[2])
        push_parts(costs, scratch, top, cut)
        top += 1
    return left_over
