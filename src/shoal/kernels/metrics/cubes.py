"""Cells of a data cube: how many records a release lets one expect in each.

A cube has up to three axes (attributes) and is filled for one sensitive value
at a time. Groups cover boxes of codes; what they contribute to the cells is
found in one of three ways, whichever is cheapest: by a difference array and
prefix sums where the cube is small, by a sweep along its widest axis where it
is large, and by visiting the points that a group reaches where these are few.
The first two add shares as integers (fixed point), so that what is added and
taken away again leaves nothing behind.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel

LARGEST_CUBE = 1 << 22
"""Cells of a cube that is held in memory, 8 bytes each, once a thread."""
TOTAL = float(1 << 61)
"""All records of a cube in fixed point."""
FINE = 256.0
"""The smallest share in fixed point that is still exact enough: to 0.2%."""


class Cover(NamedTuple):
    """Codes that the released value of each group covers, as runs of neighbours."""

    row: np.ndarray  # int64 (groups,): where a group is found in the next three
    starts: np.ndarray  # int64 (rows + 1,): row r has the runs starts[r]..starts[r+1]-1
    first: np.ndarray  # int32 (runs,): first code of a run; runs ascend and do not touch
    last: np.ndarray  # int32 (runs,): last code of a run
    width: np.ndarray  # int64 (rows,): number of codes covered


class Slices(NamedTuple):
    """Records and groups by sensitive value, as CSR."""

    record_starts: np.ndarray  # int64 (m + 1,)
    records: np.ndarray  # int64 (n,): records that have the value
    group_starts: np.ndarray  # int64 (m + 1,)
    groups: np.ndarray  # int64 (pairs,): groups in which the value occurs
    counts: np.ndarray  # int64 (pairs,): how often


class Axes(NamedTuple):
    """The attributes of a group-by; an axis that is not used has one code."""

    sizes: np.ndarray  # int64 (3,)
    codes: np.ndarray  # int32 (3, n)


@kernel
def count_runs(starts, members, runs):
    """Fill ``runs`` (sets + 1) with where the runs of each set of codes begin; total."""
    count = 0
    for g in range(len(starts) - 1):
        runs[g] = count
        for i in range(starts[g], starts[g + 1]):
            if i == starts[g] or members[i] != members[i - 1] + 1:
                count += 1
    runs[len(starts) - 1] = count
    return count


@kernel
def fill_runs(starts, members, first, last):
    """First and last code of every run that `count_runs` has counted."""
    run = -1
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            if i == starts[g] or members[i] != members[i - 1] + 1:
                run += 1
                first[run] = members[i]
            last[run] = members[i]


@kernel
def _cell(axes, record):
    return (np.int64(axes.codes[0, record]) * axes.sizes[1] + axes.codes[1, record]) * axes.sizes[
        2
    ] + axes.codes[2, record]


@kernel
def _runs(cover, group):
    row = cover.row[group]
    return cover.starts[row], cover.starts[row + 1]


@inner_kernel
def _volume(a, b, c, group):
    """Number of cells that a group covers, as a float: it can be large."""
    return (
        float(a.width[a.row[group]])
        * float(b.width[b.row[group]])
        * float(c.width[c.row[group]])
    )  # fmt: skip


@inner_kernel
def _corner(cube, x, y, z, share):
    """One corner of a box; corners beyond the cube change nothing in it."""
    if x < cube.shape[0] and y < cube.shape[1] and z < cube.shape[2]:
        cube[x, y, z] += share


@inner_kernel
def _add_box(cube, a, b, c, i, j, k, share):
    """Begin and end of a box of the difference array: the product of three runs."""
    for x_end in range(2):
        x = a.last[i] + 1 if x_end else np.int64(a.first[i])
        for y_end in range(2):
            y = b.last[j] + 1 if y_end else np.int64(b.first[j])
            signed = share if x_end == y_end else -share
            _corner(cube, x, y, np.int64(c.first[k]), signed)
            _corner(cube, x, y, c.last[k] + 1, -signed)


@inner_kernel
def _add_up(cube):
    """Prefix sums along every axis: a difference array becomes the cube itself."""
    for x in range(cube.shape[0]):
        for y in range(cube.shape[1]):
            for z in range(1, cube.shape[2]):
                cube[x, y, z] += cube[x, y, z - 1]
        for y in range(1, cube.shape[1]):
            for z in range(cube.shape[2]):
                cube[x, y, z] += cube[x, y - 1, z]
    for x in range(1, cube.shape[0]):
        for y in range(cube.shape[1]):
            for z in range(cube.shape[2]):
                cube[x, y, z] += cube[x - 1, y, z]


@kernel
def _spread(cube, a, b, c, slices, value, unit):
    """Fill the cube with the expected records of one sensitive value, in fixed point."""
    cube[:] = 0
    for p in range(slices.group_starts[value], slices.group_starts[value + 1]):
        g = slices.groups[p]
        share = np.int64(round(unit * slices.counts[p] / _volume(a, b, c, g)))
        a_begin, a_end = _runs(a, g)
        b_begin, b_end = _runs(b, g)
        c_begin, c_end = _runs(c, g)
        for i in range(a_begin, a_end):
            for j in range(b_begin, b_end):
                for k in range(c_begin, c_end):
                    _add_box(cube, a, b, c, i, j, k, share)
    _add_up(cube)


@kernel
def _count_points(axes, slices, value, cells, counts):
    """Distinct cells of the records with a value, ascending, and how often; how many."""
    begin, end = slices.record_starts[value], slices.record_starts[value + 1]
    keys = np.empty(end - begin, dtype=np.int64)
    for i in range(begin, end):
        keys[i - begin] = _cell(axes, slices.records[i])
    keys.sort()
    points = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            cells[points] = keys[i]
            counts[points] = 0
            points += 1
        counts[points - 1] += 1
    return points


@inner_kernel
def _is_in(cover, group, code):
    """Whether a group covers a code: the last run that begins at or before it decides."""
    begin, end = _runs(cover, group)
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if cover.first[middle] <= code:
            low = middle + 1
        else:
            high = middle
    return low > begin and code <= cover.last[low - 1]


@kernel
def _reach(axes, a, b, c, slices, value, cells, expected):
    """Add to each point what the groups that cover it contribute; cells ascend."""
    expected[:] = 0.0
    inner = axes.sizes[1] * axes.sizes[2]
    for p in range(slices.group_starts[value], slices.group_starts[value + 1]):
        g = slices.groups[p]
        share = slices.counts[p] / _volume(a, b, c, g)
        begin, end = _runs(a, g)
        for run in range(begin, end):
            i = np.searchsorted(cells, a.first[run] * inner)
            beyond = (a.last[run] + 1) * inner
            while i < len(cells) and cells[i] < beyond:
                y = cells[i] // axes.sizes[2] % axes.sizes[1]
                if _is_in(b, g, y) and _is_in(c, g, cells[i] % axes.sizes[2]):
                    expected[i] += share
                i += 1


@inner_kernel
def _boxes(a, b, c, slices, value):
    """Number of boxes that the groups with a value consist of."""
    boxes = 0
    for p in range(slices.group_starts[value], slices.group_starts[value + 1]):
        a_begin, a_end = _runs(a, slices.groups[p])
        b_begin, b_end = _runs(b, slices.groups[p])
        c_begin, c_end = _runs(c, slices.groups[p])
        boxes += (a_end - a_begin) * (b_end - b_begin) * (c_end - c_begin)
    return boxes


@inner_kernel
def _visits(a, slices, value, cells, inner):
    """Number of points that `_reach` visits, more or less."""
    visits = 0
    for p in range(slices.group_starts[value], slices.group_starts[value + 1]):
        begin, end = _runs(a, slices.groups[p])
        for run in range(begin, end):
            until = np.searchsorted(cells, (a.last[run] + 1) * inner)
            visits += until - np.searchsorted(cells, a.first[run] * inner) + 1
    return visits


@inner_kernel
def _tree_add(tree, y, z, share):
    """Add at (y, z) of a two-dimensional Fenwick tree; beyond it nothing changes."""
    i = y + 1
    while i <= tree.shape[0]:
        j = z + 1
        while j <= tree.shape[1]:
            tree[i - 1, j - 1] += share
            j += j & -j
        i += i & -i


@inner_kernel
def _tree_sum(tree, y, z):
    """Sum over all (y', z') with y' <= y and z' <= z."""
    total = np.int64(0)
    i = y + 1
    while i > 0:
        j = z + 1
        while j > 0:
            total += tree[i - 1, j - 1]
            j -= j & -j
        i -= i & -i
    return total


@inner_kernel
def _toggle(tree, b, c, group, share):
    """Begin (or, with a negative share, end) what a group covers on the inner axes."""
    b_begin, b_end = _runs(b, group)
    c_begin, c_end = _runs(c, group)
    for j in range(b_begin, b_end):
        for k in range(c_begin, c_end):
            y, beyond_y = np.int64(b.first[j]), b.last[j] + 1
            z, beyond_z = np.int64(c.first[k]), c.last[k] + 1
            _tree_add(tree, y, z, share)
            _tree_add(tree, beyond_y, z, -share)
            _tree_add(tree, y, beyond_z, -share)
            _tree_add(tree, beyond_y, beyond_z, share)


@kernel
def _sweep(axes, a, b, c, slices, value, unit, cells, tree, expected):
    """What each point can expect, by a sweep along the first axis; leaves the tree empty."""
    begin, end = slices.group_starts[value], slices.group_starts[value + 1]
    events = 0
    for p in range(begin, end):
        first, beyond = _runs(a, slices.groups[p])
        events += 2 * (beyond - first)
    at, who = np.empty(events, dtype=np.int64), np.empty(events, dtype=np.int64)
    e = 0
    for p in range(begin, end):
        first, beyond = _runs(a, slices.groups[p])
        for run in range(first, beyond):
            at[e], who[e] = a.first[run], p
            at[e + 1], who[e + 1] = a.last[run] + 1, ~p  # the end of a run
            e += 2
    in_order = np.argsort(at)
    e = 0
    inner = axes.sizes[1] * axes.sizes[2]
    for i in range(len(cells) + 1):
        until = cells[i] // inner if i < len(cells) else axes.sizes[0]
        while e < events and at[in_order[e]] <= until:
            event = who[in_order[e]]
            p = event if event >= 0 else ~event
            g = slices.groups[p]
            share = np.int64(round(unit * slices.counts[p] / _volume(a, b, c, g)))
            _toggle(tree, b, c, g, share if event >= 0 else -share)
            e += 1
        if i < len(cells):
            y = cells[i] // axes.sizes[2] % axes.sizes[1]
            expected[i] = _tree_sum(tree, y, cells[i] % axes.sizes[2]) / unit


@inner_kernel
def _largest_volume(a, b, c, slices, value):
    largest = 1.0
    for p in range(slices.group_starts[value], slices.group_starts[value + 1]):
        largest = max(largest, _volume(a, b, c, slices.groups[p]))
    return largest


@inner_kernel
def _expect(axes, a, b, c, slices, value, cells, cube, tree, expected):
    """Expected records at each point, by whichever way is cheapest for this value."""
    records = slices.record_starts[value + 1] - slices.record_starts[value]
    unit = TOTAL / records
    boxes = _boxes(a, b, c, slices, value)
    inner = axes.sizes[1] * axes.sizes[2]
    search = 4.0 * _visits(a, slices, value, cells, inner)
    fill = 4.0 * inner * axes.sizes[0] + 8.0 * boxes if cube.size else np.inf
    sweep = np.inf
    if tree.size and unit / _largest_volume(a, b, c, slices, value) >= FINE:
        depth = np.log2(axes.sizes[1] + 1) * np.log2(axes.sizes[2] + 1)
        sweep = 2.0 * depth * (8.0 * boxes + len(cells))
    if search <= min(fill, sweep):
        _reach(axes, a, b, c, slices, value, cells, expected)
    elif fill <= sweep:
        _spread(cube, a, b, c, slices, value, unit)
        flat = cube.reshape(-1)
        for i in range(len(cells)):
            expected[i] = flat[cells[i]] / unit
    else:
        _sweep(axes, a, b, c, slices, value, unit, cells, tree, expected)


@kernel
def cube_divergence(axes, a, b, c, slices, largest):
    """Sum over cells of ``count * ln(count / expected)``, all sensitive values.

    Parameters
    ----------
    axes : Axes
        The first axis has the most codes.
    a, b, c : Cover
        What the groups cover on each axis.
    slices : Slices
        Records and groups by sensitive value.
    largest : int
        Neither a cube nor a tree of more cells is allocated.
    """
    n = axes.codes.shape[1]
    inner = axes.sizes[1] * axes.sizes[2]
    width = axes.sizes[0] if axes.sizes[0] * inner <= largest else 0
    depth = axes.sizes[1] if inner <= largest else 0
    cube = np.zeros((width, axes.sizes[1], axes.sizes[2]), dtype=np.int64)
    tree = np.zeros((depth, axes.sizes[2]), dtype=np.int64)
    cells, counts = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    expected = np.empty(n, dtype=np.float64)
    total = 0.0
    for value in range(len(slices.record_starts) - 1):
        points = _count_points(axes, slices, value, cells, counts)
        if points:
            _expect(axes, a, b, c, slices, value, cells[:points], cube, tree, expected[:points])
        for i in range(points):
            total += counts[i] * np.log(counts[i] / expected[i])
    return total


@kernel
def exact_divergence(cell_ids, cells, order, offsets, slices):
    """The same where quasi-identifiers are exact and groups share their sensitive values.

    ``cell_ids[record]`` is the cell of a record, out of ``cells``. A record of a
    group of n that holds a value c times has that value with probability c / n.
    """
    counts = np.zeros(cells, dtype=np.int64)
    expected = np.zeros(cells, dtype=np.float64)
    total = 0.0
    for value in range(len(slices.record_starts) - 1):
        begin, end = slices.record_starts[value], slices.record_starts[value + 1]
        for i in range(begin, end):
            cell = cell_ids[slices.records[i]]
            counts[cell] += 1
            expected[cell] = 0.0
        for p in range(slices.group_starts[value], slices.group_starts[value + 1]):
            g = slices.groups[p]
            share = slices.counts[p] / (offsets[g + 1] - offsets[g])
            for i in range(offsets[g], offsets[g + 1]):
                expected[cell_ids[order[i]]] += share
        for i in range(begin, end):
            cell = cell_ids[slices.records[i]]
            if counts[cell]:  # once a cell; leaves the counts empty for the next value
                total += counts[cell] * np.log(counts[cell] / expected[cell])
                counts[cell] = 0
    return total
