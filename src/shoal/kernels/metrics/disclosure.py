"""For each of some records: who else it could be, and how many of those have its value."""

import numpy as np

from shoal.kernels.jit import inner_kernel, kernel


@inner_kernel
def _covers(cover, point, group):
    """Whether a group's released values cover the codes of a record."""
    for a in range(len(point)):
        row = cover.row[a, group]
        inside = False
        for run in range(cover.starts[row], cover.starts[row + 1]):
            if cover.first[run] <= point[a] <= cover.last[run]:
                inside = True
                break
        if not inside:
            return False
    return True


@kernel
def groups_by_code(cover, groups, starts, listed):
    """List the groups that cover each code of one attribute, those of a code from its start on."""
    place = starts.copy()
    for group in range(groups):
        row = cover.row[group]
        for run in range(cover.starts[row], cover.starts[row + 1]):
            for code in range(cover.first[run], cover.last[run] + 1):
                listed[place[code]] = group
                place[code] += 1


@inner_kernel
def _ends(cover, groups, ends):
    """Smallest and largest code of each group's values, attribute after attribute."""
    for group in range(groups):
        for a in range(ends.shape[1] // 2):
            row = cover.row[a, group]
            ends[group, 2 * a] = cover.first[cover.starts[row]]
            ends[group, 2 * a + 1] = cover.last[cover.starts[row + 1] - 1]


@inner_kernel
def _beyond(ends, point, group):
    """Whether a record is outside of what a group's values span: most are, and it is soon told."""
    for a in range(len(point)):
        if point[a] < ends[group, 2 * a] or point[a] > ends[group, 2 * a + 1]:
            return True
    return False


@kernel
def candidates(cover, points, wanted, values, offsets, near, same, everybody):
    """Fill ``same`` and ``everybody`` for each point, over all groups that cover it.

    Parameters
    ----------
    cover
        `Cover` of all attributes, whose ``row`` has a line an attribute.
    points, wanted
        int32 (points, d) codes, and the sensitive values of each (columns, points).
    values, offsets
        Sensitive values of records (columns, n), group after group, and where each group begins.
    near
        For each code of the first attribute where its list begins and ends, and the lists of
        the groups that cover it: no other group covers a point.
    same, everybody
        int64, of each point, 0 before: records with its value in each column, and all.
    """
    begins, stops, listed = near
    ends = np.empty((len(offsets) - 1, 2 * points.shape[1]), dtype=np.int32)
    _ends(cover, len(ends), ends)
    for p in range(len(points)):
        for place in range(begins[points[p, 0]], stops[points[p, 0]]):
            group = listed[place]
            if _beyond(ends, points[p], group) or not _covers(cover, points[p], group):
                continue
            everybody[p] += offsets[group + 1] - offsets[group]
            for s in range(len(values)):
                for i in range(offsets[group], offsets[group + 1]):
                    same[s, p] += values[s, i] == wanted[s, p]
