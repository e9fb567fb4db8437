"""Microaggregation on a line: MDAV, class by class."""

from shoal.kernels.jit import kernel


@kernel
def mdav_line(values, offsets, least, group):
    """Groups of `least` or more records that lie near each other, inside each class.

    MDAV (Domingo-Ferrer and Mateo-Sanz): the record farthest from the centre and its nearest,
    then the one farthest from that and its nearest, until fewer than three groups are left. On a
    line both lie at the ends, and the nearest are the next.

    Parameters
    ----------
    values
        Whole numbers, ascending inside each class.
    offsets
        Where classes begin, and the end of the last.
    least
        Records of a group; those of a class with fewer are in none.
    group
        Written: the number of each record's group, counting up; -1 where it has none.
    """
    number = 0
    for c in range(len(offsets) - 1):
        low, high = offsets[c], offsets[c + 1]
        if high - low < least:  # a mean of fewer would tell too much; of one, the value itself
            group[low:high] = -1
            continue
        while high - low >= 3 * least:
            group[low : low + least] = number
            group[high - least : high] = number + 1
            number += 2
            low += least
            high -= least
        cut = low
        if high - low >= 2 * least:
            total = 0
            for i in range(low, high):
                total += values[i]
            # the centre is nearer to the high end: the low end is the farthest
            below = 2 * total >= (values[low] + values[high - 1]) * (high - low)
            cut = low + least if below else high - least
            group[low:cut] = number
            number += 1
        group[cut:high] = number
        number += 1
    return number
