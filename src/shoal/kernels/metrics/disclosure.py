"""For each of some records: who else it could be, and how many of those have its value."""

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
def candidates(cover, points, wanted, values, order, offsets, same, everybody):
    """Fill ``same`` and ``everybody`` for each point, over all groups that cover it.

    Parameters
    ----------
    cover
        `Cover` of all attributes, whose ``row`` has a line an attribute.
    points, wanted
        int32 (points, d) codes, and the sensitive value of each.
    values
        Sensitive value of each record.
    order, offsets
        The partition.
    same, everybody
        int64, of each point, 0 before: records with its value, and all.
    """
    for p in range(len(points)):
        for group in range(len(offsets) - 1):
            if not _covers(cover, points[p], group):
                continue
            everybody[p] += offsets[group + 1] - offsets[group]
            for i in range(offsets[group], offsets[group + 1]):
                same[p] += values[order[i]] == wanted[p]
