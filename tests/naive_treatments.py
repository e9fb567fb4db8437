"""Treatments as their books have them: slow, a record at a time, with distances."""

from __future__ import annotations

from fractions import Fraction


def mdav(values: list[Fraction], least: int) -> list[list[int]]:
    """MDAV (Domingo-Ferrer and Mateo-Sanz 2002): groups of places among `values`.

    Of fewer than `least` there is no group.
    """
    if len(values) < least:
        return []
    left = list(range(len(values)))
    groups = []

    def taken(around: int) -> None:
        near = sorted(left, key=lambda i: (abs(values[i] - values[around]), i != around))[:least]
        groups.append(near)
        for place in near:
            left.remove(place)

    def farthest_from(point: Fraction) -> int:
        return max(left, key=lambda i: abs(values[i] - point))

    def centre() -> Fraction:
        return sum((values[i] for i in left), Fraction(0)) / len(left)

    while len(left) >= 3 * least:
        first = farthest_from(centre())
        second = farthest_from(values[first])
        taken(first)
        taken(second)
    if len(left) >= 2 * least:
        ends = sorted(left, key=lambda i: values[i])
        middle = centre()
        low, high = ends[0], ends[-1]
        taken(low if middle - values[low] >= values[high] - middle else high)
    if left:
        groups.append(left)
    return groups


def top_code(values: list[Fraction], share: Fraction, least: int) -> list[Fraction]:
    """The largest value that a share of the records (and so many) reaches, for all above it."""
    needed = (1 - share) * len(values)
    code = max(v for v in values if sum(other >= v for other in values) >= max(least, needed))
    return [min(v, code) for v in values]


def rounded(value: Fraction, step: Fraction) -> Fraction:
    """The nearest multiple; of two that are as near the even one."""
    low = value // step
    rest = value - low * step
    up = rest > step - rest or (rest == step - rest and low % 2 == 1)
    return (low + up) * step
