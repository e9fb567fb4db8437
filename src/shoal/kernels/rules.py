"""Privacy models inside compiled loops: the fast twin of `shoal.models`.

A method that tries millions of groups asks `holds` about a histogram it keeps
up to date; it never errs on the unsafe side (floats are compared with a margin
against the method), and verification decides anew, exactly.

`shoal.models.rules_for` builds the `Rules` of a table. Fractions arrive as
numerator and denominator of at most 10**9, so that a product with a number of
records stays within int64; longer ones were rounded to the strict side.
"""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

SIZE = 0  # n >= a
FREQUENCY = 1  # a * r_1 <= n; r_1 of values that are not exempt
DISTINCT = 2  # at least a distinct values, exempt ones together as one; or only those
ENTROPY = 3  # entropy >= x = ln l; a = l rounded up
RECURSIVE = 4  # r_1 < (a / b) * (r_l + ... + r_m); x = l
ALPHA = 5  # r_1 <= (a / b) * n
CLOSE = 6  # distance to the table <= a / b; x = sum of the table's counts
SPREAD = 7  # largest minus smallest number >= x
GAIN = 8  # share of each value <= (a / b) * its share in the table; x as for CLOSE; a >= b
LOG_GAIN = 9  # share of each value <= (1 - ln p) * p, p its share in the table; x as for CLOSE
RATIO = 10  # GAIN, and share of each value >= (b / a) * its share in the table

MARGIN = 1e-8
"""Entropies (and distances that overflow int64) this near the limit count as failed."""

SAFE = 2**62
"""Products up to here are taken in int64, with a bit to spare."""


class Rules(NamedTuple):
    """Models and sensitive columns, flattened.

    Histograms of all sensitive columns lie one after the other in one array:
    value v of column s is at ``start[s] + v``.
    """

    kind: np.ndarray  # int64 (R,): which rule, a constant of this module
    column: np.ndarray  # int64 (R,): index of the sensitive column, -1 for class size
    a: np.ndarray  # int64 (R,): first integer parameter
    b: np.ndarray  # int64 (R,): second
    x: np.ndarray  # float64 (R,): float parameter
    smallest: int  # no class of fewer records (persons) can pass
    start: np.ndarray  # int64 (S+1,)
    total: np.ndarray  # int64 (sum of domains,): histogram of the whole table
    number: np.ndarray  # float64 (sum of domains,): number behind a value, NaN if none
    ordered: np.ndarray  # bool (S,)
    exempt: np.ndarray  # bool (sum of domains,): values that are not sensitive


@kernel
def holds(rules, n, histogram, touched, n_touched):
    """Whether one group satisfies every rule.

    Parameters
    ----------
    rules : Rules
        From `shoal.models.rules_for`.
    n : int
        Records of the group, or distinct persons where a person column is declared.
    histogram : int64 array
        Counts of all sensitive columns one after the other; with persons, of
        distinct (person, value) pairs.
    touched, n_touched : integer array, int
        ``touched[:n_touched]`` are the indices of `histogram` that are not zero,
        each once, in any order.
    """
    if n < rules.smallest:
        return False
    for r in range(len(rules.kind)):
        if not _rule_holds(rules, r, n, histogram, touched, n_touched):
            return False
    return True


@inner_kernel
def _rule_holds(rules, r, n, histogram, touched, n_touched):
    kind = rules.kind[r]
    a = rules.a[r]
    b = rules.b[r]
    if kind == SIZE:
        return n >= a
    column = rules.column[r]
    begin = rules.start[column]
    end = rules.start[column + 1]
    if kind == FREQUENCY:
        largest, _, _ = _sensitive(begin, end, rules.exempt, histogram, touched, n_touched)
        return largest <= n // a
    if kind == ALPHA:
        largest, _, _ = _sensitive(begin, end, rules.exempt, histogram, touched, n_touched)
        return largest * b <= a * n
    if kind == DISTINCT:
        _, distinct, others = _sensitive(begin, end, rules.exempt, histogram, touched, n_touched)
        return distinct + others >= a or distinct == 0
    if kind == ENTROPY:
        return _entropy_holds(a, rules.x[r], begin, end, histogram, touched, n_touched)
    if kind == RECURSIVE:
        l = np.int64(rules.x[r])
        return _recursive_holds(a, b, l, begin, end, histogram, touched, n_touched)
    if kind == CLOSE:
        table = np.int64(rules.x[r])
        _, _, _, mass = _summary(begin, end, histogram, touched, n_touched)
        if rules.ordered[column]:
            return _ordered_close(a, b, mass, table, begin, end, histogram, rules.total)
        return _nominal_close(
            a, b, mass, table, begin, end, histogram, rules.total, touched, n_touched
        )
    if kind in (GAIN, LOG_GAIN, RATIO):
        return _alike(rules, r, begin, end, histogram, touched, n_touched)
    if kind == SPREAD:
        return _spread(begin, end, rules.number, touched, n_touched) >= rules.x[r]
    return False  # an unknown rule can never be said to hold


@inner_kernel
def _summary(begin, end, histogram, touched, n_touched):
    """Largest and smallest count of one column, its distinct values, sum of its counts."""
    largest = np.int64(0)
    smallest = np.int64(SAFE)
    distinct = np.int64(0)
    mass = np.int64(0)
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end:
            count = histogram[i]
            largest = max(largest, count)
            smallest = min(smallest, count)
            distinct += 1
            mass += count
    return largest, smallest, distinct, mass


@inner_kernel
def _sensitive(begin, end, exempt, histogram, touched, n_touched):
    """Largest count and number of the values that are not exempt; 1 if there are others.

    Each record of an exempt value counts as if it had a value of its own.
    """
    largest = np.int64(1)
    distinct = np.int64(0)
    others = np.int64(0)
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end:
            if exempt[i]:
                others = np.int64(1)
            else:
                largest = max(largest, histogram[i])
                distinct += 1
    return largest, distinct, others


@inner_kernel
def _entropy_holds(least, log_l, begin, end, histogram, touched, n_touched):
    largest, smallest, distinct, mass = _summary(begin, end, histogram, touched, n_touched)
    if distinct < least:
        return False
    if largest == smallest:
        return True  # uniform: exp(entropy) is the number of values, no float needed
    bits = mass * np.log(mass)
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end:
            bits -= histogram[i] * np.log(histogram[i])
    return bits >= mass * (log_l + MARGIN)


@inner_kernel
def _recursive_holds(numerator, denominator, l, begin, end, histogram, touched, n_touched):
    """r_1 < c * (all counts but the l - 1 largest).

    The largest are taken off level by level (all equal counts at once), which
    needs no scratch and at most l passes over the touched values.
    """
    largest, _, distinct, tail = _summary(begin, end, histogram, touched, n_touched)
    if distinct < l:
        return False
    left = l - 1
    level = largest
    while left > 0:
        below = np.int64(0)
        same = np.int64(0)
        for j in range(n_touched):
            i = touched[j]
            if begin <= i < end:
                count = histogram[i]
                if count == level:
                    same += 1
                elif count < level:
                    below = max(below, count)
        taken = min(left, same)
        tail -= taken * level
        left -= taken
        level = below
    return largest * denominator < numerator * tail


@inner_kernel
def _at_most(amount, numerator, denominator, whole):
    """``amount <= whole * numerator / denominator`` in int64, numerator <= denominator."""
    rest = whole % denominator
    return amount <= whole // denominator * numerator + rest * numerator // denominator


@inner_kernel
def _nominal_close(
    numerator, denominator, mass, table, begin, end, histogram, total, touched, n_touched
):
    """Equal distance: 1/2 sum |p - q| is the sum of p - q where p is the larger."""
    if table == 0 or mass > SAFE // table:
        return _nominal_close_in_floats(
            numerator / denominator, mass, table, begin, end, histogram, total, touched, n_touched
        )
    moved = np.int64(0)
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end:
            moved += max(np.int64(0), histogram[i] * table - total[i] * mass)
    return _at_most(moved, numerator, denominator, mass * table)


@inner_kernel
def _nominal_close_in_floats(t, mass, table, begin, end, histogram, total, touched, n_touched):
    if table == 0 or mass == 0:
        return False
    moved = 0.0
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end:
            moved += max(0.0, histogram[i] / mass - total[i] / table)
    return moved <= t - MARGIN


@inner_kernel
def _ordered_close(numerator, denominator, mass, table, begin, end, histogram, total):
    """Ordered distance over the values that occur in the table: sum |P_i - Q_i| / (m - 1)."""
    if table == 0 or mass == 0:
        return False
    if mass > SAFE // table or end - begin > SAFE // (mass * table):
        return _ordered_close_in_floats(
            numerator / denominator, mass, table, begin, end, histogram, total
        )
    gap = np.int64(0)
    moved = np.int64(0)
    present = np.int64(0)
    for i in range(begin, end):
        if total[i] > 0:
            present += 1
            gap += histogram[i] * table - total[i] * mass
            moved += abs(gap)
    return _at_most(moved, numerator, denominator, (present - 1) * (mass * table))


@inner_kernel
def _ordered_close_in_floats(t, mass, table, begin, end, histogram, total):
    gap = 0.0
    moved = 0.0
    present = 0
    for i in range(begin, end):
        if total[i] > 0:
            present += 1
            gap += histogram[i] / mass - total[i] / table
            moved += abs(gap)
    return moved <= (t - MARGIN) * (present - 1)


@inner_kernel
def _alike(rules, r, begin, end, histogram, touched, n_touched):
    """Whether no value is too much more (RATIO: or less) frequent than in the table."""
    kind = rules.kind[r]
    a, b = rules.a[r], rules.b[r]
    table = np.int64(rules.x[r])
    _, _, distinct, mass = _summary(begin, end, histogram, touched, n_touched)
    if kind == RATIO:
        present = 0
        for i in range(begin, end):
            present += rules.total[i] > 0
        if distinct < present:
            return False
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end:
            here, there = histogram[i], rules.total[i]
            if there == 0:
                return False
            if kind == LOG_GAIN:
                if not _log_gain_holds(here, mass, there, table):
                    return False
            elif not _times_at_most(here, table, a, b, there, mass):
                return False
            if kind == RATIO and not _times_at_most(there, mass, a, b, here, table):
                return False
    return True


@inner_kernel
def _times_at_most(p, q, a, b, r, s):
    """``p * q <= (a / b) * r * s`` for a >= b; never true where it is not."""
    if p > SAFE // q or r > SAFE // s:
        return np.float64(p) * q <= np.float64(r) * s * a / b * (1 - MARGIN)
    right = r * s
    if right // b > SAFE // a:
        return True  # more than any left side
    return p * q <= right // b * a + right % b * a // b


@inner_kernel
def _log_gain_holds(here, mass, there, table):
    """``q <= p * (1 - ln p)``; what gains nothing passes without a logarithm."""
    if np.float64(here) * table * (1 + MARGIN) <= np.float64(there) * mass:
        return True
    if here <= SAFE // table and there <= SAFE // mass and here * table <= there * mass:
        return True
    limit = 1 + np.log(table / there)
    return np.float64(here) * table <= np.float64(there) * mass * limit * (1 - MARGIN)


@kernel
def _spread(begin, end, number, touched, n_touched):
    """Largest minus smallest number of a group; missing values are left out."""
    low = np.inf
    high = -np.inf
    for j in range(n_touched):
        i = touched[j]
        if begin <= i < end and not np.isnan(number[i]):
            low = min(low, number[i])
            high = max(high, number[i])
    return high - low if high >= low else 0.0
