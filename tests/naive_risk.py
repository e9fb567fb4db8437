"""Risk in slow plain Python, word for word from DESIGN section 7.

A released cell is a (low, high) pair, a frozenset of values, or None for a star; a class is a
tuple of cells and its number of records; a person is a tuple of values.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations


def covers(cell, value):
    if cell is None:
        return True
    if isinstance(cell, frozenset):
        return value in cell
    return value is not None and cell[0] <= value <= cell[1]


def people(box, population):
    """F: those whose values lie inside the box."""
    return sum(all(covers(c, v) for c, v in zip(box, who, strict=True)) for who in population)


def prosecutor(sizes, tau):
    n = sum(sizes)
    above = sum(f for f in sizes if Fraction(1, f) > tau)
    return Fraction(1, min(sizes)), Fraction(len(sizes), n), Fraction(above, n)


def journalist(sizes, heads, tau):
    n = sum(sizes)
    matched = sum(Fraction(f, F) for f, F in zip(sizes, heads, strict=True)) / n
    above = sum(f for f, F in zip(sizes, heads, strict=True) if Fraction(1, F) > tau)
    average = max(Fraction(len(sizes), sum(heads)), matched)
    return Fraction(1, min(heads)), average, Fraction(above, n)


def marketer(sizes, heads):
    return sum(Fraction(f, F) for f, F in zip(sizes, heads, strict=True)) / sum(sizes)


def individual(f, F):
    """Expectation of 1/F by its series: F - f is negative binomial, summed until it is nothing."""
    p = f / F
    if p == 1:
        return 1 / f
    total, chance, j = 0.0, p**f, f
    while True:
        total += chance / j
        j += 1
        chance *= (j - 1) / (j - f) * (1 - p)
        if chance < 1e-15 and j > f / p:
            return total


def household(risks, homes):
    return [
        1 - math.prod(1 - r for r, other in zip(risks, homes, strict=True) if other == home)
        for home in homes
    ]


def minimal_uniques(rows, size):
    """Of each record all sets of columns that make it unique, and no part of which does."""
    d = len(rows[0])

    def unique(row, chosen):
        return sum(all(row[a] == other[a] for a in chosen) for other in rows) == 1

    sets = [c for s in range(1, size + 1) for c in combinations(range(d), s)]
    return [
        [
            c
            for c in sets
            if unique(row, c) and not any(unique(row, p) for p in combinations(c, len(c) - 1) if p)
        ]
        for row in rows
    ]


def score(minimal, attributes):
    """SUDA: each set of s columns scores the product over i = s..A-1 of (A - i)."""
    return sum(math.prod(attributes - i for i in range(len(c), attributes)) for c in minimal)


def disclosure(classes):
    """Homogeneous classes, their records, base rate, what majorities tell; lists of values."""
    everybody = Counter(v for c in classes for v in c)
    n = sum(everybody.values())
    alike = [c for c in classes if len(set(c)) == 1]
    told = sum(max(Counter(c).values()) for c in classes)
    base = Fraction(max(everybody.values()), n)
    return len(alike), Fraction(sum(map(len, alike)), n), base, Fraction(told, n)


def zayatz(sizes, n, population):
    """Chance that a unique of the sample is one of the population, by Bayes, exactly."""
    c = Counter(sizes)

    def once(i):
        return Fraction(i * math.comb(population - i, n - 1), math.comb(population, n))

    chance = c[1] * once(1) / sum(c[i] * once(i) for i in c)
    return chance * c[1] * Fraction(population, n)
