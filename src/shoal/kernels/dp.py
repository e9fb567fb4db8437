"""The best cut of an ordered table into groups of k..2k-1 neighbours.

Paper 004, section 3: ``opt(i) = min over s of opt(i - s) + s * NCP(last s records)``
for s = k..2k-1 is exact, because splitting a longer group never costs more. The
loss of a window follows from running quantities, one per form of
`shoal.kernels.costs`:

SPAN  largest minus smallest position, clipped at 1.
ROUND largest end minus smallest begin, clipped at 1.
TREE  the largest loss between neighbours: the common ancestor of a set is the
      widest of the common ancestors of consecutive members, in any order.
SET   distinct values: a record is new to the window in front of it when its
      value does not occur again before the window's end.

Each grows by one record in constant time, for many window ends at once: a row
of lanes is one vector loop. Losses are float32, their sums float64.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from shoal.kernels.costs import ROUND, SET, SPAN, TREE, range_loss
from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.threads import ALONE, stopping

FAR = np.float32(1 << 24)
"""A distance beyond every window."""


class Line(NamedTuple):
    """The varying attributes of records in their order along the line.

    Columns are shifted by ``pad`` so that a window may begin before the line;
    what it finds there has no effect, because no group may end there.
    """

    form: np.ndarray  # int64 (rows,)
    scale: np.ndarray  # float32 (rows,): SPAN: most it can cost; SET: loss of one value
    value: np.ndarray  # float32 (rows, pad + n): position, step loss, next occurrence, or end
    begin: np.ndarray  # float32 (ROUND rows, pad + n): where their intervals begin
    pad: int


@kernel
def fill_span(row, pad, codes, order, position, weight):
    """Weighted positions along the order."""
    for i in range(len(order)):
        row[pad + i] = weight * position[codes[order[i]]]
    row[:pad] = row[pad]


@kernel
def fill_tree(row, pad, codes, order, costs, attribute):
    """Weighted loss between each record and the one after it."""
    weight = costs.weight[attribute]
    row[:] = 0.0
    code = codes[order[0]]
    for i in range(len(order) - 1):
        after = codes[order[i + 1]]
        low, high = (code, after) if code < after else (after, code)
        row[pad + i] = weight * range_loss(costs, attribute, low, high)
        code = after


@kernel
def fill_set(row, pad, codes, order, last):
    """Distance from each record to the next with the same value; `last` is -1 per code."""
    row[:] = FAR
    for i in range(len(order)):
        code = codes[order[i]]
        if last[code] >= 0:
            distance = np.float32(i - last[code])
            row[pad + last[code]] = distance if distance < FAR else FAR
        last[code] = i


def fill_line(line, costs, rows, matrix, order):
    """Fill all rows of a line; ``rows`` are the attributes that vary."""
    begins = iter(line.begin)
    for row, a in zip(line.value, rows, strict=True):
        if costs.form[a] in (SPAN, ROUND):
            codes = slice(costs.start[a], costs.start[a] + costs.size[a])
            fill_span(row, line.pad, matrix[a], order, costs.end[codes], costs.weight[a])
            if costs.form[a] == ROUND:
                where = costs.position[codes]
                fill_span(next(begins), line.pad, matrix[a], order, where, costs.weight[a])
        elif costs.form[a] == TREE:
            fill_tree(row, line.pad, matrix[a], order, costs, a)
        else:
            last = np.full(costs.size[a], -1, dtype=np.int64)
            fill_set(row, line.pad, matrix[a], order, last)


@inner_kernel
def _widen_range(value, high, low, cost, cap):
    """Take one more record into the windows and add what they cost now."""
    for r in range(len(cost)):
        v = value[r]
        h = high[r] if high[r] > v else v
        w = low[r] if low[r] < v else v
        high[r] = h
        low[r] = w
        loss = h - w
        cost[r] += loss if loss < cap else cap


@inner_kernel
def _widen_round(end, begin, high, low, cost, cap):
    """The same where a record has two ends."""
    for r in range(len(cost)):
        h = high[r] if high[r] > end[r] else end[r]
        w = low[r] if low[r] < begin[r] else begin[r]
        high[r] = h
        low[r] = w
        loss = h - w
        cost[r] += loss if loss < cap else cap


@inner_kernel
def _widen_set(value, distinct, length, cost, scale):
    """A record is a new value if its next occurrence lies beyond the window."""
    one = np.float32(1.0)
    zero = np.float32(0.0)
    for r in range(len(cost)):
        d = distinct[r] + (one if value[r] >= length else zero)
        distinct[r] = d
        cost[r] += scale * d if d > one else zero


@inner_kernel
def _extremum(value, size, sign, out, other):
    """``out[r]`` = largest sign * value of the `size` values up to value[size - 1 + r].

    Window maxima by doubling: a window is the union of two shorter ones.
    """
    count = len(value)
    for r in range(count):
        out[r] = sign * value[r]
    width = 1
    while width < size:
        step = min(width, size - width)
        count -= step
        shifted = out[step:]
        for r in range(count):
            other[r] = out[r] if out[r] > shifted[r] else shifted[r]
        out, other = other, out
        width += step
    return out


@inner_kernel
def _range_costs(value, end, k, tree, cap, cost, spare):
    """Add one SPAN or TREE attribute; lane r's windows end at value[end + r].

    A tree's s records have s - 1 steps between them, of which the largest
    counts: the same as a span whose low end is 0.
    """
    lanes = cost.shape[1]
    reach = value[end - k + 1 : end + lanes - tree]
    high = _extremum(reach, k - tree, np.float32(1.0), spare[0], spare[1])[:lanes]
    low = _extremum(reach, k - tree, np.float32(-1.0), spare[2], spare[3])[:lanes]
    keep = np.float32(tree - 1)
    for r in range(lanes):
        low[r] *= keep
    for s in range(k, 2 * k):
        begin = end - s + 1
        _widen_range(value[begin : begin + lanes], high, low, cost[s - k], cap)


@inner_kernel
def _round_costs(ends, begins, end, k, cap, cost, spare):
    """Add one ROUND attribute."""
    lanes = cost.shape[1]
    reach = slice(end - k + 1, end + lanes)
    high = _extremum(ends[reach], k, np.float32(1.0), spare[0], spare[1])[:lanes]
    low = _extremum(begins[reach], k, np.float32(-1.0), spare[2], spare[3])[:lanes]
    for r in range(lanes):
        low[r] = -low[r]
    for s in range(k, 2 * k):
        here = slice(end - s + 1, end - s + 1 + lanes)
        _widen_round(ends[here], begins[here], high, low, cost[s - k], cap)


@inner_kernel
def _set_costs(value, end, k, scale, cost, spare):
    """Add one SET attribute."""
    lanes = cost.shape[1]
    distinct = spare[0][:lanes]
    unused = spare[1][:lanes]
    distinct[:] = 0.0
    for s in range(1, 2 * k):
        begin = end - s + 1
        into = unused if s < k else cost[s - k]
        _widen_set(value[begin : begin + lanes], distinct, np.float32(s), into, scale)


@kernel
def window_costs(line, k, at, cost, spare):
    """``cost[s - k, r]``: NCP summed over attributes of the s records that end at at + r."""
    cost[:, :] = 0.0
    end = line.pad + at
    rounded = 0
    for row in range(len(line.form)):
        value = line.value[row]
        if line.form[row] == SET:
            _set_costs(value, end, k, line.scale[row], cost, spare)
        elif line.form[row] == ROUND:
            _round_costs(value, line.begin[rounded], end, k, line.scale[row], cost, spare)
            rounded += 1
        else:
            tree = 1 if line.form[row] == TREE else 0
            _range_costs(value, end, k, tree, line.scale[row], cost, spare)


@inner_kernel
def _extend(cost, k, opt, at, best, choice):
    """Optima of the prefixes that end in lanes at..at+len(best); at most k lanes.

    ``opt[2 * k + i]`` is the optimum of the first i records. No lane depends on
    another: the shortest group is k long.
    """
    lanes = len(best)
    best[:] = np.inf
    for s in range(k, 2 * k):
        before = opt[2 * k + at + 1 - s : 2 * k + at + 1 - s + lanes]
        row = cost[s - k]
        for r in range(lanes):
            total = before[r] + s * np.float64(row[r])
            if total < best[r]:
                best[r] = total
                choice[r] = s


@kernel
def key_costs(spot, k, at, cost):
    """The extent along the curve in place of the NCP: what paper 004 calls HilbFast."""
    lanes = cost.shape[1]
    ends = spot[at : at + lanes]
    for s in range(k, 2 * k):
        row = cost[s - k]
        if at + 1 >= s:
            begins = spot[at + 1 - s : at + 1 - s + lanes]
            for r in range(lanes):
                row[r] = ends[r] - begins[r]
        else:
            for r in range(lanes):
                row[r] = ends[r] - spot[at + r + 1 - s if at + r + 1 > s else 0]


@kernel
def best_prefixes(line, spot, k, n, cost, spare, opt, size):
    """Optimum of the first 0..n records, and the size of the last group of each.

    ``opt`` is float64 (2k + n + 1,), ``size`` float64 (n + 1,): the same width
    as the optima, so that both are chosen in one vector step. ``spot``, unless
    empty, replaces the line: the loss is the distance between spots.
    ``cost`` (k, lanes) and ``spare`` (4, lanes + k) are scratch, lanes <= n.
    """
    lanes = cost.shape[1]
    opt[: 3 * k] = np.inf
    opt[2 * k] = 0.0
    for begin in range(0, n, lanes):
        # the last chunk overlaps the one before: the same answers again
        at = begin if begin < n - lanes else n - lanes
        if len(spot) > 0:
            key_costs(spot, k, at, cost)
        else:
            window_costs(line, k, at, cost, spare)
        for block in range(0, lanes, k):
            first = at + block
            count = k if k < lanes - block else lanes - block
            best = opt[2 * k + first + 1 : 2 * k + first + 1 + count]
            choice = size[first + 1 : first + 1 + count]
            _extend(cost[:, block : block + count], k, opt, first, best, choice)


@kernel
def walk_back(size, end, cuts):
    """Write the ends of the groups of the first `end` records from the back; how many."""
    count = 0
    while end > 0:
        cuts[count] = end
        count += 1
        end -= np.int64(size[end])
    return count


def best_offsets(costs, matrix, order, k, spot=None):
    """Offsets of the cheapest cut of ``order`` into groups of k..2k-1 (all, if n < 2k).

    Parameters
    ----------
    costs, matrix
        Loss and int32 codes (d, n) of the quasi-identifiers.
    order : int64 array
        Records along the line.
    k : int
        Smallest group.
    spot : float64 array, optional
        Ascending place of each record of `order` on the line; then the extent
        of a group on the line is its loss, instead of the NCP.
    """
    n = len(order)
    if n < 2 * k:
        return np.array([0, n], dtype=np.int64)
    if k == 1:
        return np.arange(n + 1, dtype=np.int64)
    spot = np.zeros(0) if spot is None else spot
    lanes = int(np.clip((1 << 16) // k, 64, 512))
    if n >= max(ALONE, 8 * k):
        return _from_both_ends(costs, matrix, order, spot, k, lanes)
    half = _solve(costs, matrix, order, spot, k, n, lanes)
    return np.append(0, half.cuts(n)[::-1])


class Half(NamedTuple):
    """A line and the optima of its prefixes."""

    line: Line
    spot: np.ndarray
    opt: np.ndarray
    size: np.ndarray

    def cuts(self, end):
        """Ends of the groups of the first `end` records, the last one first."""
        cuts = np.empty(len(self.size), dtype=np.int64)
        return cuts[: walk_back(self.size, end, cuts)]


def _from_both_ends(costs, matrix, order, spot, k, lanes):
    """Solve front and back half at once, and find the group where they meet: still exact."""
    n = len(order)
    middle = n // 2
    reach = middle + 2 * k + lanes  # no group that straddles the middle ends beyond
    backwards = order[middle:][::-1].copy()
    spot_back = spot[-1] - spot[middle:][::-1] if len(spot) else spot
    with stopping(ThreadPoolExecutor(1)) as pool:
        other = pool.submit(_solve, costs, matrix, backwards, spot_back, k, n - middle, lanes)
        front = _solve(costs, matrix, order[:reach], spot[:reach], k, middle, lanes)
        back = other.result()
    first, last = _join(front, back, k, n, lanes)
    ends = [[0, first, last, n], front.cuts(first), n - back.cuts(n - last)]
    return np.unique(np.concatenate(ends))


def _join(front, back, k, n, lanes):
    """The group ``first..last`` of the best cut that straddles the middle; empty if none does.

    The cheapest of all ways to join an optimal front, one straddling group and
    an optimal back is the optimum of the whole.
    """
    middle = len(front.size) - 1
    least = front.opt[2 * k + middle] + back.opt[2 * k + n - middle]
    first, last = middle, middle
    cost, spare = _scratch(k, lanes)
    sizes = np.arange(k, 2 * k)[:, None]
    for at in range(middle, middle + 2 * k - 2, lanes):
        if len(front.spot):
            key_costs(front.spot, k, at, cost)
        else:
            window_costs(front.line, k, at, cost, spare)
        ends = np.arange(at + 1, at + 1 + lanes)[None, :]
        begins = ends - sizes
        before = np.where(begins < middle, front.opt[2 * k + np.minimum(begins, middle)], np.inf)
        total = before + sizes * cost.astype(np.float64) + back.opt[2 * k + n - ends]
        best = np.unravel_index(np.argmin(total), total.shape)
        if total[best] < least:
            least = total[best]
            first, last = int(begins[best]), int(ends[0, best[1]])
    return first, last


def _solve(costs, matrix, order, spot, k, n, lanes):
    """Optima of the prefixes up to n of these records."""
    varying = (costs.size > 1) & (costs.weight > 0)
    rows = np.flatnonzero(varying) if len(spot) == 0 else np.zeros(0, dtype=np.int64)
    form, weight = costs.form[rows], costs.weight[rows]
    scale = np.where(form == SET, weight / costs.size[rows], weight).astype(np.float32)
    value = np.empty((len(rows), 2 * k + len(order)), dtype=np.float32)
    begin = np.empty((int((form == ROUND).sum()), value.shape[1]), dtype=np.float32)
    line = Line(form, scale, value, begin, 2 * k)
    fill_line(line, costs, rows, matrix, order)
    opt, size = np.empty(2 * k + n + 1), np.empty(n + 1)
    best_prefixes(line, spot, k, n, *_scratch(k, min(lanes, n)), opt, size)
    return Half(line, spot, opt, size)


def _scratch(k, lanes):
    """Costs and running extrema of one chunk of window ends."""
    cost = np.empty((k, lanes), dtype=np.float32)
    spare = np.empty((4, lanes + k), dtype=np.float32)
    return cost, spare
