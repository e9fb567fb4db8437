"""The slow twin of the boosting attack: gradient boosting as its papers say, node by node.

Friedman (2001) with the second-order gain of Chen and Guestrin (2016, equations 5 to 7) and
categories ordered by their gradients (Fisher 1958), with the settings that scikit-learn's
histograms have: a leaf has at least 20 lessons, a tree at most 31 leaves (never reached by
tables small enough for this), a leaf's value counts for a tenth.
"""

from __future__ import annotations

import math

LEAST, RATE, SUPPORT, EPSILON, LEAST_HESSIAN = 20, 0.1, 10, 1e-15, 1e-3


class CloseError(Exception):
    """Two splits are as good up to rounding: either is right, and the two twins may differ."""


def chances(lessons, values, points, ordered, trees):
    """What is believed of each point: a share for each value that was learnt.

    ``lessons``: rows of codes; ``values``: what is learnt of each; ``ordered``: whether codes
    of a column are on a line, else they are categories.
    """
    known = sorted(set(values))
    shares = [values.count(value) / len(values) for value in known]
    if len(known) == 1:
        return [{known[0]: 1.0} for _ in points]
    if len(known) == 2:
        start = [0.0, math.log(shares[1] / shares[0])]  # one score, of the second value
    else:
        logs = [math.log(share) for share in shares]
        start = [one - sum(logs) / len(logs) for one in logs]
    scored = range(1, 2) if len(known) == 2 else range(len(known))
    here = [list(start) for _ in lessons]
    there = [list(start) for _ in points]
    for _ in range(trees):
        before = [softmax(scores) for scores in here]
        for v in scored:
            slopes = [
                (p[v] - (value == known[v]), p[v] * (1 - p[v]))
                for p, value in zip(before, values, strict=True)
            ]
            tree = grown(lessons, slopes, list(range(len(lessons))), ordered, 0.0)
            for rows, scores in ((lessons, here), (points, there)):
                for row, score in zip(rows, scores, strict=True):
                    score[v] += RATE * asked(tree, row)
    return [dict(zip(known, softmax(scores), strict=True)) for scores in there]


def softmax(scores):
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    return [weight / sum(weights) for weight in weights]


def grown(lessons, slopes, rows, ordered, value):
    """A leaf's value, or (column, codes to the left, codes known, larger side, left, right)."""
    if len(rows) < 2 * LEAST:
        return value
    splits = []
    for column, in_order in enumerate(ordered):
        for left in ways(lessons, slopes, rows, column, in_order):
            inside = [i for i in rows if lessons[i][column] in left]
            outside = [i for i in rows if lessons[i][column] not in left]
            gain = value * total(slopes, rows)[0]
            for part in (inside, outside):
                gradient, _ = total(slopes, part)
                gain -= gradient * leaf(slopes, part)
            if allowed(slopes, inside) and allowed(slopes, outside) and gain > 0:
                splits.append((gain, column, left, inside, outside))
    if not splits:
        return value
    best = max(splits, key=lambda split: split[0])
    others = [s[0] for s in splits if (s[1], s[3]) != (best[1], best[3])]
    if best[0] < 1e-5 or (others and max(others) > best[0] * (1 - 1e-4)):
        raise CloseError
    _, column, left, inside, outside = best
    sides = [
        grown(lessons, slopes, part, ordered, leaf(slopes, part)) for part in (inside, outside)
    ]
    return column, left, ordered[column], len(inside) > len(outside), lessons, *sides


def ways(lessons, slopes, rows, column, in_order):
    """Sets of codes that may go to the left."""
    codes = sorted({lessons[i][column] for i in rows})
    if in_order:
        return [codes[:many] for many in range(1, len(codes))]
    sums = {c: total(slopes, [i for i in rows if lessons[i][column] == c]) for c in codes}
    scale = len(rows) / total(slopes, rows)[1]
    enough = [code for code in codes if sums[code][1] * scale >= SUPPORT]
    enough.sort(key=lambda code: sums[code][0] / (sums[code][1] + SUPPORT))
    if len(enough) < 2:
        return []
    middle = (len(enough) + 1) // 2
    first = [enough[:many] for many in range(1, middle + 1)]
    return first + [enough[len(enough) - many :] for many in range(1, middle)]


def total(slopes, rows):
    return math.fsum(slopes[i][0] for i in rows), math.fsum(slopes[i][1] for i in rows)


def leaf(slopes, rows):
    gradient, hessian = total(slopes, rows)
    return -gradient / (hessian + EPSILON)


def allowed(slopes, rows):
    return len(rows) >= LEAST and total(slopes, rows)[1] >= LEAST_HESSIAN


def asked(tree, row):
    """The value of the leaf that a row falls into."""
    while isinstance(tree, tuple):
        column, left, in_order, larger, lessons, inside, outside = tree
        codes = sorted({lesson[column] for lesson in lessons})
        if in_order:  # between the last code of the left and the next that was learnt
            following = [code for code in codes if code > max(left)]
            goes = row[column] <= (max(left) + min(following)) / 2
        elif row[column] in codes:
            goes = row[column] in left
        else:
            goes = larger
        tree = inside if goes else outside
    return tree
