"""The cut of a node that promises most, from its quasi-identifiers and its value counts.

Which value is whose is not known here: a cut that looks likely to be allowed
does so because of how many records each side has. Nothing of this decides
privacy; `shoal.methods.blind` tests the cut that is proposed.
"""

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import SET, range_loss
from shoal.kernels.jit import inner_kernel, kernel

NO_CUT = -1
ROOT_2 = math.sqrt(2.0)


class Chances(NamedTuple):
    """What decides how likely a cut is allowed, one row a rule that caps a share."""

    share: np.ndarray  # float64 (R,): the most that one value may have of a side
    frequent: np.ndarray  # float64 (R, .): counts of the node's most frequent values
    steady: int  # records by which the random margin varies, at least
    parts: int  # and at least the smaller side divided by this
    sure_only: bool  # propose only what is allowed whichever value is whose
    balanced: bool  # no rule caps a share, but some looks at values: prefer large sides


@inner_kernel
def _chance_of_side(chances, n, side):
    """Chance that a side of so many records of n is allowed if values fall at random."""
    chance = 1.0
    spread = max(chances.steady, min(side, n - side) // chances.parts)
    for r in range(len(chances.share)):
        room = math.floor(side * chances.share[r])
        if chances.frequent[r, 0] <= room:
            continue
        if chances.sure_only:
            return 0.0
        for count in chances.frequent[r]:
            share = count / n
            varies = math.sqrt(side * share * (1.0 - share) * (n - side) / max(1, n - 1))
            distance = room + 0.5 - side * share - 0.5 * spread
            chance *= 0.5 * (1.0 + math.erf(distance / (varies + spread + 1e-9) / ROOT_2))
    return chance


@inner_kernel
def _chance(chances, n, left):
    """Chance that a cut is allowed."""
    if chances.balanced:
        return 2.0 * min(left, n - left) / n
    return _chance_of_side(chances, n, left) * _chance_of_side(chances, n, n - left)


@inner_kernel
def _loss(costs, a, low, high, distinct):
    """Loss of one attribute in codes low..high, so many of them different."""
    if costs.form[a] != SET:
        return range_loss(costs, a, low, high)
    return distinct / costs.size[a] if distinct > 1 else 0.0


@inner_kernel
def _count(codes, rows, counts):
    """Count codes relative to the smallest; gives the smallest, the largest, and how many."""
    low = high = codes[rows[0]]
    for row in rows:
        low = min(low, codes[row])
        high = max(high, codes[row])
    for c in range(high - low + 1):
        counts[c] = 0
    distinct = 0
    for row in rows:
        c = codes[row] - low
        distinct += counts[c] == 0
        counts[c] += 1
    return low, high, distinct


@kernel
def best_cut(costs, codes, rows, least, weights, chances, counts):
    """Attribute and largest code on the left of the cut with most gain times chance.

    The gain is what the cut saves in its own attribute. ``weights`` (d,) is how
    much each attribute is trusted, ``counts`` scratch of the largest domain. No
    side has fewer than `least` records. Attribute `NO_CUT` if there is none.
    """
    n = len(rows)
    most = 0.0
    best, place = np.int64(NO_CUT), np.int64(0)
    for a in range(len(codes)):
        trust = weights[a] * costs.weight[a]
        low, high, distinct = _count(codes[a], rows, counts)
        if trust <= 0.0 or low == high:
            continue
        whole = n * _loss(costs, a, low, high, distinct)
        left, different, last = 0, 0, -1
        for c in range(high - low + 1):
            if counts[c] == 0:
                continue
            if left >= least and n - left >= least:
                after = left * _loss(costs, a, low, low + last, different)
                after += (n - left) * _loss(costs, a, low + c, high, distinct - different)
                gain = trust * (whole - after)
                if gain > most:
                    gain *= _chance(chances, n, left)
                if gain > most:
                    most, best, place = gain, np.int64(a), np.int64(low + last)
            left += counts[c]
            different += 1
            last = c
    return best, place
