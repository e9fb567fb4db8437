"""Top-down specialisation: what dividing one block of codes does to the classes in it.

The records of a block are gathered by class, in the order of their codes; one
pass over them then answers for every way to divide the block. A tally of each
side of each class decides whether the division is allowed.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.group_check import tally_holds
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import BORROWED, inner_borrowed, kernel


class Gathered(NamedTuple):
    """Records of one block by class; room for all records of the table."""

    rows: np.ndarray  # int64 (n,): records, those of a class in order of their codes
    classes: np.ndarray  # int64 (n,): the classes that occur
    offsets: np.ndarray  # int64 (n + 1,): the i-th class has rows offsets[i]..offsets[i+1]-1
    filled: np.ndarray  # int64 (n,): scratch, a class each; all 0 between calls


def new_gathered(n):
    """Room to gather the records of any block of a table of n records."""
    zeros = np.zeros(n, dtype=np.int64)
    return Gathered(zeros.copy(), zeros.copy(), np.zeros(n + 1, dtype=np.int64), zeros)


@kernel(**BORROWED)
def gather(part, class_of, gathered):
    """Gather the records ``part``, which are in order of their codes; number of classes."""
    filled, classes = gathered.filled, gathered.classes
    found = 0
    for row in part:
        own = class_of[row]
        if filled[own] == 0:
            classes[found] = own
            found += 1
        filled[own] += 1
    total = 0
    for i in range(found):
        gathered.offsets[i] = total
        total += filled[classes[i]]
        filled[classes[i]] = gathered.offsets[i]
    gathered.offsets[found] = total
    for row in part:
        gathered.rows[filled[class_of[row]]] = row
        filled[class_of[row]] += 1
    for i in range(found):
        filled[classes[i]] = 0
    return found


@inner_borrowed
def _reached(tally, by_value):
    """The k that the tallied class reaches or, with models of sensitive values, the l."""
    largest = np.int64(1)
    if by_value:
        for i in range(tally.n_touched[0]):
            largest = max(largest, tally.histogram[tally.touched[i]])
    return tally.count[0] / largest


@kernel(**BORROWED)
def reached_by_all(check, by_value, n):
    """Whether all records as one class are allowed, and what they reach."""
    reset(check.tally)
    for row in range(n):
        add(check.tally, check.records, row)
    return tally_holds(check), _reached(check.tally, by_value)


@kernel(**BORROWED)
def check_children(gathered, found, codes, child, check, by_value):
    """Whether every class may be divided by ``child`` (of each code), and the least reached."""
    least = np.inf
    for i in range(found):
        begin, end = gathered.offsets[i], gathered.offsets[i + 1]
        reset(check.tally)
        for j in range(begin, end):
            row = gathered.rows[j]
            add(check.tally, check.records, row)
            if j + 1 == end or child[codes[gathered.rows[j + 1]]] != child[codes[row]]:
                if not tally_holds(check):
                    return False, 0.0
                least = min(least, _reached(check.tally, by_value))
                reset(check.tally)
    return True, least


@inner_borrowed
def _lower(least, first, last, value):
    """Lower places first..last to a value at most, in two windows of a power of two."""
    level = 0
    while (2 << level) <= last - first + 1:
        level += 1
    least[level, first] = min(least[level, first], value)
    start = last + 1 - (1 << level)
    least[level, start] = min(least[level, start], value)


@inner_borrowed
def _accumulate(least, broken):
    """Windows down to single places, and differences up to counts."""
    for level in range(len(least) - 1, 0, -1):
        half = 1 << (level - 1)
        for i in range(least.shape[1] - 2 * half + 1):
            least[level - 1, i] = min(least[level - 1, i], least[level, i])
            least[level - 1, i + half] = min(least[level - 1, i + half], least[level, i])
    for i in range(1, len(broken)):
        broken[i] += broken[i - 1]


@kernel(**BORROWED)
def check_splits(gathered, found, codes, low, check, by_value, broken, least):
    """Check all divisions of a block in two, between code c and c + 1.

    ``low`` is the first code of the block. ``broken`` (its codes), all 0, gets at
    ``c - low`` the number of sides, over all classes, that break a rule if the
    block is divided behind c. ``least`` (levels, divisions), all infinite, gets
    at ``[0, c - low]`` the least that a divided class reaches; 2**(levels-1) is
    at most the number of divisions.
    """
    for i in range(found):
        begin, end = gathered.offsets[i], gathered.offsets[i + 1]
        for step in (1, -1):  # the lower sides, which grow upwards, then the upper ones
            reset(check.tally)
            j = begin if step == 1 else end - 1
            code = codes[gathered.rows[j]] - low
            while True:
                add(check.tally, check.records, gathered.rows[j])
                j += step
                if not begin <= j < end:
                    break
                following = codes[gathered.rows[j]] - low
                if following == code:
                    continue
                first = min(code, following)
                last = max(code, following) - 1
                if tally_holds(check):
                    _lower(least, first, last, _reached(check.tally, by_value))
                else:
                    broken[first] += 1
                    broken[last + 1] -= 1
                code = following
    _accumulate(least, broken)


@kernel(**BORROWED)
def divide(gathered, found, codes, child, class_of, classes):
    """Divide the gathered classes by ``child``; returns how many classes there are then."""
    for i in range(found):
        own = gathered.classes[i]
        begin, end = gathered.offsets[i], gathered.offsets[i + 1]
        for j in range(begin, end):
            row = gathered.rows[j]
            if j > begin and child[codes[row]] != child[codes[gathered.rows[j - 1]]]:
                own = classes
                classes += 1
            class_of[row] = own
    return classes


class Gauge(NamedTuple):
    """What measures the information in a block, as bits over all its records."""

    ordered: np.ndarray  # float64 (n + 1,): x * log2(x)
    spread: bool  # the records of a block spread over its codes, or only their values count


@inner_borrowed
def _scatter(gauge, count, width):
    """Bits to tell so many records from each other, or apart over so many codes."""
    return count * np.log2(width) if gauge.spread else gauge.ordered[count]


@inner_borrowed
def _bits(gauge, histogram, count, width):
    """Bits that a block leaves open; empties the histogram."""
    total = _scatter(gauge, count, width)
    for value in range(len(histogram)):
        total -= gauge.ordered[histogram[value]]
        histogram[value] = 0
    return total


@kernel
def bits_of_splits(part, codes, low, high, column, values, gauge, bits):
    """Add to ``bits`` what each division of a block in two settles.

    ``part`` are the records of the block low..high in order of their codes,
    ``bits[c - low]`` is for the division behind code c.
    """
    upper, lower = np.zeros(values, dtype=np.int64), np.zeros(values, dtype=np.int64)
    above = below = 0.0
    for row in part:
        upper[column[row]] += 1
    for value in range(values):
        above += gauge.ordered[upper[value]]
    before = _scatter(gauge, len(part), high - low + 1) - above
    for i in range(len(part) - 1):
        value = column[part[i]]
        above += gauge.ordered[upper[value] - 1] - gauge.ordered[upper[value]]
        below += gauge.ordered[lower[value] + 1] - gauge.ordered[lower[value]]
        upper[value] -= 1
        lower[value] += 1
        for code in range(codes[part[i]], codes[part[i + 1]]):
            after = _scatter(gauge, i + 1, code - low + 1)
            after += _scatter(gauge, len(part) - i - 1, high - code)
            bits[code - low] += before - (after - below - above)


@kernel
def bits_of_children(part, codes, starts, high, column, values, gauge):
    """What the division into children, which begin at ``starts``, settles."""
    whole, own = np.zeros(values, dtype=np.int64), np.zeros(values, dtype=np.int64)
    after = 0.0
    i = 0
    for c in range(len(starts)):
        beyond = starts[c + 1] if c + 1 < len(starts) else high + 1
        begin = i
        while i < len(part) and codes[part[i]] < beyond:
            own[column[part[i]]] += 1
            whole[column[part[i]]] += 1
            i += 1
        after += _bits(gauge, own, i - begin, beyond - starts[c])
    return _bits(gauge, whole, len(part), high + 1 - starts[0]) - after
